/** Handlers of /user/competitions. Source: docs/contract/rest-user.md#competitions. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Competitions } from "../../services/rewards/Competitions.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "competition",
  Effect.fnUntraced(function* (handlers) {
    const competitions = yield* Competitions
    return handlers.handleAll({
      competitions: ({ query }) => named(competitions.list(query)),
      competition: ({ params }) => named(competitions.get(params.competition_id)),
      placement: ({ params }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(competitions.placement(caller, params.competition_id))),
      leaderboard: ({ params, query }) => named(competitions.leaderboard(params.competition_id, query))
    })
  })
)
