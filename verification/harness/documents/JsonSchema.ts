/** The committed document, and a validator for the part of JSON Schema that it uses. */
import { readFileSync } from "node:fs"

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

export const document: Json = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"))

/** The target of a reference, merged with the keywords beside it. */
export const resolved = (value: Json): Json => {
  if (value?.$ref === undefined) return value ?? {}
  const { $ref, ...rest } = value
  const target = $ref
    .slice(2)
    .split("/")
    .reduce((at: Json, key: string) => at[key], document)
  return { ...resolved(target), ...rest }
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value

/** The violations of a value; empty where it is valid. */
export const faults = (schema: Json, value: Json, path = "$"): ReadonlyArray<string> => {
  const at = resolved(schema)
  if (at.anyOf !== undefined) {
    const tried = at.anyOf.map((member: Json) => faults(member, value, path))
    return tried.some((each: ReadonlyArray<string>) => each.length === 0) ? [] : tried[0]
  }
  const type = typeOf(value)
  if (at.type !== undefined && at.type !== type && !(at.type === "number" && type === "integer")) {
    return [`${path}: ${type} in place of ${at.type}`]
  }
  const found: Array<string> = []
  if (at.enum !== undefined && !at.enum.includes(value)) found.push(`${path}: ${value} is none of ${at.enum}`)
  if (type === "string") {
    if (at.pattern !== undefined && !new RegExp(at.pattern, "u").test(value))
      found.push(`${path}: ${value} is not ${at.pattern}`)
    if (value.length > at.maxLength) found.push(`${path}: longer than ${at.maxLength}`)
    if (value.length < at.minLength) found.push(`${path}: shorter than ${at.minLength}`)
  }
  if ((type === "integer" || type === "number") && (value < at.minimum || value > at.maximum))
    found.push(`${path}: ${value}`)
  if (type === "array") {
    if (value.length > at.maxItems || value.length < at.minItems) found.push(`${path}: ${value.length} items`)
    value.forEach((item: Json, i: number) => found.push(...faults(at.items, item, `${path}[${i}]`)))
  }
  if (type === "object") {
    for (const name of at.required ?? []) if (value[name] === undefined) found.push(`${path}.${name}: missing`)
    for (const [name, member] of Object.entries<Json>(value)) {
      const field = at.properties?.[name]
      if (field !== undefined) found.push(...faults(field, member, `${path}.${name}`))
      else if (at.properties !== undefined) found.push(`${path}.${name}: not in the document`)
      else if (at.additionalProperties !== undefined)
        found.push(...faults(at.additionalProperties, member, `${path}.${name}`))
    }
  }
  return found
}

export interface Operation {
  /** Method and path below /api/v1, or the whole path outside of it. */
  readonly key: string
  readonly method: string
  readonly path: string
  readonly op: Json
}
export const operations: ReadonlyArray<Operation> = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, op]) => ({
    key: `${method.toUpperCase()} ${path.replace(/^\/api\/v1(?=\/)/u, "")}`,
    method: method.toUpperCase(),
    path,
    op
  }))
)
