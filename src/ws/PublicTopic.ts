/** Public topics: who joined, what they carry, how often. Source: contract 5.5. */
import type { Depth, Interval } from "../domain/Enumerations.ts"
import type { Candle, Level, PublicTrade } from "../domain/Market.ts"
import { checksum } from "../domain/Book.ts"
import * as Decimal from "../domain/Decimal.ts"
import type { BookView, MarketView } from "../services/MarketView.ts"
import type { BookData, KlineData, TickerData, TradeData } from "./api/TopicData.ts"
import { type Frame, frameOf } from "./Frame.ts"
import { type Outbox, parcel, type Source } from "./Outbox.ts"
import type { Job } from "./Pacer.ts"

type View = typeof MarketView.Service

/** Trades that a new subscriber gets. */
export const TRADES_SHOWN = 50
/** Least time between two messages of a topic, in ms. */
export const BOOK_INTERVAL_MS = { 1: 20, 50: 20, 200: 100, 1000: 200 } as const satisfies Record<Depth, number>
export const TICKER_INTERVAL_MS = 100
/** Longest time between two tickers while the backend is well, in ms. */
export const TICKER_SILENCE_MS = 10_000
export const KLINE_INTERVAL_MS = 250

abstract class PublicTopic<Data> implements Source {
  readonly name: string
  abstract readonly conflatable: boolean
  readonly members = new Set<Outbox>()

  constructor(name: string) {
    this.name = name
  }
  abstract snapshot(now: number): Frame | undefined

  protected frame(data: Data, now: number): Frame {
    return frameOf({ op: "event", topic: this.name, server_ts_ms: now, data })
  }
  /** Offers one event to all members; it is encoded and framed once. */
  protected send(data: Data, now: number): void {
    if (this.members.size === 0) return
    const sent = parcel(this.frame(data, now), this, now)
    for (const member of this.members) member.offer(sent)
  }
}

export class TradeTopic extends PublicTopic<TradeData> {
  override readonly conflatable = false
  private readonly view: View
  private readonly symbol: string

  constructor(name: string, symbol: string, view: View) {
    super(name)
    this.symbol = symbol
    this.view = view
  }
  override snapshot(now: number): Frame {
    const list = this.view.recentTrades(this.symbol, TRADES_SHOWN).toReversed()
    return this.frame({ type: "snapshot", ts: now, symbol: this.symbol, list }, now)
  }
  /** Sends the trades of each matching event, which share its seq, as one update. */
  publish(trades: ReadonlyArray<PublicTrade>, now: number): void {
    let start = 0
    for (let end = 1; end <= trades.length; end++) {
      if (trades[end]?.seq === trades[start]!.seq) continue
      this.send({ type: "update", ts: now, symbol: this.symbol, list: trades.slice(start, end) }, now)
      start = end
    }
  }
}

export class TickerTopic extends PublicTopic<TickerData> implements Job {
  override readonly conflatable = true
  readonly interval_ms = TICKER_INTERVAL_MS
  lastRun = -Infinity
  private readonly view: View
  private readonly symbol: string

  constructor(name: string, symbol: string, view: View) {
    super(name)
    this.symbol = symbol
    this.view = view
  }
  private data(now: number): TickerData | undefined {
    const ticker = this.view.ticker(this.symbol)
    return ticker && { type: "snapshot", ...ticker, ts: now }
  }
  override snapshot(now: number): Frame | undefined {
    // the first one is the topic's first message: the cadence counts from it
    if (this.members.size <= 1) this.lastRun = now
    const data = this.data(now)
    return data && this.frame(data, now)
  }
  readonly run = (now: number): void => {
    const data = this.data(now)
    if (data !== undefined) this.send(data, now)
  }
}

export class KlineTopic extends PublicTopic<KlineData> implements Job {
  override readonly conflatable = true
  readonly interval_ms = KLINE_INTERVAL_MS
  lastRun = -Infinity
  private readonly view: View
  private readonly symbol: string
  private readonly interval: Interval
  private latest: Candle | undefined

  constructor(name: string, symbol: string, interval: Interval, view: View) {
    super(name)
    this.symbol = symbol
    this.interval = interval
    this.view = view
  }
  private data(type: "snapshot" | "update", list: ReadonlyArray<Candle>, now: number): KlineData {
    return { type, ts: now, symbol: this.symbol, interval: this.interval, list }
  }
  override snapshot(now: number): Frame {
    const open = this.view.openCandle(this.symbol, this.interval)
    return this.frame(this.data("snapshot", open === undefined ? [] : [open], now), now)
  }
  /** Takes a change in; true: it is due for a paced update. A closed candle is sent at once, so that it is sent once. */
  changed(candle: Candle, now: number): boolean {
    if (candle.confirm) {
      if (this.latest?.start_time === candle.start_time) this.latest = undefined
      this.send(this.data("update", [candle], now), now)
      return false
    }
    this.latest = candle
    return true
  }
  readonly run = (now: number): void => {
    if (this.latest === undefined) return
    this.send(this.data("update", [this.latest], now), now)
    this.latest = undefined
  }
}

