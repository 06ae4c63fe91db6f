/**
 * What the middlewares of access give to an endpoint: its caller, while the credential of that caller is in force. The checks
 * themselves are in `Checks.ts`. Source: docs/contract/authentication.md#revocation.
 */
import { Context, Effect, Layer } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { tightest } from "../../domain/RateHeaders.ts"
import type { Grant } from "../../domain/Grant.ts"
import { refusalOfGrant } from "../../services/identity/AuthErrors.ts"
import { current } from "../../services/identity/CredentialLease.ts"
import { RateWitness } from "../../services/operations/RateLimiter.ts"
import {
  AccessModule,
  AdminAccess,
  BearerOnly,
  BearerOrApiKey,
  CommandsOnly,
  CurrentAdministrator,
  CurrentCaller,
  EndsItself,
  PublicAccess
} from "../api/Security.ts"
import { refusalOf, withRefusals } from "../ErrorMapping.ts"
import { CurrentRequest, type RequestState } from "../RequestState.ts"

/** What a request may change: nothing, only what commands change, or anything. */
type EffectOf = "none" | "commands" | "any"

const effectOf = ({ annotations, method }: HttpApiEndpoint.Top): EffectOf => {
  if (Context.get(annotations, CommandsOnly) || Context.get(annotations, EndsItself)) return "commands"
  return method === "GET" ? "none" : "any"
}

/** Runs the endpoint while the credential is in force. */
const inForce = <E, R>(
  served: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  state: RequestState,
  grant: Grant,
  effect: EffectOf
) => {
  const ended = () => Effect.fail(refusalOf(refusalOfGrant(grant)!, state))
  const fresh = () => withRefusals(state, current(grant.lease))
  switch (effect) {
    case "commands":
      // the sequencer checks the grant when it sends the command
      return served
    case "none": {
      // data that was read for a credential that has ended since is not sent
      const checked = (response: HttpServerResponse.HttpServerResponse) =>
        grant.ended === undefined ? Effect.succeed(response) : ended()
      return Effect.flatMap(served, (response) =>
        grant.lease.isCurrent() ? checked(response) : Effect.flatMap(fresh(), () => checked(response))
      )
    }
    case "any": {
      const held = Effect.acquireUseRelease(
        Effect.suspend(() => (grant.hold() ? Effect.void : ended())),
        () => served,
        () => Effect.sync(() => grant.release())
      )
      return Effect.suspend(() => (grant.lease.isCurrent() ? held : Effect.andThen(fresh(), held)))
    }
  }
}

/** Gives an endpoint the caller that the checks have found. */
const withCaller = <E, R>(
  served: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  endpoint: HttpApiEndpoint.Top
) => {
  const effect = effectOf(endpoint)
  return Effect.withFiber((fiber) => {
    const state = Context.getUnsafe(fiber.context, CurrentRequest)
    const caller = state.caller!
    return Effect.provideService(inForce(served, state, caller.grant, effect), CurrentCaller, caller)
  })
}

const publicAccess = PublicAccess.of((served) =>
  Effect.withFiber((fiber) => {
    const state = Context.getUnsafe(fiber.context, CurrentRequest)
    // a service that counts the caller further may stop it as well
    return Effect.provideService(served, RateWitness, (rate) => {
      state.rate = tightest([state.rate, rate])
    })
  })
)

const adminAccess = AdminAccess.of((served) =>
  Effect.withFiber((fiber) =>
    Effect.provideService(served, CurrentAdministrator, Context.getUnsafe(fiber.context, CurrentRequest).administrator!)
  )
)

export const layer = Layer.succeedContext(
  Context.empty().pipe(
    Context.add(
      AccessModule,
      AccessModule.of((served) => served)
    ),
    Context.add(PublicAccess, publicAccess),
    Context.add(
      BearerOrApiKey,
      BearerOrApiKey.of((served, { endpoint }) => withCaller(served, endpoint))
    ),
    Context.add(
      BearerOnly,
      BearerOnly.of((served, { endpoint }) => withCaller(served, endpoint))
    ),
    Context.add(AdminAccess, adminAccess)
  )
)
