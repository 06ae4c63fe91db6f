/**
 * The gateway's clock, for signatures. It is based on monotonic time, so a change of the machine's clock does not affect it.
 */
import type { Environment } from "./Environment.ts"

export class ServerClock {
  private readonly environment: Environment
  /** Offset from monotonic time; initially that of the machine's clock. */
  private ahead_ms: number
  /** Maximum error of {@link now}, in ms: half of the round trip. `undefined`: not measured yet. */
  error_ms: number | undefined

  constructor(environment: Environment) {
    this.environment = environment
    this.ahead_ms = environment.wall() - environment.now()
  }
  /** Unix time by the gateway's clock, in ms. */
  readonly now = (): number => Math.round(this.environment.now() + this.ahead_ms)
  /** How far the gateway's clock is ahead of this machine's, in ms. */
  get offset_ms(): number {
    return this.now() - this.environment.wall()
  }
  /** Sets the clock from a reading of the gateway's clock, taken between `sent` (monotonic time) and now. */
  set(server_ts_ms: number, sent: number): void {
    const now = this.environment.now()
    this.error_ms = (now - sent) / 2
    this.ahead_ms = server_ts_ms + this.error_ms - now
  }
}
