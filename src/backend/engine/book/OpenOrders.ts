/**
 * The table of open orders of all markets, by slot. An order has one slot for its lifetime; its id encodes the slot,
 * and books use it as key. Slots are reused, so only slot and number together identify an order permanently.
 */
import * as Slots from "./Slots.ts"

/** The fields that the table reads. */
interface Slotted {
  readonly id: string
  readonly number: number
  readonly slot: number
}

/** The number and the slot of an order: together they identify it for ever. */
export interface Handle {
  /** counts the ids of one kind */
  readonly number: number
  readonly slot: number
}

export interface OpenOrders<Order extends Slotted> {
  readonly size: () => number
  /** Allocates a slot for the next order. */
  readonly takeSlot: () => number
  /** Stores an order in its allocated slot. */
  readonly keep: (order: Order) => void
  /** Allocates the slot of an order from a snapshot and stores the order in it. */
  readonly restore: (order: Order) => void
  /** The order in a slot; throws where the slot is free. */
  readonly at: (slot: number) => Order
  /** The open order of a handle; `undefined` where it has ended or never existed. */
  readonly find: (handle: Handle) => Order | undefined
  readonly has: (order: Order) => boolean
  readonly drop: (order: Order) => void
  /** All open orders, by slot. */
  readonly all: () => Array<Order>
}

export const make = <Order extends Slotted>(): OpenOrders<Order> => {
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
