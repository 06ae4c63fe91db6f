/**
 * What a call may fail with: the error classes of the whole API, told apart by `code`.
 * Source: docs/contract/conventions.md#errors.
 */
import { Schema } from "effect"
import {
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
