/**
 * The headers of each response, for the document. Source: docs/contract/conventions.md#json-and-http,
 * docs/contract/rest-trading.md#executions, docs/contract/limits.md, docs/contract/boundary.md#lagging.
 */
import { taggedPaths } from "./EtagDocuments.ts"
import type { Operation } from "./OpenApiModel.ts"
import { bounded } from "./SchemaLimits.ts"

/** A header of every response that lists it, except where it is `sometimes` absent. */
const header = (description: string, example: string | number, sometimes?: "sometimes") => ({
  description,
  required: sometimes === undefined,
  schema: bounded(typeof example === "number" ? { type: "integer", minimum: 0 } : { type: "string" }),
  example
})

export const headers = {
  "X-Request-Id": header("That of the request, or one made for it; error bodies repeat it", "req-1"),
  "Access-Control-Allow-Origin": header("Any origin may read the answer", "*"),
  "Cache-Control": header("`no-store`, or for how many seconds the answer holds", "no-store"),
  "X-Data-Age-Ms": header(
    "Age of the market data while the sequencer is unhealthy [ms]; absent while it is healthy",
    1200,
    "sometimes"
  ),
  "RateLimit-Limit": header("Requests a window [count]", 60, "sometimes"),
  "RateLimit-Remaining": header("Requests left in the window [count]", 59, "sometimes"),
  "RateLimit-Reset": header("Time to the next free slot [s]", 1, "sometimes"),
  "RateLimit-Policy": header("The policy as a structured field", '"public";q=60;w=60', "sometimes"),
  RateLimit: header("The state of the bucket as a structured field", '"public";r=59;t=1', "sometimes"),
  "Retry-After": header("When to come back [s]", 1),
  "WWW-Authenticate": header("Which credentials are asked for", "Bearer"),
  Deprecation: header(
    "Since when the operation is deprecated (RFC 9745) [s]; absent from a refusal before its turn",
    "@1767225600",
    "sometimes"
  ),
  ETag: header("Name of this state of the answer", '"1f3c"')
} as const

type Name = keyof typeof headers

const rate = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit"] as const

/** A response of an operation, by its status. */
interface ResponseOf {
  readonly path: string
  readonly status: number
  readonly operation: Operation
}

const namesOf = ({ operation, path, status }: ResponseOf): ReadonlyArray<Name> => {
  const found: Array<Name> = ["X-Request-Id", "Access-Control-Allow-Origin", "Cache-Control"]
  // a bucket may be switched off, and a request that fails before it is counted has no rate headers
  if (operation.responses["429"] !== undefined) found.push(...rate)
  const sound = status === 200 || status === 304
  if (path.startsWith("/api/v1/market/") && sound) found.push("X-Data-Age-Ms")
  if (taggedPaths.has(path) && sound) found.push("ETag")
  if (status === 401) found.push("WWW-Authenticate")
  // a probe of readiness repeats on its own schedule
  if ((status === 429 || status === 503) && path.startsWith("/api/")) found.push("Retry-After")
  if (path === "/api/v1/trade/executions") found.push("Deprecation")
  return found
}

/** Headers of one response, as references. */
export const headersOf = (response: ResponseOf) =>
  Object.fromEntries(namesOf(response).map((name) => [name, { $ref: `#/components/headers/${name}` }]))
