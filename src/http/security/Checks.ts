/**
 * The checks of a request and the order in which they run: one list for every transport.
 *
 * HttpApi, the fast path for orders and market reads, and RPC (which calls the endpoints inside the process) run the list through
 * {@link Checks}. Before it run the deadlines of the connection (`layers/node`), {@link checkTarget} and the router; the schema of
 * the input and the handler follow it. A check answers at once where it can, so that a request with a known token costs no step
 * of Effect.
 * Source: docs/contract/rest.md#order-of-the-checks.
 */
import { Context, Effect, Layer } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { holds } from "../../domain/Administrator.ts"
import { tightest } from "../../domain/RateHeaders.ts"
import { hostsOf, isAlias, pathOf } from "../../domain/RequestTarget.ts"
import { Administrators } from "../../services/identity/Administrators.ts"
import { LaunchAccess } from "../../services/identity/LaunchAccess.ts"
import { Authenticator } from "../../services/identity/Authenticator.ts"
import { type Rate, RateLimiter, type Slot, slotsOf } from "../../services/operations/RateLimiter.ts"
import * as ErrorResponse from "../ErrorResponse.ts"
import { roleFor } from "../api/AdminRoles.ts"
import {
  AccessModule,
  AdminAccess,
  BearerOnly,
  BearerOrApiKey,
  Counts,
  isGated,
  PublicAccess,
  RateBeside,
  RateInstead,
  RequiredScope
} from "../api/Security.ts"
import { limited, withRefusals } from "../ErrorMapping.ts"
import type { RequestState } from "../RequestState.ts"
import { BadJson } from "../StrictJson.ts"
import { ofReason, type WireError } from "../WireError.ts"
import { readBody } from "./Body.ts"
import type { Check, Request, Verdict } from "./Check.ts"
import * as Credentials from "./Credentials.ts"

type Endpoint = HttpApiEndpoint.Top

const has = ({ middlewares }: Endpoint, tag: { readonly key: string }): boolean =>
  [...middlewares].some(({ key }) => key === tag.key)
const takesCredentials = (endpoint: Endpoint): boolean => has(endpoint, BearerOrApiKey) || has(endpoint, BearerOnly)

const oneHost = ofReason("MalformedRequest", {}, { message: "Host: expected one Host header" })
const noSuchRoute = ofReason("NoSuchRoute")
const moduleDisabled = ofReason("ModuleDisabled")
const bearerOnly = ofReason("BearerOnly")

/** Puts the state of a bucket into the headers of the response; the error where the bucket is full. */
const counted = (rate: Rate | undefined, state: RequestState) => {
  if (rate === undefined) return undefined
  state.rate = state.rate === undefined ? rate : tightest([state.rate, rate])
  return rate.allowed ? undefined : limited(state, rate)
}

/** Whether the Host header is missing or repeated: RFC 9112, 3.2. */
const isHostUnclear = ({ headers, source }: Request): boolean => {
  const { httpVersion, rawHeaders } = source as { readonly httpVersion?: string; readonly rawHeaders?: Array<string> }
  if (headers["host"] === undefined) return httpVersion === "1.1"
  return rawHeaders !== undefined && hostsOf(rawHeaders) > 1
}

/** The check of every request before the router: one host, and a path that is no alias of another. */
export const checkTarget = (request: Request): WireError<"MalformedRequest" | "NoSuchRoute"> | undefined =>
  isHostUnclear(request) ? oneHost : isAlias(pathOf(request.url)) ? noSuchRoute : undefined

