/**
 * Error responses: one class per wire code, typed by the reasons that an operation declares.
 *
 * The body is `{ code, message }` plus optional `details` (a stable `reason` and facts) and `request_id`.
 * Source: docs/contract/conventions.md#reasons.
 */
import { ErrorReporter, Schema } from "effect"
import { field } from "./Field.ts"
import { type Code, codeOf, type CodeOf, type Details, type Reason, textOf } from "./Reason.ts"

/** The fields of an error body. */
export const bodyOf = <const C extends Code>(code: C) => ({
  code: field(Schema.tag(code), "Code of the error"),
  message: field(
    Schema.String,
    "Text for developers, in English; the wording may change",
    "price: expected a multiple of 0.1"
  ),
  details: Schema.optionalKey(
    field(
      Schema.Record(Schema.String, Schema.Unknown),
      "Facts: a stable `reason`, the offending `field`, limits, ids",
      { reason: "MissingField", field: "symbol" }
    )
  ),
  request_id: Schema.optionalKey(
    field(Schema.String, "`X-Request-Id` of the response; quote it when you report a problem", "req-1")
  )
})

export class BadRequest extends Schema.Error<BadRequest>("BadRequest")(bodyOf("BAD_REQUEST"), {
  httpApiStatus: 400,
  description: "Invalid request parameters"
}) {
  override readonly [ErrorReporter.ignore] = true
}
export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(bodyOf("UNAUTHORIZED"), {
  httpApiStatus: 401,
  description: "Authentication failed or the token has expired"
}) {
  override readonly [ErrorReporter.ignore] = true
}
export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(bodyOf("FORBIDDEN"), {
  httpApiStatus: 403,
  description: "Insufficient permissions"
}) {
  override readonly [ErrorReporter.ignore] = true
}
export class NotFound extends Schema.Error<NotFound>("NotFound")(bodyOf("NOT_FOUND"), {
  httpApiStatus: 404,
  description: "Resource not found"
}) {
  override readonly [ErrorReporter.ignore] = true
}
export class Conflict extends Schema.Error<Conflict>("Conflict")(bodyOf("CONFLICT"), {
  httpApiStatus: 409,
  description: "The state of the resource does not allow it"
}) {
  override readonly [ErrorReporter.ignore] = true
}
export class TooManyRequests extends Schema.Error<TooManyRequests>("TooManyRequests")(bodyOf("RateLimitExceeded"), {
  httpApiStatus: 429,
  description: "Too many requests; Retry-After gives the seconds to wait"
}) {
  override readonly [ErrorReporter.ignore] = true
}
export class Internal extends Schema.Error<Internal>("Internal")(bodyOf("INTERNAL"), {
  httpApiStatus: 500,
  description: "Unexpected server error"
}) {}
export class ServiceUnavailable extends Schema.Error<ServiceUnavailable>("ServiceUnavailable")(
  bodyOf("SERVICE_UNAVAILABLE"),
  { httpApiStatus: 503, description: "A backend is down or lagging; Retry-After gives the seconds to wait" }
) {
  override readonly [ErrorReporter.ignore] = true
}

/** The class of each wire code. */
export const classes = {
  BAD_REQUEST: BadRequest,
  UNAUTHORIZED: Unauthorized,
  FORBIDDEN: Forbidden,
  NOT_FOUND: NotFound,
  CONFLICT: Conflict,
  RateLimitExceeded: TooManyRequests,
  INTERNAL: Internal,
  SERVICE_UNAVAILABLE: ServiceUnavailable
} as const

/**
 * An error response typed by its reasons: what a handler fails with, and what a caller receives. At run time a caller
 * has an instance of one of the {@link classes}.
 *
 * A newer gateway may send a reason that this version does not list. It stays an error of the same class, with that
 * reason.
 */
export interface ApiError<out R extends Reason = Reason, out C extends Code = CodeOf<R>> {
  readonly code: C
  readonly message: string
  readonly details: { readonly reason: R; readonly [fact: string]: unknown }
  readonly request_id?: string
}

/** The error responses of some reasons, one type for each. */
export type ApiErrorOf<R extends Reason> = R extends Reason ? ApiError<R> : never

/** The error response of a reason, as a plain value. `message` replaces the text of the catalogue. */
export const ofReason = <R extends Reason>(
  reason: R,
  details?: Details,
  options?: { readonly message?: string }
): ApiError<R> => ({
  code: codeOf(reason),
  message: options?.message ?? textOf(reason),
  details: { reason, ...details }
})
