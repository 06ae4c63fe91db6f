/**
 * Compares the order book's price-time priority with a recorded exchange session.
 *
 * The book follows the record order by order. Before each aggressive order it computes which orders would be filled, in which
 * sequence and with how many lots, and compares them with the recorded fills. Then the recorded fills are applied, so that one
 * difference does not cause the next. The record itself shows the cause of a difference.
 */
import * as Grid from "../../src/domain/Grid.ts"
import * as OrderBook from "../../src/backend/engine/book/OrderBook.ts"
import * as Slots from "../../src/backend/engine/book/Slots.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"
import type { Resting, Session, Step } from "./Session.ts"

/** Causes of fills that differ from price-time priority over the recorded orders. */
export const CAUSES = {
  withdrawn: "an order ahead was withdrawn in the same event: self-match prevention",
  hidden: "an order gave more than it showed: an iceberg",
  sequence: "the same orders and lots in another sequence: places that the record does not show",
  unexplained: "unexplained"
} as const
export type Cause = keyof typeof CAUSES

export interface Report {
  /** Fills of resting orders by aggressive ones. */
  readonly fills: number
  /** Fills of an order that the book would fill for this aggressor. */
  readonly sameOrder: number
  /** Those of them at the same place in the sequence, with the same lots. */
  readonly sameFill: number
  /** The other fills, by cause. */
  readonly others: Readonly<Record<Cause, number>>
  /** Orders in the book at the end. */
  readonly resting: number
}

interface Fill {
  readonly id: string
  readonly lots: number
}

type Aggress = Extract<Step, { readonly type: "aggress" }>

const grid = Grid.fromText("0.25")
const sideOf = (side: Resting["side"]): Side => (side === "Buy" ? Side.SIDE_BUY : Side.SIDE_SELL)
const opposite = (side: Side): Side => (side === Side.SIDE_BUY ? Side.SIDE_SELL : Side.SIDE_BUY)

/** A book whose orders have the ids of the record. */
const follow = (book: OrderBook.OrderBook) => {
  const slots = Slots.make()
  const slotOf = new Map<string, number>()
  const idOf = new Map<number, string>()

  const ticksOf = (price: string): number => {
    const ticks = Grid.read(grid, price)
    if (ticks === undefined) throw new Error(`${price} is not a multiple of the tick`)
    return ticks
  }
  const add = ({ id, price, side, size }: Resting): void => {
    const slot = slots.take()
    slotOf.set(id, slot)
    idOf.set(slot, id)
    book.add(slot, sideOf(side), ticksOf(price), size)
  }
  const remove = (id: string): void => {
    const slot = slotOf.get(id)
    if (slot === undefined) return
    book.remove(slot)
    slots.free(slot)
    slotOf.delete(id)
    idOf.delete(slot)
  }
  return {
    add,
    remove,
    shown: (id: string): number => {
      const slot = slotOf.get(id)
      return slot === undefined ? 0 : book.lotsOf(slot)
    },
    /** Sets the price and the remaining size of an order. It keeps its place in the queue if only its size decreases. */
    change: (id: string, price: string, size: number): void => {
      const slot = slotOf.get(id)
      if (slot === undefined) return
      const lots = book.lotsOf(slot)
      const side = book.sideOf(slot) === Side.SIDE_BUY ? "Buy" : "Sell"
      if (ticksOf(price) !== book.ticksOf(slot) || size > lots) {
        remove(id)
        add({ id, price, side, size })
      } else if (size < lots) book.reduce(slot, lots - size)
    },
    take: (id: string, lots: number): void => {
      const slot = slotOf.get(id)
      if (slot === undefined) return
      if (lots < book.lotsOf(slot)) book.reduce(slot, lots)
      else remove(id)
    },
    /** The fills of an aggressive order. */
    expected: (step: Aggress): ReadonlyArray<Fill> => {
      const side = sideOf(step.side)
      const limit = ticksOf(step.price)
      const fills: Array<Fill> = []
      let left = step.size
      for (let slot = book.first(opposite(side)); slot !== OrderBook.NONE && left > 0; slot = book.after(slot)) {
        if (side === Side.SIDE_BUY ? book.ticksOf(slot) > limit : book.ticksOf(slot) < limit) break
        const lots = Math.min(left, book.lotsOf(slot))
        fills.push({ id: idOf.get(slot)!, lots })
        left -= lots
      }
      return fills
    },
    size: () => slotOf.size
  }
}

/** Plays a session through an empty book; `onStep` runs after each step. */
export const measure = (
  { opening, steps }: Session,
  resting: OrderBook.OrderBook = OrderBook.make(),
  onStep: () => void = () => {}
): Report => {
  const withdrawnAt = new Map<string, bigint>()
  for (const step of steps) if (step.type === "cancel") withdrawnAt.set(step.id, step.at)
  const book = follow(resting)
  const others = { withdrawn: 0, hidden: 0, sequence: 0, unexplained: 0 }
  let [fills, sameOrder, sameFill] = [0, 0, 0]

  const causeOf = (step: Aggress, made: ReadonlyArray<Fill>, expected: ReadonlyArray<Fill>): Cause => {
    const among = (list: ReadonlyArray<Fill>, { id, lots }: Fill) => list.some((f) => f.id === id && f.lots === lots)
    if (expected.some(({ id }) => !made.some((fill) => fill.id === id) && withdrawnAt.get(id) === step.at))
      return "withdrawn"
    if (made.some((fill, i) => fill.lots > book.shown(fill.id) || made.findIndex(({ id }) => id === fill.id) !== i))
      return "hidden"
    return made.length === expected.length && made.every((fill) => among(expected, fill)) ? "sequence" : "unexplained"
  }

  const aggress = (step: Aggress): void => {
    // a resting order that was modified until it crossed
    book.remove(step.id)
    const made = step.hits.map(({ id, size }) => ({ id, lots: size }))
    const expected = book.expected(step)
    for (const [i, { id, lots }] of made.entries()) {
      fills++
      if (expected.some((fill) => fill.id === id)) sameOrder++
      if (expected[i]?.id === id && expected[i].lots === lots) sameFill++
      else others[causeOf(step, made, expected)]++
    }
    for (const { id, lots } of made) book.take(id, lots)
  }

  for (const order of opening) book.add(order)
  for (const step of steps) {
    switch (step.type) {
      case "add":
        book.add(step)
        break
      case "modify":
        book.change(step.id, step.price, step.size)
        break
      case "cancel":
        book.remove(step.id)
        break
      case "aggress":
        aggress(step)
        break
      case "settle":
        // a refilled iceberg is behind all others
        if (step.size === 0) book.remove(step.id)
        else if (book.shown(step.id) === 0) book.add(step)
        else book.change(step.id, step.price, step.size)
        break
    }
    onStep()
  }
  return { fills, sameOrder, sameFill, others, resting: book.size() }
}

/** The report as a table. */
export const table = ({ fills, others, sameFill, sameOrder }: Report): string => {
  const row = (name: string, count: number) => `| ${name} | ${count} | ${((100 * count) / fills).toFixed(2)} % |`
  return [
    "| fills of resting orders | count | share |",
    "|---|---|---|",
    row("all", fills),
    row("same order filled by the same aggressor", sameOrder),
    row("also at the same place, with the same lots", sameFill),
    ...Object.entries(CAUSES).map(([cause, name]) => row(`other: ${name}`, others[cause as Cause]))
  ].join("\n")
}
