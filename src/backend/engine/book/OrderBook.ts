/**
 * The resting orders of one market in price-time priority: a pure data structure of integers.
 *
 * Prices are ticks from 1 up, quantities are lots. The caller identifies an order by a slot, a small integer that can
 * be reused after removal. Orders and levels are nodes of one typed array, linked by index, so that nothing is
 * allocated while the book stays within its largest size so far. Adding, reducing, removing and finding the best price
 * have constant cost. Ownership, matching rules and events are the caller's concern.
 */
import { Side } from "../../../proto/gateway/v1/types.ts"
import * as PriceLadder from "./PriceLadder.ts"

/** Marks a missing order. Slots are never negative. */
export const NONE = -1

export interface OrderBook {
  /** Adds an order behind all others of its price. */
  readonly add: (slot: number, side: Side, ticks: number, lots: number) => void
  /** Removes lots from an order, fewer than it has; the order keeps its priority. */
  readonly reduce: (slot: number, lots: number) => void
  readonly remove: (slot: number) => void
  readonly has: (slot: number) => boolean
  /** Side of an order in the book. */
  readonly sideOf: (slot: number) => Side
  readonly ticksOf: (slot: number) => number
  readonly lotsOf: (slot: number) => number
  /** The first order of a side in priority; {@link NONE} on an empty side. */
  readonly first: (side: Side) => number
  /** The next order in priority, at the same price or a worse one. */
  readonly after: (slot: number) => number
  /** The best price of a side. */
  readonly best: (side: Side) => number | undefined
  /** The next worse price of a side after `ticks`, which must be a level. */
  readonly worse: (side: Side, ticks: number) => number | undefined
  /** Total lots at a price; 0 where nothing rests. */
  readonly total: (side: Side, ticks: number) => number
}

/** The other side. */
export const opposite = (side: Side): Side => (side === Side.SIDE_BUY ? Side.SIDE_SELL : Side.SIDE_BUY)

/** Total lots at one price. */
export interface Level {
  readonly ticks: number
  readonly lots: number
}

/** Levels of a side, best first; depth 0 returns all. */
export const levels = (book: OrderBook, side: Side, depth: number): ReadonlyArray<Level> => {
  const most = depth === 0 ? Number.POSITIVE_INFINITY : depth
  const found: Array<Level> = []
  for (let ticks = book.best(side); ticks !== undefined && found.length < most; ticks = book.worse(side, ticks))
    found.push({ ticks, lots: book.total(side, ticks) })
  return found
}

/** A book that overrides some methods of another one. */
export const overriding = (book: OrderBook, own: Partial<OrderBook>): OrderBook => ({
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

/** Initial capacity for orders and for levels; doubled when exceeded. */
const ROOM = 256

/** An order or a level is a node of eight words: half a cache line. */
const WORDS = 8
/** Next and previous node. The orders of a level form a ring that includes the level's node. */
const NEXT = 0
const PREVIOUS = 1
/** The level of an order; 0: the order is not in the book. */
const LEVEL = 2
/** Floats in the place of words 4 to 7: the lots of an order, or the total of a level, and the key. */
const LOTS = 2
const KEY = 3

const BUY = Side.SIDE_BUY
const SELL = Side.SIDE_SELL
/** 1 for bids, -1 for asks; computed without a branch, because the side of the next order is unpredictable. */
const signOf = (side: Side): number => 1 - 2 * (side - BUY)

/** A class, so that its methods are shared and the compiler inlines constants. */
class NodeBook implements OrderBook {
  /**
   * Bids are keyed by price and asks by negated price: the sign gives the side, and the best price of a side has the
   * highest key.
   */
  private readonly ladder = PriceLadder.make()
  /** best level by side */
  private readonly bests = new Int32Array(1 + SELL).fill(NONE)

  // an order's node is its slot; levels have negative nodes, and NONE is the missing level
  private room = ROOM
  private levelRoom = ROOM
  private words = new Int32Array(2 * ROOM * WORDS)
  private floats = new Float64Array(this.words.buffer)
  /** Index of the first word of node 0. */
  private origin = ROOM * WORDS
  /** Free levels, linked by NEXT. Levels below `lowest` have never been used. */
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
    // both neighbors are the level: it is empty now
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

  /** Index of the first word of an order's node. */
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

/** Returns the class type: a spread of a book loses its methods and does not type-check. */
export const make = () => new NodeBook()
