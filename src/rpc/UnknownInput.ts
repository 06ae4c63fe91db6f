/**
 * The input of a call that its endpoint refuses by its name, or that no path can hold. The schema of a procedure drops unknown
 * names, so they are refused before it reads the call.
 * Source: docs/contract/conventions.md#query-parameters, #bodies.
 */
import type { HttpApiEndpoint } from "effect/http-api"
import * as ApiError from "../domain/ApiError.ts"
import { fieldText } from "../domain/InputText.ts"
import { fieldsOf } from "../domain/NearestName.ts"
import { unknownField, unknownParameter, upperCaseKey } from "../domain/UnknownNames.ts"
import type { CallError } from "./api/Errors.ts"
import { derived } from "./api/Operations.ts"

type Endpoint = HttpApiEndpoint.Top
type Members = Readonly<Record<string, unknown>>

const endpoints: ReadonlyMap<string, Endpoint> = new Map(derived.map(({ endpoint, rpc }) => [rpc._tag, endpoint]))
const PARTS: ReadonlySet<string> = new Set(["params", "query", "payload"])

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null

const ofField = (path: string, known: ReadonlySet<string>): CallError => {
  const { facts, field, message } = unknownField(path, known)
  return ApiError.ofReason("UnknownField", { field, ...facts }, { message })
}

const ofBody = ({ payload }: Endpoint, body: unknown): CallError | undefined => {
  const path = payload.size === 0 ? undefined : upperCaseKey(body)
  if (path === undefined) return undefined
  return ofField(path, fieldsOf([...payload.values()].flatMap((each) => ("schemas" in each ? each.schemas : []))))
}

const ofQuery = ({ query }: Endpoint, parameters: Members): CallError | undefined => {
  const known = query === undefined ? new Set<string>() : fieldsOf([query])
  const name = Object.keys(parameters).find((each) => !known.has(each))
  if (name === undefined) return undefined
  const { facts, field, message } = unknownParameter(name, known)
  return ApiError.ofReason("UnknownParameter", { field, ...facts }, { message })
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
  const endpoint = endpoints.get(tag)
  if (endpoint === undefined || !isObject(input)) return undefined
  const part = Object.keys(input).find((name) => !PARTS.has(name))
  if (part !== undefined) return ofField(part, PARTS)
  const { params, payload, query } = input
  return (
    (isObject(params) ? ofParams(params) : undefined) ??
    (isObject(query) ? ofQuery(endpoint, query) : undefined) ??
    ofBody(endpoint, payload)
  )
}
