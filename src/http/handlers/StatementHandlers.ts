/** Handlers of /account: statements and figures. Source: docs/contract/rest-account.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { PortfolioQueries } from "../../services/read-model/PortfolioQueries.ts"
import { HistoryQueries } from "../../services/read-model/HistoryQueries.ts"
import { TradingStatistics } from "../../services/read-model/TradingStatistics.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "statement",
  Effect.fnUntraced(function* (handlers) {
    const holdings = yield* PortfolioQueries
    const lists = yield* HistoryQueries
    const performance = yield* TradingStatistics
    return handlers.handleAll({
      funding: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.fundingPayments(caller, query))),
      transactions: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.transactions(caller, query))),
      deposits: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.deposits(caller, query))),
      withdrawals: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.withdrawals(caller, query))),
      statistics: ({ query }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(performance.statistics(caller, query))),
      feeRates: ({ query }) =>
        Effect.flatMap(CurrentCaller, (caller) =>
          Effect.map(named(holdings.feeRates(caller, query.symbol)), (list) => ({ list }))
        )
    })
  })
)
