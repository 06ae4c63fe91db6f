/**
 * Handlers outside /api/v1. Source: docs/contract/rest.md#service-endpoints, docs/contract/authentication.md#tokens.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { VERSION } from "../../domain/Version.ts"
import { Authenticator } from "../../services/identity/Authenticator.ts"
import { Readiness } from "../../services/Readiness.ts"
import { Api } from "../api/Api.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "service",
  Effect.fnUntraced(function* (handlers) {
    const authenticator = yield* Authenticator
    const readiness = yield* Readiness
    return handlers.handleAll({
      health: () => Effect.succeed({ status: "ok" as const, version: VERSION }),
      ready: () =>
        Effect.map(readiness.check, ({ ready, ...links }) =>
          ready ? { status: "ready" as const, ...links } : { status: "not_ready" as const, ...links }
        ),
      jwks: () => Effect.succeed(authenticator.jwks)
    })
  })
)
