/**
 * Policy: what a market was: candles of its mark and index price, funding, open interest, insurance pool, deleveraging;
 * and what the referee tells of it now. Source: docs/contract/rest-market.md, docs/contract/boundary.md#lagging,
 * #ownership.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Interval, OpenInterestInterval } from "../../domain/Enumerations.ts"
import type { FundingRate } from "../../domain/Funding.ts"
import type { AdlAlert, InsurancePool } from "../../domain/InsurancePool.ts"
import type { OpenInterest, PriceCandle, RiskTier } from "../../domain/Market.ts"
import { MARKET_LIMIT_DEFAULT, type Rows } from "../../domain/Page.ts"
import { Cursors, type List, parseRowKey, printRowKey } from "../operations/Cursors.ts"
import { BackendAvailability } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable, type MarketsQuery } from "../History.ts"
import { Klines } from "./Klines.ts"
import { type Page, type SpanRequest, spanOf } from "../read-model/HistoryQueries.ts"
import { type Aged, agedReads } from "./MarketQueries.ts"
import { MarketView } from "./MarketView.ts"
import { Referee, type RefereeUnavailable } from "../Referee.ts"
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

type Read<A, E = never> = Effect.Effect<Aged<A>, DomainError | E>

export class MarketHistory extends Context.Service<
  MarketHistory,
  {
    /** Candles of the mark or the index price, newest first, gaps filled with the last close. */
    readonly priceCandles: (asked: {
      readonly kind: "mark" | "index"
      readonly symbol: string
      readonly interval: Interval
      readonly start_time?: number
      readonly end_time?: number
      readonly limit: number
    }) => Read<ReadonlyArray<PriceCandle>, HistoryUnavailable>
    readonly fundingRates: (asked: HistoryRequest) => Read<Page<FundingRate>, HistoryUnavailable>
    readonly openInterest: (asked: OpenInterestRequest) => Read<Page<OpenInterest>, HistoryUnavailable>
    /** One sample a minute and one per change. */
    readonly pools: (asked: StatesRequest) => Read<ReadonlyArray<InsurancePool>, HistoryUnavailable>
    /** One per change. */
    readonly adlAlerts: (asked: StatesRequest) => Read<ReadonlyArray<AdlAlert>, HistoryUnavailable>
    readonly riskTiers: (symbol: string | undefined) => Read<ReadonlyArray<RiskTier>, RefereeUnavailable>
    readonly pool: (symbol: string) => Read<InsurancePool, RefereeUnavailable>
    readonly adlAlert: (symbol: string) => Read<AdlAlert, RefereeUnavailable>
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

      const span = Effect.fnUntraced(function* (asked: SpanRequest) {
        const found = spanOf(asked, yield* Clock.currentTimeMillis)
        if (found instanceof DomainError) return yield* Effect.fail(found)
        return { start_time: found.start, end_time: found.end }
      })
      /** A page of a market's history, with its cursor. */
      const page = <A>(
        endpoint: string,
        asked: HistoryRequest,
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
          asked.symbol,
          Effect.fnUntraced(function* () {
            const { end_time, limit = MARKET_LIMIT_DEFAULT, start_time, symbol } = asked
            const list: List = { endpoint, filters: [symbol, filter, start_time, end_time] }
            const after = parseRowKey(yield* cursors.read(list, asked.cursor))
            const { next, rows } = yield* read({ symbol, ...(yield* span(asked)), limit, after })
            return { list: rows, next_page_cursor: cursors.print(list, printRowKey(next)) }
          })
        )
      /** States of pools, which the referee judges: none while nobody answers for it. */
      const states = <A>(
        asked: StatesRequest,
        read: (query: MarketsQuery) => Effect.Effect<ReadonlyArray<A>, HistoryUnavailable>
      ) =>
        aged(
          asked.symbol,
          Effect.fnUntraced(function* () {
            const { limit = MARKET_LIMIT_DEFAULT, symbol } = asked
            const bounds = yield* span(asked)
            yield* gate.referee
            return yield* read({ symbol, ...bounds, limit })
          })
        )
      const shown = <A, E>(record: A | undefined, read: Effect.Effect<A, E>) =>
        record === undefined ? read : Effect.succeed(record)
      const judged = <A, E>(symbol: string | undefined, read: () => Effect.Effect<A, E>) =>
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
        fundingRates: (asked) => page("market/funding/history", asked, undefined, history.fundingRates),
        openInterest: (asked) => {
          const interval = asked.interval ?? OPEN_INTEREST_INTERVAL_DEFAULT
          return page("market/open-interest", asked, interval, (query) => history.openInterest({ ...query, interval }))
        },
        pools: (asked) => states(asked, history.pools),
        adlAlerts: (asked) => states(asked, history.adlAlerts),
        riskTiers: (symbol) =>
          judged(symbol, () =>
            Effect.map(referee.riskTiers, (tiers) =>
              tiers.filter((tier) => symbol === undefined || tier.symbol === symbol)
            )
          ),
        // the record that the topic shows; the referee's is the same, where no event has come since the start
        pool: (symbol) => judged(symbol, () => shown(view.pool(symbol), referee.pool(symbol))),
        adlAlert: (symbol) => judged(symbol, () => shown(view.alert(symbol), referee.adlAlert(symbol)))
      })
    })
  )
}
