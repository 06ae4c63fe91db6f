/** A book that records which levels have changed since the last `takeChanges`: the content of `book_changed`. */
import { Side } from "../../../proto/gateway/v1/types.ts"
import * as OrderBook from "./OrderBook.ts"

/** A level whose total has changed; 0 lots: the level is gone. */
export interface LevelChange {
  readonly side: Side
  readonly ticks: number
  readonly lots: number
}

export interface TrackedBook extends OrderBook.OrderBook {
  /** Levels that differ from the last call, bids before asks, best first. */
  readonly takeChanges: () => ReadonlyArray<LevelChange>
}

/** Tracks the changes of a book. All changes must go through the returned book. */
export const track = (book: OrderBook.OrderBook): TrackedBook => {
  /** totals before the first change since the last `takeChanges` */
  const bids = new Map<number, number>()
  const asks = new Map<number, number>()

  const touch = (side: Side, ticks: number): void => {
    const before = side === Side.SIDE_BUY ? bids : asks
    if (!before.has(ticks)) before.set(ticks, book.total(side, ticks))
  }
  const changesOf = (side: Side, before: Map<number, number>): ReadonlyArray<LevelChange> => {
    if (before.size === 0) return []
    const changes: Array<LevelChange> = []
    for (const [ticks, had] of before) {
      const lots = book.total(side, ticks)
      if (lots !== had) changes.push({ side, ticks, lots })
    }
    before.clear()
    const sign = side === Side.SIDE_BUY ? -1 : 1
    return changes.length > 1 ? changes.sort((a, b) => sign * (a.ticks - b.ticks)) : changes
  }

  const tracked = OrderBook.overriding(book, {
    add: (slot, side, ticks, lots) => {
      touch(side, ticks)
      book.add(slot, side, ticks, lots)
    },
    reduce: (slot, lots) => {
      touch(book.sideOf(slot), book.ticksOf(slot))
      book.reduce(slot, lots)
    },
    remove: (slot) => {
      touch(book.sideOf(slot), book.ticksOf(slot))
      book.remove(slot)
    }
  })
  return {
    ...tracked,
    takeChanges: () => [...changesOf(Side.SIDE_BUY, bids), ...changesOf(Side.SIDE_SELL, asks)]
  }
}
