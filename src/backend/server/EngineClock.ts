/**
 * Engine time: a monotonic clock that slews toward the wall clock. A step of the wall clock never moves it at once, so
 * prices, liquidation and expiry go on at their pace.
 *
 * Engine time catches up slowly, because the wall clock may be wrong and an order must not expire early. It falls back
 * faster: a slower second only delays what happens in it. A start follows the wall clock forward, because time has
 * passed while the backend was down. Source: docs/contract/exchange.md#engine-time.
 */

/** Gain per second while engine time is behind the wall clock, and loss while it is ahead of it. */
const CATCH_UP = 0.005
const FALL_BACK = 0.1
/** Difference between elapsed wall time and elapsed monotonic time that counts as a step, in ms. */
export const STEP_MS = 500
/** Offset beyond which the backend warns, in ms. */
export const OFFSET_MAX_MS = 60_000

export interface EngineClockOptions {
  /** Unix ms. */
  readonly wall: () => number
  /** Monotonic, in ms. */
  readonly monotonic: () => number
  /** Engine time of the last entry, Unix ms. */
  readonly at_ms: number
  /** Called after a step of the wall clock, with its length. */
  readonly onStep: (step_ms: number) => void
}

export class EngineClock {
  /** Number of steps of the wall clock. */
  steps = 0
  private readonly options: EngineClockOptions
  private time: number
  private wall: number
  private monotonic: number

  constructor(options: EngineClockOptions) {
    this.options = options
    this.wall = options.wall()
    this.monotonic = options.monotonic()
    this.time = Math.max(this.wall, options.at_ms)
  }

  /** Engine time, Unix ms; never decreases. */
  now(): number {
    const { monotonic, onStep } = this.options
    const wall = this.options.wall()
    const at = monotonic()
    const elapsed = Math.max(0, at - this.monotonic)
    const step = wall - this.wall - elapsed
    this.wall = wall
    this.monotonic = at
    this.time += elapsed
    const behind = wall - this.time
    this.time += behind > 0 ? Math.min(behind, elapsed * CATCH_UP) : Math.max(behind, -elapsed * FALL_BACK)
    if (Math.abs(step) >= STEP_MS) {
      this.steps++
      onStep(step)
    }
    return Math.floor(this.time)
  }

  /** Engine time is at least this from now on: the last entry of the leader that this backend replaces. */
  advance(at_ms: number): void {
    this.time = Math.max(this.time, at_ms)
  }

  /** How far engine time is ahead of the wall clock, in ms, at the last call of {@link now}. */
  get offset_ms(): number {
    return Math.round(this.time - this.wall)
  }
}
