/** Whether the duration of a comparison depends on the guess: Welch's t of two classes of guesses, measured by turns. */
import { mean } from "../harness/Statistics.ts"

export interface Welch {
  readonly t: number
  readonly means_ns: readonly [number, number]
  readonly samples: number
}

/** Calls of one measurement, because the clock is too coarse for one call. */
const CALLS = 16
/** Share of the slowest samples that both classes leave out: other processes cause them. */
const CROPPED = 0.1

const varianceOf = (values: ReadonlyArray<number>, about: number) =>
  values.reduce((sum, value) => sum + (value - about) ** 2, 0) / (values.length - 1)

/** Measures `compare` for both guesses. With |t| below 4.5 their durations do not differ. */
export const welch = (
  compare: (guess: string) => unknown,
  guesses: readonly [string, string],
  samples: number
): Welch => {
  const classes: [Array<number>, Array<number>] = [[], []]
  for (let i = 0; i < samples * 2; i++) {
    // the order of a pair alternates, so that no class always runs on warmer caches
    const which = ((i >> 1) ^ i) & 1 ? 1 : 0
    const start = process.hrtime.bigint()
    for (let call = 0; call < CALLS; call++) compare(guesses[which])
    classes[which].push(Number(process.hrtime.bigint() - start) / CALLS)
  }
  const all = [...classes[0], ...classes[1]].sort((a, b) => a - b)
  const limit = all[Math.floor(all.length * (1 - CROPPED)) - 1]!
  const [a, b] = classes.map((values) => values.filter((value) => value <= limit)) as [Array<number>, Array<number>]
  const [meanA, meanB] = [mean(a), mean(b)]
  const error = Math.sqrt(varianceOf(a, meanA) / a.length + varianceOf(b, meanB) / b.length)
  return { t: error === 0 ? 0 : (meanA - meanB) / error, means_ns: [meanA, meanB], samples: a.length + b.length }
}
