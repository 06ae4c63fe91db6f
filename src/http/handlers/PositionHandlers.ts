/** Handlers of /position. Source: contract 3.6. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Holdings } from "../../services/Holdings.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../Refusals.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "position",
  Effect.fnUntraced(function* (handlers) {
    const holdings = yield* Holdings
    return handlers.handleAll({
      list: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(holdings.positions(caller, query)))
    })
  })
)
