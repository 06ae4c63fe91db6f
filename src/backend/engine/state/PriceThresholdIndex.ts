/**
 * Finds the positions that a new mark can affect, without a check of all positions.
 *
 * Each position is watched with two thresholds of its market's mark. It becomes due once the mark leaves that range, or
 * at the next look-up after it was invalidated. The caller checks a due position in full and watches it again with new
 * thresholds. A threshold that is too tight causes extra checks, never a wrong result. The index is not part of the
 * state: it follows from the positions, and after a start all of them count as invalidated.
 */
import * as Heap from "./Heap.ts"
import type { Slices } from "./Slices.ts"

interface WatchedMarket {
  readonly index: number
  readonly markTicks: number
}

/** The fields that the index reads. */
interface WatchedPosition {
  readonly market: WatchedMarket
  readonly lots: number
}

export interface PriceThresholdIndex<P extends WatchedPosition> {
  /** Makes a position due at the next look-up. */
  readonly invalidate: (holding: P) => void
  /** Watches a position: not due while low ≤ mark ≤ high, in ticks. */
  readonly watch: (holding: P, low: number, high: number) => void
  /** Removes and returns the due positions of a market, in no order; drops flat positions. */
  readonly takeDue: (market: P["market"]) => Slices<Array<P>>
}

export const make = <P extends WatchedPosition>(markets: number): PriceThresholdIndex<P> => {
  const watched = Array.from({ length: markets }, () => ({
    touched: new Set<P>(),
    /** lower thresholds, negated, so that the highest of them is first */
    lows: Heap.make<P>(),
    highs: Heap.make<P>()
  }))
  const of = (market: WatchedMarket) => watched[market.index]!
  return {
    invalidate: (holding) => void of(holding.market).touched.add(holding),
    watch: (holding, low, high) => {
      const { highs, lows, touched } = of(holding.market)
      touched.delete(holding)
      lows.set(holding, -low)
      highs.set(holding, high)
    },
    *takeDue(market) {
      const { highs, lows, touched } = of(market)
      const mark = market.markTicks
      const taken = new Set(touched)
      touched.clear()
      const out = (holding: P) => {
        lows.remove(holding)
        highs.remove(holding)
        taken.add(holding)
      }
      for (const holding of taken) {
        yield
        out(holding)
      }
      while (-(lows.firstKey() ?? Infinity) > mark) {
        yield
        out(lows.first()!)
      }
      while ((highs.firstKey() ?? Infinity) < mark) {
        yield
        out(highs.first()!)
      }
      return [...taken].filter(({ lots }) => lots !== 0)
    }
  }
}
