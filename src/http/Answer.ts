/** Every failure of a request, declared or not, as the one error body of contract 1.2. */
import { Cause, Effect, SchemaIssue } from "effect"
import { SchemaAST } from "effect"
import { HttpServerError, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { Details, Reason } from "../domain/Reason.ts"
import { nearest } from "./NearestName.ts"
import type { RequestState } from "./RequestState.ts"
import { BadJson } from "./StrictJson.ts"
import { internal, ofReason, WireError } from "./WireError.ts"

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
export const badShape = ({ facts, field, message, reason }: BadJson): WireError =>
  ofReason(reason, field === undefined ? facts : { field, ...facts }, message === undefined ? {} : { message })

/** A body that could not be read, of an endpoint that knows these fields. */
export const badBody = (problem: BadJson, fields: () => ReadonlySet<string>): WireError => {
  const { field, reason } = problem
  if (reason !== "UnknownField" || field === undefined) return badShape(problem)
  const near = nearest(field.slice(field.lastIndexOf(".") + 1), fields())
  return near === undefined
    ? badShape(problem)
    : ofReason(reason, { field, nearest: [near] }, { message: `unknown field ${field}; did you mean ${near}?` })
}

const unread = ofReason("MalformedJson", {}, { message: "the body could not be read" })

/** The answer to a failure of any kind; one that nobody foresaw is logged and tells nothing. */
export const ofCause = <E>(
  cause: Cause.Cause<E>,
  state: RequestState
): Effect.Effect<HttpServerResponse.HttpServerResponse, E> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
  const error: unknown = Cause.squash(cause)
  // one that is INTERNAL was logged by whoever made it
  if (error instanceof WireError) return Effect.succeed(write(state, error))
  if (HttpApiError.HttpApiSchemaError.is(error) && error.kind !== "Body" && error.kind !== "ResponseHeaders") {
    return Effect.succeed(write(state, ofIssue(error.cause.issue, state.input)))
  }
  if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
    return Effect.succeed(write(state, unread))
  }
  return Effect.as(
    Effect.logError("request failed", cause).pipe(Effect.annotateLogs("request_id", state.id)),
    write(state, internal)
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

/** What a value of the caller is, in a word: its text where that is short, since the caller sent it. */
const GIVEN_CHARS_MAX = 40
const given = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "a list"
  if (typeof value === "object") return "an object"
  if (typeof value !== "string") return String(value)
  return value.length > GIVEN_CHARS_MAX ? `a text of ${value.length} characters` : JSON.stringify(value)
}

/** What a type accepts, in words. */
const ACCEPTED: Readonly<Record<string, string>> = {
  String: "text",
  Number: "a number",
  Boolean: "true or false",
  Arrays: "a list",
  Objects: "an object"
}
const acceptedBy = (ast: SchemaAST.AST): string | undefined =>
  SchemaAST.resolveIdentifier(ast) === "Millis"
    ? "Unix time in milliseconds as a number, such as 1767225600000"
    : ACCEPTED[ast._tag]

const NEGATIVE = /^-(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u

/** Why a value is no accepted decimal. */
const decimalMessage = (field: string, value: unknown): string => {
  if (typeof value === "string" && TOO_MANY_DECIMALS.test(value)) return `${field} has more than 18 decimal places`
  if (typeof value === "string" && NEGATIVE.test(value))
    return `${field} must not be negative: ${given(value)} was given`
  const what = typeof value === "number" ? `the number ${value}` : given(value)
  return `${field} must be a decimal number as text, such as "60000.1": ${what} was given`
}

const leafMessage = SchemaIssue.makeFormatterStandardSchemaV1()

/** What a schema refused, in the words of contract 1.2: the reason, the field and its bounds. */
const ofIssue = (issue: SchemaIssue.Issue, input: unknown): WireError => {
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
  const choices = "ast" in node ? choicesOf(node.ast) : undefined
  const told =
    choices === undefined
      ? (leafMessage(issue).issues[0]?.message ?? "invalid value")
      : `expected one of ${choices.join(", ")}`
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
    const message = decimalMessage(field, value)
    return ofReason(tooMany ? "TooManyDecimals" : "InvalidDecimal", { field }, { message })
  }
  const accepted = node._tag === "InvalidType" && choices === undefined ? acceptedBy(node.ast) : undefined
  if (accepted !== undefined && field !== "")
    return ofReason("InvalidField", { field }, { message: `${field} must be ${accepted}: ${given(value)} was given` })
  const bounds = check === undefined ? undefined : boundsOf(check)
  return bounds === undefined ? refuse("InvalidField") : refuse("OutOfRange", bounds)
}

/** The values of an enumeration. */
const choicesOf = (ast: SchemaAST.AST): ReadonlyArray<string> | undefined =>
  SchemaAST.isUnion(ast) && ast.types.every((type) => SchemaAST.isLiteral(type))
    ? ast.types.map((type) => String((type as SchemaAST.Literal).literal))
    : undefined

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
