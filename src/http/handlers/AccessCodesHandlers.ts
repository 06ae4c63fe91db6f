/** Handlers of /admin/access-codes. Source: contract 3.2. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AccessCodeIssuer } from "../../services/AccessCodeIssuer.ts"
import { Api } from "../api/Api.ts"
import { named } from "../Refusals.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "accessCodes",
  Effect.fnUntraced(function* (handlers) {
    const issuer = yield* AccessCodeIssuer
    return handlers.handleAll({
      issue: ({ payload }) => Effect.map(named(issuer.issue(payload)), (list) => ({ list })),
      list: ({ query }) => named(issuer.list(query)),
      revoke: ({ params: { code_id } }) => Effect.as(named(issuer.revoke(code_id)), { code_id, revoked: true as const })
    })
  })
)
