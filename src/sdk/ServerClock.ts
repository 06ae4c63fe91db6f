/**
 * The gateway's clock, for signatures to carry. It is kept against time that only goes forward, so setting the machine's clock
 * does not move it.
 */
import type { Environment } from "./Environment.ts"

export class ServerClock {
  private readonly environment: Environment
  /** What is to be added to the environment's time; by default what the machine believes. */
  private ahead_ms: number
  /** How far {@link now} may be off, in ms: half of the way there and back. `undefined`: it was never measured. */
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
  /** Takes in what the gateway's clock showed somewhere between `sent`, on the environment's time, and now. */
  set(server_ts_ms: number, sent: number): void {
    const now = this.environment.now()
    this.error_ms = (now - sent) / 2
    this.ahead_ms = server_ts_ms + this.error_ms - now
  }
}
