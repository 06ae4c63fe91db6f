/** Handlers of /market. Source: docs/contract/rest-market.md. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MARKET_LIMIT_DEFAULT } from "../../domain/Page.ts"
import { type Aged, MarketQueries } from "../../services/markets/MarketQueries.ts"
import { Api } from "../api/Api.ts"
import {
  type BookQuery,
  DEPTH_DEFAULT,
  INSTRUMENTS_LIMIT_DEFAULT,
  type InstrumentsQuery,
  KLINE_LIMIT_DEFAULT,
  type KlineQuery,
  type TradesQuery
} from "../api/MarketApi.ts"
import { type Failure, named } from "../ErrorMapping.ts"
import { CurrentRequest } from "../RequestState.ts"

/** Instruments and risk limits rarely change: an answer may be kept for 5 seconds. */
const STATIC_MAX_AGE_S = 5
/** Allows an answer to be kept. */
export const cached = Effect.map(CurrentRequest, (state) => {
  state.maxAge = STATIC_MAX_AGE_S
})

/** Puts the age of the data into the headers of the response, and maps the failures. */
export const withAge = <A, B, E extends Failure>(read: Effect.Effect<Aged<A>, E>, answer: (value: A) => B) =>
  named(
    Effect.flatMap(read, ({ value, age_ms }) =>
      Effect.map(CurrentRequest, (state) => {
        state.dataAge = age_ms
        return answer(value)
      })
    )
  )
export const listed = <A>(list: ReadonlyArray<A>) => ({ list })

/** Handlers of the reads that come most often. HttpApi and the fast path share them. */
export const reads = (markets: MarketQueries["Service"]) => ({
  time: () =>
    Effect.map(Clock.currentTimeMillis, (now) => ({
      server_ts_ms: now,
      time_second: Math.floor(now / 1000),
      time_nano: `${now}000000`
    })),
  instruments: ({ query }: { readonly query: InstrumentsQuery }) =>
    Effect.tap(
      withAge(markets.instruments({ ...query, limit: query.limit ?? INSTRUMENTS_LIMIT_DEFAULT }), (page) => page),
      () => cached
    ),
  tickers: ({ query }: { readonly query: { readonly symbol?: string } }) =>
    withAge(markets.tickers(query.symbol), listed),
  orderbook: ({ query }: { readonly query: BookQuery }) =>
    Effect.flatMap(Clock.currentTimeMillis, (ts) =>
      withAge(markets.book(query.symbol, query.depth ?? DEPTH_DEFAULT), ({ symbol, bids, asks, seq, mts }) => ({
        symbol,
        bids,
        asks,
        seq,
        ts,
        mts
      }))
    ),
  recentTrades: ({ query }: { readonly query: TradesQuery }) =>
    withAge(markets.recentTrades(query.symbol, query.limit ?? MARKET_LIMIT_DEFAULT), listed),
  kline: ({ query }: { readonly query: KlineQuery }) =>
    withAge(markets.candles({ ...query, limit: query.limit ?? KLINE_LIMIT_DEFAULT }), listed)
})

export const layer = HttpApiBuilder.group(
  Api,
  "market",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll(reads(yield* MarketQueries))
  })
)
