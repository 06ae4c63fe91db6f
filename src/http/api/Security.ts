/**
 * Who may call: the middleware tags that endpoints carry. What they check is in `http/security`; a client attaches its
 * credentials to the same tags. Source: docs/contract/rest.md#access, docs/contract/authentication.md.
 */
import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  BadRequest,
  Forbidden,
  Internal,
  NotFound,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized
} from "../../domain/ApiError.ts"
import type { Administrator } from "../../domain/Administrator.ts"
import type { Scope } from "../../domain/Enumerations.ts"
import type { Bucket } from "../../domain/RateHeaders.ts"
import { CALLER_KEY, type Caller } from "../../domain/User.ts"

/** Whoever stands behind the request; provided by {@link BearerOrApiKey} and {@link BearerOnly}. */
export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()(CALLER_KEY) {}

/** Scope that an API key must hold for an endpoint; `undefined` where none is asked. */
export const RequiredScope = Context.Reference<Scope | undefined>("gateway/http/RequiredScope", {
  defaultValue: () => undefined
})

/** A bucket of the client's address that an endpoint counts beside the public one. */
export const RateBeside = Context.Reference<Bucket | undefined>("gateway/http/RateBeside", {
  defaultValue: () => undefined
})

/** A bucket of the client's address that an endpoint counts in place of the public one. */
export const RateInstead = Context.Reference<Bucket | undefined>("gateway/http/RateInstead", {
  defaultValue: () => undefined
})

/** What an endpoint counts as, for callers with credentials: cancels have buckets of their own. */
export const Counts = Context.Reference<"requests" | "cancels">("gateway/http/Counts", {
  defaultValue: () => "requests"
})

/** An endpoint that a closed launch leaves open to whoever may log in; those that need `read` are open by themselves. */
export const Ungated = Context.Reference<boolean>("gateway/http/Ungated", { defaultValue: () => false })

/**
 * An endpoint that changes nothing but by commands to the sequencer, which hold the grant of the caller themselves. All
 * other endpoints that change something hold it until they have answered.
 */
export const CommandsOnly = Context.Reference<boolean>("gateway/http/CommandsOnly", { defaultValue: () => false })

/** An endpoint that ends the credential of its own caller, and so cannot hold its grant meanwhile. */
export const EndsItself = Context.Reference<boolean>("gateway/http/EndsItself", { defaultValue: () => false })

/** Whether `null` is a value in the body of an endpoint; anywhere else it means that the field is absent. */
export const NullCounts = Context.Reference<boolean>("gateway/http/NullCounts", { defaultValue: () => false })

/** Column N: anybody, within the rate of the client's address. */
export class PublicAccess extends HttpApiMiddleware.Service<PublicAccess>()("gateway/http/PublicAccess", {
  error: [TooManyRequests]
}) {}

/** The access module is on; else the endpoint answers 404 ModuleDisabled, before anything is counted. */
export class AccessModule extends HttpApiMiddleware.Service<AccessModule>()("gateway/http/AccessModule", {
  error: [NotFound]
}) {}

/** Column P: a bearer token, or API-key headers of a key that holds {@link RequiredScope}. */
export class BearerOrApiKey extends HttpApiMiddleware.Service<BearerOrApiKey, { provides: CurrentCaller }>()(
  "gateway/http/BearerOrApiKey",
  { error: [Unauthorized, Forbidden, TooManyRequests, ServiceUnavailable], requiredForClient: true }
) {}

/** Column B: a bearer token; API keys are answered 403 BearerOnly. */
export class BearerOnly extends HttpApiMiddleware.Service<BearerOnly, { provides: CurrentCaller }>()(
  "gateway/http/BearerOnly",
  { error: [Unauthorized, Forbidden, TooManyRequests, ServiceUnavailable], requiredForClient: true }
) {}

/** The administrator behind the request; provided by {@link AdminAccess}. */
export class CurrentAdministrator extends Context.Service<CurrentAdministrator, Administrator>()(
  "gateway/http/CurrentAdministrator"
) {}

/** Column A: an administrator, by HTTP Basic, whose role the endpoint admits (`AdminRoles`). */
export class AdminAccess extends HttpApiMiddleware.Service<AdminAccess, { provides: CurrentAdministrator }>()(
  "gateway/http/AdminAccess",
  { error: [Unauthorized, Forbidden, TooManyRequests, ServiceUnavailable], requiredForClient: true }
) {}

/**
 * The outermost check of every endpoint: takes the body in, within its limits, and turns each failure, declared or not,
 * into the error body of docs/contract/conventions.md#errors.
 */
export class RequestBodyMiddleware extends HttpApiMiddleware.Service<RequestBodyMiddleware>()("gateway/http/Door", {
  error: [BadRequest, Internal]
}) {}
