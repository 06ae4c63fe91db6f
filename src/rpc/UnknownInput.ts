/**
 * The input of a call that its endpoint refuses by its name, that no path can hold, or that is a number in another notation than
 * digits. The schema of a procedure drops unknown names and reads such numbers, so they are refused before it reads the call.
 * Source: docs/contract/conventions.md#query-parameters, #bodies.
 */
import type { HttpApiEndpoint } from "effect/http-api"
import * as ApiError from "../domain/ApiError.ts"
import { fieldText } from "../domain/InputText.ts"
import { fieldsOf } from "../domain/NearestName.ts"
import { notInDigits, numbersOf } from "../domain/QueryNumbers.ts"
import { unknownField, unknownParameter, upperCaseKey } from "../domain/UnknownNames.ts"
import type { CallError } from "./api/Errors.ts"
import { Feeds } from "./api/Feeds.ts"
import { derived } from "./api/Operations.ts"

type Members = Readonly<Record<string, unknown>>

/** The names that an endpoint takes. */
interface Names {
  readonly query: ReadonlySet<string>
  readonly numbers: ReadonlySet<string>
  /** Undefined: it takes no body. */
  readonly body: ReadonlySet<string> | undefined
}
const namesOf = ({ payload, query }: HttpApiEndpoint.Top): Names => ({
  query: fieldsOf(query === undefined ? [] : [query]),
  numbers: query === undefined ? new Set() : numbersOf(query),
  body:
    payload.size === 0
      ? undefined
      : fieldsOf([...payload.values()].flatMap((each) => ("schemas" in each ? each.schemas : [])))
})
const endpoints: ReadonlyMap<string, Names> = new Map(derived.map(({ endpoint, rpc }) => [rpc._tag, namesOf(endpoint)]))
const PARTS: ReadonlySet<string> = new Set(["params", "query", "payload"])
const feeds: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...Feeds.requests.values()].map(({ _tag, payloadSchema }) => [_tag, new Set(Object.keys(payloadSchema.fields))])
)

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null

const ofField = (path: string, known: ReadonlySet<string>): CallError => {
  const { facts, field, message } = unknownField(path, known)
  return ApiError.ofReason("UnknownField", { field, ...facts }, { message })
}

const ofMembers = (input: Members, known: ReadonlySet<string>): CallError | undefined => {
  const name = Object.keys(input).find((each) => !known.has(each))
  return name === undefined ? undefined : ofField(name, known)
}

const ofBody = ({ body }: Names, value: unknown): CallError | undefined => {
  const path = body && upperCaseKey(value)
  return path === undefined ? undefined : ofField(path, body!)
}

const ofQuery = ({ numbers, query }: Names, parameters: Members): CallError | undefined => {
  for (const [name, value] of Object.entries(parameters)) {
    if (!query.has(name)) {
      const { facts, field, message } = unknownParameter(name, query)
      return ApiError.ofReason("UnknownParameter", { field, ...facts }, { message })
    }
    const message = numbers.has(name) && typeof value === "string" ? notInDigits(name, value) : undefined
    if (message !== undefined) return ApiError.ofReason("InvalidField", { field: name }, { message })
  }
  return undefined
}

/** A segment `.` or `..` would lead to another path, and half of a surrogate pair has no encoding. */
const ofParams = (parameters: Members): CallError | undefined => {
  for (const [field, value] of Object.entries(parameters)) {
    if (typeof value !== "string" || (value !== "." && value !== ".." && value.isWellFormed())) continue
    const message = fieldText(field, "text that a path can hold", value)
    return ApiError.ofReason("InvalidField", { field }, { message })
  }
  return undefined
}

/** Why the input of a call is refused; `undefined`: its schema reads it. */
export const refusalOf = (tag: string, input: unknown): CallError | undefined => {
  if (!isObject(input)) return undefined
  const feed = feeds.get(tag)
  if (feed !== undefined) return ofMembers(input, feed)
  const names = endpoints.get(tag)
  if (names === undefined) return undefined
  const { params, payload, query } = input
  return (
    ofMembers(input, PARTS) ??
    (isObject(params) ? ofParams(params) : undefined) ??
    (isObject(query) ? ofQuery(names, query) : undefined) ??
    ofBody(names, payload)
  )
}
