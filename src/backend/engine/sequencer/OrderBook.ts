/**
 * The resting orders of one market, by price and time: a pure data structure of integers.
 *
 * Prices are ticks from 1 up, quantities lots; an order is a slot, a small integer that the caller gives and may use again
 * once the order is out. Orders and levels are nodes of one typed array, linked by index, so nothing is allocated while the
 * book stays within the size it has had. Adding, reducing, removing and finding the best price cost the same however much
 * rests. Who owns an order, what it may trade with and what anybody is told of it are the caller's.
 */
import { Side } from "../../../proto/gateway/v1/types.ts"
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

/** A book that is another one but for some of its methods. */
export const over = (book: OrderBook, own: Partial<OrderBook>): OrderBook => ({
  add: (slot, side, ticks, lots) => book.add(slot, side, ticks, lots),
  reduce: (slot, lots) => book.reduce(slot, lots),
  remove: (slot) => book.remove(slot),
  has: (slot) => book.has(slot),
  sideOf: (slot) => book.sideOf(slot),
  ticksOf: (slot) => book.ticksOf(slot),
  lotsOf: (slot) => book.lotsOf(slot),
  first: (side) => book.first(side),
  after: (slot) => book.after(slot),
  best: (side) => book.best(side),
  worse: (side, ticks) => book.worse(side, ticks),
  total: (side, ticks) => book.total(side, ticks),
  ...own
})

/** Orders, and levels, that a new book has room for; it doubles when it must. */
const ROOM = 256

/** An order or a level is a node: eight words, half a line of the processor's cache. */
const WORDS = 8
/** The nodes behind and before it. The orders of a level stand in a circle that the level closes. */
const NEXT = 0
const PREVIOUS = 1
/** The level of an order; 0: the order is not in the book. */
const LEVEL = 2
/** Floats, where the words 4 to 7 lie: the lots of an order, or of all orders of a level, and the key. */
const LOTS = 2
const KEY = 3

const BUY = Side.SIDE_BUY
const SELL = Side.SIDE_SELL
/** Of bids 1, of asks -1; computed, since no processor foresees the side of the next order. */
const signOf = (side: Side): number => 1 - 2 * (side - BUY)

/** A class, so that its methods exist once and the compiler knows the constants that they use. */
class NodeBook implements OrderBook {
  /**
   * Bids lie under their prices and asks under the negated ones, so that the sign tells the side and the best of a side is
   * its highest key.
   */
  private readonly ladder = PriceLadder.make()
  /** by side */
  private readonly bests = new Int32Array(1 + SELL).fill(NONE)

  // the node of an order is its slot; levels are the nodes below zero, and NONE is the level that is not there
  private room = ROOM
  private levelRoom = ROOM
  private words = new Int32Array(2 * ROOM * WORDS)
  private floats = new Float64Array(this.words.buffer)
  /** Where node 0 begins. */
  private origin = ROOM * WORDS
  /** Levels that can be used again, linked by their NEXT; behind `lowest` none was ever used. */
  private free = NONE
  private lowest = NONE

  constructor() {
    this.initLevel(NONE, Number.NEGATIVE_INFINITY)
  }

  add(slot: number, side: Side, ticks: number, lots: number): void {
    while (slot >= this.room) this.resize(2 * this.room, this.levelRoom)
    if (this.has(slot)) throw new Error(`order ${slot} is in the book`)
    if (!(lots > 0)) throw new Error(`order ${slot} has ${lots} lots`)
    const key = signOf(side) * ticks
    let level = this.ladder.get(key)
    if (level === NONE) level = this.newLevel(key)
    const { floats, words, origin } = this
    const order = origin + slot * WORDS
    const end = origin + level * WORDS
    const last = words[end + PREVIOUS]!
    words[origin + last * WORDS + NEXT] = slot
    words[end + PREVIOUS] = slot
    words[order + NEXT] = level
    words[order + PREVIOUS] = last
    words[order + LEVEL] = level
    floats[(order >> 1) + LOTS] = lots
    floats[(order >> 1) + KEY] = key
    floats[(end >> 1) + LOTS]! += lots
  }

  reduce(slot: number, lots: number): void {
    const order = this.find(slot)
    const { floats, origin, words } = this
    const had = floats[(order >> 1) + LOTS]!
    if (!(lots < had)) throw new Error(`order ${slot} has ${had} lots, ${lots} are too many`)
    floats[(order >> 1) + LOTS] = had - lots
    floats[((origin + words[order + LEVEL]! * WORDS) >> 1) + LOTS]! -= lots
  }

