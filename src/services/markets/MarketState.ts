/**
 * The state of {@link MarketView}, updated only by the projector: committed batches in, changes out.
 *
 * A book is read from the sequencer once and then maintained from the stream. Read and stream are joined by
 * `book_seq`: changes that arrive during a read are queued, a read ahead of the committed position waits for the
 * stream, and a book that does not fit is read again. Readers see a book only at a committed position.
 */
import type { Clock } from "effect"
import { Book } from "../../domain/Book.ts"
import { bucketStart, flat, type IntervalCandle } from "../../domain/Candles.ts"
import { DayWindow } from "../../domain/DayWindow.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { Interval } from "../../domain/Enumerations.ts"
import type { Event } from "../../domain/Event.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import { type Liquidation, liquidationOf } from "../../domain/Liquidation.ts"
import type { Candle, Instrument, Level, Prices, PublicTrade, Ticker } from "../../domain/Market.ts"
import { type ModelPosition, type Projection, streamIdOf } from "../../domain/Projection.ts"
import * as RecordJson from "../../domain/RecordJson.ts"
import { iso, MINUTE_MS } from "../../domain/Time.ts"
import { TRADES_KEPT } from "../History.ts"
import type { BookView, MarketChange, MarketView } from "./MarketView.ts"

/** Most queued changes of a book during its read; beyond that, the book is read again. */
const CHANGES_WAITING_MAX = 50_000

/** A book read from the sequencer. */
export interface BookRead {
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
  readonly book_seq: number
  readonly mts: number
  readonly as_of_seq: number
}

interface BookMove {
  /** `book_seq` of the previous change; a book at another seq has missed a change. */
  readonly after: number
  readonly book_seq: number
  readonly mts: number
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
}

/** A book between its read and its join with the stream. */
interface Joining {
  /** Position from which changes are queued; a read before it would leave a gap. */
  readonly since: number
  readonly changes: Array<BookMove>
  read: BookRead | undefined
  /** Whether the read has begun. */
  isBegun: boolean
}

interface Market {
  readonly symbol: string
  instrument: Instrument | undefined
  book: Book | undefined
  mts: number
  joining: Joining | undefined
  /** Oldest first. */
  trades: Array<PublicTrade>
  candles: ReadonlyArray<IntervalCandle>
  readonly day: DayWindow
  prices: Prices | undefined
  /** From the last trades, or from the last price sample if that is later. */
  openInterest: string | undefined
  pool: InsurancePool | undefined
  alert: AdlAlert | undefined
  /** The numbering has restarted, and the book is not read yet. */
  isRestarting: boolean
  /** Cached ticker without its time; cleared by every change of it. */
  ticker: Omit<Ticker, "ts"> | undefined
}

/** Initial state of a market after a start. */
export interface MarketStart {
  readonly symbol: string
  readonly instrument: Instrument | undefined
  /** Newest first. */
  readonly trades: ReadonlyArray<PublicTrade>
  readonly candles: ReadonlyArray<IntervalCandle>
  /** 1-minute candles of the last day and the one before them, newest first. */
  readonly minutes: ReadonlyArray<Candle>
  readonly pool: InsurancePool | undefined
  readonly alert: AdlAlert | undefined
}

/** Changes of a market within the current batch. */
class Draft {
  prev_seq = -1
  seq = -1
  mts = 0
  moves = 0
  bids: ReadonlyArray<Level> = []
  asks: ReadonlyArray<Level> = []
  readonly prints: Array<ReadonlyArray<PublicTrade>> = []
  candles: ReadonlyArray<IntervalCandle> = []
  tickerChanged = false
  readonly liquidations: Array<Liquidation> = []
  poolChanged = false
  readonly alerts: Array<AdlAlert> = []
  reset = false

