/**
 * A minimal exchange over a book: users' orders match by price and time, rest, are amended and canceled. No money and no
 * events; all results go into a fingerprint. Benchmarks, the oracle test and the replay of a recorded session drive books
 * through it. It allocates nothing besides the book's own allocations.
 */
import { NONE, type OrderBook } from "../../src/backend/engine/book/OrderBook.ts"
import type { Slots } from "../../src/backend/engine/book/Slots.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"

/** What self-match prevention cancels: the taker, the resting order, or both. */
export const Smp = { TAKER: 0, MAKER: 1, BOTH: 2 } as const
export type Smp = (typeof Smp)[keyof typeof Smp]

export interface Venue {
  /** Matches an order and rests its remainder; returns its number, counted from 1. */
  readonly place: (user: number, side: Side, ticks: number, lots: number, smp: Smp) => number
  /** Matches an order and cancels its remainder. Returns the remaining lots. */
  readonly take: (user: number, side: Side, ticks: number, lots: number, smp: Smp) => number
  /** Whether the order was open. */
  readonly cancel: (number: number) => boolean
  /** Changes price (0: unchanged) or lots of an open order; it keeps its queue position if only its lots decrease. */
  readonly amend: (number: number, ticks: number, lots: number, smp: Smp) => boolean
  readonly isOpen: (number: number) => boolean
  /** Called with each fill; unset by default. */
  readonly onFill: (listener: (maker: number, ticks: number, lots: number) => void) => void
  /** Called with each order that self-match prevention cancels; unset by default. */
  readonly onSelfTrade: (listener: (maker: number) => void) => void
  /** Fingerprint of all fills, cancellations and refusals so far. */
  readonly fingerprint: () => number
  /** Fingerprint of the resting orders, order by order, from the best price on. */
  readonly stateHash: () => number
  /** Numbers orders from 1 again; the book must be empty. */
  readonly restart: () => void
}

const BUY = Side.SIDE_BUY
const SELL = Side.SIDE_SELL
// computed without a branch, since the side of the next order is unpredictable
const opposite = (side: Side): Side => (BUY + SELL - side) as Side
/** Whether a price is worse than the limit of a taker. */
const isWorse = (side: Side, ticks: number, limit: number): boolean => (1 - 2 * (side - BUY)) * (ticks - limit) > 0

/** The initial value; 32 bits, so that it never needs a float. */
const EMPTY = 0x811c9dc5 | 0

const fold = (hash: number, value: number): number => {
  const h = Math.imul(hash ^ value, 0x9e3779b1)
  return h ^ (h >>> 15)
}
/** The hash of a number beyond 32 bits. */
const foldWide = (hash: number, value: number): number => fold(fold(hash, value), value / 2 ** 32)

const longer = (column: Int32Array<ArrayBuffer>) => {
  const copy = new Int32Array(2 * column.length)
  copy.set(column)
  return copy
}

/** Words of a slot. */
const WORDS = 2
/** The order that last used the slot, 0 once it has ended: a slot identifies an order only together with it. */
const NUMBER = 0
const USER = 1

/** A class for speed, as in the book. */
class SmallVenue implements Venue {
  private readonly book: OrderBook
  private readonly slots: Slots
  private readonly slotOf: Int32Array
  private owners = new Int32Array(1024 * WORDS)
  private last = 0
  private mark = EMPTY
  private fillListener: ((maker: number, ticks: number, lots: number) => void) | undefined
  private selfTradeListener: ((maker: number) => void) | undefined

  constructor(book: OrderBook, slots: Slots, orders: number) {
    this.book = book
    this.slots = slots
    this.slotOf = new Int32Array(orders + 1)
  }

  place(user: number, side: Side, ticks: number, lots: number, smp: Smp): number {
    const number = ++this.last
    this.slotOf[number] = 0
    const left = this.take(user, side, ticks, lots, smp)
    if (left > 0) this.rest(number, user, side, ticks, left)
    return number
  }