  remove(slot: number): void {
    const order = this.find(slot)
    const { floats, origin, words } = this
    const before = words[order + PREVIOUS]!
    const behind = words[order + NEXT]!
    const level = words[order + LEVEL]!
    words[origin + before * WORDS + NEXT] = behind
    words[origin + behind * WORDS + PREVIOUS] = before
    words[order + LEVEL] = 0
    floats[((origin + level * WORDS) >> 1) + LOTS]! -= floats[(order >> 1) + LOTS]!
    // both are the level
    if (before === behind) this.dropLevel(level)
  }

  has(slot: number): boolean {
    return slot < this.room && this.words[this.origin + slot * WORDS + LEVEL] !== 0
  }
  sideOf(slot: number): Side {
    return this.floats[(this.find(slot) >> 1) + KEY]! > 0 ? BUY : SELL
  }
  ticksOf(slot: number): number {
    return Math.abs(this.floats[(this.find(slot) >> 1) + KEY]!)
  }
  lotsOf(slot: number): number {
    return this.floats[(this.find(slot) >> 1) + LOTS]!
  }
  first(side: Side): number {
    return this.nextOf(this.bests[side]!)
  }
  after(slot: number): number {
    const order = this.find(slot)
    const behind = this.words[order + NEXT]!
    return behind >= 0 ? behind : this.nextOf(this.below(this.floats[(order >> 1) + KEY]!))
  }
  best(side: Side): number | undefined {
    return this.ticksAt(this.bests[side]!)
  }
  worse(side: Side, ticks: number): number | undefined {
    return this.ticksAt(this.below(signOf(side) * ticks))
  }
  total(side: Side, ticks: number): number {
    return this.floats[((this.origin + this.ladder.get(signOf(side) * ticks) * WORDS) >> 1) + LOTS]!
  }

  /** Where the node of an order begins that is in the book. */
  private find(slot: number): number {
    if (!this.has(slot)) throw new Error(`order ${slot} is not in the book`)
    return this.origin + slot * WORDS
  }
  private nextOf(node: number): number {
    return this.words[this.origin + node * WORDS + NEXT]!
  }
  private keyOf(node: number): number {
    return this.floats[((this.origin + node * WORDS) >> 1) + KEY]!
  }
  private ticksAt(level: number): number | undefined {
    return level === NONE ? undefined : Math.abs(this.keyOf(level))
  }

  /** The next level of the same side below a key. */
  private below(key: number): number {
    const level = this.ladder.below(key)
    return key > 0 && this.keyOf(level) < 0 ? NONE : level
  }

  private newLevel(key: number): number {
    let level = this.free
    if (level !== NONE) this.free = this.nextOf(level)
    else {
      level = --this.lowest
      if (level < -this.levelRoom) this.resize(this.room, 2 * this.levelRoom)
    }
    this.initLevel(level, key)
    this.ladder.set(key, level)
    const side = key > 0 ? BUY : SELL
    if (key > this.keyOf(this.bests[side]!)) this.bests[side] = level
    return level
  }

  private initLevel(level: number, key: number): void {
    const at = this.origin + level * WORDS
    this.words[at + NEXT] = level
    this.words[at + PREVIOUS] = level
    this.floats[(at >> 1) + LOTS] = 0
    this.floats[(at >> 1) + KEY] = key
  }

  private dropLevel(level: number): void {
    const at = this.origin + level * WORDS
    const key = this.floats[(at >> 1) + KEY]!
    const lots = this.floats[(at >> 1) + LOTS]!
    if (lots !== 0) throw new Error(`level ${key} is empty but holds ${lots}`)
    const side = key > 0 ? BUY : SELL
    if (this.bests[side] === level) this.bests[side] = this.below(key)
    this.ladder.remove(key)
    this.words[at + NEXT] = this.free
    this.free = level
  }

  private resize(room: number, levelRoom: number): void {
    const { words } = this
    this.words = new Int32Array((levelRoom + room) * WORDS)
    this.floats = new Float64Array(this.words.buffer)
    this.words.set(words, levelRoom * WORDS - this.origin)
    this.origin = levelRoom * WORDS
    this.room = room
    this.levelRoom = levelRoom
  }
}

/** Of the class's own type, so that a spread, which loses its methods, does not pass for a book. */
export const make = () => new NodeBook()
