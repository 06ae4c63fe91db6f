/** Query strings as this API takes them: no parameter twice, percent-encoding sound. Source: contract 1.1. */
import { BadJson } from "./StrictJson.ts"

type Parameters = { readonly [name: string]: string | ReadonlyArray<string> }

/** A target without a query. */
export const NONE: Parameters = {}
/** The one parameter that may repeat. */
const REPEATABLE = "order_status"

const decode = (text: string): string => decodeURIComponent(text.replaceAll("+", " "))

/** Reads the query of a request target; an empty value means that the parameter is absent. */
export const parse = (url: string): Parameters | BadJson => {
  const at = url.indexOf("?")
  if (at === -1 || at === url.length - 1) return NONE
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
      return new BadJson("InvalidField", equals === -1 ? pair : pair.slice(0, equals))
    }
    const before = found[name]
    if (before === undefined) found[name] = value
    else if (name !== REPEATABLE) return new BadJson("InvalidField", name)
    else if (Array.isArray(before)) before.push(value)
    else found[name] = [before, value]
  }
  const present: Record<string, string | Array<string>> = {}
  for (const [name, value] of Object.entries(found)) if (value !== "" && name !== "__proto__") present[name] = value
  return present
}
