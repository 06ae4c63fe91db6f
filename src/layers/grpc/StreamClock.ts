/**
 * A lower bound of the sequencer's clock on a command stream, from the readings that the sequencer sends.
 *
 * A reading is older than its arrival, so the sequencer's clock is at or above it by then. A deadline in the sequencer's time
 * that is derived from this bound is thus never later than intended, whatever a message waited on its way and whatever the
 * clocks of the two machines show. A late reading makes the deadline earlier, until a better one arrives.
 * Source: docs/contract/boundary.md#the-clock-of-a-stream, docs/decisions/0017-not-after.md.
 */

/** Greatest difference of the rates of two monotonic clocks: an NTP daemon slews each by at most 500 ppm. */
export const DRIFT = 0.001

export class StreamClock {
  private clock_ms = -Infinity
  private read_ms = 0

  /** Whether the sequencer has sent a reading. */
  get isKnown(): boolean {
    return this.clock_ms !== -Infinity
  }

  /** Records a reading that arrived at this monotonic time of the gateway. */
  observe(clock_ms: number, now_ms: number): void {
    if (clock_ms < this.atLeast(now_ms)) return
    this.clock_ms = clock_ms
    this.read_ms = now_ms
  }

  /** The sequencer's clock shows at least this now. */
  atLeast(now_ms: number): number {
    return this.clock_ms + (now_ms - this.read_ms) * (1 - DRIFT)
  }
}
