/** Handlers of /admin/audit. Source: docs/contract/rest-user.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { AuditTrail } from "../../services/identity/AuditTrail.ts"
import { Api } from "../api/Api.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "audit",
  Effect.fnUntraced(function* (handlers) {
    const trail = yield* AuditTrail
    return handlers.handleAll({ list: ({ query }) => named(trail.list(query)) })
  })
)
