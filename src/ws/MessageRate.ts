/**
 * How many messages a connection may send: a bucket, and what it means to go on when it is empty.
 * Source: docs/contract/websocket.md#limits.
 */
import type { Limits } from "./Limits.ts"

/** How often a client is told that it is over the message rate, in ms; twice as long a pause ends a flood. */
const NOTICE_MS = 1_000

/** Of one connection; `now` is in ms, of one clock. */
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

  /** A message came: it is taken, or dropped, of which the client is told now and then, until it is a flood. */
  take(now: number): "taken" | "dropped" | "notice" | "flood" {
    const { flood_ms, message_burst, messages_per_s } = this.limits
    this.tokens = Math.min(message_burst, this.tokens + ((now - this.refilledAt) * messages_per_s) / 1000)
    this.refilledAt = now
    if (this.tokens >= 1) {
      this.tokens -= 1
      // the bucket never refills while a client floods: what passes in between does not end the flood
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
