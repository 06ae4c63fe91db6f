/** Handlers of /account. Source: docs/contract/rest-account.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Funds } from "../../services/trading/Funds.ts"
import { PortfolioQueries } from "../../services/read-model/PortfolioQueries.ts"
import { HistoryQueries } from "../../services/read-model/HistoryQueries.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "account",
  Effect.fnUntraced(function* (handlers) {
    const funds = yield* Funds
    const holdings = yield* PortfolioQueries
    const lists = yield* HistoryQueries
    return handlers.handleAll({
      balances: ({ query }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(holdings.balances(caller, query.sub_account_address))),
      faucet: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(funds.faucet(caller, payload))),
      transfer: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(funds.transfer(caller, payload))),
      withdraw: ({ payload }) => Effect.flatMap(CurrentCaller, (caller) => named(funds.withdraw(caller, payload))),
      transfers: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.transfers(caller, query)))
    })
  })
)