  move(before: number, { book_seq, mts, bids, asks }: BookMove): void {
    if (this.moves++ === 0) {
      this.prev_seq = before
      this.bids = bids
      this.asks = asks
    } else {
      this.bids = lastOfEach(this.bids, bids)
      this.asks = lastOfEach(this.asks, asks)
    }
    this.seq = book_seq
    this.mts = mts
  }
  /** The book was replaced: a snapshot follows, so earlier moves are dropped. */
  replaced(): void {
    this.moves = 0
    this.reset = true
    this.tickerChanged = true
  }
  change(symbol: string, isRestarting: boolean): MarketChange {
    const { alerts, asks, bids, candles, liquidations, mts, poolChanged, prev_seq, prints, reset, seq, tickerChanged } =
      this
    return {
      symbol,
      book: this.moves === 0 ? undefined : { prev_seq, seq, mts, bids, asks },
      prints,
      candles,
      tickerChanged,
      liquidations,
      poolChanged,
      alerts,
      reset,
      isRestarting
    }
  }
}

const lastOfEach = (earlier: ReadonlyArray<Level>, later: ReadonlyArray<Level>): ReadonlyArray<Level> => {
  if (later.length === 0) return earlier
  const levels = new Map(earlier.map((level) => [level[0], level]))
  for (const level of later) levels.set(level[0], level)
  return [...levels.values()]
}

const levelsOf = (levels: ReadonlyArray<Level>): ReadonlyArray<Level> =>
  levels.map(([price, qty]) => [RecordJson.decimal(price), RecordJson.decimal(qty)])

/** The trades of a batch, grouped by event. */
const printsOf = ({ trades }: Projection): ReadonlyArray<ReadonlyArray<PublicTrade>> => {
  const prints: Array<Array<PublicTrade>> = []
  let last: number | undefined
  for (const { seq, trade } of trades) {
    if (seq === last) prints.at(-1)!.push(trade)
    else prints.push([trade])
    last = seq
  }
  return prints
}

type Listener = (changes: ReadonlyArray<MarketChange>) => void

export class MarketState {
  private markets = new Map<string, Market>()
  private position: ModelPosition | undefined
  private revision = 0
  private lost = false
  private isRestarting = false
  /** Engine time up to which followers have seen the earlier numberings. */
  private seenUntil = 0
  private readonly listeners = new Set<Listener>()
  private readonly clock: Clock.Clock
  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  /** Restarts at a committed position; every book has to be read. */
  start(position: ModelPosition | undefined, starts: ReadonlyArray<MarketStart>): void {
    const former = this.view.streamId()
    const seen = this.view.now()
    this.position = position
    if (former !== "" && former !== this.view.streamId()) {
      this.isRestarting = true
      this.seenUntil = Math.max(this.seenUntil, seen)
    } else this.isRestarting = [...this.markets.values()].some((market) => market.isRestarting)
    this.revision++
    this.markets = new Map()
    for (const { symbol, instrument, trades, candles, minutes, pool, alert } of starts) {
      const market = this.market(symbol)
      market.pool = pool
      market.alert = alert
      market.instrument = instrument
      market.trades = trades.toReversed()
      market.candles = candles
      for (const minute of minutes.toReversed()) market.day.put(minute)
      const open = candles.find(({ interval }) => interval === "1")
      if (open !== undefined) market.day.put(open.candle)
      market.day.advance(this.position?.ts_ms ?? 0)
    }
  }
  /** Adds instruments read from the sequencer; the stream reports only changed ones. */
  know(instruments: ReadonlyArray<Instrument>): void {
    this.revision++
    for (const instrument of instruments) this.market(instrument.symbol).instrument = instrument
  }
  /** Adds prices of markets without a sample on the stream yet. */
  seed(prices: ReadonlyArray<Prices>): void {
    this.revision++
    for (const each of prices) this.market(each.symbol).prices ??= each
  }
  /** Adds a pool and its alert, unless the stream has reported them already. */
  seedPool(symbol: string, pool: InsurancePool, alert: AdlAlert): void {
    const market = this.market(symbol)
    const draft = new Draft()
    if (market.pool === undefined) {
      market.pool = pool
      draft.poolChanged = true
    }
    if (market.alert === undefined) {
      market.alert = alert
      draft.alerts.push(alert)
    }
    if (draft.poolChanged || draft.alerts.length > 0) this.notify([[symbol, draft]])
  }
  /** The connection to the sequencer is lost; followers may have missed book changes. */
  interrupted(): void {
    this.lost = true
  }
  /** The connection is restored: followers start from a snapshot. */
  regained(): void {
    if (!this.lost) return
    this.lost = false
    const known = [...this.markets.values()].filter((market) => market.book !== undefined)
    this.notify(known.map((market) => [market.symbol, resetDraft()]))
  }

