/**
 * Finds the positions that a new mark can affect, without a check of all positions.
 *
 * Each position is watched with two thresholds of its market's mark. It becomes due once the mark leaves that range, or
 * at the next look-up after it was invalidated. The caller checks a due position in full and watches it again with new
 * thresholds. A threshold that is too tight causes extra checks, never a wrong result. The index is not part of the
 * state: it follows from the positions, and after a start all of them count as invalidated.
 */

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
  readonly takeDue: (market: P["market"]) => Array<P>
}

/** An entry of a {@link Queue} with its index in the heap. */
interface Entry<P> {
  readonly holding: P
  key: number
  place: number
}

/** A binary min-heap of keys whose entries store their index. */
interface Queue<P> {
  readonly set: (holding: P, key: number) => void
  readonly remove: (holding: P) => void
  readonly first: () => Entry<P> | undefined
}

const makeQueue = <P>(): Queue<P> => {
  const heap: Array<Entry<P>> = []
  const entries = new Map<P, Entry<P>>()
  const put = (entry: Entry<P>, place: number): void => {
    heap[place] = entry
    entry.place = place
  }
  /** Sifts an entry up or down from its current index. */
  const settle = (entry: Entry<P>): void => {
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

export const make = <P extends WatchedPosition>(markets: number): PriceThresholdIndex<P> => {
  const watched = Array.from({ length: markets }, () => ({
    touched: new Set<P>(),
    /** lower thresholds, negated, so that the highest of them is first */
    lows: makeQueue<P>(),
    highs: makeQueue<P>()
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
    takeDue: (market) => {
      const { highs, lows, touched } = of(market)
      const mark = market.markTicks
      const taken = new Set(touched)
      touched.clear()
      const out = (holding: P) => {
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
