/** Paces calls by the gateway's RateLimit headers. Source: docs/contract/limits.md. */

const secondsOf = (headers: Headers, name: string): number | undefined => {
  // a proxy may send a date, which is ignored
  const seconds = Number(headers.get(name) ?? NaN)
  return seconds >= 0 ? seconds : undefined
}

/** `Retry-After` in ms; 0 without the header. */
export const retryAfterOf = (headers: Headers): number => (secondsOf(headers, "retry-after") ?? 0) * 1_000

/** The pace of calls that share rate limit buckets; the headers describe the tightest bucket. */
export class Pace {
  private readonly now: () => number
  /** Time at which the next request is allowed. */
  private free_ms = 0

  constructor(now: () => number) {
    this.now = now
  }
  /** Time until the next request is allowed, in ms. */
  get wait_ms(): number {
    return Math.max(0, this.free_ms - this.now())
  }
  /** Reads the headers of a response. `Retry-After` of a 503 concerns only that call: a later cancel does not wait. */
  update(headers: Headers, status: number): void {
    const retry = status === 503 ? undefined : secondsOf(headers, "retry-after")
    const left = secondsOf(headers, "ratelimit-remaining")
    const reset = secondsOf(headers, "ratelimit-reset")
    if (retry !== undefined) this.free_ms = this.now() + retry * 1_000
    else if (left !== undefined) this.free_ms = left === 0 ? this.now() + (reset ?? 0) * 1_000 : 0
  }
}
