/** The growth of a figure: the slope of its samples over time, with its confidence interval. */
import { mean } from "../harness/Statistics.ts"

export interface Sample {
  readonly at_ms: number
  readonly value: number
}
export interface Slope {
  readonly per_hour: number
  /** Half of the 95 % confidence interval. */
  readonly plus_minus: number
}

const HOUR_MS = 3_600_000
/** Parts of equal length whose means are compared: successive samples correlate, means of parts hardly do. */
const PARTS = 10
/** The 97.5 % quantile of Student's t, by degrees of freedom from 1. */
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306]

/** Least squares over the means of ten parts, or fewer where there are fewer samples. Needs three samples. */
export const slopeOf = (samples: ReadonlyArray<Sample>): Slope => {
  const count = Math.min(PARTS, samples.length)
  if (count < 3) throw new Error(`three samples make a slope; there are ${samples.length}`)
  const points = Array.from({ length: count }, (_, i) => {
    const some = samples.slice(Math.floor((i * samples.length) / count), Math.floor(((i + 1) * samples.length) / count))
    return { x: mean(some.map(({ at_ms }) => at_ms)) / HOUR_MS, y: mean(some.map(({ value }) => value)) }
  })
  const [x0, y0] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))]
  const spread = points.reduce((sum, { x }) => sum + (x - x0) ** 2, 0)
  const per_hour = points.reduce((sum, { x, y }) => sum + (x - x0) * (y - y0), 0) / spread
  const left = points.reduce((sum, { x, y }) => sum + (y - y0 - per_hour * (x - x0)) ** 2, 0)
  const plus_minus = STUDENT[count - 3]! * Math.sqrt(left / (count - 2) / spread)
  return { per_hour, plus_minus }
}
