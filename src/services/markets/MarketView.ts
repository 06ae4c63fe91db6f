/**
 * Policy: the current state of every market, maintained from the event stream: books, tickers, open candles, recent
 * trades.
 *
 * Reads are synchronous and from memory. Followers are called once per change, after it is applied.
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

/** The changes of a market by one batch of events. */
export interface MarketChange {
  readonly symbol: string
  /** Net change of the levels in this batch, with the seq before and after; `undefined` if the book did not change. */
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
  /** Trade candles: first those that closed (`confirm`), then the open ones that changed. */
  readonly candles: ReadonlyArray<IntervalCandle>
  readonly tickerChanged: boolean
  /** Fills of liquidations, oldest first. */
  readonly liquidations: ReadonlyArray<Liquidation>
  readonly poolChanged: boolean
  /** Deleveraging alerts, oldest first. */
  readonly alerts: ReadonlyArray<AdlAlert>
  /** The book was rebuilt (backend reconnected, epoch changed): followers start from a snapshot. */
  readonly reset: boolean
  /**
   * The numbering has restarted, and events are read again. The change with `reset` is the last such one: followers start from
   * snapshots then.
   */
  readonly isRestarting: boolean
}

export class MarketView extends Context.Service<
  MarketView,
  {
    readonly instruments: () => ReadonlyArray<Instrument>
    readonly instrument: (symbol: string) => Instrument | undefined
    /** `undefined` if the market is unknown or its book is not loaded yet. */
    readonly book: (symbol: string, depth?: number) => BookView | undefined
    readonly ticker: (symbol: string) => Ticker | undefined
    readonly recentTrades: (symbol: string, limit: number) => ReadonlyArray<PublicTrade>
    /** The open candle of an interval; flat at the last close if it has no trade. `undefined` before any trade. */
    readonly openCandle: (symbol: string, interval: Interval) => Candle | undefined
    /** The insurance pool and the deleveraging state of a market, as last reported; `undefined` before that. */
    readonly pool: (symbol: string) => InsurancePool | undefined
    readonly alert: (symbol: string) => AdlAlert | undefined
    /** Engine time of the last applied event, Unix ms; 0 before the first. */
    readonly now: () => number
    /**
     * Changes when any result of this service changes, or a minute of {@link now} has passed. While it is unchanged,
     * the same read has the same result except for `ts`.
     */
    readonly revision: () => number
    /** Identity of the book numbering; changes when the backend restarts its numbering. */
    readonly streamId: () => string
    /**
     * Registers a listener; the returned function removes it. It is called synchronously and must not throw or wait.
     */
    readonly follow: (listener: (changes: ReadonlyArray<MarketChange>) => void) => () => void
  }
>()("gateway/services/MarketView") {}
