/**
 * Errors of HTTP itself: they carry the code `BAD_REQUEST` under a status of their own.
 * Source: docs/contract/conventions.md#json-and-http.
 */
import { ErrorReporter, Schema } from "effect"
import { bodyOf } from "../../domain/ApiError.ts"

const body = bodyOf("BAD_REQUEST")

export class BodyTooLarge extends Schema.Error<BodyTooLarge>("BodyTooLarge")(body, {
  httpApiStatus: 413,
  description: "The body is larger than 256 KiB"
}) {
  override readonly [ErrorReporter.ignore] = true
}
export class WrongMediaType extends Schema.Error<WrongMediaType>("WrongMediaType")(body, {
  httpApiStatus: 415,
  description: "The body is not application/json"
}) {
  override readonly [ErrorReporter.ignore] = true
}
