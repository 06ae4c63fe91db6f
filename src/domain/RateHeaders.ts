/**
 * What a rate limit says of a request, and how the answer tells it.
 *
 * Source: docs/contract/limits.md; the two structured fields follow RFC 9651 syntax.
 */

/** What is counted. */
export type Bucket =
  | "public"
  | "token"
  | "user"
  | "api-key"
  | "token-cancels"
  | "user-cancels"
  | "api-key-cancels"
  | "authorize-ip"
  | "authorize-key"
  | "basic-failures"
  | "auth-failures"
  | "activate-ip"
  | "activate-root"

/** What a bucket says of one request. */
export interface Rate {
  readonly bucket: Bucket
  /** Whether the request may pass; always true where limits are only reported. */
  readonly allowed: boolean
  /** Requests a window. */
  readonly limit: number
  readonly remaining: number
  /** Seconds to the next free slot; 0 when one is free. */
  readonly reset_s: number
  readonly window_s: number
}

/** The bucket that stops the caller first: a refusing one, else the one with the fewest slots left. */
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
 * Adds the header fields of a limited answer: lower-case names, each with its value behind it; a refusal adds
 * `retry-after`. Whole seconds, at least 1: a slot that is free now is free in a second too.
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
