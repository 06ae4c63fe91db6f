/** Counts failed authentications by their reason. */
import { Effect } from "effect"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"

/** A failed authentication, as the Authenticator reports it. */
type AuthError =
  | { readonly _tag: "AuthRefused"; readonly reason: string }
  | { readonly _tag: "AuthLimited" }
  | { readonly _tag: "AuthUnavailable" }

const reasonOf = (error: AuthError): string => {
  switch (error._tag) {
    case "AuthRefused":
      return error.reason
    case "AuthLimited":
      return "RateLimitExceeded"
    case "AuthUnavailable":
      return "AuthUnavailable"
  }
}

export const counting = Effect.map(
  CurrentMetricsRegistry,
  (metrics) =>
    <A, E extends AuthError>(check: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.tapError(check, (error) =>
        Effect.sync(() => metrics.counter("gateway_auth_failures_total", { reason: reasonOf(error) }).add())
      )
)
