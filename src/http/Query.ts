/**
 * Query strings as this API takes them: no unknown parameter, none twice, percent-encoding sound.
 *
 * Source: docs/contract/conventions.md#json-and-http, #query-parameters.
 */
import type { Schema } from "effect"
import { quoted, shown } from "../domain/InputText.ts"
import { fieldsOf } from "../domain/NearestName.ts"
import { notInDigits, numbersOf } from "../domain/QueryNumbers.ts"
import { unknownParameter } from "../domain/UnknownNames.ts"
import { BadJson } from "./StrictJson.ts"

type Parameters = Record<string, string | Array<string>>
/** A query as read, or its refusal. */
export type Query = Parameters | BadJson<"InvalidField" | "UnknownParameter">

/** A target without a query. */
export const NONE: Parameters = {}
/** The one parameter that may repeat. */
const REPEATABLE = "order_status"

const decode = (text: string): string => decodeURIComponent(text.replaceAll("+", " "))

/** The parameters that an endpoint takes, and those of them that are numbers. */
interface Names {
  readonly all: ReadonlySet<string>
  readonly numbers: ReadonlySet<string>
}

const NO_NAMES: Names = { all: new Set(), numbers: new Set() }
const names = new WeakMap<Schema.Top, Names>()

const namesOf = (query: Schema.Top | undefined): Names => {
  if (query === undefined) return NO_NAMES
  let found = names.get(query)
  if (found === undefined) names.set(query, (found = { all: fieldsOf([query]), numbers: numbersOf(query) }))
  return found
}

/**
 * Reads the query of a request target; an empty value means that the parameter is absent. `query` is the schema of the
 * endpoint's parameters.
 */
export const parse = (url: string, query?: Schema.Top): Query => {
  const at = url.indexOf("?")
  if (at === -1 || at === url.length - 1) return NONE
  const { all: known, numbers } = namesOf(query)
  const found: Record<string, string | Array<string>> = Object.create(null)
  for (const pair of url.slice(at + 1).split("&")) {
    if (pair === "") continue
    const equals = pair.indexOf("=")
    let name: string
    let value: string
    try {
      name = decode(equals === -1 ? pair : pair.slice(0, equals))
      value = equals === -1 ? "" : decode(pair.slice(equals + 1))
    } catch {
      const field = shown(equals === -1 ? pair : pair.slice(0, equals))
      return new BadJson(
        "InvalidField",
        field,
        `${field}: expected sound percent-encoding of UTF-8, got ${quoted(pair)}`
      )
    }
    if (!known.has(name)) {
      const { facts, field, message } = unknownParameter(name, known)
      return new BadJson("UnknownParameter", field, message, facts)
    }
    const wrong = numbers.has(name) ? notInDigits(name, value) : undefined
    if (wrong !== undefined) return new BadJson("InvalidField", name, wrong)
    const before = found[name]
    if (before === undefined) found[name] = value
    else if (name !== REPEATABLE) {
      return new BadJson("InvalidField", name, `${name}: expected once, given again as ${quoted(value)}`)
    } else if (Array.isArray(before)) before.push(value)
    else found[name] = [before, value]
  }
  const present: Record<string, string | Array<string>> = {}
  for (const [name, value] of Object.entries(found)) if (value !== "") present[name] = value
  return present
}

/** The value of a parameter as it was sent; `order_status.1` is the second of a list, repeated or with commas between. */
export const valueAt = (query: Query, field: string): string | Array<string> | undefined => {
  if (query instanceof BadJson) return undefined
  const [name, index] = field.split(".") as [string, string?]
  const value = Object.hasOwn(query, name) ? query[name] : undefined
  return index === undefined || value === undefined ? value : String(value).split(",")[Number(index)]
}
