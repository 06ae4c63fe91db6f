/**
 * The errors of calls: the error classes of the whole API, distinguished by `code`.
 * Source: docs/contract/conventions.md#errors.
 */
import { Schema } from "effect"
import {
  type ApiErrorOf,
  BadRequest,
  Conflict,
  Forbidden,
  Internal,
  NotFound,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized
} from "../../domain/ApiError.ts"

export const ApiErrors = Schema.Union([
  BadRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  Conflict,
  TooManyRequests,
  Internal,
  ServiceUnavailable
])

/** Why a call is refused, whatever its procedure. Source: docs/contract/limits.md#transports. */
export type CallReason =
  | "AmbiguousAuth"
  | "InternalError"
  | "InvalidField"
  | "LimitReached"
  | "MalformedJson"
  | "NoSuchRoute"
  | "RateLimitExceeded"
  | "ShuttingDown"
  | "UnknownField"
  | "UnknownParameter"
export type CallError = ApiErrorOf<CallReason>

/** The schema of the errors `E` of a procedure. On the wire all procedures share {@link ApiErrors}. */
export interface CallErrorSchema<E> extends Schema.Codec<E, (typeof ApiErrors)["Encoded"]> {}
