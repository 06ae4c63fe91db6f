/**
 * Header fields of every response, of HttpApi and of the fast path.
 * Source: docs/contract/conventions.md#json-and-http, docs/contract/limits.md, docs/contract/boundary.md#lagging.
 */
import { addRate } from "../domain/RateHeaders.ts"
import type { RequestState } from "./RequestState.ts"

const exposed = [
  "RateLimit",
  "RateLimit-Policy",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Retry-After",
  "X-Request-Id",
  "X-Data-Age-Ms"
].join(", ")

/** Smallest body that is compressed for a client that accepts it, in bytes. */
export const GZIP_BYTES_MIN = 1025

/** Header fields of an answer: names in lower case, each with its value behind it. */
export const fieldsOf = (state: RequestState, status: number): Array<string> => {
  const fields = [
    "x-request-id",
    state.id,
    "access-control-allow-origin",
    "*",
    "access-control-expose-headers",
    exposed,
    "cache-control",
    state.cacheControl ?? (state.maxAge > 0 && status === 200 ? `max-age=${state.maxAge}` : "no-store")
  ]
  if (state.deprecatedSince !== undefined) fields.push("deprecation", `@${state.deprecatedSince}`)
  if (state.dataAge !== undefined) fields.push("x-data-age-ms", String(state.dataAge))
  if (state.rate !== undefined) addRate(fields, state.rate)
  return fields
}

/** The same by name. */
export const headersOf = (state: RequestState, status: number): Record<string, string> => {
  const fields = fieldsOf(state, status)
  const headers: Record<string, string> = {}
  for (let i = 0; i < fields.length; i += 2) headers[fields[i]!] = fields[i + 1]!
  return headers
}
