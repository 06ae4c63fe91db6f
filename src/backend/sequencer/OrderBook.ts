/**
 * The resting orders of one market, by price and time: a pure data structure of integers.
 *
 * Prices are ticks from 1 up, quantities lots; an order is a slot, a small integer that the caller gives and may use again
 * once the order is out. Orders and levels lie in typed arrays, linked by index, so nothing is allocated while the book
 * stays within the size it has had. Adding, reducing, removing and finding the best price cost the same however much
 * rests. Who owns an order, what it may trade with and what anybody is told of it are the caller's.
 */
import { Side } from "../../proto/gateway/v1/types.ts"
import * as PriceLadder from "./PriceLadder.ts"

/** No order. Slots are never negative. */
export const NONE = -1

export interface OrderBook {
  /** Puts an order behind all others of its price. */
  readonly add: (slot: number, side: Side, ticks: number, lots: number) => void
  /** Takes lots from an order, fewer than it has; it keeps its place. */
  readonly reduce: (slot: number, lots: number) => void
  readonly remove: (slot: number) => void
  readonly has: (slot: number) => boolean
  /** Of an order in the book. */
  readonly sideOf: (slot: number) => Side
  readonly ticksOf: (slot: number) => number
  readonly lotsOf: (slot: number) => number
  /** The order of a side that is filled first; {@link NONE} on an empty side. */
  readonly first: (side: Side) => number
  /** The order that is filled next after one, at its price or a worse one. */
  readonly after: (slot: number) => number
  /** The best price of a side. */
  readonly best: (side: Side) => number | undefined
  /** The next worse price of a side after one where orders rest. */
  readonly worse: (side: Side, ticks: number) => number | undefined
  /** What rests at a price; 0: nothing. */
  readonly total: (side: Side, ticks: number) => number
}

/** What rests at one price. */
export interface Level {
  readonly ticks: number
  readonly lots: number
}

/** Levels of a side, best first; depth 0: all. */
export const levels = (book: OrderBook, side: Side, depth: number): ReadonlyArray<Level> => {
  const most = depth === 0 ? Number.POSITIVE_INFINITY : depth
  const found: Array<Level> = []
  for (let ticks = book.best(side); ticks !== undefined && found.length < most; ticks = book.worse(side, ticks))
    found.push({ ticks, lots: book.total(side, ticks) })
  return found
}

/** Orders and levels that a new book has room for; it doubles when it must. */
const ROOM = 256

/** Words of an order beside one another, so that they share a line of the processor's cache. */
const ORDER_WORDS = 4
/** The index of its level + 1; 0: the order is not in the book. */
const LEVEL = 0
const NEXT = 1
const PREVIOUS = 2
/** Words of a level. */
const LEVEL_WORDS = 2
const HEAD = 0
const TAIL = 1

const longer = <A extends Int32Array | Float64Array>(column: A): A => {
  const copy = new (column.constructor as new (length: number) => A)(2 * column.length)
  copy.set(column)
  return copy
}

