/** Handlers of /access. Source: docs/contract/rest-access.md#activate, docs/contract/authentication.md#activation. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Activation } from "../../services/identity/Activation.ts"
import { Api } from "../api/Api.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "access",
  Effect.fnUntraced(function* (handlers) {
    const activation = yield* Activation
    return handlers.handleAll({
      activate: ({ payload }) =>
        named(
          activation.activate({
            ...payload,
            nonce: payload.nonce ?? undefined,
            party_id: payload.party_id ?? undefined
          })
        ).pipe(Effect.map((given) => ({ activated: true as const, ...given })))
    })
  })
)
