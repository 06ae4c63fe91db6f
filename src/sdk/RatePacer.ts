/** How fast a caller may go, by the gateway's RateLimit headers. Source: docs/contract/limits.md. */

const secondsOf = (headers: Headers, name: string): number | undefined => {
  // a proxy in between may send a date, which is not waited for
  const seconds = Number(headers.get(name) ?? NaN)
  return seconds >= 0 ? seconds : undefined
}

/** Time after which a call may be made again, in ms; 0 where the answer names none. */
export const retryAfterOf = (headers: Headers): number => (secondsOf(headers, "retry-after") ?? 0) * 1_000

/** Calls that share buckets of the gateway: the headers tell of the tightest one. */
export class Pace {
  private readonly now: () => number
  /** When the next request may pass. */
  private free_ms = 0

  constructor(now: () => number) {
    this.now = now
  }
  /** Time until the next request may pass, in ms. */
  get wait_ms(): number {
    return Math.max(0, this.free_ms - this.now())
  }
  /** Reads the headers of an answer. `Retry-After` of a 503 is about that call alone: a cancel behind it need not wait. */
  heard(headers: Headers, status: number): void {
    const retry = status === 503 ? undefined : secondsOf(headers, "retry-after")
    const left = secondsOf(headers, "ratelimit-remaining")
    const reset = secondsOf(headers, "ratelimit-reset")
    if (retry !== undefined) this.free_ms = this.now() + retry * 1_000
    else if (left !== undefined) this.free_ms = left === 0 ? this.now() + (reset ?? 0) * 1_000 : 0
  }
}
