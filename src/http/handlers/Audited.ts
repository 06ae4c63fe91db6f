/** Writes an admin endpoint's action to the audit trail, with its request. */
import { Effect } from "effect"
import type { AccountsUnavailable } from "../../services/identity/Accounts.ts"
import { type Action, AuditTrail, type Steps } from "../../services/identity/AuditTrail.ts"
import { CurrentAdministrator } from "../api/Security.ts"
import { CurrentRequest } from "../RequestState.ts"

type Facts = Readonly<Record<string, unknown>>

/** `audited(operationId, target, request)(steps)`. */
export const auditing = Effect.map(
  AuditTrail,
  (trail) =>
    (action: string, target: string, request: Facts = {}) =>
    <A, E, E2 = never>(
      steps: Steps<A, E, E2>
    ): Effect.Effect<A, E | E2 | AccountsUnavailable, CurrentAdministrator | CurrentRequest> =>
      Effect.gen(function* () {
        const administrator = yield* CurrentAdministrator
        const { clientIp, id } = yield* CurrentRequest
        const asked: Action = { administrator, request_id: id, client_ip: clientIp, action, target, request }
        return yield* trail.record(asked, steps)
      })
)
