/**
 * The checks of credentials: a bearer token, the signature of an API key, or the password of an administrator. Each leaves the
 * caller in the state of the request. Source: docs/contract/rest.md#access, docs/contract/authentication.md.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import type { Administrators } from "../../services/identity/Administrators.ts"
import type { Authenticator } from "../../services/identity/Authenticator.ts"
import type { SignedRequest } from "../../services/identity/ApiKeyAuthentication.ts"
import type { Bucket, RateLimiter } from "../../services/operations/RateLimiter.ts"
import { withRefusals } from "../ErrorMapping.ts"
import type { RequestState } from "../RequestState.ts"
import { ofReason, type WireError } from "../WireError.ts"
import type { Check, Request, Verdict } from "./Check.ts"

type Limiter = RateLimiter["Service"]

/** The token of nearly all requests, as {@link BEARER} reads it. */
const plainBearer = (authorization: string | undefined): string | undefined =>
  authorization?.startsWith("Bearer ") === true ? authorization.slice(7).trim() : undefined

const BEARER = /^bearer(?: +(.*))?$/isu

/** Whether a header is sent more than once: Node keeps the first Authorization and silently drops the others. */
const isDoubled = (request: Request, name: string): boolean => {
  const { rawHeaders } = request.source as { readonly rawHeaders?: ReadonlyArray<string> }
  if (rawHeaders === undefined) return false
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.length === name.length && rawHeaders[i]!.toLowerCase() === name) count++
  }
  return count > 1
}

const signedRequest = (request: Request, state: RequestState): SignedRequest => ({
  method: request.method,
  uri: request.url,
  api_key: request.headers["x-api-key"],
  signature: request.headers["x-signature"],
  timestamp_ms: request.headers["x-timestamp-ms"],
  nonce: request.headers["x-nonce"],
  body_sha256: request.headers["x-body-sha256"],
  actual_body_sha256: state.body === undefined ? undefined : bytesToHex(sha256(state.body)),
  client_ip: state.clientIp
})

const ambiguous = ofReason("AmbiguousAuth")

/** Username and password of HTTP Basic, empty where there are none. */
const basicCredentials = HttpApiBuilder.securityDecode(HttpApiSecurity.basic).pipe(
  Effect.provideService(HttpServerRequest.ParsedSearchParams, {})
)

/** The response to bad credentials says how many failures are left. */
const showing =
  (limiter: Limiter, bucket: Bucket, state: RequestState) =>
  <A, E extends WireError>(check: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.tapError(check, (error) =>
      error.status !== 401
        ? Effect.void
        : Effect.map(limiter.peek(bucket, state.clientIp), (rate) => {
            // the last failure that passes is no refusal by the bucket yet
            state.rate = rate === undefined ? undefined : { ...rate, allowed: true }
          })
    )

/** The credentials of a user. */
export const ofUser = (authenticator: Authenticator["Service"], limiter: Limiter): Check => {
  const { bearerNow } = authenticator

  /** The caller of an API key or of a token that is not known yet. */
  const identify = (request: Request, state: RequestState): Verdict => {
    const authorization = request.headers["authorization"]
    const token = authorization === undefined ? null : BEARER.exec(authorization)
    if (request.headers["x-api-key"] !== undefined) {
      if (token !== null) return ambiguous
      const signed = withRefusals(state, authenticator.signed(signedRequest(request, state)))
      return Effect.map(showing(limiter, "auth-failures", state)(signed), ({ caller, claimNonce }) => {
        state.caller = caller
        state.claimNonce = claimNonce
      })
    }
    if (authorization !== undefined && isDoubled(request, "authorization")) return ambiguous
    const known = withRefusals(state, authenticator.bearer(token?.[1]?.trim() ?? "", state.clientIp))
    return Effect.map(showing(limiter, "auth-failures", state)(known), (caller) => {
      state.caller = caller
    })
  }

  return (request, state) => {
    const token = plainBearer(request.headers["authorization"])
    if (token !== undefined && request.headers["x-api-key"] === undefined && !isDoubled(request, "authorization")) {
      const caller = bearerNow?.(token)
      if (caller !== undefined) {
        state.caller = caller
        return undefined
      }
    }
    return identify(request, state)
  }
}

/** The password of an administrator. */
export const ofAdministrator =
  (administrators: Administrators["Service"], limiter: Limiter): Check =>
  (request, state) => {
    state.challenge = 'Basic realm="gateway"'
    return Effect.flatMap(basicCredentials, ({ username, password }) =>
      showing(
        limiter,
        "basic-failures",
        state
      )(withRefusals(state, administrators.login(username, Redacted.value(password), state.clientIp)))
    ).pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.map((administrator) => {
        state.administrator = administrator
      })
    )
  }
