/**
 * The state of a rate limit for one request, and its response headers.
 *
 * Source: docs/contract/limits.md; the two structured fields follow RFC 9651 syntax.
 */
import { Schema } from "effect"

/** Names of the buckets. */
export const Bucket = Schema.Literals([
  "public",
  "token",
  "user",
  "api-key",
  "token-cancels",
  "user-cancels",
  "api-key-cancels",
  "authorize-ip",
  "authorize-key",
  "basic-failures",
  "auth-failures",
  "activate-ip",
  "activate-root"
])
export type Bucket = typeof Bucket.Type

/** State of a bucket for one request. */
export const Rate = Schema.Struct({
  bucket: Bucket,
  /** Whether the request is allowed; always true if limits are only reported. */
  allowed: Schema.Boolean,
  /** Requests a window. */
  limit: Schema.Int,
  remaining: Schema.Int,
  /** Seconds to the next free slot; 0 when one is free. */
  reset_s: Schema.Int,
  window_s: Schema.Int
})
export interface Rate extends Schema.Schema.Type<typeof Rate> {}

/** The most restrictive bucket: a refusing one, else the one with the fewest remaining requests. */
export const tightest = (rates: ReadonlyArray<Rate | undefined>): Rate | undefined => {
  let found: Rate | undefined
  for (const rate of rates) {
    if (rate === undefined) continue
    if (
      found === undefined ||
      (found.allowed && !rate.allowed) ||
      (found.allowed === rate.allowed && rate.remaining < found.remaining)
    ) {
      found = rate
    }
  }
  return found
}

/**
 * Adds the header fields to a flat list: lower-case names, each followed by its value. A refusal adds `retry-after`.
 * Times are whole seconds, at least 1.
 */
export const addRate = (fields: Array<string>, rate: Rate): void => {
  const reset = String(Math.max(1, rate.reset_s))
  fields.push(
    "ratelimit-limit",
    String(rate.limit),
    "ratelimit-remaining",
    String(rate.remaining),
    "ratelimit-reset",
    reset,
    "ratelimit-policy",
    `"${rate.bucket}";q=${rate.limit};w=${rate.window_s}`,
    "ratelimit",
    `"${rate.bucket}";r=${rate.remaining};t=${reset}`
  )
  if (!rate.allowed) fields.push("retry-after", reset)
}
