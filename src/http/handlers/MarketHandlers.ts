/** Handlers of /market. Source: contract 3.3. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MARKET_LIMIT_DEFAULT } from "../../domain/Page.ts"
import { type Aged, Markets } from "../../services/Markets.ts"
import { Api } from "../api/Api.ts"
import { DEPTH_DEFAULT, INSTRUMENTS_LIMIT_DEFAULT, KLINE_LIMIT_DEFAULT } from "../api/MarketApi.ts"
import { type Failure, named } from "../Refusals.ts"
import { CurrentRequest } from "../RequestState.ts"

/** Instruments rarely change: an answer may be kept for 5 seconds. */
const INSTRUMENTS_MAX_AGE_S = 5

/** Tells the age of the data in the answer's headers, and names the failures. */
const told = <A, B, E extends Failure>(read: Effect.Effect<Aged<A>, E>, answer: (value: A) => B) =>
  named(
    Effect.flatMap(read, ({ value, age_ms }) =>
      Effect.map(CurrentRequest, (state) => {
        state.dataAge = age_ms
        return answer(value)
      })
    )
  )
const listed = <A>(list: ReadonlyArray<A>) => ({ list })

export const layer = HttpApiBuilder.group(
  Api,
  "market",
  Effect.fnUntraced(function* (handlers) {
    const markets = yield* Markets
    return handlers.handleAll({
      time: () =>
        Effect.map(Clock.currentTimeMillis, (now) => ({
          server_ts_ms: now,
          time_second: Math.floor(now / 1000),
          time_nano: `${now}000000`
        })),
      instruments: ({ query }) =>
        Effect.tap(
          told(markets.instruments({ ...query, limit: query.limit ?? INSTRUMENTS_LIMIT_DEFAULT }), (page) => page),
          () =>
            Effect.map(CurrentRequest, (state) => {
              state.maxAge = INSTRUMENTS_MAX_AGE_S
            })
        ),
      tickers: ({ query }) => told(markets.tickers(query.symbol), listed),
      orderbook: ({ query }) =>
        Effect.flatMap(Clock.currentTimeMillis, (ts) =>
          told(markets.book(query.symbol, query.depth ?? DEPTH_DEFAULT), ({ symbol, bids, asks, seq, mts }) => ({
            symbol,
            bids,
            asks,
            seq,
            ts,
            mts
          }))
        ),
      recentTrades: ({ query }) =>
        told(markets.recentTrades(query.symbol, query.limit ?? MARKET_LIMIT_DEFAULT), listed),
      kline: ({ query }) => told(markets.candles({ ...query, limit: query.limit ?? KLINE_LIMIT_DEFAULT }), listed)
    })
  })
)
