/** Handlers of /admin/access-codes. Source: docs/contract/rest-access.md#access-codes. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AccessCodeIssuer } from "../../services/identity/AccessCodeIssuer.ts"
import { Api } from "../api/Api.ts"
import { named } from "../ErrorMapping.ts"
import { auditing } from "./Audited.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "accessCodes",
  Effect.fnUntraced(function* (handlers) {
    const audited = yield* auditing
    const issuer = yield* AccessCodeIssuer
    return handlers.handleAll({
      // the codes themselves are secrets: the trail has their ids
      issue: ({ payload: { codes, ...asked } }) =>
        named(
          audited("issueAccessCodes", asked.label ?? "", { ...asked, count: asked.count ?? codes?.length ?? 1 })({
            effect: issuer.issue(codes === undefined ? asked : { codes, ...asked }),
            after: (list) => ({ code_ids: list.map(({ code_id }) => code_id) })
          }).pipe(Effect.map((list) => ({ list })))
        ),
      list: ({ query }) => named(issuer.list(query)),
      revoke: ({ params: { code_id } }) =>
        named(
          audited(
            "revokeAccessCode",
            code_id
          )({
            before: Effect.map(issuer.get(code_id), ({ revoked }) => ({ revoked })),
            effect: Effect.as(issuer.revoke(code_id), { code_id, revoked: true as const }),
            after: () => ({ revoked: true })
          })
        )
    })
  })
)
