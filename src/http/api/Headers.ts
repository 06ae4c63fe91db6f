/** Which headers an answer carries, as the document tells them. Source: contract 1.1, 3.5, 7, 8.4. */

import { bounded } from "./Bounds.ts"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const header = (description: string, example: string | number) => ({
  description,
  schema: bounded(typeof example === "number" ? { type: "integer", minimum: 0 } : { type: "string" }),
  example
})

export const headers = {
  "X-Request-Id": header("That of the request, or one made for it; error bodies repeat it", "req-1"),
  "Access-Control-Allow-Origin": header("Any origin may read the answer", "*"),
  "Cache-Control": header("`no-store`, or for how many seconds the answer holds", "no-store"),
  "X-Data-Age-Ms": header("Age of the market data while the sequencer is ill [ms]; absent while it is well", 1200),
  "RateLimit-Limit": header("Requests a window [count]", 60),
  "RateLimit-Remaining": header("Requests left in the window [count]", 59),
  "RateLimit-Reset": header("Time to the next free slot [s]", 1),
  "RateLimit-Policy": header("The policy as a structured field", '"public";q=60;w=60'),
  RateLimit: header("The state of the bucket as a structured field", '"public";r=59;t=1'),
  "Retry-After": header("When to come back [s]", 1),
  "WWW-Authenticate": header("Which credentials are asked for", "Bearer"),
  Deprecation: header("Since when the operation is deprecated (RFC 9745) [s]", "@1767225600"),
  ETag: header("Name of this state of the answer", '"1f3c"')
} as const

/** Paths whose answers carry an entity tag. */
export const taggedPaths: ReadonlySet<string> = new Set([
  "/api/v1/market/instruments-info",
  "/api/v1/market/risk-limit",
  "/api-docs/openapi.json",
  "/api-docs/asyncapi.json"
])

type Name = keyof typeof headers

const rate = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit"] as const

const namesOf = (answer: {
  readonly path: string
  readonly status: number
  readonly op: Json
}): ReadonlyArray<Name> => {
  const { op, path, status } = answer
  const found: Array<Name> = ["X-Request-Id", "Access-Control-Allow-Origin", "Cache-Control"]
  // a bucket may be switched off, and what fails before it is counted tells nothing of it
  if (op.responses["429"] !== undefined) found.push(...rate)
  if (path.startsWith("/api/v1/market/") && status === 200) found.push("X-Data-Age-Ms")
  if (taggedPaths.has(path) && status === 200) found.push("ETag")
  if (status === 401) found.push("WWW-Authenticate")
  if (status === 429 || status === 503) found.push("Retry-After")
  if (path === "/api/v1/trade/executions") found.push("Deprecation")
  return found
}

/** Headers of one answer of an operation, as references. */
export const headersOf = (answer: {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly op: Json
}): Json => Object.fromEntries(namesOf(answer).map((name) => [name, { $ref: `#/components/headers/${name}` }]))
