/**
 * The open orders of all markets, by slot: from its birth to its end an order has a slot of its own, which its id names and
 * books use. A slot alone names nobody for long, a slot and a number one order for ever.
 */
import type { Handle } from "./Ids.ts"
import type { Order } from "./Order.ts"
import * as Slots from "./Slots.ts"

/** Highest limit of open orders that may be set: the exits that they bring and the engine's own have room beyond. */
export const OPEN_ORDERS_MAX = Slots.SLOTS_MAX / 4

export interface OpenOrders {
  readonly size: () => number
  /** Takes the slot of the next order. */
  readonly takeSlot: () => number
  /** Keeps an order in the slot that was taken for it. */
  readonly keep: (order: Order) => void
  /** Keeps an order of another day in the slot that it had then. */
  readonly restore: (order: Order) => void
  /** The order of a slot, which is open. */
  readonly at: (slot: number) => Order
  /** The order that a handle names, unless it has ended or never was. */
  readonly find: (handle: Handle) => Order | undefined
  readonly has: (order: Order) => boolean
  readonly drop: (order: Order) => void
  /** All, by slot. */
  readonly all: () => Array<Order>
}

export const make = (): OpenOrders => {
  const slots = Slots.make()
  const orders: Array<Order | undefined> = []
  let size = 0
  const keep = (order: Order): void => {
    while (orders.length < order.slot) orders.push(undefined)
    orders[order.slot] = order
    size++
  }
  const at = (slot: number): Order => {
    const order = orders[slot]
    if (order === undefined) throw new Error(`slot ${slot} holds no order`)
    return order
  }
  return {
    size: () => size,
    takeSlot: () => slots.take(),
    keep,
    restore: (order) => {
      slots.takeAt(order.slot)
      keep(order)
    },
    at,
    find: ({ number, slot }) => {
      const order = orders[slot]
      return order?.number === number ? order : undefined
    },
    has: (order) => orders[order.slot] === order,
    drop: (order) => {
      if (orders[order.slot] !== order) throw new Error(`order ${order.id} is not open`)
      orders[order.slot] = undefined
      slots.free(order.slot)
      size--
    },
    all: () => orders.filter((order) => order !== undefined)
  }
}
