/** Progress of long work: a line on standard error that is overwritten, if it is a terminal. */
import { Effect } from "effect"

/** Time between two updates, in ms. */
const UPDATE_MS = 100

const write = (text: string): void => void process.stderr.write(`\r\u001b[K${text}`)

/** Shows the percentage of work whose size is known; the work calls `progress`. */
export const counted = <A, E, R>(
  label: string,
  work: (progress: (done: number, total: number) => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (!process.stderr.isTTY) return work(() => {})
  let updated = 0
  const progress = (done: number, total: number): void => {
    const now = performance.now()
    if (now - updated < UPDATE_MS && done < total) return
    updated = now
    write(`${label}: ${Math.floor((100 * done) / Math.max(1, total))} % of ${total}`)
  }
  return Effect.ensuring(
    Effect.suspend(() => work(progress)),
    Effect.sync(() => write(""))
  )
}

/** Shows the elapsed time of work whose size is not known. */
export const timed = <A, E, R>(label: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (!process.stderr.isTTY) return work
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const began = performance.now()
      const update = () => write(`${label}: ${Math.floor((performance.now() - began) / 1_000)} s`)
      update()
      return setInterval(update, UPDATE_MS)
    }),
    () => work,
    (timer) =>
      Effect.sync(() => {
        clearInterval(timer)
        write("")
      })
  )
}