interface Sides {
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
}

const NO_LEVELS: ReadonlyArray<Level> = []

/** Levels whose total differs between two views of one side, with the new total; "0": left the view. */
export const changedLevels = (before: ReadonlyArray<Level>, after: ReadonlyArray<Level>): ReadonlyArray<Level> => {
  // equal ends need no look-up: most changes touch a few levels
  let start = 0
  let beforeEnd = before.length
  let afterEnd = after.length
  const same = (a: Level, b: Level): boolean => a === b || (a[0] === b[0] && a[1] === b[1])
  while (start < beforeEnd && start < afterEnd && same(before[start]!, after[start]!)) start++
  while (beforeEnd > start && afterEnd > start && same(before[beforeEnd - 1]!, after[afterEnd - 1]!)) {
    beforeEnd--
    afterEnd--
  }
  if (start === beforeEnd && start === afterEnd) return NO_LEVELS
  const old = new Map<string, string>()
  for (let i = start; i < beforeEnd; i++) old.set(before[i]![0], before[i]![1])
  const changed: Array<Level> = []
  for (let i = start; i < afterEnd; i++) {
    const level = after[i]!
    if (old.get(level[0]) !== level[1]) changed.push(level)
    old.delete(level[0])
  }
  for (const price of old.keys()) changed.push([price, "0"])
  return changed
}

const crossed = ({ asks, bids }: Sides): boolean =>
  bids.length > 0 && asks.length > 0 && Decimal.parse(bids[0]![0]) >= Decimal.parse(asks[0]![0])

/**
 * One depth of one book. What was published last is kept here, so that a delta is derived once for all members, and one
 * who joins in between gets exactly what they have. Source: contract 5.6.
 */
export class BookTopic extends PublicTopic<BookData> implements Job {
  override readonly conflatable = true
  readonly interval_ms: number
  lastRun = -Infinity
  private readonly view: View
  private readonly symbol: string
  private readonly depth: Depth
  private published: (BookView & { readonly checksum: number; readonly stream_id: string }) | undefined

  constructor(name: string, symbol: string, depth: Depth, view: View) {
    super(name)
    this.symbol = symbol
    this.depth = depth
    this.interval_ms = BOOK_INTERVAL_MS[depth]
    this.view = view
  }

  private current(): typeof this.published {
    const book = this.view.book(this.symbol, this.depth)
    // the book is never crossed in any message, whatever happens behind it
    if (book === undefined || crossed(book)) return undefined
    return { ...book, checksum: checksum(book.bids, book.asks), stream_id: this.view.streamId() }
  }

  private snapshotData(now: number): BookData | undefined {
    const book = this.published
    return (
      book && {
        type: "snapshot",
        symbol: this.symbol,
        depth: this.depth,
        bids: book.bids,
        asks: book.asks,
        seq: book.seq,
        stream_id: book.stream_id,
        ts: now,
        mts: book.mts,
        checksum: book.checksum
      }
    )
  }

  override snapshot(now: number): Frame | undefined {
    this.published ??= this.current()
    const data = this.snapshotData(now)
    return data && this.frame(data, now)
  }

  /** Sends the net change since the last message; nothing where the view of this depth stands as it was. */
  readonly run = (now: number): void => {
    const before = this.published
    const after = this.current()
    if (after === undefined) return
    if (before === undefined || before.stream_id !== after.stream_id) return this.reset(now)
    const bids = changedLevels(before.bids, after.bids)
    const asks = changedLevels(before.asks, after.asks)
    if (bids.length === 0 && asks.length === 0) return
    this.published = after
    if (this.depth === 1) return this.send(this.snapshotData(now)!, now)
    this.send(
      {
        type: "delta",
        symbol: this.symbol,
        depth: this.depth,
        bids,
        asks,
        seq: after.seq,
        prev_seq: before.seq,
        ts: now,
        mts: after.mts,
        checksum: after.checksum
      },
      now
    )
  }

  /** Sends a new snapshot to all: the book was built anew. */
  reset(now: number): void {
    this.published = this.current()
    const data = this.snapshotData(now)
    if (data !== undefined) this.send(data, now)
  }
}
