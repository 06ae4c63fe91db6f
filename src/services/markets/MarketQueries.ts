/**
 * Policy: market reads over REST, from memory and stored candles.
 * Source: docs/contract/rest-market.md, docs/contract/boundary.md#lagging.
 */
import { Context, Effect, Layer } from "effect"
import type { InstrumentStatus, Interval } from "../../domain/Enumerations.ts"
import type { Candle, Instrument, PublicTrade, Ticker } from "../../domain/Market.ts"
import { Cursors } from "../operations/Cursors.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import type { HistoryUnavailable } from "../History.ts"
import { Klines } from "./Klines.ts"
import { type BookView, MarketView } from "./MarketView.ts"
import { unknownMarket } from "./UnknownMarket.ts"
import type { Page } from "../operations/Paging.ts"
import { DomainError } from "../DomainError.ts"

/** A result, with the age of its data while the backend is unavailable. */
export interface Aged<A> {
  readonly value: A
  readonly age_ms: number | undefined
}

/** Why a read of a market is refused. */
export type MarketReason = "SymbolNotFound" | UnhealthyReason
type Read<A, E = never> = Effect.Effect<Aged<A>, DomainError<MarketReason> | E>

const notLoaded = new DomainError("BackendUnavailable")

/** Runs a read if the symbol exists and the data is recent enough. */
export const agedReads =
  (gate: BackendAvailability["Service"], view: MarketView["Service"]) =>
  <A, E = never>(symbol: string | undefined, read: () => Effect.Effect<A, E>): Read<A, E> =>
    Effect.suspend((): Read<A, E> => {
      const refused = unknownMarket(view, symbol)
      if (refused !== undefined) return Effect.fail(refused)
      return Effect.flatMap(gate.marketData, (age_ms) => Effect.map(read(), (value) => ({ value, age_ms })))
    })

export class MarketQueries extends Context.Service<
  MarketQueries,
  {
    readonly instruments: (request: {
      readonly symbol?: string
      readonly status?: InstrumentStatus
      readonly limit: number
      readonly cursor?: string
    }) => Read<Page<Instrument>, DomainError<"InvalidCursor">>
    readonly tickers: (symbol: string | undefined) => Read<ReadonlyArray<Ticker>>
    readonly book: (symbol: string, depth: number) => Read<BookView>
    readonly recentTrades: (symbol: string, limit: number) => Read<ReadonlyArray<PublicTrade>>
    /** Newest first, gaps filled with the last close. */
    readonly candles: (request: {
      readonly symbol: string
      readonly interval: Interval
      readonly start_time?: number
      readonly end_time?: number
      readonly limit: number
    }) => Read<ReadonlyArray<Candle>, DomainError<"OutOfRange"> | HistoryUnavailable>
  }
>()("gateway/services/MarketQueries") {
  static readonly layer: Layer.Layer<MarketQueries, never, Cursors | BackendAvailability | Klines | MarketView> =
    Layer.effect(
      MarketQueries,
      Effect.gen(function* () {
        const cursors = yield* Cursors
        const gate = yield* BackendAvailability
        const klines = yield* Klines
        const view = yield* MarketView

        const aged = agedReads(gate, view)
        const orNotLoaded = <A>(value: A | undefined): Effect.Effect<A, DomainError<"BackendUnavailable">> =>
          value === undefined ? Effect.fail(notLoaded) : Effect.succeed(value)

        return MarketQueries.of({
          instruments: (request) => {
            const list = { endpoint: "market/instruments-info", filters: [request.symbol, request.status] }
            return aged(request.symbol, () =>
              Effect.map(cursors.read(list, request.cursor), (after) => {
                const rows = view
                  .instruments()
                  .filter(
                    ({ symbol, status }) =>
                      (request.symbol === undefined || symbol === request.symbol) &&
                      (request.status === undefined || status === request.status) &&
                      (after === undefined || symbol > after)
                  )
                  .toSorted((a, b) => (a.symbol < b.symbol ? -1 : 1))
                return cursors.page(list, rows, request.limit, ({ symbol }) => symbol)
              })
            )
          },
          tickers: (symbol) =>
            aged(symbol, () => {
              if (symbol !== undefined) return Effect.map(orNotLoaded(view.ticker(symbol)), (ticker) => [ticker])
              const tickers: Array<Ticker> = []
              for (const instrument of view.instruments()) {
                const ticker = view.ticker(instrument.symbol)
                if (ticker !== undefined) tickers.push(ticker)
              }
              return Effect.succeed(tickers)
            }),
          book: (symbol, depth) => aged(symbol, () => orNotLoaded(view.book(symbol, depth))),
          recentTrades: (symbol, limit) => aged(symbol, () => Effect.sync(() => view.recentTrades(symbol, limit))),
          candles: ({ symbol, interval, start_time, end_time, limit }) =>
            aged(symbol, () => klines.list({ kind: "trade", symbol, interval, start_time, end_time, limit }))
        })
      })
    )
}
