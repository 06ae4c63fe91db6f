/**
 * The checks behind the four kinds of access, in the order of docs/contract/rest.md#order-of-the-checks: credentials,
 * address, rate, nonce of an API key, scope and gate. What the request says is looked at after them.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApiBuilder, type HttpApiEndpoint, HttpApiSecurity } from "effect/http-api"
import { type Administrator, holds } from "../../domain/Administrator.ts"
import type { Scope } from "../../domain/Enumerations.ts"
import { tightest } from "../../domain/RateHeaders.ts"
import type { Caller } from "../../domain/User.ts"
import { Administrators } from "../../services/identity/Administrators.ts"
import { LaunchAccess } from "../../services/identity/LaunchAccess.ts"
import {
  type AuthError,
  Authenticator,
  refusalOfGrant,
  type SignedRequest
} from "../../services/identity/Authenticator.ts"
import {
  type Bucket,
  type Counted,
  type Rate,
  RateLimiter,
  RateWitness,
  type Slot,
  slotsOf
} from "../../services/operations/RateLimiter.ts"
import { roleFor } from "../api/AdminRoles.ts"
import {
  AccessModule,
  AdminAccess,
  BearerOnly,
  BearerOrApiKey,
  CommandsOnly,
  Counts,
  CurrentAdministrator,
  CurrentCaller,
  EndsItself,
  PublicAccess,
  RateBeside,
  RateInstead,
  RequiredScope,
  Ungated
} from "../api/Security.ts"
import { type Failure, limited, refusalOf } from "../ErrorMapping.ts"
import { CurrentRequest, type RequestState } from "../RequestState.ts"
import { ofReason, type WireError } from "../WireError.ts"
import { soundQuery } from "./RequestBody.ts"

type Served = Effect.Effect<HttpServerResponse.HttpServerResponse, never>
type Request = HttpServerRequest.HttpServerRequest

/** The token of nearly all requests, as {@link BEARER} would read it. */
const plainBearer = (authorization: string | undefined): string | undefined =>
  authorization?.startsWith("Bearer ") === true ? authorization.slice(7).trim() : undefined

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

const moduleDisabled = ofReason("ModuleDisabled")
const ambiguous = ofReason("AmbiguousAuth")
const bearerOnly = ofReason("BearerOnly")
const insufficient = (required: Scope) => ofReason("InsufficientScope", { required })

/** Username and password of HTTP Basic, empty where there are none. */
const credentials = HttpApiBuilder.securityDecode(HttpApiSecurity.basic).pipe(
  Effect.provideService(HttpServerRequest.ParsedSearchParams, {})
)

const fail = (error: WireError) => Effect.fail(error)

/** What a request may change: nothing, only what commands change, or anything. */
type EffectOf = "none" | "commands" | "any"

/** What an endpoint asks of a caller whose credentials are good. */
interface Terms {
  readonly gated: boolean
  readonly effect: EffectOf
  readonly counts: Counted
}

const effectOf = ({ annotations, method }: HttpApiEndpoint.Top): EffectOf => {
  if (Context.get(annotations, CommandsOnly) || Context.get(annotations, EndsItself)) return "commands"
  return method === "GET" ? "none" : "any"
}

const termsOf = (endpoint: HttpApiEndpoint.Top, gated: boolean): Terms => ({
  gated,
  effect: effectOf(endpoint),
  counts: Context.get(endpoint.annotations, Counts)
})

/** Lets the answer tell what a bucket says of its request; and why that may not pass. */
export const rateCharged = (rate: Rate | undefined, state: RequestState): WireError | undefined => {
  if (rate === undefined) return undefined
  state.rate = state.rate === undefined ? rate : tightest([state.rate, rate])
  return rate.allowed ? undefined : limited(state, rate)
}

