/**
 * A simple order book: objects in two lists, sorted by price and time, searched from the front. Slow and clear: the
 * reference for the fast one.
 */
import { NONE, type OrderBook } from "../../src/backend/engine/book/OrderBook.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"

export interface Resting {
  readonly slot: number
  readonly side: Side
  readonly ticks: number
  lots: number
}

export interface NaiveBook extends OrderBook {
  /** Resting orders of a side in priority order. */
  readonly orders: (side: Side) => ReadonlyArray<Resting>
}

export const make = (): NaiveBook => {
  const bids: Array<Resting> = []
  const asks: Array<Resting> = []
  const listOf = (side: Side) => (side === Side.SIDE_BUY ? bids : asks)
  const isBetter = (side: Side, a: number, b: number) => (side === Side.SIDE_BUY ? a > b : a < b)
  const seek = (slot: number) => bids.find((order) => order.slot === slot) ?? asks.find((order) => order.slot === slot)
  const find = (slot: number): Resting => {
    const order = seek(slot)
    if (order === undefined) throw new Error(`order ${slot} is not in the book`)
    return order
  }
  return {
    orders: listOf,
    add: (slot, side, ticks, lots) => {
      if (seek(slot) !== undefined) throw new Error(`order ${slot} is in the book`)
      const list = listOf(side)
      const behind = list.findIndex((order) => isBetter(side, ticks, order.ticks))
      list.splice(behind === -1 ? list.length : behind, 0, { slot, side, ticks, lots })
    },
    reduce: (slot, lots) => {
      const order = find(slot)
      if (lots >= order.lots) throw new Error(`${lots} lots are too many`)
      order.lots -= lots
    },
    remove: (slot) => {
      const order = find(slot)
      const list = listOf(order.side)
      list.splice(list.indexOf(order), 1)
    },
    has: (slot) => seek(slot) !== undefined,
    sideOf: (slot) => find(slot).side,
    ticksOf: (slot) => find(slot).ticks,
    lotsOf: (slot) => find(slot).lots,
    first: (side) => listOf(side)[0]?.slot ?? NONE,
    after: (slot) => {
      const order = find(slot)
      const list = listOf(order.side)
      return list[list.indexOf(order) + 1]?.slot ?? NONE
    },
    best: (side) => listOf(side)[0]?.ticks,
    worse: (side, ticks) => listOf(side).find((order) => isBetter(side, ticks, order.ticks))?.ticks,
    total: (side, ticks) =>
      listOf(side)
        .filter((order) => order.ticks === ticks)
        .reduce((sum, { lots }) => sum + lots, 0)
  }
}
