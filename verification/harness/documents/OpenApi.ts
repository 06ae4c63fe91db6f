/**
 * Whether an answer is the one that the OpenAPI document declares: its status, headers, body and reason. Every REST call of
 * `RestClient.ts` is checked, so that a difference fails the test that meets it.
 */
import { document, faults, type Json, operations, resolved } from "./JsonSchema.ts"

export interface Received {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Paths whose answers are no JSON, and have descriptions of their own. */
const pages: ReadonlySet<string> = new Set(["/swagger-ui", "/metrics"])

/** Headers that an operation must declare where its answer carries them. */
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
  // a fixed path precedes one with a parameter
  .toSorted((a, b) => a.path.split("{").length - b.path.split("{").length)

const isJson = (headers: Headers): boolean => headers.get("content-type")?.startsWith("application/json") === true

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const headerFaults = (name: string, schema: Json, value: string): ReadonlyArray<string> =>
  faults(schema, schema.type === "integer" && /^\d+$/u.test(value) ? Number(value) : value, name)

const wrongHeaders = (declared: Json, headers: Headers): ReadonlyArray<string> => {
  const known = new Map(Object.entries<Json>(declared).map(([name, header]) => [name.toLowerCase(), resolved(header)]))
  const found: Array<string> = []
  for (const [name, { required, schema }] of known) {
    const value = headers.get(name)
    if (value !== null) found.push(...headerFaults(name, schema, value))
    else if (required === true) found.push(`the header ${name} is missing`)
  }
  for (const name of headers.keys()) {
    if (own.test(name) && !known.has(name)) found.push(`the header ${name} is undocumented`)
  }
  return found
}

/** Bodies of errors that no operation declares. */
const errors: ReadonlyMap<number, string> = new Map([
  [400, "BadRequest"],
  [404, "NotFound"],
  [405, "BadRequest"],
  [426, "BadRequest"]
])

/** An answer to a request that matches no operation. */
const unroutedDeviations = ({ headers, status, text }: Received): ReadonlyArray<string> => {
  const name = errors.get(status)
  if (name === undefined) return ["the operation is undocumented"]
  if (!isJson(headers)) return [`${headers.get("content-type")} in place of JSON`]
  return faults(document.components.schemas[name], parsed(text))
}

/** Every difference between an answer and the document. */
export const deviations = (received: Received): ReadonlyArray<string> => {
  const { headers, method, status, target, text } = received
  const [path] = target.split("?") as [string]
  if (method === "OPTIONS" || pages.has(path)) return []
  const route = routes.find((each) => each.method === (method === "HEAD" ? "GET" : method) && each.pattern.test(path))
  if (route === undefined) return unroutedDeviations(received)
  if (route.op.responses[status] === undefined) return [`the status ${status} is undocumented`]
  const declared = resolved(route.op.responses[status])
  const found = [...wrongHeaders(declared.headers, headers)]
  if (method === "HEAD") return found
  if (declared.content === undefined) return text === "" ? found : [...found, "the body is undocumented"]
  if (!isJson(headers)) return [...found, `${headers.get("content-type")} in place of JSON`]
  const body = parsed(text)
  found.push(...faults(declared.content["application/json"].schema, body))
  const reasons: ReadonlyArray<string> | undefined = declared["x-reasons"]
  if (reasons !== undefined && !reasons.includes(body?.details?.reason)) {
    found.push(`the reason ${body?.details?.reason} is undocumented`)
  }
  return found
}

/** Fails with every difference between an answer and the document. */
export const assertDocumented = (received: Received): void => {
  const found = deviations(received)
  if (found.length === 0) return
  const { method, status, target, text } = received
  throw new Error(
    `${method} ${target}: the answer ${status} differs from docs/openapi.json:\n${found.map((each) => `- ${each}`).join("\n")}\n${text.slice(0, 300)}`
  )
}
