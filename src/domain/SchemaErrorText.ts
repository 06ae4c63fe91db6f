/**
 * The refusal of an input by its schema: the reason, the field, what was given and what is accepted.
 * Source: docs/contract/conventions.md#reasons.
 */
import { SchemaAST, type SchemaIssue } from "effect"
import { fieldText } from "./InputText.ts"
import type { Details, Reason } from "./Reason.ts"
import { unknownField } from "./UnknownNames.ts"

/** Such as `{ id: "effect/schema/isBetween", payload: { minimum: 1, maximum: 5 } }`. */
interface Representation {
  readonly id: string
  readonly payload?: { readonly [key: string]: unknown }
}
interface CheckNotes {
  readonly representation?: Representation
  readonly message?: unknown
}

export const DECIMAL = 'a decimal number as text, with at most 18 decimal places, such as "60000.1"'
const NOT_NEGATIVE = `${DECIMAL}, and not negative`
/** Types that words describe better than their checks. */
const BY_NAME: Readonly<Record<string, string>> = {
  Decimal: NOT_NEGATIVE,
  SignedDecimal: DECIMAL,
  Millis: "Unix time in milliseconds as a number, such as 1767225600000"
}
const TOO_MANY_DECIMALS = /^-?(?:0|[1-9][0-9]{0,19})\.[0-9]{19,}$/u

const notesOf = (ast: SchemaAST.AST): ReadonlyArray<CheckNotes> =>
  (ast.checks ?? []).map((check) => (check.annotations ?? {}) as CheckNotes)

/** The bounds that checks name, such as `minimum` and `maxLength`. */
const boundsOf = (notes: ReadonlyArray<CheckNotes>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    notes.flatMap(({ representation }) =>
      Object.entries(representation?.payload ?? {}).filter(([, bound]) => typeof bound === "number")
    )
  ) as Record<string, number>

const range = (min: number | undefined, max: number | undefined, one: string): string =>
  min !== undefined && max !== undefined
    ? ` ${one === "" ? "from" : "of"} ${min} to ${max}${one}`
    : max !== undefined
      ? ` of at most ${max}${one}`
      : min !== undefined
        ? ` of at least ${min}${one}`
        : ""

/** What a type accepts, as a noun phrase. */
const accepted = (ast: SchemaAST.AST): string => {
  const named = BY_NAME[SchemaAST.resolveIdentifier(ast) ?? ""]
  if (named !== undefined) return named
  // a type that decodes to another one has its checks on the side of the wire
  const checked = ast.checks === undefined && SchemaAST.isString(ast) ? SchemaAST.toEncoded(ast) : ast
  const notes = notesOf(checked)
  const words = notes.map(({ message }) => message).find((message) => typeof message === "string")
  if (words !== undefined) return words.replace(/^expected /u, "")
  const bounds = boundsOf(notes)
  switch (ast._tag) {
    case "Literal":
      return String(ast.literal)
    case "Union": {
      const members = ast.types.map(accepted)
      return ast.types.every((type) => SchemaAST.isLiteral(type))
        ? `one of ${members.join(", ")}`
        : members.join(" or ")
    }
    case "String":
      return `text${range(bounds["minLength"], bounds["maxLength"], " characters")}`
    case "Number": {
      const isWhole = notes.some(({ representation }) => representation?.id === "effect/schema/isInt")
      return `a ${isWhole ? "whole " : ""}number${range(bounds["minimum"], bounds["maximum"], "")}`
    }
    case "Boolean":
      return "true or false"
    case "Null":
      return "null"
    case "Arrays":
      return `a list${range(bounds["minLength"], bounds["maxLength"], " items")}`
    case "Objects":
      return "an object"
    case "Suspend":
      return accepted(ast.thunk())
    default: {
      const { message } = (ast.annotations ?? {}) as CheckNotes
      return typeof message === "string" ? message : "another value"
    }
  }
}

/** The type of a member. */
const member = (ast: SchemaAST.AST | undefined, key: PropertyKey): SchemaAST.AST | undefined => {
  switch (ast?._tag) {
    case "Objects":
      return ast.propertySignatures.find(({ name }) => name === key)?.type ?? ast.indexSignatures[0]?.type
    case "Arrays":
      return ast.elements[Number(key)] ?? ast.rest[0]
    case "Union":
      return ast.types.map((type) => member(type, key)).find((found) => found !== undefined)
    case "Suspend":
      return member(ast.thunk(), key)
    default:
      return undefined
  }
}

/** The bounds of a broken check, where it is one of a range. */
const rangeOf = (check: SchemaIssue.Filter): Details | undefined => {
  const { representation } = (check.filter.annotations ?? {}) as CheckNotes
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

/** Why an input is refused. */
export interface Refusal {
  readonly reason: Reason
  readonly facts: Details
  readonly message: string
}

/** The refusal that a schema issue means. `valueOf` returns the value of a field as sent. */
export const ofIssue = (issue: SchemaIssue.Issue, valueOf: (field: string) => unknown): Refusal => {
  const path: Array<PropertyKey> = []
  let root: SchemaAST.AST | undefined
  let node: SchemaIssue.Issue = issue
  let check: SchemaIssue.Filter | undefined
  descend: while (true) {
    if ("ast" in node) root ??= node.ast
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
  const ast = path.reduce(member, root)
  const value = valueOf(field)
  if (node._tag === "UnexpectedKey") {
    const known = path.slice(0, -1).reduce(member, root)
    const names = known?._tag === "Objects" ? known.propertySignatures.map(({ name }) => String(name)) : []
    const { facts, field: unknown, message } = unknownField(field, new Set(names))
    return { reason: "UnknownField", facts: { field: unknown, ...facts }, message }
  }
  const message = fieldText(field, ast === undefined ? "another value" : accepted(ast), value)
  const facts = field === "" ? {} : { field }
  if (node._tag === "MissingKey") return { reason: "MissingField", facts, message }
  const name = ast === undefined ? undefined : SchemaAST.resolveIdentifier(ast)
  if (name === "Decimal" || name === "SignedDecimal") {
    const tooMany = typeof value === "string" && TOO_MANY_DECIMALS.test(value)
    return { reason: tooMany ? "TooManyDecimals" : "InvalidDecimal", facts, message }
  }
  const bounds = check === undefined ? undefined : rangeOf(check)
  return bounds === undefined
    ? { reason: "InvalidField", facts, message }
    : { reason: "OutOfRange", facts: { ...facts, ...bounds }, message }
}
