/** Handlers of /execution. Source: contract 3.5. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Lists } from "../../services/Lists.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../Refusals.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "execution",
  Effect.fnUntraced(function* (handlers) {
    const lists = yield* Lists
    return handlers.handleAll({
      list: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(lists.executions(caller, query)))
    })
  })
)
