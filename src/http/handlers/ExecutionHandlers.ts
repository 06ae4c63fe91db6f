/** Handlers of /execution and /trade. Source: docs/contract/rest-trading.md#executions. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { HistoryQueries } from "../../services/read-model/HistoryQueries.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../ErrorMapping.ts"
import { CurrentRequest } from "../RequestState.ts"
import { joined } from "./PreEncodedList.ts"

/** Since when /trade/executions is deprecated, Unix seconds. */
const DEPRECATED_SINCE = 1_767_225_600

export const layer = HttpApiBuilder.group(
  Api,
  "execution",
  Effect.fnUntraced(function* (handlers) {
    const lists = yield* HistoryQueries
    return handlers.handleAll({
      list: ({ query }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(lists.executions(caller, query))).pipe(Effect.map(joined))
    })
  })
)

/** The list by offset, on its earlier path. */
export const offset = HttpApiBuilder.group(
  Api,
  "trade",
  Effect.fnUntraced(function* (handlers) {
    const lists = yield* HistoryQueries
    return handlers.handleAll({
      executions: Effect.fnUntraced(function* ({ query }) {
        const state = yield* CurrentRequest
        state.deprecatedSince = DEPRECATED_SINCE
        return yield* named(lists.executionsAt(yield* CurrentCaller, query))
      })
    })
  })
)