export const make = (): OrderBook => {
  // asks lie under their negated prices, so that the best of each side is the highest key and the sign tells the side
  const bids = PriceLadder.make()
  const asks = PriceLadder.make()

  // orders, by slot
  let orders = new Int32Array(ROOM * ORDER_WORDS)
  let lots = new Float64Array(ROOM)

  // levels, by index; those that are free are linked by their heads
  let ends = new Int32Array(ROOM * LEVEL_WORDS)
  let key = new Float64Array(ROOM)
  let sum = new Float64Array(ROOM)
  let free = NONE
  let used = 0
  /** the best level of each side */
  let bid = NONE
  let ask = NONE

  const makeRoom = (slot: number): void => {
    while (lots.length <= slot) {
      orders = longer(orders)
      lots = longer(lots)
    }
  }

  const newLevel = (at: number): number => {
    let index = free
    if (index !== NONE) free = ends[index * LEVEL_WORDS + HEAD]!
    else {
      index = used++
      if (index === key.length) {
        ends = longer(ends)
        key = longer(key)
        sum = longer(sum)
      }
    }
    key[index] = at
    sum[index] = 0
    ends[index * LEVEL_WORDS + HEAD] = NONE
    ends[index * LEVEL_WORDS + TAIL] = NONE
    if (at > 0) {
      bids.set(at, index)
      if (bid === NONE || at > key[bid]!) bid = index
    } else {
      asks.set(at, index)
      if (ask === NONE || at > key[ask]!) ask = index
    }
    return index
  }

  const dropLevel = (index: number): void => {
    const at = key[index]!
    if (sum[index] !== 0) throw new Error(`level ${at} is empty but holds ${sum[index]}`)
    if (at > 0) {
      bids.remove(at)
      if (index === bid) bid = bids.highest()
    } else {
      asks.remove(at)
      if (index === ask) ask = asks.highest()
    }
    ends[index * LEVEL_WORDS + HEAD] = free
    free = index
  }

  const levelOf = (slot: number): number => {
    const index = slot < lots.length ? orders[slot * ORDER_WORDS + LEVEL]! - 1 : NONE
    if (index === NONE) throw new Error(`order ${slot} is not in the book`)
    return index
  }

  const find = (side: Side, ticks: number): number => (side === Side.SIDE_BUY ? bids.get(ticks) : asks.get(-ticks))
  const headOf = (index: number): number => (index === NONE ? NONE : ends[index * LEVEL_WORDS + HEAD]!)
  const ticksAt = (index: number): number | undefined => (index === NONE ? undefined : Math.abs(key[index]!))

  return {
    add: (slot, side, ticks, quantity) => {
      if (slot >= lots.length) makeRoom(slot)
      const order = slot * ORDER_WORDS
      if (orders[order + LEVEL] !== 0) throw new Error(`order ${slot} is in the book`)
      if (!(quantity > 0)) throw new Error(`order ${slot} has ${quantity} lots`)
      let index = find(side, ticks)
      if (index === NONE) index = newLevel(side === Side.SIDE_BUY ? ticks : -ticks)
      const level = index * LEVEL_WORDS
      const last = ends[level + TAIL]!
      if (last === NONE) ends[level + HEAD] = slot
      else orders[last * ORDER_WORDS + NEXT] = slot
      ends[level + TAIL] = slot
      orders[order + LEVEL] = index + 1
      orders[order + NEXT] = NONE
      orders[order + PREVIOUS] = last
      lots[slot] = quantity
      sum[index]! += quantity
    },
    reduce: (slot, quantity) => {
      const index = levelOf(slot)
      if (!(quantity < lots[slot]!)) throw new Error(`order ${slot} has ${lots[slot]} lots, ${quantity} are too many`)
      lots[slot]! -= quantity
      sum[index]! -= quantity
    },
    remove: (slot) => {
      const index = levelOf(slot)
      const order = slot * ORDER_WORDS
      const level = index * LEVEL_WORDS
      const before = orders[order + PREVIOUS]!
      const behind = orders[order + NEXT]!
      if (before === NONE) ends[level + HEAD] = behind
      else orders[before * ORDER_WORDS + NEXT] = behind
      if (behind === NONE) ends[level + TAIL] = before
      else orders[behind * ORDER_WORDS + PREVIOUS] = before
      orders[order + LEVEL] = 0
      sum[index]! -= lots[slot]!
      if (before === NONE && behind === NONE) dropLevel(index)
    },
    has: (slot) => slot < lots.length && orders[slot * ORDER_WORDS + LEVEL]! > 0,
    sideOf: (slot) => (key[levelOf(slot)]! > 0 ? Side.SIDE_BUY : Side.SIDE_SELL),
    ticksOf: (slot) => Math.abs(key[levelOf(slot)]!),
    lotsOf: (slot) => {
      levelOf(slot)
      return lots[slot]!
    },
    first: (side) => headOf(side === Side.SIDE_BUY ? bid : ask),
    after: (slot) => {
      const index = levelOf(slot)
      const behind = orders[slot * ORDER_WORDS + NEXT]!
      if (behind !== NONE) return behind
      const at = key[index]!
      return headOf(at > 0 ? bids.below(at) : asks.below(at))
    },
    best: (side) => ticksAt(side === Side.SIDE_BUY ? bid : ask),
    worse: (side, ticks) => ticksAt(side === Side.SIDE_BUY ? bids.below(ticks) : asks.below(-ticks)),
    total: (side, ticks) => {
      const index = find(side, ticks)
      return index === NONE ? 0 : sum[index]!
    }
  }
}
