/**
 * The checks behind the four kinds of access, in the order of contract 3: credentials, address, rate, nonce of an API
 * key, scope and gate. What the request says is looked at after them.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import type { Scope } from "../../domain/Enumerations.ts"
import type { Caller } from "../../domain/User.ts"
import { type AuthError, Authenticator, type SignedRequest } from "../../services/Authenticator.ts"
import { type Bucket, type Rate, RateLimiter } from "../../services/RateLimiter.ts"
import { AdminAccess, BearerOnly, BearerOrApiKey, CurrentCaller, PublicAccess, RequiredScope } from "../api/Security.ts"
import { type Failure, limited, refusalOf } from "../Refusals.ts"
import { CurrentRequest, type RequestState } from "../RequestState.ts"
import { ofReason, type WireError } from "../WireError.ts"
import { soundQuery } from "./Door.ts"

type Served = Effect.Effect<HttpServerResponse.HttpServerResponse, never>
type Request = HttpServerRequest.HttpServerRequest

const BEARER = /^bearer(?: +(.*))?$/isu

/** Whether a header came more than once: Node keeps the first Authorization and drops the others in silence. */
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
const bearerOnly = ofReason("BearerOnly")
const insufficient = (required: Scope) => ofReason("InsufficientScope", { required })

/** Username and password of HTTP Basic, empty where there are none. */
const credentials = HttpApiBuilder.securityDecode(HttpApiSecurity.basic).pipe(
  Effect.provideService(HttpServerRequest.ParsedSearchParams, {})
)

const fail = (error: WireError) => Effect.fail(error)

export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const authenticator = yield* Authenticator
    const limiter = yield* RateLimiter

    /** Counts the request; `undefined` when it may pass. */
    const take = (bucket: Bucket, key: string, state: RequestState) =>
      Effect.flatMap(limiter.take(bucket, key), (rate: Rate | undefined) => {
        if (rate === undefined) return Effect.void
        state.rate = rate
        return rate.allowed ? Effect.void : fail(limited(state, rate))
      })

    const withRefusals = <A, E extends Failure>(state: RequestState, effect: Effect.Effect<A, E>) =>
      Effect.mapError(effect, (failure) => refusalOf(failure, state))

    /** Whoever stands behind the credentials, and the claim of the nonce that is due after the rate. */
    const identify = (
      request: Request,
      state: RequestState
    ): Effect.Effect<
      { readonly caller: Caller; readonly claimNonce: Effect.Effect<void, AuthError> | undefined },
      WireError
    > => {
      const authorization = request.headers["authorization"]
      const token = authorization === undefined ? null : BEARER.exec(authorization)
      if (request.headers["x-api-key"] !== undefined) {
        if (token !== null) return fail(ambiguous)
        return withRefusals(state, authenticator.signed(signedRequest(request, state)))
      }
      if (authorization !== undefined && isDoubled(request, "authorization")) return fail(ambiguous)
      return Effect.map(
        withRefusals(state, authenticator.bearer(token?.[1]?.trim() ?? "", state.clientIp)),
        (caller) => ({ caller, claimNonce: undefined })
      )
    }

    /** Rate, nonce, scope and gate of a known caller; then the request goes on. */
    const pass = (
      served: Served,
      state: RequestState,
      caller: Caller,
      claimNonce: Effect.Effect<void, AuthError> | undefined,
      refused: WireError | undefined
    ) =>
      take(caller.via === "token" ? "token" : "api-key", caller.credential, state).pipe(
        Effect.andThen(claimNonce === undefined ? Effect.void : withRefusals(state, claimNonce)),
        Effect.andThen(
          refused !== undefined
            ? fail(refused)
            : (soundQuery(state) ?? Effect.provideService(served, CurrentCaller, caller))
        )
      )

    const entrance = (served: Served, refuse: (caller: Caller) => WireError | undefined) =>
      Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const state = Context.getUnsafe(fiber.context, CurrentRequest)
        return Effect.flatMap(identify(request, state), ({ caller, claimNonce }) =>
          pass(served, state, caller, claimNonce, refuse(caller))
        )
      })

    return Context.empty().pipe(
      Context.add(
        PublicAccess,
        PublicAccess.of((served) =>
          Effect.withFiber((fiber) => {
            const state = Context.getUnsafe(fiber.context, CurrentRequest)
            return Effect.flatMap(
              take("public", state.clientIp, state),
              () => soundQuery(state) ?? (served as Served)
            ) as Served
          })
        )
      ),
      Context.add(
        BearerOrApiKey,
        BearerOrApiKey.of((served, { endpoint }) => {
          const required = Context.get(endpoint.annotations, RequiredScope)
          const refuse = (caller: Caller) =>
            required === undefined || caller.scopes.has(required) ? undefined : insufficient(required)
          return entrance(served as Served, refuse) as Served
        })
      ),
      Context.add(
        BearerOnly,
        BearerOnly.of(
          (served) =>
            entrance(served as Served, (caller) => (caller.via === "token" ? undefined : bearerOnly)) as Served
        )
      ),
      Context.add(
        AdminAccess,
        AdminAccess.of((served) =>
          Effect.withFiber((fiber) => {
            const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
            const state = Context.getUnsafe(fiber.context, CurrentRequest)
            state.challenge = 'Basic realm="gateway"'
            return Effect.flatMap(credentials, ({ username, password }) =>
              withRefusals(state, authenticator.basic(username, Redacted.value(password), state.clientIp))
            ).pipe(
              Effect.provideService(HttpServerRequest.HttpServerRequest, request),
              Effect.andThen(soundQuery(state) ?? (served as Served))
            ) as Served
          })
        )
      )
    )
  })
)