  /** Applies a committed batch and notifies the followers. */
  apply(events: ReadonlyArray<Event>, projection: Projection): void {
    const before = this.view.now()
    this.position = projection.position
    if (Math.floor(before / MINUTE_MS) !== Math.floor(this.view.now() / MINUTE_MS)) this.revision++
    const drafts = new Map<string, Draft>()
    const draftOf = (symbol: string): Draft => {
      let draft = drafts.get(symbol)
      if (draft === undefined) drafts.set(symbol, (draft = new Draft()))
      return draft
    }
    for (const instrument of projection.instruments) {
      const market = this.market(instrument.symbol)
      market.instrument = instrument
      this.revision++
    }
    for (const { trade } of projection.trades) {
      const { trades } = this.market(trade.symbol)
      trades.push(trade)
      // truncate in large portions: the array is copied once per thousand trades
      if (trades.length >= 2 * TRADES_KEPT) trades.splice(0, trades.length - TRADES_KEPT)
    }
    for (const print of printsOf(projection)) {
      const draft = draftOf(print[0]!.symbol)
      if (!this.isSeen(print[0]!.symbol, print[0]!.timestamp)) draft.prints.push(print)
    }
    for (const { kind, symbol, closed, last } of projection.candles) {
      if (kind !== "trade") continue
      const market = this.market(symbol)
      for (const { interval, candle } of closed) if (interval === "1") market.day.put(candle)
      const open = last[0]
      if (open !== undefined && !open.candle.confirm) market.day.put(open.candle)
      const moved = last.filter(({ candle }) => !candle.confirm)
      market.candles = last
      const draft = draftOf(symbol)
      draft.candles = [...closed, ...moved]
      draft.tickerChanged = true
    }
    for (const { body, ts_ms } of events) {
      if (body.type === "book") {
        const market = this.market(body.symbol)
        this.moveBook(market, draftOf(body.symbol), {
          after: body.prev_book_seq ?? body.book_seq - 1,
          book_seq: body.book_seq,
          mts: ts_ms,
          bids: levelsOf(body.bids),
          asks: levelsOf(body.asks)
        })
      } else if (body.type === "prices") {
        for (const prices of body.prices) {
          const market = this.market(prices.symbol)
          market.prices = prices
          market.openInterest = prices.open_interest
          market.day.advance(prices.ts_ms)
          draftOf(prices.symbol).tickerChanged = true
        }
      } else if (body.type === "trades") {
        if (body.open_interest !== undefined) this.market(body.symbol).openInterest = body.open_interest
      } else if (body.type === "execution") {
        const liquidation = liquidationOf(body.execution)
        if (liquidation !== undefined && !this.isSeen(liquidation.symbol, ts_ms))
          draftOf(liquidation.symbol).liquidations.push(liquidation)
      } else if (body.type === "pool") {
        this.market(body.symbol).pool = body.pool
        draftOf(body.symbol).poolChanged = true
      } else if (body.type === "adl") {
        this.market(body.alert.symbol).alert = body.alert
        draftOf(body.alert.symbol).alerts.push(body.alert)
      }
    }
    for (const market of this.markets.values()) if (market.joining?.read !== undefined) this.join(market, draftOf)
    this.notify(drafts)
  }

