/** Handlers of /market: histories, and what the referee judges. Source: docs/contract/rest-market.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MarketHistory } from "../../services/markets/MarketHistory.ts"
import { Api } from "../api/Api.ts"
import { KLINE_LIMIT_DEFAULT } from "../api/MarketApi.ts"
import { cached, listed, withAge } from "./MarketHandlers.ts"

const same = <A>(value: A): A => value

export const layer = HttpApiBuilder.group(
  Api,
  "market_history",
  Effect.fnUntraced(function* (handlers) {
    const history = yield* MarketHistory
    return handlers.handleAll({
      markKline: ({ query }) =>
        withAge(history.priceCandles({ kind: "mark", ...query, limit: query.limit ?? KLINE_LIMIT_DEFAULT }), listed),
      indexKline: ({ query }) =>
        withAge(history.priceCandles({ kind: "index", ...query, limit: query.limit ?? KLINE_LIMIT_DEFAULT }), listed),
      funding: ({ query }) => withAge(history.fundingRates(query), same),
      riskLimit: ({ query }) => Effect.tap(withAge(history.riskTiers(query.symbol), listed), () => cached),
      openInterest: ({ query }) => withAge(history.openInterest(query), same),
      pool: ({ query }) => withAge(history.pool(query.symbol), same),
      pools: ({ query }) => withAge(history.pools(query), listed),
      adl: ({ query }) => withAge(history.adlAlert(query.symbol), same),
      adls: ({ query }) => withAge(history.adlAlerts(query), listed)
    })
  })
)