export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const authenticator = yield* Authenticator
    const administrators = yield* Administrators
    const admission = yield* LaunchAccess
    const limiter = yield* RateLimiter
    const { bearerNow } = authenticator

    /** Counts the request, and fails where it may not pass. */
    const { takeAllNow } = limiter
    const take = (slots: ReadonlyArray<Slot>, state: RequestState): Effect.Effect<void, WireError> => {
      const verdict = (rate: Rate | undefined) => {
        const refused = rateCharged(rate, state)
        return refused === undefined ? Effect.void : fail(refused)
      }
      return takeAllNow === undefined
        ? Effect.flatMap(limiter.takeAll(slots), verdict)
        : Effect.suspend(() => verdict(takeAllNow(slots)))
    }

    /** Lets the answer to bad credentials tell how many failures are left. */
    const showing =
      (bucket: Bucket, state: RequestState) =>
      <A>(check: Effect.Effect<A, WireError>): Effect.Effect<A, WireError> =>
        Effect.tapError(check, (error) =>
          error.status !== 401
            ? Effect.void
            : Effect.map(limiter.peek(bucket, state.clientIp), (rate) => {
                // the last failure that passes is no refusal by the bucket yet
                state.rate = rate === undefined ? undefined : { ...rate, allowed: true }
              })
        )

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
        return showing("auth-failures", state)(withRefusals(state, authenticator.signed(signedRequest(request, state))))
      }
      if (authorization !== undefined && isDoubled(request, "authorization")) return fail(ambiguous)
      return Effect.map(
        showing(
          "auth-failures",
          state
        )(withRefusals(state, authenticator.bearer(token?.[1]?.trim() ?? "", state.clientIp))),
        (caller) => ({ caller, claimNonce: undefined })
      )
    }

    /** Whoever holds a token that was verified before, if that is all that the request says of its caller. */
    const holderNow = (request: Request): Caller | undefined => {
      const token = plainBearer(request.headers["authorization"])
      if (token === undefined || request.headers["x-api-key"] !== undefined) return undefined
      return isDoubled(request, "authorization") ? undefined : bearerNow?.(token)
    }

    /** The request itself, while the credential is in force. */
    const inForce = (served: Served, state: RequestState, caller: Caller, effect: EffectOf): Served => {
      const { grant } = caller
      const ended = () => refusalOf(refusalOfGrant(grant)!, state)
      switch (effect) {
        case "commands":
          return served
        case "none":
          // what was read for a credential that ended meanwhile is not shown
          return Effect.flatMap(served, (response) =>
            grant.ended === undefined ? Effect.succeed(response) : (fail(ended()) as never)
          )
        case "any":
          return Effect.acquireUseRelease(
            Effect.suspend(() => (grant.hold() ? Effect.void : (fail(ended()) as never))),
            () => served,
            () => Effect.sync(() => grant.release())
          )
      }
    }

    const goOn = (served: Served, state: RequestState, caller: Caller, { effect, gated }: Terms) => {
      const inside =
        soundQuery(state) ?? Effect.provideService(inForce(served, state, caller, effect), CurrentCaller, caller)
      return gated ? Effect.andThen(withRefusals(state, admission.gate!(caller.root_address)), inside) : inside
    }

    /** Rate, nonce, scope and gate of a known caller; then the request goes on. */
    const pass = (
      served: Served,
      state: RequestState,
      caller: Caller,
      claimNonce: Effect.Effect<void, AuthError> | undefined,
      refused: WireError | undefined,
      terms: Terms
    ) =>
      take(slotsOf(caller, terms.counts), state).pipe(
        Effect.andThen(claimNonce === undefined ? Effect.void : withRefusals(state, claimNonce)),
        Effect.andThen(refused !== undefined ? fail(refused) : goOn(served, state, caller, terms))
      )

    const entrance = (served: Served, refuse: (caller: Caller) => WireError | undefined, terms: Terms) =>
      Effect.withFiber((fiber) => {
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const state = Context.getUnsafe(fiber.context, CurrentRequest)
        const holder = takeAllNow === undefined ? undefined : holderNow(request)
        if (holder !== undefined) {
          // as below, without a step for each
          const stop = rateCharged(takeAllNow!(slotsOf(holder, terms.counts)), state) ?? refuse(holder)
          return stop === undefined ? goOn(served, state, holder, terms) : fail(stop)
        }
        return Effect.flatMap(identify(request, state), ({ caller, claimNonce }) =>
          pass(served, state, caller, claimNonce, refuse(caller), terms)
        )
      })

    return Context.empty().pipe(
      Context.add(
        AccessModule,
        AccessModule.of((served) => (admission.mode === "off" ? fail(moduleDisabled) : served) as Served)
      ),
      Context.add(
        PublicAccess,
        PublicAccess.of((served, { endpoint }) => {
          const beside = Context.get(endpoint.annotations, RateBeside)
          const instead = Context.get(endpoint.annotations, RateInstead)
          const buckets = [instead ?? "public", beside].filter((bucket) => bucket !== undefined)
          return Effect.withFiber((fiber) => {
            const state = Context.getUnsafe(fiber.context, CurrentRequest)
            const inside = soundQuery(state) ?? (served as Served)
            const counted = take(
              buckets.map((bucket) => ({ bucket, key: state.clientIp })),
              state
            )
            if (beside === undefined && instead === undefined) return Effect.andThen(counted, inside) as Served
            return counted.pipe(
              // what is counted further on stops the caller as well
              Effect.andThen(
                Effect.provideService(inside, RateWitness, (rate) => {
                  state.rate = tightest([state.rate, rate])
                })
              )
            ) as Served
          })
        })
      ),
      Context.add(
        BearerOrApiKey,
        BearerOrApiKey.of((served, { endpoint }) => {
          const required = Context.get(endpoint.annotations, RequiredScope)
          const refuse = (caller: Caller) =>
            required === undefined || caller.scopes.has(required) ? undefined : insufficient(required)
          const gated = admission.gate !== undefined && required !== "read"
          return entrance(served as Served, refuse, termsOf(endpoint, gated)) as Served
        })
      ),
      Context.add(
        BearerOnly,
        BearerOnly.of((served, { endpoint }) => {
          const gated = admission.gate !== undefined && !Context.get(endpoint.annotations, Ungated)
          const refuse = (caller: Caller) => (caller.via === "token" ? undefined : bearerOnly)
          return entrance(served as Served, refuse, termsOf(endpoint, gated)) as Served
        })
      ),
      Context.add(
        AdminAccess,
        AdminAccess.of((served, { endpoint }) => {
          const required = roleFor(endpoint)
          const within = (administrator: Administrator, state: RequestState) =>
            holds(administrator.role, required)
              ? (soundQuery(state) ?? (Effect.provideService(served, CurrentAdministrator, administrator) as Served))
              : fail(ofReason("InsufficientRole", { required, role: administrator.role }))
          return Effect.withFiber((fiber) => {
            const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
            const state = Context.getUnsafe(fiber.context, CurrentRequest)
            state.challenge = 'Basic realm="gateway"'
            return Effect.flatMap(credentials, ({ username, password }) =>
              showing(
                "basic-failures",
                state
              )(withRefusals(state, administrators.login(username, Redacted.value(password), state.clientIp)))
            ).pipe(
              Effect.provideService(HttpServerRequest.HttpServerRequest, request),
              Effect.flatMap((administrator) => within(administrator, state))
            ) as Served
          })
        })
      )
    )
  })
)
