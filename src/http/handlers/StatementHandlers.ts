/** Handlers of /account: statements and figures. Source: docs/contract/rest-account.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Holdings } from "../../services/Holdings.ts"
import { Lists } from "../../services/Lists.ts"
import { Performance } from "../../services/Performance.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../Refusals.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "statement",
  Effect.fnUntraced(function* (handlers) {
    const holdings = yield* Holdings
    const lists = yield* Lists
    const performance = yield* Performance
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
