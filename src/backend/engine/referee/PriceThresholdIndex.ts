/**
 * Which positions a mark concerns, found without asking all of them.
 *
 * A position is watched between two marks of its market and comes out once the mark leaves them, or at the next look
 * after it was touched. What comes out is asked in full and watched anew; so the marks only say who need not be asked,
 * and ones that lie too near cost time, never truth. Nothing of this is state: it follows from the positions, and after a
 * start all of them count as touched.
 */
import type { MarketPosition, MarketState } from "../State.ts"

export interface PriceThresholdIndex {
  /** Lets a position come out at the next look. */
  readonly touch: (holding: MarketPosition) => void
  /** Leaves a position alone while low ≤ mark ≤ high, in ticks. */
  readonly between: (holding: MarketPosition, low: number, high: number) => void
  /** Takes out the positions of a market that were touched or whose marks are left; flat ones are forgotten. No order. */
  readonly take: (market: MarketState) => Array<MarketPosition>
}

/** A place in one {@link Queue}. */
interface Entry {
  readonly holding: MarketPosition
  key: number
  place: number
}

/** The least key first: a binary heap whose entries know their places. */
interface Queue {
  readonly set: (holding: MarketPosition, key: number) => void
  readonly remove: (holding: MarketPosition) => void
  readonly first: () => Entry | undefined
}

const makeQueue = (): Queue => {
  const heap: Array<Entry> = []
  const entries = new Map<MarketPosition, Entry>()
  const put = (entry: Entry, place: number): void => {
    heap[place] = entry
    entry.place = place
  }
  /** Finds the place of an entry, from the one it has. */
  const settle = (entry: Entry): void => {
    let { place } = entry
    while (place > 0) {
      const above = heap[(place - 1) >>> 1]!
      if (above.key <= entry.key) break
      put(above, place)
      place = (place - 1) >>> 1
    }
    while (true) {
      const left = 2 * place + 1
      const right = heap[left + 1]
      const below = right !== undefined && right.key < heap[left]!.key ? right : heap[left]
      if (below === undefined || below.key >= entry.key) break
      const freed = below.place
      put(below, place)
      place = freed
    }
    put(entry, place)
  }
  return {
    set: (holding, key) => {
      let entry = entries.get(holding)
      if (entry === undefined) {
        entry = { holding, key, place: heap.length }
        entries.set(holding, entry)
        heap.push(entry)
      }
      entry.key = key
      settle(entry)
    },
    remove: (holding) => {
      const entry = entries.get(holding)
      if (entry === undefined) return
      entries.delete(holding)
      const last = heap.pop()!
      if (last === entry) return
      put(last, entry.place)
      settle(last)
    },
    first: () => heap[0]
  }
}

export const make = (markets: number): PriceThresholdIndex => {
  const watched = Array.from({ length: markets }, () => ({
    touched: new Set<MarketPosition>(),
    /** lowest marks, negated, so that the highest of them is first */
    lows: makeQueue(),
    highs: makeQueue()
  }))
  const of = (market: MarketState) => watched[market.index]!
  return {
    touch: (holding) => void of(holding.market).touched.add(holding),
    between: (holding, low, high) => {
      const { highs, lows, touched } = of(holding.market)
      touched.delete(holding)
      lows.set(holding, -low)
      highs.set(holding, high)
    },
    take: (market) => {
      const { highs, lows, touched } = of(market)
      const mark = market.markTicks
      const taken = new Set(touched)
      touched.clear()
      const out = (holding: MarketPosition) => {
        lows.remove(holding)
        highs.remove(holding)
        taken.add(holding)
      }
      for (const holding of taken) out(holding)
      for (let next = lows.first(); next !== undefined && -next.key > mark; next = lows.first()) out(next.holding)
      for (let next = highs.first(); next !== undefined && next.key < mark; next = highs.first()) out(next.holding)
      return [...taken].filter(({ lots }) => lots !== 0)
    }
  }
}
