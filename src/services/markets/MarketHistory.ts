/**
 * Policy: past market data: candles of the mark and index price, funding, open interest, insurance pool,
 * deleveraging; and current data of the referee.
 * Source: docs/contract/rest-market.md, docs/contract/boundary.md#lagging, #ownership.
 */
import { Context, Effect, Layer } from "effect"
import type { Interval, OpenInterestInterval } from "../../domain/Enumerations.ts"
import type { FundingRate } from "../../domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import type { OpenInterest, PriceCandle, RiskTier } from "../../domain/Market.ts"
import { MARKET_LIMIT_DEFAULT, type Rows } from "../../domain/Page.ts"
import { Cursors, type List, parseRowKey, printRowKey } from "../operations/Cursors.ts"
import { BackendAvailability } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable, type MarketsQuery } from "../History.ts"
import { Klines } from "./Klines.ts"
import { endOf, type Page, type SpanRequest, spanOf } from "../operations/Paging.ts"
import { type Aged, agedReads, type MarketReason } from "./MarketQueries.ts"
import { MarketView } from "./MarketView.ts"
import { Referee, type RefereeError } from "../Referee.ts"
import { DomainError } from "../DomainError.ts"

export const OPEN_INTEREST_INTERVAL_DEFAULT = "5"

export interface HistoryRequest extends SpanRequest {
  readonly symbol: string
  readonly limit?: number
  readonly cursor?: string
}
export interface OpenInterestRequest extends HistoryRequest {
  readonly interval?: OpenInterestInterval
}
export interface StatesRequest extends SpanRequest {
  readonly symbol?: string
  readonly limit?: number
}

type Read<A, E = never> = Effect.Effect<Aged<A>, DomainError<MarketReason> | E>
/** Why a page, or a span of time, is refused. */
type SpanRefused = DomainError<"OutOfRange">
type PageRefused = SpanRefused | DomainError<"InvalidCursor">

export class MarketHistory extends Context.Service<
  MarketHistory,
  {
    /** Candles of the mark or the index price, newest first, gaps filled with the last close. */
    readonly priceCandles: (request: {
      readonly kind: "mark" | "index"
      readonly symbol: string
      readonly interval: Interval
      readonly start_time?: number
      readonly end_time?: number
      readonly limit: number
    }) => Read<ReadonlyArray<PriceCandle>, SpanRefused | HistoryUnavailable>
    readonly fundingRates: (request: HistoryRequest) => Read<Page<FundingRate>, PageRefused | HistoryUnavailable>
    readonly openInterest: (request: OpenInterestRequest) => Read<Page<OpenInterest>, PageRefused | HistoryUnavailable>
    /** One sample a minute and one per change. */
    readonly pools: (request: StatesRequest) => Read<ReadonlyArray<InsurancePool>, SpanRefused | HistoryUnavailable>
    /** One per change. */
    readonly adlAlerts: (request: StatesRequest) => Read<ReadonlyArray<AdlAlert>, SpanRefused | HistoryUnavailable>
    readonly riskTiers: (symbol: string | undefined) => Read<ReadonlyArray<RiskTier>, RefereeError>
    readonly pool: (symbol: string) => Read<InsurancePool, RefereeError>
    readonly adlAlert: (symbol: string) => Read<AdlAlert, RefereeError>
  }
>()("gateway/services/MarketHistory") {
  static readonly layer: Layer.Layer<
    MarketHistory,
    never,
    Cursors | BackendAvailability | History | Klines | MarketView | Referee
  > = Layer.effect(
    MarketHistory,
    Effect.gen(function* () {
      const cursors = yield* Cursors
      const gate = yield* BackendAvailability
      const history = yield* History
      const klines = yield* Klines
      const view = yield* MarketView
      const referee = yield* Referee
      const aged = agedReads(gate, view)

      const span = Effect.fnUntraced(function* (request: SpanRequest) {
        const found = spanOf(request, yield* endOf(view))
        if (found instanceof DomainError) return yield* Effect.fail(found)
        return { start_time: found.start, end_time: found.end }
      })
      /** A page of a market's history, with its cursor. */
      const page = <A>(
        endpoint: string,
        request: HistoryRequest,
        filter: string | undefined,
        read: (query: {
          readonly symbol: string
          readonly start_time: number | undefined
          readonly end_time: number | undefined
          readonly limit: number
          readonly after: ReturnType<typeof parseRowKey>
        }) => Effect.Effect<Rows<A>, HistoryUnavailable>
      ) =>
        aged(
          request.symbol,
          Effect.fnUntraced(function* () {
            const { end_time, limit = MARKET_LIMIT_DEFAULT, start_time, symbol } = request
            const list: List = { endpoint, filters: [symbol, filter, start_time, end_time] }
            const after = parseRowKey(yield* cursors.read(list, request.cursor))
            const { next, rows } = yield* read({ symbol, ...(yield* span(request)), limit, after })
            return { list: rows, next_page_cursor: cursors.print(list, printRowKey(next)) }
          })
        )
      /** States of pools. They come from the referee, so they fail while it is unavailable. */
      const states = <A>(
        request: StatesRequest,
        read: (query: MarketsQuery) => Effect.Effect<ReadonlyArray<A>, HistoryUnavailable>
      ) =>
        aged(
          request.symbol,
          Effect.fnUntraced(function* () {
            const { limit = MARKET_LIMIT_DEFAULT, symbol } = request
            const bounds = yield* span(request)
            yield* gate.referee
            return yield* read({ symbol, ...bounds, limit })
          })
        )
      const shown = <A, E>(record: A | undefined, read: Effect.Effect<A, E>) =>
        record === undefined ? read : Effect.succeed(record)
      const fromReferee = <A, E>(symbol: string | undefined, read: () => Effect.Effect<A, E>) =>
        aged(symbol, () => Effect.andThen(gate.referee, Effect.suspend(read)))

      return MarketHistory.of({
        priceCandles: ({ kind, symbol, interval, start_time, end_time, limit }) =>
          aged(symbol, () =>
            Effect.map(klines.list({ kind, symbol, interval, start_time, end_time, limit }), (candles) =>
              candles.map(({ start_time: start, end_time: end, open, high, low, close, confirm }) => ({
                start_time: start,
                end_time: end,
                open,
                high,
                low,
                close,
                confirm
              }))
            )
          ),
        fundingRates: (request) => page("market/funding/history", request, undefined, history.fundingRates),
        openInterest: (request) => {
          const interval = request.interval ?? OPEN_INTEREST_INTERVAL_DEFAULT
          return page("market/open-interest", request, interval, (query) =>
            history.openInterest({ ...query, interval })
          )
        },
        pools: (request) => states(request, history.pools),
        adlAlerts: (request) => states(request, history.adlAlerts),
        riskTiers: (symbol) =>
          fromReferee(symbol, () =>
            Effect.map(referee.riskTiers, (tiers) =>
              tiers.filter((tier) => symbol === undefined || tier.symbol === symbol)
            )
          ),
        // the record of the topic; the referee has the same one, if no event arrived since the start
        pool: (symbol) => fromReferee(symbol, () => shown(view.pool(symbol), referee.pool(symbol))),
        adlAlert: (symbol) => fromReferee(symbol, () => shown(view.alert(symbol), referee.adlAlert(symbol)))
      })
    })
  )
}