  /**
   * Books that need a read which has not begun. The caller performs each read and passes the result to `done`.
   */
  booksToRead(): ReadonlyArray<{ readonly symbol: string; readonly done: (read: BookRead) => void }> {
    const wanted: Array<{ readonly symbol: string; readonly done: (read: BookRead) => void }> = []
    for (const market of this.markets.values()) {
      const { joining } = market
      if (joining === undefined || joining.isBegun) continue
      joining.isBegun = true
      wanted.push({
        symbol: market.symbol,
        done: (read) => {
          if (market.joining !== joining) return
          joining.read = { ...read, bids: levelsOf(read.bids), asks: levelsOf(read.asks) }
          const drafts = new Map<string, Draft>()
          this.join(market, () => {
            const draft = new Draft()
            drafts.set(market.symbol, draft)
            return draft
          })
          this.notify(drafts)
        }
      })
    }
    return wanted
  }

  /** The read interface. */
  readonly view: MarketView["Service"] = {
    instruments: () =>
      [...this.markets.values()].flatMap(({ instrument }) => (instrument === undefined ? [] : [instrument])),
    instrument: (symbol) => this.markets.get(symbol)?.instrument,
    book: (symbol, depth) => this.bookView(symbol, depth),
    ticker: (symbol) => {
      const market = this.markets.get(symbol)
      const ticker = market && this.ticker(market)
      return ticker && { ...ticker, ts: this.clock.currentTimeMillisUnsafe() }
    },
    recentTrades: (symbol, limit) => {
      const trades = this.markets.get(symbol)?.trades ?? []
      return trades.slice(Math.max(0, trades.length - Math.min(limit, TRADES_KEPT))).reverse()
    },
    openCandle: (symbol, interval) => this.openCandle(symbol, interval),
    pool: (symbol) => this.markets.get(symbol)?.pool,
    alert: (symbol) => this.markets.get(symbol)?.alert,
    now: () => this.position?.ts_ms ?? 0,
    revision: () => this.revision,
    streamId: () => (this.position === undefined ? "" : streamIdOf(this.position)),
    follow: (listener) => {
      this.listeners.add(listener)
      return () => void this.listeners.delete(listener)
    }
  }

  private market(symbol: string): Market {
    let market = this.markets.get(symbol)
    if (market === undefined) {
      market = {
        symbol,
        instrument: undefined,
        book: undefined,
        mts: 0,
        joining: this.unread(),
        trades: [],
        candles: [],
        day: new DayWindow(),
        prices: undefined,
        openInterest: undefined,
        pool: undefined,
        alert: undefined,
        isRestarting: this.isRestarting,
        ticker: undefined
      }
      this.markets.set(symbol, market)
    }
    return market
  }
  /** Whether followers have seen an event of this time, which is read again. */
  private isSeen(symbol: string, ts_ms: number): boolean {
    return ts_ms <= this.seenUntil && this.market(symbol).isRestarting
  }
  private unread(): Joining {
    return { since: this.position?.seq ?? 0, changes: [], read: undefined, isBegun: false }
  }
  private moveBook(market: Market, draft: Draft, move: BookMove): void {
    const { book, joining } = market
    if (joining !== undefined) {
      if (joining.changes.push(move) > CHANGES_WAITING_MAX) market.joining = this.unread()
      return
    }
    if (book === undefined || move.book_seq <= book.seq) return
    if (move.after !== book.seq) {
      // a change is missing: hide the book until it is read again
      market.book = undefined
      market.ticker = undefined
      market.joining = this.unread()
      this.revision++
      return
    }
    const bid = book.bids(1)[0]
    const ask = book.asks(1)[0]
    draft.move(book.seq, move)
    book.apply(move.bids, move.asks, move.book_seq)
    market.mts = move.mts
    if (book.bids(1)[0] !== bid || book.asks(1)[0] !== ask) draft.tickerChanged = true
  }
  /** Joins a read with the queued changes, once the stream has reached the position of the read. */
  private join(market: Market, draftOf: (symbol: string) => Draft): void {
    const joining = market.joining!
    const read = joining.read!
    if ((this.position?.seq ?? 0) < read.as_of_seq) return
    const later = joining.changes.filter(({ book_seq }) => book_seq > read.book_seq)
    const whole = later.every(({ after }, i) => after === (later[i - 1] ?? read).book_seq)
    if (read.as_of_seq < joining.since || !whole) {
      market.joining = this.unread()
      return
    }
    const book = new Book()
    book.reset(read.bids, read.asks, read.book_seq)
    for (const { asks, bids, book_seq } of later) book.apply(bids, asks, book_seq)
    market.book = book
    market.mts = later.at(-1)?.mts ?? read.mts
    market.joining = undefined
    draftOf(market.symbol).replaced()
  }
  private notify(drafts: Iterable<readonly [string, Draft]>): void {
    const changes: Array<MarketChange> = []
    for (const [symbol, draft] of drafts) {
      this.revision++
      const market = this.markets.get(symbol)
      changes.push(draft.change(symbol, market?.isRestarting ?? false))
      if (market === undefined) continue
      if (draft.tickerChanged) market.ticker = undefined
      if (draft.reset) market.isRestarting = false
    }
    if (changes.length > 0) for (const listener of Array.from(this.listeners)) listener(changes)
  }

