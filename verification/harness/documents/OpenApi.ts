/**
 * Whether an answer is what the document tells of it: its status, its headers, its body, its reason. Every call of the
 * tests over sockets goes through here, so that a divergence fails the test that met it.
 */
import { document, faults, type Json, operations, resolved } from "./JsonSchema.ts"

export interface Told {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Answers that are no JSON, and that the document leaves to their own descriptions. */
const pages: ReadonlySet<string> = new Set(["/swagger-ui", "/metrics"])

/** Headers that an operation must tell of, where its answer carries them. */
const own = /^(?:x-request-id|x-data-age-ms|ratelimit.*|retry-after|www-authenticate|deprecation|etag|cache-control)$/u

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)
const routes = operations
  .map(({ method, op, path }) => ({
    method,
    op,
    path,
    pattern: new RegExp(
      `^${path
        .split(/\{[a-z_]+\}/u)
        .map(escaped)
        .join("[^/]+")}$`,
      "u"
    )
  }))
  // a fixed path goes before one with a place in it
  .toSorted((a, b) => a.path.split("{").length - b.path.split("{").length)

const isJson = (headers: Headers): boolean => headers.get("content-type")?.startsWith("application/json") === true

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What is wrong with a header that is on the wire, by its schema. */
const headerFaults = (name: string, schema: Json, value: string): ReadonlyArray<string> =>
  faults(schema, schema.type === "integer" && /^\d+$/u.test(value) ? Number(value) : value, name)

const wrongHeaders = (declared: Json, headers: Headers): ReadonlyArray<string> => {
  const told = new Map(Object.entries<Json>(declared).map(([name, header]) => [name.toLowerCase(), resolved(header)]))
  const found: Array<string> = []
  for (const [name, { required, schema }] of told) {
    const value = headers.get(name)
    if (value !== null) found.push(...headerFaults(name, schema, value))
    else if (required === true) found.push(`the header ${name} is missing`)
  }
  for (const name of headers.keys()) {
    if (own.test(name) && !told.has(name)) found.push(`the document does not tell the header ${name}`)
  }
  return found
}

/** Bodies of errors, whichever operation they belong to. */
const errors: ReadonlyMap<number, string> = new Map([
  [400, "BadRequest"],
  [404, "NotFound"],
  [405, "BadRequest"],
  [426, "BadRequest"]
])

/** What no operation takes is refused with the body that all errors share. */
const unknown = ({ headers, status, text }: Told): ReadonlyArray<string> => {
  const name = errors.get(status)
  if (name === undefined) return ["the document knows no such operation"]
  if (!isJson(headers)) return [`${headers.get("content-type")} in place of JSON`]
  return faults(document.components.schemas[name], parsed(text))
}

/** Everything in which an answer is not as the document tells; empty where it is. */
export const untold = (answer: Told): ReadonlyArray<string> => {
  const { headers, method, status, target, text } = answer
  const [path] = target.split("?") as [string]
  if (method === "OPTIONS" || pages.has(path)) return []
  const route = routes.find((each) => each.method === (method === "HEAD" ? "GET" : method) && each.pattern.test(path))
  if (route === undefined) return unknown(answer)
  if (route.op.responses[status] === undefined) return [`the document does not tell the status ${status}`]
  const declared = resolved(route.op.responses[status])
  const found = [...wrongHeaders(declared.headers, headers)]
  if (method === "HEAD") return found
  if (declared.content === undefined) return text === "" ? found : [...found, "a body where the document tells none"]
  if (!isJson(headers)) return [...found, `${headers.get("content-type")} in place of JSON`]
  const body = parsed(text)
  found.push(...faults(declared.content["application/json"].schema, body))
  const reasons: ReadonlyArray<string> | undefined = declared["x-reasons"]
  if (reasons !== undefined && !reasons.includes(body?.details?.reason)) {
    found.push(`the document does not list the reason ${body?.details?.reason}`)
  }
  return found
}

/** Fails where an answer is not as the document tells, and says how. */
export const asTold = (answer: Told): void => {
  const found = untold(answer)
  if (found.length === 0) return
  const { method, status, target, text } = answer
  throw new Error(
    `${method} ${target} answers ${status}, not as docs/openapi.json tells:\n${found.map((each) => `- ${each}`).join("\n")}\n${text.slice(0, 300)}`
  )
}
