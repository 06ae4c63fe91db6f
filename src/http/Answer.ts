/** Every failure of a request, declared or not, as the one error body of contract 1.2. */
import { Cause, Effect, SchemaIssue } from "effect"
import { SchemaAST } from "effect"
import { HttpServerError, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { type ApiError, BadRequest, httpStatusOf, Internal, ofReason } from "../domain/ApiError.ts"
import type { Details, Reason } from "../domain/Reason.ts"
import { BodyTooLarge, WrongMediaType } from "./api/Errors.ts"
import type { RequestState } from "./RequestState.ts"
import { BadJson } from "./StrictJson.ts"

/** A refusal with the status that HTTP gives it. */
export interface WireError {
  readonly code: string
  readonly message: string
  readonly details?: { readonly [key: string]: unknown }
}

/** Writes an error body. */
export const write = (state: RequestState, status: number, error: WireError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(
    error.details === undefined
      ? { code: error.code, message: error.message, request_id: state.id }
      : { code: error.code, message: error.message, details: error.details, request_id: state.id },
    { status, headers: headersOf(state, status) }
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

const apiErrors: ReadonlySet<string> = new Set([
  "BAD_REQUEST",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "NOT_FOUND",
  "CONFLICT",
  "RateLimitExceeded",
  "INTERNAL",
  "SERVICE_UNAVAILABLE"
])
const isApiError = (u: unknown): u is ApiError =>
  u instanceof Error && "code" in u && typeof u.code === "string" && apiErrors.has(u.code)

/** A body or query that could not be read. */
export const badShape = (problem: BadJson): ApiError =>
  ofReason(problem.reason, problem.field === undefined ? {} : { field: problem.field })

const internal = Internal.make({ message: "internal error" })

/** The answer to a failure of any kind; one that nobody foresaw is logged and tells nothing. */
export const ofCause = <E>(
  cause: Cause.Cause<E>,
  state: RequestState
): Effect.Effect<HttpServerResponse.HttpServerResponse, E> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
  const error: unknown = Cause.squash(cause)
  if (error instanceof BodyTooLarge) return Effect.succeed(write(state, 413, error))
  if (error instanceof WrongMediaType) return Effect.succeed(write(state, 415, error))
  // one that is INTERNAL was logged by whoever made it
  if (isApiError(error)) return Effect.succeed(write(state, httpStatusOf(error), error))
  if (HttpApiError.HttpApiSchemaError.is(error) && error.kind !== "Body" && error.kind !== "ResponseHeaders") {
    const refused = ofIssue(error.cause.issue, state.input)
    return Effect.succeed(write(state, httpStatusOf(refused), refused))
  }
  if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
    const unread = BadRequest.make({ message: "the body could not be read", details: { reason: "MalformedJson" } })
    return Effect.succeed(write(state, 400, unread))
  }
  return Effect.as(
    Effect.logError("request failed", cause).pipe(Effect.annotateLogs("request_id", state.id)),
    write(state, 500, internal)
  )
}

const decimals: ReadonlySet<string | undefined> = new Set(["Decimal", "SignedDecimal"])
const TOO_MANY_DECIMALS = /^-?(?:0|[1-9][0-9]{0,19})\.[0-9]{19,}$/u

const valueAt = (input: unknown, path: ReadonlyArray<PropertyKey>): unknown => {
  let value = input
  for (const key of path) {
    if (value === null || typeof value !== "object") return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}

const leafMessage = SchemaIssue.makeFormatterStandardSchemaV1()

/** What a schema refused, in the words of contract 1.2: the reason, the field and its bounds. */
const ofIssue = (issue: SchemaIssue.Issue, input: unknown): ApiError => {
  const path: Array<PropertyKey> = []
  let node: SchemaIssue.Issue = issue
  let check: SchemaIssue.Filter | undefined
  descend: while (true) {
    switch (node._tag) {
      case "Pointer":
        path.push(...node.path)
        node = node.issue
        continue
      case "Filter":
        check = node
        node = node.issue
        continue
      case "Encoding":
        node = node.issue
        continue
      case "Composite":
      case "AnyOf": {
        const inner: SchemaIssue.Issue | undefined = node.issues[0]
        if (inner === undefined) break descend
        node = inner
        continue
      }
      default:
        break descend
    }
  }
  const field = path.map(String).join(".")
  const told = leafMessage(issue).issues[0]?.message ?? "invalid value"
  const message = field === "" ? told : `${field}: ${told}`
  const refuse = (reason: Reason, details?: Details) =>
    ofReason(reason, field === "" ? { ...details } : { field, ...details }, { message })

  if (node._tag === "MissingKey") return ofReason("MissingField", { field }, { message: `${field} is required` })
  const value = valueAt(input, path)
  const isDecimal =
    told.startsWith("expected a decimal string") ||
    (node._tag === "InvalidType" && decimals.has(SchemaAST.resolveIdentifier(node.ast)))
  if (isDecimal) {
    const tooMany = typeof value === "string" && TOO_MANY_DECIMALS.test(value)
    const message = tooMany
      ? `${field} has more than 18 decimal places`
      : `${field} must be a decimal number as text, such as "60000.1"`
    return ofReason(tooMany ? "TooManyDecimals" : "InvalidDecimal", { field }, { message })
  }
  const bounds = check === undefined ? undefined : boundsOf(check)
  return bounds === undefined ? refuse("InvalidField") : refuse("OutOfRange", bounds)
}

const boundsOf = (check: SchemaIssue.Filter): Details | undefined => {
  const { representation } = (check.filter.annotations ?? {}) as {
    readonly representation?: { readonly id: string; readonly payload?: { readonly [key: string]: unknown } }
  }
  const payload = representation?.payload
  switch (representation?.id) {
    case "effect/schema/isBetween":
      return { min: Number(payload?.["minimum"]), max: Number(payload?.["maximum"]) }
    case "effect/schema/isGreaterThanOrEqualTo":
      return { min: Number(payload?.["minimum"]) }
    default:
      return undefined
  }
}