  take(user: number, side: Side, ticks: number, lots: number, smp: Smp): number {
    const { book } = this
    const against = opposite(side)
    let left = lots
    while (left > 0) {
      const slot = book.first(against)
      if (slot === NONE) break
      const price = book.ticksOf(slot)
      if (isWorse(side, price, ticks)) break
      const maker = this.owners[slot * WORDS + NUMBER]!
      if (this.owners[slot * WORDS + USER] === user) {
        this.mark = fold(this.mark, -maker)
        if (smp !== Smp.TAKER) {
          this.drop(slot)
          if (this.selfTradeListener !== undefined) this.selfTradeListener(maker)
        }
        if (smp === Smp.MAKER) continue
        return 0
      }
      const has = book.lotsOf(slot)
      const filled = left < has ? left : has
      if (filled < has) book.reduce(slot, filled)
      else this.drop(slot)
      left -= filled
      this.mark = fold(foldWide(fold(this.mark, maker), price), filled)
      if (this.fillListener !== undefined) this.fillListener(maker, price, filled)
    }
    return left
  }

  cancel(number: number): boolean {
    const open = this.isOpen(number)
    this.mark = fold(this.mark, open ? number : 0)
    if (open) this.drop(this.slotOf[number]!)
    return open
  }

  amend(number: number, price: number, lots: number, smp: Smp): boolean {
    const { book } = this
    const open = this.isOpen(number)
    this.mark = fold(this.mark, open ? number : 0)
    if (!open) return false
    const slot = this.slotOf[number]!
    const had = book.lotsOf(slot)
    const ticks = price === 0 ? book.ticksOf(slot) : price
    if (ticks === book.ticksOf(slot) && lots <= had) {
      if (lots < had) book.reduce(slot, had - lots)
      return true
    }
    const side = book.sideOf(slot)
    const user = this.owners[slot * WORDS + USER]!
    this.drop(slot)
    const left = this.take(user, side, ticks, lots, smp)
    if (left > 0) this.rest(number, user, side, ticks, left)
    return true
  }

  isOpen(number: number): boolean {
    return number > 0 && number <= this.last && this.owners[this.slotOf[number]! * WORDS + NUMBER] === number
  }

  onFill(listener: (maker: number, ticks: number, lots: number) => void): void {
    this.fillListener = listener
  }
  onSelfTrade(listener: (maker: number) => void): void {
    this.selfTradeListener = listener
  }

  fingerprint(): number {
    return this.mark
  }
  stateHash(): number {
    const { book } = this
    let hash = EMPTY
    for (const side of [BUY, SELL]) {
      for (let slot = book.first(side); slot !== NONE; slot = book.after(slot))
        hash = fold(foldWide(fold(hash, this.owners[slot * WORDS + NUMBER]!), book.ticksOf(slot)), book.lotsOf(slot))
      for (let ticks = book.best(side); ticks !== undefined; ticks = book.worse(side, ticks))
        hash = fold(foldWide(hash, ticks), book.total(side, ticks))
    }
    return hash
  }

  restart(): void {
    if (this.book.first(BUY) !== NONE || this.book.first(SELL) !== NONE) throw new Error("the book is not empty")
    this.last = 0
    this.mark = EMPTY
  }

  private drop(slot: number): void {
    this.book.remove(slot)
    this.owners[slot * WORDS + NUMBER] = 0
    this.slots.free(slot)
  }
  private rest(number: number, user: number, side: Side, ticks: number, lots: number): void {
    const slot = this.slots.take()
    if (slot * WORDS >= this.owners.length) this.owners = longer(this.owners)
    this.slotOf[number] = slot
    this.owners[slot * WORDS + NUMBER] = number
    this.owners[slot * WORDS + USER] = user
    this.book.add(slot, side, ticks, lots)
  }
}

/** `orders`: most orders between two restarts. */
export const make = (book: OrderBook, slots: Slots, orders: number): Venue => new SmallVenue(book, slots, orders)
