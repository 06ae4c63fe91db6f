/**
 * The errors of an operation, declared once by their reasons.
 *
 * `error: errors("SymbolNotFound")` on an endpoint or a middleware is the whole declaration. A handler that can fail with another
 * reason does not compile. The OpenAPI document, docs/reference/rest.md, the procedures of RPC and the types of the client are
 * derived from it. Source: docs/contract/conventions.md#reasons, docs/contract/rest.md.
 */
import { Schema, SchemaAST } from "effect"
import { type ApiError, type ApiErrorOf, classes } from "../../domain/ApiError.ts"
import { type Code, codeOf, httpStatusOf, type Reason, statusOf } from "../../domain/Reason.ts"
import { BodyTooLarge, WrongMediaType } from "./Errors.ts"

/** The form of an error body on the wire. */
interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly details?: { readonly [fact: string]: unknown }
  readonly request_id?: string
}

/** The schema of some error bodies of one HTTP status. */
export interface ErrorSchema<E> extends Schema.Codec<E, ErrorBody> {}

/** The error bodies of reasons that are answered with 400. */
export type BadRequestOf<R extends Reason> = R extends Reason ? ApiError<R, "BAD_REQUEST"> : never

/** A reason with the code and the HTTP status that an operation answers it with. */
export interface Declared {
  readonly reason: Reason
  readonly code: Code
  readonly status: number
}

const DECLARED = "gateway/http/declared"
const declaredBy = SchemaAST.resolveAt<ReadonlyArray<Declared>>(DECLARED)
/** What some error schemas declare, each reason once, in the order of the declarations. */
export const declarationOf = (schemas: Iterable<Schema.Top>): ReadonlyArray<Declared> => [
  ...new Set([...schemas].flatMap(({ ast }) => declaredBy(ast) ?? []))
]

/** Reasons of a status that HTTP itself names have a class of their own. */
const classOf = (code: Code, status: number): Schema.Top =>
  status === 413 ? BodyTooLarge : status === 415 ? WrongMediaType : classes[code]

/** One schema for each status, which carries the whole declaration in its order. */
const schemasOf = <E>(declared: ReadonlyArray<Declared>): ReadonlyArray<ErrorSchema<E>> =>
  [...new Map(declared.map(({ code, status }) => [status, code]))].map(([status, code]) =>
    // the class takes any reason, so that a client understands a newer gateway; the type lists the declared ones
    Schema.make<ErrorSchema<E>>(classOf(code, status).annotate({ [DECLARED]: declared }).ast)
  )

/** Declares that an operation fails for these reasons, each with the code and status of the catalogue. */
export const errors = <const R extends Reason>(
  ...reasons: ReadonlyArray<R>
): ReadonlyArray<ErrorSchema<ApiErrorOf<R>>> =>
  schemasOf(reasons.map((reason) => ({ reason, code: codeOf(reason), status: httpStatusOf(reason) })))

/** Declares reasons that an operation answers with 400, whatever the catalogue says: its input is wrong, not its caller. */
export const badRequests = <const R extends Reason>(
  ...reasons: ReadonlyArray<R>
): ReadonlyArray<ErrorSchema<BadRequestOf<R>>> =>
  schemasOf(reasons.map((reason) => ({ reason, code: "BAD_REQUEST", status: statusOf.BAD_REQUEST })))

/** Reasons of every operation that reads what a backend or the database holds. */
export const reads = ["BackendUnavailable", "BackendLagging", "DatabaseUnavailable"] as const
/** Reasons of every operation that changes something, in addition to {@link reads}. */
export const changes = ["Overloaded", "DeadlineExceeded"] as const
/** Reasons of every operation that takes a body. */
export const takesBody = [
  "MalformedJson",
  "UnknownField",
  "InvalidDecimal",
  "TooManyDecimals",
  "BodyTooLarge",
  "WrongMediaType"
] as const
/** Reasons of every operation: its form, its input, and a fault of the gateway. */
export const always = [
  "MalformedRequest",
  "UnknownParameter",
  "MissingField",
  "InvalidField",
  "OutOfRange",
  "InternalError"
] as const
/** Reasons of a bearer token. */
export const tokens = ["MissingToken", "InvalidToken", "ExpiredToken", "RevokedToken"] as const
/** Reasons of a signature of an API key, in addition to {@link tokens}. */
export const signatures = [
  "UnknownApiKey",
  "ExpiredApiKey",
  "InvalidPublicKey",
  "InvalidSignature",
  "StaleTimestamp",
  "InvalidNonce",
  "NonceReused"
] as const
/** Reasons of every operation that takes the address of a sub-account and the symbol of a market. */
export const names = ["SymbolNotFound", "SubAccountNotFound"] as const
/** Reasons of every operation that takes prices and quantities of a market. */
export const prices = ["NotMultipleOfTick", "NotMultipleOfStep", "OutOfRange"] as const
