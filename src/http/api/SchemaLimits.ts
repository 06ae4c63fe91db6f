/**
 * Adds a limit to each text, list and number of the document that has none.
 *
 * The largest body limits a text, and the range of exact JSON numbers an integer.
 */
import type { JsonSchema } from "./OpenApiModel.ts"

/** No text is longer than the largest body, in characters. */
const TEXT_MAX = 256 * 1024
/** Items of a list without a bound of its own; every page and every book is far smaller. */
const ITEMS_MAX = 100_000
const INT32_MAX = 2 ** 31 - 1

/** Longest text of each form that a pattern bounds. */
const lengthOfForm: Record<string, number> = {
  Decimal: 39,
  SignedDecimal: 40,
  DigitMillis: 16,
  Uuid: 36,
  Address: 66,
  AnyAddress: 66,
  OrderLinkId: 36,
  Symbol: 25,
  Asset: 12
}

/** A pair of one type becomes a list of two: every code generator supports lists. */
const withoutTuple = (schema: JsonSchema): JsonSchema => {
  const { prefixItems, ...rest } = schema
  const [first] = prefixItems ?? []
  if (first === undefined || prefixItems === undefined) return schema
  if (prefixItems.some((item) => JSON.stringify(item) !== JSON.stringify(first))) return schema
  return { ...rest, items: first, minItems: prefixItems.length, maxItems: prefixItems.length }
}

const boundsOf = (schema: JsonSchema): JsonSchema => {
  switch (schema.type) {
    case "string":
      return schema.enum !== undefined || schema.const !== undefined || schema.maxLength !== undefined
        ? {}
        : { maxLength: TEXT_MAX }
    case "array":
      return schema.maxItems === undefined ? { maxItems: ITEMS_MAX } : {}
    case "integer": {
      const minimum = schema.minimum ?? schema.exclusiveMinimum ?? Number.MIN_SAFE_INTEGER
      const maximum = schema.maximum ?? Number.MAX_SAFE_INTEGER
      return { minimum, maximum, format: minimum >= -INT32_MAX && maximum <= INT32_MAX ? "int32" : "int64" }
    }
    default:
      return {}
  }
}

/** Limits one schema, without the schemas inside it. */
export const bounded = (schema: JsonSchema): JsonSchema => {
  const listed = withoutTuple(schema)
  // a single alternative replaces the list
  if (listed.anyOf?.length === 1) {
    const { anyOf, ...rest } = listed
    return { ...anyOf[0], ...rest }
  }
  return { ...listed, ...boundsOf(listed) }
}

/** Limits the length of a named schema that a pattern describes. */
export const boundedForm = (name: string, schema: JsonSchema): JsonSchema =>
  lengthOfForm[name] === undefined ? schema : { ...schema, maxLength: lengthOfForm[name] }
