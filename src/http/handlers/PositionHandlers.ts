/** Handlers of /position. Source: docs/contract/rest-trading.md#positions. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { PortfolioQueries } from "../../services/read-model/PortfolioQueries.ts"
import { HistoryQueries } from "../../services/read-model/HistoryQueries.ts"
import { Positions } from "../../services/trading/Positions.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "position",
  Effect.fnUntraced(function* (handlers) {
    const holdings = yield* PortfolioQueries
    const lists = yield* HistoryQueries
    const positions = yield* Positions
    return handlers.handleAll({
      list: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(holdings.positions(caller, query))),
      setLeverage: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(positions.setLeverage(caller, payload))).pipe(
          Effect.map(({ leverage, symbol }) => ({ symbol, leverage }))
        ),
      switchMarginMode: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(positions.switchMarginMode(caller, payload))).pipe(
          Effect.map(({ leverage, margin_mode, symbol }) => ({ symbol, margin_mode, leverage }))
        ),
      addMargin: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(positions.addMargin(caller, payload))),
      tradingStop: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(positions.tradingStop(caller, payload))).pipe(
          Effect.map(({ stop_loss, symbol, take_profit }) => ({ symbol, take_profit, stop_loss }))
        ),
      closedPnl: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.closedPnls(caller, query)))
    })
  })
)
