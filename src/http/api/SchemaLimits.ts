/**
 * Gives every text, list and number of the document its bound, for readers and validators.
 *
 * A schema declares its own bound. Without one, the largest body bounds a text, and the range of exact JSON numbers an integer.
 */

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

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
const withoutTuple = (schema: Json): Json => {
  const { prefixItems, ...rest } = schema
  const [first] = prefixItems
  if (prefixItems.some((item: Json) => JSON.stringify(item) !== JSON.stringify(first))) return schema
  return { ...rest, items: first, minItems: prefixItems.length, maxItems: prefixItems.length }
}

const boundsOf = (schema: Json): Json => {
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

/** Bounds one schema; the schemas inside it are bounded by themselves. */
export const bounded = (schema: Json): Json => {
  const listed = schema.prefixItems === undefined ? schema : withoutTuple(schema)
  // one choice is no choice
  if (listed.anyOf?.length === 1) {
    const { anyOf, ...rest } = listed
    return { ...anyOf[0], ...rest }
  }
  return { ...listed, ...boundsOf(listed) }
}

/** Bounds a named schema by its form. */
export const boundedForm = (name: string, schema: Json): Json =>
  lengthOfForm[name] === undefined ? schema : { ...schema, maxLength: lengthOfForm[name] }
