/**
 * A flow of orders, generated in advance and stored in columns, so that running it measures the book alone: 60 % resting
 * orders, 30 % cancellations of open orders, 10 % marketable orders that sweep some of them. It ends with the cancellation
 * of all remaining orders, so that it can run again on the same book.
 */
import * as OrderBook from "../../src/backend/engine/book/OrderBook.ts"
import * as Slots from "../../src/backend/engine/book/Slots.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"
import * as Venue from "./Venue.ts"

export const Kind = { ADD: 0, CANCEL: 1, TAKE: 2 } as const

export interface Flow {
  readonly count: number
  /** operations of the mix; the others empty the book */
  readonly mixed: number
  /** added orders */
  readonly adds: number
  readonly kind: ArrayLike<number>
  readonly side: ArrayLike<Side>
  readonly ticks: Int32Array
  readonly lots: Int32Array
  /** of a cancellation: the number of its order, from 1 in the order of addition */
  readonly target: Int32Array
}

const MIDDLE = 100_000
/** Distance of resting orders from the middle; most are near it. */
const SPREAD = 1_000
const LOTS_MAX = 100
/** Average number of orders that a marketable one takes, which keeps the size of the book stable. */
const SWEEP = 3

/** A small seeded generator: mulberry32. */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}

/** Generates a flow over a book that starts with `resting` orders, which are not counted. */
export const make = (seed: number, mixed: number, resting: number): Flow => {
  const next = random(seed)
  const room = 2 * (mixed + resting)
  const kind = new Uint8Array(room)
  const side = new Uint8Array(room)
  const ticks = new Int32Array(room)
  const lots = new Int32Array(room)
  const target = new Int32Array(room)
  const venue = Venue.make(OrderBook.make(), Slots.make(), mixed + resting)
  /** orders that were open when they were put here */
  const open: Array<number> = []
  let count = 0
  let adds = 0
  const add = (): void => {
    const buy = next() < 0.5
    const distance = 1 + Math.floor(SPREAD * next() ** 3)
    kind[count] = Kind.ADD
    side[count] = buy ? Side.SIDE_BUY : Side.SIDE_SELL
    ticks[count] = buy ? MIDDLE - distance : MIDDLE + distance
    lots[count] = 1 + Math.floor(LOTS_MAX * next())
    open.push(venue.place(1, buy ? Side.SIDE_BUY : Side.SIDE_SELL, ticks[count]!, lots[count]!, Venue.Smp.TAKER))
    adds++
    count++
  }
  const drawOpen = (): number => {
    while (open.length > 0) {
      const i = Math.floor(next() * open.length)
      const number = open[i]!
      open[i] = open.at(-1)!
      open.pop()
      if (venue.isOpen(number)) return number
    }
    return 0
  }
  const cancel = (number: number): void => {
    kind[count] = Kind.CANCEL
    target[count] = number
    venue.cancel(number)
    count++
  }
  const take = (): void => {
    const buy = next() < 0.5
    kind[count] = Kind.TAKE
    side[count] = buy ? Side.SIDE_BUY : Side.SIDE_SELL
    ticks[count] = buy ? MIDDLE + SPREAD : MIDDLE - SPREAD
    lots[count] = 1 + Math.floor(SWEEP * LOTS_MAX * next())
    venue.take(2, buy ? Side.SIDE_BUY : Side.SIDE_SELL, ticks[count]!, lots[count]!, Venue.Smp.TAKER)
    count++
  }
  for (let i = 0; i < resting; i++) add()
  for (let i = 0; i < mixed; i++) {
    const dice = next()
    const number = dice >= 0.6 && dice < 0.9 ? drawOpen() : 0
    if (number > 0) cancel(number)
    else if (dice < 0.9) add()
    else take()
  }
  for (let number = drawOpen(); number > 0; number = drawOpen()) cancel(number)
  return { count, mixed, adds, kind, side: side as ArrayLike<number> as ArrayLike<Side>, ticks, lots, target }
}
