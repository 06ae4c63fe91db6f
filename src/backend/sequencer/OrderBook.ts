/**
 * The resting orders of one market, by price and time.
 *
 * Levels lie in two arrays sorted so that the best price is the last element; orders of a level are a linked list. Adding
 * at a known price, canceling and finding the best price are O(1); a new price costs a binary search.
 */
import { Side } from "../../proto/gateway/v1/types.ts"
import type { Order } from "./Order.ts"
import type { PriceLevel } from "./PriceLevel.ts"

/** A price whose total has changed; 0 lots: it is gone. */
export interface LevelChange {
  readonly side: Side
  readonly ticks: number
  readonly lots: number
}

export interface OrderBook {
  /** Puts an order behind all others of its price. */
  readonly add: (order: Order) => void
  readonly remove: (order: Order) => void
  /** Takes lots from a resting order, which keeps its place. Its `leaves` are the caller's. */
  readonly reduce: (order: Order, lots: number) => void
  readonly best: (side: Side) => PriceLevel | undefined
  /** Levels of a side, best first; 0: all. */
  readonly levels: (side: Side, depth: number) => ReadonlyArray<PriceLevel>
  /** Levels that differ from what they were at the last call, bids before asks, best first. */
  readonly takeChanges: () => ReadonlyArray<LevelChange>
}

interface BookSide {
  readonly side: Side
  /** worst first */
  readonly levels: Array<PriceLevel>
  readonly at: Map<number, PriceLevel>
  /** totals before the first change since the last `takeChanges` */
  readonly before: Map<number, number>
}

const makeSide = (side: Side): BookSide => ({ side, levels: [], at: new Map(), before: new Map() })

/** Where a price belongs in a side's array. */
const indexOf = (half: BookSide, ticks: number): number => {
  const { levels } = half
  const buy = half.side === Side.SIDE_BUY
  let low = 0
  let high = levels.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = levels[middle]!.ticks
    if (buy ? other < ticks : other > ticks) low = middle + 1
    else high = middle
  }
  return low
}

const touch = (half: BookSide, ticks: number, lots: number): void => {
  if (!half.before.has(ticks)) half.before.set(ticks, lots)
}

const changesOf = (half: BookSide, changes: Array<LevelChange>): void => {
  if (half.before.size === 0) return
  const start = changes.length
  for (const [ticks, before] of half.before) {
    const lots = half.at.get(ticks)?.lots ?? 0
    if (lots !== before) changes.push({ side: half.side, ticks, lots })
  }
  half.before.clear()
  if (changes.length - start > 1) {
    const sign = half.side === Side.SIDE_BUY ? -1 : 1
    const sorted = changes.splice(start).sort((a, b) => sign * (a.ticks - b.ticks))
    for (const change of sorted) changes.push(change)
  }
}

export const make = (): OrderBook => {
  const bids = makeSide(Side.SIDE_BUY)
  const asks = makeSide(Side.SIDE_SELL)
  const half = (side: Side): BookSide => (side === Side.SIDE_BUY ? bids : asks)

  const add = (order: Order): void => {
    const own = half(order.side)
    let level = own.at.get(order.ticks)
    if (level === undefined) {
      touch(own, order.ticks, 0)
      level = { ticks: order.ticks, lots: 0, head: undefined, tail: undefined }
      own.at.set(order.ticks, level)
      const index = indexOf(own, order.ticks)
      if (index === own.levels.length) own.levels.push(level)
      else own.levels.splice(index, 0, level)
    } else touch(own, order.ticks, level.lots)
    level.lots += order.leaves
    order.level = level
    order.previous = level.tail
    order.next = undefined
    if (level.tail === undefined) level.head = order
    else level.tail.next = order
    level.tail = order
  }

  const reduce = (order: Order, lots: number): void => {
    const level = order.level!
    touch(half(order.side), level.ticks, level.lots)
    level.lots -= lots
    if (level.lots < 0) throw new Error(`level ${level.ticks} fell below 0`)
  }

  const remove = (order: Order): void => {
    const level = order.level
    if (level === undefined) return
    const own = half(order.side)
    touch(own, level.ticks, level.lots)
    level.lots -= order.leaves
    if (order.previous === undefined) level.head = order.next
    else order.previous.next = order.next
    if (order.next === undefined) level.tail = order.previous
    else order.next.previous = order.previous
    order.level = undefined
    order.previous = undefined
    order.next = undefined
    if (level.head === undefined) {
      if (level.lots !== 0) throw new Error(`level ${level.ticks} is empty but holds ${level.lots}`)
      own.at.delete(level.ticks)
      if (own.levels.at(-1) === level) own.levels.pop()
      else own.levels.splice(indexOf(own, level.ticks), 1)
    }
  }

  return {
    add,
    reduce,
    remove,
    best: (side) => half(side).levels.at(-1),
    levels: (side, depth) => {
      const { levels } = half(side)
      const count = depth === 0 ? levels.length : Math.min(depth, levels.length)
      return Array.from({ length: count }, (_, i) => levels[levels.length - 1 - i]!)
    },
    takeChanges: () => {
      const changes: Array<LevelChange> = []
      changesOf(bids, changes)
      changesOf(asks, changes)
      return changes
    }
  }
}
