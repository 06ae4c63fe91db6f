/**
 * The smallest exchange over a book: orders of users match by price and time, rest, are amended and canceled. No money, no
 * events; what happened is folded into a fingerprint. Benchmarks, the oracle test and the replay of a recorded session
 * drive books through it. It allocates nothing but what the book does.
 */
import { NONE, type OrderBook } from "../../src/backend/sequencer/OrderBook.ts"
import type { Slots } from "../../src/backend/sequencer/Slots.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"

/** What ends where a taker meets an order of its own user: itself, that order, or both. */
export const Smp = { TAKER: 0, MAKER: 1, BOTH: 2 } as const
export type Smp = (typeof Smp)[keyof typeof Smp]

export interface Venue {
  /** Matches an order and lets the rest of it rest; returns its number, counted from 1. */
  readonly place: (user: number, side: Side, ticks: number, lots: number, smp: Smp) => number
  /** Matches an order; what is left of it ends. Returns the lots that are left. */
  readonly take: (user: number, side: Side, ticks: number, lots: number, smp: Smp) => number
  /** Whether the order was open. */
  readonly cancel: (number: number) => boolean
  /** Gives an open order another price (0: its own) or other lots; it keeps its place where its lots fall and nothing else. */
  readonly amend: (number: number, ticks: number, lots: number, smp: Smp) => boolean
  readonly isOpen: (number: number) => boolean
  /** Called with each fill; by default nobody is. */
  readonly onFill: (listener: (maker: number, ticks: number, lots: number) => void) => void
  /** Called with each order that ended because its own user's order met it; by default nobody is. */
  readonly onSelfTrade: (listener: (maker: number) => void) => void
  /** Fingerprint of all fills, cancellations and refusals so far. */
  readonly fingerprint: () => number
  /** Fingerprint of what rests, order by order, from the best price on. */
  readonly stateHash: () => number
  /** Begins to count from 1 again; the book must be empty. */
  readonly restart: () => void
}

const opposite = (side: Side): Side => (side === Side.SIDE_BUY ? Side.SIDE_SELL : Side.SIDE_BUY)

const fold = (hash: number, value: number): number => {
  const h = Math.imul(hash ^ value, 0x9e3779b1)
  return h ^ (h >>> 15)
}
/** Of a number beyond 32 bits. */
const foldWide = (hash: number, value: number): number => fold(fold(hash, value), value / 2 ** 32)

const longer = (column: Int32Array<ArrayBuffer>) => {
  const copy = new Int32Array(2 * column.length)
  copy.set(column)
  return copy
}

/** `orders`: how many are placed between two restarts at most. */
export const make = (book: OrderBook, slots: Slots, orders: number): Venue => {
  // a slot is given again, so it names an order only together with the number that it was given to last
  const slotOf = new Int32Array(orders + 1)
  let numberOf = new Int32Array(1024)
  let userOf = new Int32Array(1024)
  let last = 0
  let mark = 0x811c9dc5
  let listener: ((maker: number, ticks: number, lots: number) => void) | undefined

  let selfTradeListener: ((maker: number) => void) | undefined

  const isOpen = (number: number): boolean => {
    const slot = slotOf[number]!
    return number <= last && number > 0 && slot < numberOf.length && numberOf[slot] === number && book.has(slot)
  }
  const drop = (slot: number): void => {
    book.remove(slot)
    numberOf[slot] = 0
    slots.free(slot)
  }
  const match = (user: number, side: Side, ticks: number, lots: number, smp: Smp): number => {
    const against = opposite(side)
    let left = lots
    while (left > 0) {
      const slot = book.first(against)
      if (slot === NONE) break
      const price = book.ticksOf(slot)
      if (side === Side.SIDE_BUY ? price > ticks : price < ticks) break
      const maker = numberOf[slot]!
      if (userOf[slot] === user) {
        mark = fold(mark, -maker)
        if (smp !== Smp.TAKER) {
          drop(slot)
          if (selfTradeListener !== undefined) selfTradeListener(maker)
        }
        if (smp === Smp.MAKER) continue
        return 0
      }
      const has = book.lotsOf(slot)
      const filled = left < has ? left : has
      if (filled < has) book.reduce(slot, filled)
      else drop(slot)
      left -= filled
      mark = fold(foldWide(fold(mark, maker), price), filled)
      if (listener !== undefined) listener(maker, price, filled)
    }
    return left
  }
  const rest = (number: number, user: number, side: Side, ticks: number, lots: number): void => {
    const slot = slots.take()
    if (slot >= numberOf.length) {
      numberOf = longer(numberOf)
      userOf = longer(userOf)
    }
    slotOf[number] = slot
    numberOf[slot] = number
    userOf[slot] = user
    book.add(slot, side, ticks, lots)
  }

  return {
    place: (user, side, ticks, lots, smp) => {
      const number = ++last
      slotOf[number] = 0
      const left = match(user, side, ticks, lots, smp)
      if (left > 0) rest(number, user, side, ticks, left)
      return number
    },
    take: match,
    cancel: (number) => {
      const open = isOpen(number)
      mark = fold(mark, open ? number : 0)
      if (open) drop(slotOf[number]!)
      return open
    },
    amend: (number, price, lots, smp) => {
      const open = isOpen(number)
      mark = fold(mark, open ? number : 0)
      if (!open) return false
      const slot = slotOf[number]!
      const had = book.lotsOf(slot)
      const ticks = price === 0 ? book.ticksOf(slot) : price
      if (ticks === book.ticksOf(slot) && lots <= had) {
        if (lots < had) book.reduce(slot, had - lots)
        return true
      }
      const side = book.sideOf(slot)
      const user = userOf[slot]!
      drop(slot)
      const left = match(user, side, ticks, lots, smp)
      if (left > 0) rest(number, user, side, ticks, left)
      return true
    },
    isOpen,
    onFill: (heard) => {
      listener = heard
    },
    onSelfTrade: (heard) => {
      selfTradeListener = heard
    },
    fingerprint: () => mark,
    stateHash: () => {
      let hash = 0x811c9dc5
      for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const) {
        for (let slot = book.first(side); slot !== NONE; slot = book.after(slot))
          hash = fold(foldWide(fold(hash, numberOf[slot]!), book.ticksOf(slot)), book.lotsOf(slot))
        for (let ticks = book.best(side); ticks !== undefined; ticks = book.worse(side, ticks))
          hash = fold(foldWide(hash, ticks), book.total(side, ticks))
      }
      return hash
    },
    restart: () => {
      if (book.first(Side.SIDE_BUY) !== NONE || book.first(Side.SIDE_SELL) !== NONE)
        throw new Error("the book is not empty")
      last = 0
      mark = 0x811c9dc5
    }
  }
}
