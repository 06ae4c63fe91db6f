/**
 * The refusal of names that an endpoint does not take, on every transport: a dropped filter would return all rows, and a dropped
 * `reduceOnly` would open a position.
 * Source: docs/contract/conventions.md#query-parameters, #bodies.
 */
import { shown } from "./InputText.ts"
import { nearest } from "./NearestName.ts"

/** The refusal of a query parameter that an endpoint does not take. */
export const unknownParameter = (name: string, known: ReadonlySet<string>) => {
  const near = nearest(name, known)
  const accepted = known.size === 0 ? "this endpoint takes no query parameters" : `expected ${[...known].join(", ")}`
  const meant = near === undefined ? "" : `; did you mean ${near}?`
  const field = shown(name)
  return {
    field,
    message: `unknown query parameter ${JSON.stringify(field)}${meant}; ${accepted}`,
    facts: { known: [...known], ...(near === undefined ? {} : { nearest: [near] }) }
  }
}

/** The refusal of a key of a body, named by its path. */
export const unknownField = (path: string, known: ReadonlySet<string>) => {
  const near = nearest(path.slice(path.lastIndexOf(".") + 1), known)
  const field = shown(path)
  return near === undefined
    ? { field, message: `unknown field ${field}: expected names in snake_case`, facts: {} }
    : { field, message: `unknown field ${field}; did you mean ${near}?`, facts: { nearest: [near] } }
}

/** Path of the first key with an upper-case letter; `undefined`: there is none. */
export const upperCaseKey = (value: unknown, path = ""): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    if (name !== name.toLowerCase()) return path + name
    const found = upperCaseKey(member, `${path}${name}.`)
    if (found !== undefined) return found
  }
  return undefined
}
