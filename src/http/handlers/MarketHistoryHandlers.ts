/** Handlers of /market: histories, and what the referee judges. Source: docs/contract/rest-market.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MarketHistory } from "../../services/markets/MarketHistory.ts"
import { Api } from "../api/Api.ts"
import { KLINE_LIMIT_DEFAULT } from "../api/MarketApi.ts"
import { cached, listed, told } from "./MarketHandlers.ts"

const same = <A>(value: A): A => value

export const layer = HttpApiBuilder.group(
  Api,
  "market_history",
  Effect.fnUntraced(function* (handlers) {
    const history = yield* MarketHistory
    return handlers.handleAll({
      markKline: ({ query }) =>
        told(history.priceCandles({ kind: "mark", ...query, limit: query.limit ?? KLINE_LIMIT_DEFAULT }), listed),
      indexKline: ({ query }) =>
        told(history.priceCandles({ kind: "index", ...query, limit: query.limit ?? KLINE_LIMIT_DEFAULT }), listed),
      funding: ({ query }) => told(history.fundingRates(query), same),
      riskLimit: ({ query }) => Effect.tap(told(history.riskTiers(query.symbol), listed), () => cached),
      openInterest: ({ query }) => told(history.openInterest(query), same),
      pool: ({ query }) => told(history.pool(query.symbol), same),
      pools: ({ query }) => told(history.pools(query), listed),
      adl: ({ query }) => told(history.adlAlert(query.symbol), same),
      adls: ({ query }) => told(history.adlAlerts(query), listed)
    })
  })
)
