/**
 * The message rate of a connection: a token bucket, with notices and flood detection.
 * Source: docs/contract/websocket.md#limits.
 */
import type { Limits } from "./Limits.ts"

/** Time between two notices to a client above the rate, in ms; a pause of twice this time ends a flood. */
const NOTICE_MS = 1_000

/** State of one connection; `now` is in ms. */
export class MessageRate {
  private readonly limits: Pick<Limits, "message_burst" | "messages_per_s" | "flood_ms">
  private tokens: number
  private refilledAt: number
  private floodSince: number | undefined
  private noticeAt = -Infinity

  constructor(limits: Pick<Limits, "message_burst" | "messages_per_s" | "flood_ms">, now: number) {
    this.limits = limits
    this.tokens = limits.message_burst
    this.refilledAt = now
  }

  /** Counts a message: `taken`, `dropped`, dropped with a `notice` to the client, or a `flood`. */
  take(now: number): "taken" | "dropped" | "notice" | "flood" {
    const { flood_ms, message_burst, messages_per_s } = this.limits
    this.tokens = Math.min(message_burst, this.tokens + ((now - this.refilledAt) * messages_per_s) / 1000)
    this.refilledAt = now
    if (this.tokens >= 1) {
      this.tokens -= 1
      // during a flood single messages still pass; only a pause ends it
      if (this.floodSince !== undefined && now - this.noticeAt > 2 * NOTICE_MS) this.floodSince = undefined
      return "taken"
    }
    this.floodSince ??= now
    if (now - this.floodSince >= flood_ms) return "flood"
    if (now - this.noticeAt < NOTICE_MS) return "dropped"
    this.noticeAt = now
    return "notice"
  }
}
