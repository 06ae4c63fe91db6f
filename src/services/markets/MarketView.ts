/**
 * Policy: the latest of every market, kept from the event stream: books, tickers, open candles, recent trades.
 *
 * Reads are synchronous and answer from memory. Whoever follows it is called once per change, after the change is in.
 * Source: docs/contract/rest-market.md, docs/contract/websocket.md#public-topics, #order-book.
 */
import { Context } from "effect"
import type { IntervalCandle } from "../../domain/Candles.ts"
import type { Interval } from "../../domain/Enumerations.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import type { Liquidation } from "../../domain/Liquidation.ts"
import type { Candle, Instrument, Level, PublicTrade, Ticker } from "../../domain/Market.ts"

export interface BookView {
  readonly symbol: string
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
  readonly seq: number
  readonly mts: number
}

/** What one batch of events changed of a market. */
export interface MarketChange {
  readonly symbol: string
  /** Net change of the levels in this batch, with the seq before and after; `undefined`: the book stands still. */
  readonly book:
    | {
        readonly prev_seq: number
        readonly seq: number
        readonly mts: number
        readonly bids: ReadonlyArray<Level>
        readonly asks: ReadonlyArray<Level>
      }
    | undefined
  /** Trades, oldest first, those of one matching event together. */
  readonly prints: ReadonlyArray<ReadonlyArray<PublicTrade>>
  /** Of trades: those that were closed (`confirm`), then the open ones that changed. */
  readonly candles: ReadonlyArray<IntervalCandle>
  readonly tickerChanged: boolean
  /** Fills of liquidations, oldest first. */
  readonly liquidations: ReadonlyArray<Liquidation>
  readonly poolChanged: boolean
  /** What deleveraging came to, oldest first. */
  readonly alerts: ReadonlyArray<AdlAlert>
  /** The book was built anew (backend lost and regained, epoch changed): followers start from a snapshot. */
  readonly reset: boolean
}

export class MarketView extends Context.Service<
  MarketView,
  {
    readonly instruments: () => ReadonlyArray<Instrument>
    readonly instrument: (symbol: string) => Instrument | undefined
    /** `undefined`: unknown, or not yet read. */
    readonly book: (symbol: string, depth?: number) => BookView | undefined
    readonly ticker: (symbol: string) => Ticker | undefined
    readonly recentTrades: (symbol: string, limit: number) => ReadonlyArray<PublicTrade>
    /** The open candle of an interval; without a trade in it, flat at the last close. `undefined` before any trade. */
    readonly openCandle: (symbol: string, interval: Interval) => Candle | undefined
    /** The insurance pool of a market, and where its deleveraging stands, as told last; `undefined` before that. */
    readonly pool: (symbol: string) => InsurancePool | undefined
    readonly alert: (symbol: string) => AdlAlert | undefined
    /** Engine time of the last event that is in, Unix ms; 0 before the first. */
    readonly now: () => number
    /**
     * Moves whenever something that is answered here has changed, or a minute of {@link now} has passed: while it stands,
     * the same question has the same answer but for `ts`.
     */
    readonly revision: () => number
    /** Identity of the numbers in books: changes when the backend's numbering starts anew. */
    readonly streamId: () => string
    /** Follows changes; the returned function ends it. Called synchronously: it must not throw or wait. */
    readonly follow: (listener: (changes: ReadonlyArray<MarketChange>) => void) => () => void
  }
>()("gateway/services/MarketView") {}
