/** Indicators of the chart, as numbers to draw; `undefined` where the bars do not suffice. */
import { DAY_MS } from "../src/domain/Time.ts"
import type { Bar } from "./CandleStore.ts"

export type Indicator = (bars: ReadonlyArray<Bar>) => ReadonlyArray<number | undefined>

/** Mean of the last `length` closes. */
export const movingAverage =
  (length: number): Indicator =>
  (bars) => {
    let sum = 0
    return bars.map(({ close }, i) => {
      sum += close
      if (i >= length) sum -= bars[i - length]!.close
      return i < length - 1 ? undefined : sum / length
    })
  }

/** Turnover divided by volume since 00:00 UTC. */
export const vwap: Indicator = (bars) => {
  let [day, turnover, volume] = [-1, 0, 0]
  return bars.map((bar) => {
    const today = Math.floor(bar.start / DAY_MS)
    if (today !== day) [day, turnover, volume] = [today, 0, 0]
    turnover += bar.turnover
    volume += bar.volume
    return volume === 0 ? undefined : turnover / volume
  })
}
