/**
 * A markets file: its schema, its JSON Schema, and the parser, which reports all errors of a file.
 *
 * Fields are checked one by one; rules between fields are checked where all fields of a market are valid.
 */
import { Result, Schema, SchemaIssue } from "effect"
import { fieldInfoOf, Fields, Tier } from "./Fields.ts"
import { violationsOf } from "./Rules.ts"

/** Maximum number of markets in a file. */
export const MARKETS_MAX = 1000
/** Maximum size of a file, in bytes. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024
/** Maximum number of errors in the report; further ones are counted. */
export const ERRORS_MAX = 50
/** Maximum number of characters of a wrong value or name in an error. */
const SHOWN_CHARS_MAX = 60

/** One perpetual market whose fields satisfy all rules. */
export const Market = Fields.check(Schema.makeFilter(violationsOf))
export type Market = typeof Market.Type

const duplicateSymbols = (markets: ReadonlyArray<Market>) =>
  markets.flatMap(({ symbol }, i) => {
    const first = markets.findIndex((market) => market.symbol === symbol)
    return first === i ? [] : [{ path: [i, "symbol"], issue: `a symbol of its own; markets[${first}] has this one` }]
  })

const about = "The markets, in the order in which lists show them"
const accepts = `1 to ${MARKETS_MAX} markets`

/** The whole file: at least one market, unique symbols. `$schema` names the JSON Schema for editors. */
export const MarketsFile = Schema.Struct({
  $schema: Schema.optionalKey(
    Schema.String.annotate({
      about: "Where the JSON Schema of the file is, for editors; it has no effect",
      accepts: "text",
      description: "Where the JSON Schema of the file is, for editors; it has no effect.",
      examples: ["markets.schema.json"]
    })
  ),
  markets: Schema.Array(Market)
    .check(Schema.isMinLength(1), Schema.isMaxLength(MARKETS_MAX), Schema.makeFilter(duplicateSymbols))
    .annotate({ about, accepts, description: `${about}. Accepted: ${accepts}.` })
})

const ID = "markets.schema.json"

/** JSON Schema (draft 2020-12) of the file. It contains the rules of single fields, not those between fields. */
export const jsonSchema = (): Readonly<Record<string, unknown>> => {
  const { schema } = Schema.toJsonSchemaDocument(MarketsFile, { onExcessProperty: "error" })
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: ID,
    title: "Markets file",
    description:
      "MARKETS_FILE: the markets of the embedded exchange. docs/reference/markets-file.md explains each field.",
    ...schema
  }
}

const shortened = (text: string): string =>
  text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text

const PLAIN = /^[\w$]{1,60}$/u
const keyText = (key: PropertyKey, i: number): string => {
  if (typeof key === "number") return `[${key}]`
  const name = String(key)
  return PLAIN.test(name) ? `${i === 0 ? "" : "."}${name}` : `[${shortened(JSON.stringify(name))}]`
}
const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.length === 0 ? "the file" : path.map(keyText).join("")

const givenAt = (value: unknown, path: ReadonlyArray<PropertyKey>): string => {
  let at = value
  for (const key of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return "nothing"
    at = (at as Record<PropertyKey, unknown>)[key]
  }
  return shortened(JSON.stringify(at))
}

/** The fields of the file, of a market and of a tier, by the number of array indices in a path. */
const fields: ReadonlyArray<Readonly<Record<string, Schema.Top>>> = [MarketsFile.fields, Fields.fields, Tier.fields]

/** The accepted values at a path: of a field its annotation, of an object its fields. */
const acceptedAt = (path: ReadonlyArray<PropertyKey>): string => {
  const key = path.at(-1)
  if (typeof key === "number") return `an object with the fields of ${path.length === 2 ? "a market" : "a risk tier"}`
  if (key === undefined) return 'an object {"markets": […]}'
  const known = fields[path.filter((part) => typeof part === "number").length]!
  return Object.hasOwn(known, key)
    ? fieldInfoOf(known[key as string]!).accepts
    : `no such field; the fields are ${Object.keys(known).join(", ")}`
}

/**
 * Marks messages of rules between fields, which include the accepted values; for other errors the field's annotation
 * has them.
 */
const RULE = "rule: "
const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    const message = issue._tag === "InvalidValue" ? issue.annotations?.["message"] : undefined
    return typeof message === "string" ? `${RULE}${message}` : ""
  },
  checkHook: () => undefined
})

const decode = Schema.decodeUnknownResult(MarketsFile, { errors: "all", onExcessProperty: "error" })

/** Parses the text of a file: its markets, or all errors, each with path, given value and accepted values. */
export const read = (text: string): Result.Result<ReadonlyArray<Market>, ReadonlyArray<string>> => {
  if (Buffer.byteLength(text) > FILE_BYTES_MAX)
    return Result.fail([`the file: given ${Buffer.byteLength(text)} bytes, accepted: at most ${FILE_BYTES_MAX} bytes`])
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    return Result.fail([`the file: given no JSON (${(cause as Error).message}), accepted: JSON`])
  }
  const decoded = decode(value)
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success.markets)
  const { issues } = format(decoded.failure.issue)
  const errors = issues.map(({ message, path = [] }) => {
    const keys = path as ReadonlyArray<PropertyKey>
    const accepted = message.startsWith(RULE) ? message.slice(RULE.length) : acceptedAt(keys)
    return `${pathText(keys)}: given ${givenAt(value, keys)}, accepted: ${accepted}`
  })
  // a value that fails two checks of its field is one error
  const all = [...new Set(errors)]
  return Result.fail(
    all.length > ERRORS_MAX ? [...all.slice(0, ERRORS_MAX), `and ${all.length - ERRORS_MAX} more`] : all
  )
}