  private bookView(symbol: string, depth: number | undefined): BookView | undefined {
    const market = this.markets.get(symbol)
    if (market?.book === undefined) return undefined
    const { book, mts } = market
    return { symbol, bids: book.bids(depth), asks: book.asks(depth), seq: book.seq, mts }
  }
  private openCandle(symbol: string, interval: Interval): Candle | undefined {
    const last = this.markets.get(symbol)?.candles.find((each) => each.interval === interval)?.candle
    // an order of the next interval can precede the trade or price sample that closes the candle
    if (last?.confirm !== true) return last
    return flat(interval, bucketStart(interval, Math.max(this.view.now(), last.end_time)), last.close, false)
  }
  private ticker(market: Market): Omit<Ticker, "ts"> | undefined {
    if (market.ticker !== undefined || market.prices === undefined) return market.ticker
    const { book, day, prices, symbol, trades } = market
    const last_price = trades.at(-1)?.price ?? RecordJson.decimal(prices.last_price ?? prices.mark_price)
    const last = Decimal.parse(last_price)
    const { high, low, previous, turnover, volume } = day.numbers(last)
    const bid = book?.bids(1)[0]
    const ask = book?.asks(1)[0]
    const mark = Decimal.parse(prices.mark_price)
    const open_interest = RecordJson.decimal(market.openInterest ?? prices.open_interest)
    market.ticker = {
      symbol,
      last_price,
      mark_price: Decimal.format(mark),
      index_price: RecordJson.decimal(prices.index_price),
      prev_price_24h: Decimal.format(previous),
      price_24h_pcnt: previous === 0n ? "0" : Decimal.format(Decimal.div(last - previous, previous, "toward-zero")),
      high_price_24h: Decimal.format(high),
      low_price_24h: Decimal.format(low),
      volume_24h: Decimal.format(volume),
      turnover_24h: Decimal.format(turnover),
      open_interest,
      open_interest_value: Decimal.format(Decimal.mul(Decimal.parse(open_interest), mark, "toward-zero")),
      funding_rate: RecordJson.decimal(prices.funding_rate),
      next_funding_time: iso(prices.next_funding_time_ms),
      next_funding_time_ms: prices.next_funding_time_ms,
      ...(bid === undefined ? undefined : { bid1_price: bid[0], bid1_size: bid[1] }),
      ...(ask === undefined ? undefined : { ask1_price: ask[0], ask1_size: ask[1] })
    }
    return market.ticker
  }
}

const resetDraft = (): Draft => {
  const draft = new Draft()
  draft.replaced()
  return draft
}
