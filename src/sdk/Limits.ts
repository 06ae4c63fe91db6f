/** Time limits and attempts of a call, with their defaults. */

/** Maximum attempts of a call that fail with no response or a 5xx; time limit of one attempt, in ms. */
export const TRIES_MAX = 8
export const TRY_MS = 10_000
/** Longest total wait of a call, for rate limits and between attempts, in ms: a little more than one rate limit window. */
export const PATIENCE_MS = 65_000

export interface Limits {
  readonly tries_max: number
  readonly try_ms: number
  readonly patience_ms: number
}