const make = Effect.gen(function* () {
  const authenticator = yield* Authenticator
  const administrators = yield* Administrators
  const admission = yield* LaunchAccess
  const limiter = yield* RateLimiter
  const { takeAllNow } = limiter

  /** Counts the request. */
  const take = (slots: ReadonlyArray<Slot>, state: RequestState): Verdict =>
    takeAllNow === undefined
      ? Effect.flatMap(limiter.takeAll(slots), (rate) => {
          const refused = counted(rate, state)
          return refused === undefined ? Effect.void : Effect.fail(refused)
        })
      : counted(takeAllNow(slots), state)

  const userCredentials = Credentials.ofUser(authenticator, limiter)
  const administratorCredentials = Credentials.ofAdministrator(administrators, limiter)

  /**
   * The list. An entry makes the check of an endpoint; `undefined`: the endpoint has no such check. The first check that refuses
   * a request answers it.
   */
  const list: ReadonlyArray<readonly [name: string, of: (endpoint: Endpoint) => Check | undefined]> = [
    // the size and the type of the body; it is read here, since a signature may cover it
    ["body", () => readBody],
    [
      "module",
      (endpoint) => (has(endpoint, AccessModule) && admission.mode === "off" ? () => moduleDisabled : undefined)
    ],
    [
      "credentials",
      (endpoint) =>
        takesCredentials(endpoint) ? userCredentials : has(endpoint, AdminAccess) ? administratorCredentials : undefined
    ],
    [
      "rate",
      (endpoint) => {
        if (takesCredentials(endpoint)) {
          const counts = Context.get(endpoint.annotations, Counts)
          return (_, state) => take(slotsOf(state.caller!, counts), state)
        }
        if (!has(endpoint, PublicAccess)) return undefined
        const buckets = [
          Context.get(endpoint.annotations, RateInstead) ?? "public",
          Context.get(endpoint.annotations, RateBeside)
        ].filter((bucket) => bucket !== undefined)
        return (_, state) =>
          take(
            buckets.map((bucket) => ({ bucket, key: state.clientIp })),
            state
          )
      }
    ],
    [
      "nonce",
      (endpoint) =>
        takesCredentials(endpoint)
          ? (_, state) => (state.claimNonce === undefined ? undefined : withRefusals(state, state.claimNonce))
          : undefined
    ],
    [
      "permission",
      (endpoint) => {
        if (has(endpoint, BearerOnly)) return (_, { caller }) => (caller!.via === "token" ? undefined : bearerOnly)
        if (has(endpoint, AdminAccess)) {
          const required = roleFor(endpoint)
          return (_, state) => {
            const { role } = state.administrator!
            return holds(role, required) ? undefined : ofReason("InsufficientRole", { required, role })
          }
        }
        const required = Context.get(endpoint.annotations, RequiredScope)
        if (required === undefined || !has(endpoint, BearerOrApiKey)) return undefined
        return (_, { caller }) =>
          caller!.scopes.has(required) ? undefined : ofReason("InsufficientScope", { required })
      }
    ],
    [
      "admission",
      (endpoint) => {
        const { gate } = admission
        if (gate === undefined || !takesCredentials(endpoint) || !isGated(endpoint)) return undefined
        return (_, state) => withRefusals(state, gate(state.caller!.root_address))
      }
    ],
    [
      "query",
      () =>
        (_, { query }) =>
          query instanceof BadJson ? ErrorResponse.badShape(query) : undefined
    ]
  ]

  return Checks.of({
    of: (endpoint) => {
      const checks = list.flatMap(([, of]) => of(endpoint) ?? [])
      const runFrom = (request: Request, state: RequestState, from: number): Verdict => {
        for (let i = from; i < checks.length; i++) {
          const verdict = checks[i]!(request, state)
          if (verdict === undefined) continue
          if (!Effect.isEffect(verdict)) return verdict
          return Effect.flatMap(verdict, () => settled(runFrom(request, state, i + 1)))
        }
        return undefined
      }
      return (request, state) => runFrom(request, state, 0)
    }
  })
})

/** A verdict as an effect. */
const settled = (verdict: Verdict) =>
  verdict === undefined ? Effect.void : Effect.isEffect(verdict) ? verdict : Effect.fail(verdict)

export class Checks extends Context.Service<
  Checks,
  {
    /** All checks of an endpoint, in their order. They leave the caller in the state of the request. */
    readonly of: (endpoint: Endpoint) => Check
  }
>()("gateway/http/Checks") {
  static readonly layer: Layer.Layer<Checks, never, Administrators | LaunchAccess | Authenticator | RateLimiter> =
    Layer.effect(Checks, make)
}
