/** Every failure of a request, declared or not, as the one error body of docs/contract/conventions.md#errors. */
import { Cause, Effect } from "effect"
import { HttpServerError, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { Reason } from "../domain/Reason.ts"
import { ofIssue } from "../domain/SchemaErrorText.ts"
import { unknownField } from "../domain/UnknownNames.ts"
import type { RequestState } from "./RequestState.ts"
import { BadJson } from "./StrictJson.ts"
import { internal, ofReason, WireError, type WireErrorOf } from "./WireError.ts"

/** Writes an error body. */
export const write = (state: RequestState, error: WireError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(
    { code: error.code, message: error.message, details: error.details, request_id: state.id },
    { status: error.status, headers: headersOf(state, error.status) }
  )

const headersOf = (state: RequestState, status: number): Record<string, string> => {
  switch (status) {
    case 401:
      return { "www-authenticate": state.challenge }
    case 413:
      return { connection: "close" }
    case 429:
    case 503:
      // the rate headers of a refusing bucket replace it by the bucket's own number
      return { "retry-after": "1" }
    default:
      return {}
  }
}

/** A body or query that could not be read. */
export const badShape = <R extends Reason>({ facts, field, message, reason }: BadJson<R>): WireErrorOf<R> =>
  ofReason(reason, field === undefined ? facts : { field, ...facts }, message === undefined ? {} : { message })

/** A body that could not be read, of an endpoint that takes these fields. */
export const badBody = (
  problem: BadJson<"MalformedJson" | "UnknownField">,
  fields: () => ReadonlySet<string>
): WireError => {
  const { reason } = problem
  if (reason !== "UnknownField" || problem.field === undefined) return badShape(problem)
  const { facts, field, message } = unknownField(problem.field, fields())
  return ofReason(reason, { field, ...facts }, { message })
}

const unread = ofReason("MalformedJson", {}, { message: "the body could not be read" })

/** The response to a failure of any kind. An unexpected one is logged, and its response carries no details of it. */
export const ofCause = <E>(
  cause: Cause.Cause<E>,
  state: RequestState
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const interrupts = cause.reasons.filter(Cause.isInterruptReason)
  if (interrupts.length === cause.reasons.length) return Effect.failCause(Cause.fromReasons(interrupts))
  const error: unknown = Cause.squash(cause)
  // an INTERNAL error was logged where it was made
  if (error instanceof WireError) return Effect.succeed(write(state, error))
  if (HttpApiError.HttpApiSchemaError.is(error) && error.kind !== "Body" && error.kind !== "ResponseHeaders") {
    const { facts, message, reason } = ofIssue(error.cause.issue, (field) => state.valueOf(field))
    return Effect.succeed(write(state, ofReason(reason, facts, { message })))
  }
  if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
    return Effect.succeed(write(state, unread))
  }
  return Effect.as(
    Effect.logError("request failed", cause).pipe(Effect.annotateLogs("request_id", state.id)),
    write(state, internal)
  )
}
