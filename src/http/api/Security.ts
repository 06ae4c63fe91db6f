/**
 * Who may call: the middleware tags that endpoints carry. What they check is in `http/security`; a client attaches its
 * credentials to the same tags. Source: docs/contract/rest.md#access, docs/contract/authentication.md.
 */
import { Context } from "effect"
import { type HttpApiEndpoint, HttpApiMiddleware } from "effect/http-api"
import type { Administrator } from "../../domain/Administrator.ts"
import type { Scope } from "../../domain/Enumerations.ts"
import type { Bucket } from "../../domain/RateHeaders.ts"
import { CALLER_KEY, type Caller } from "../../domain/User.ts"
import { always, errors, reads, signatures, tokens } from "./OperationErrors.ts"

/** The caller of the request; provided by {@link BearerOrApiKey} and {@link BearerOnly}. */
export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()(CALLER_KEY) {}

/** Scope that an API key needs for an endpoint; `undefined`: none. */
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

/** An endpoint that a closed launch leaves open to every wallet that has logged in. Endpoints that need `read` are open too. */
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

/** Whether a closed launch refuses an endpoint to wallets that are not admitted; of endpoints with credentials. */
export const isGated = ({ annotations }: Pick<HttpApiEndpoint.Top, "annotations">): boolean =>
  !Context.get(annotations, Ungated) && Context.get(annotations, RequiredScope) !== "read"

/** Reasons of every endpoint that takes a user's credentials. */
const credentials = [
  "AmbiguousAuth",
  ...tokens,
  ...signatures,
  "IpNotAllowed",
  "NotWhitelisted",
  "RateLimitExceeded",
  ...reads
] as const

/** Column N: no credentials; the rate of the client's address applies. */
export class PublicAccess extends HttpApiMiddleware.Service<PublicAccess>()("gateway/http/PublicAccess", {
  error: errors("RateLimitExceeded")
}) {}

/** The access module is on; else the endpoint answers 404 ModuleDisabled, before anything is counted. */
export class AccessModule extends HttpApiMiddleware.Service<AccessModule>()("gateway/http/AccessModule", {
  error: errors("ModuleDisabled")
}) {}

/** Column P: a bearer token, or API-key headers of a key that holds {@link RequiredScope}. */
export class BearerOrApiKey extends HttpApiMiddleware.Service<BearerOrApiKey, { provides: CurrentCaller }>()(
  "gateway/http/BearerOrApiKey",
  { error: errors(...credentials, "InsufficientScope"), requiredForClient: true }
) {}

/** Column B: a bearer token; API keys are answered 403 BearerOnly. */
export class BearerOnly extends HttpApiMiddleware.Service<BearerOnly, { provides: CurrentCaller }>()(
  "gateway/http/BearerOnly",
  { error: errors(...credentials, "BearerOnly"), requiredForClient: true }
) {}

/** The administrator behind the request; provided by {@link AdminAccess}. */
export class CurrentAdministrator extends Context.Service<CurrentAdministrator, Administrator>()(
  "gateway/http/CurrentAdministrator"
) {}

/** Column A: an administrator, by HTTP Basic, whose role the endpoint admits (`AdminRoles`). */
export class AdminAccess extends HttpApiMiddleware.Service<AdminAccess, { provides: CurrentAdministrator }>()(
  "gateway/http/AdminAccess",
  { error: errors("BadCredentials", "InsufficientRole", "RateLimitExceeded", ...reads), requiredForClient: true }
) {}

/**
 * The outermost check of every endpoint: takes the body in, within its limits, and turns each failure, declared or not,
 * into the error body of docs/contract/conventions.md#errors.
 */
export class RequestBodyMiddleware extends HttpApiMiddleware.Service<RequestBodyMiddleware>()(
  "gateway/http/RequestBodyMiddleware",
  {
    error: errors(...always)
  }
) {}
