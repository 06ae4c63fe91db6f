/**
 * A limit on work in flight that follows the measured delay: additive increase, multiplicative decrease.
 *
 * The delay is averaged over a round, which is about one delay long. A round above the target lowers the limit by a
 * tenth. A round below it, in which the limit delayed work, raises the limit by its square root. A round in which the
 * limit delayed no work gives no evidence for a higher limit. docs/decisions/0014.
 */

export interface AdaptiveLimitOptions {
  readonly initial: number
  readonly min: number
  readonly max: number
  /** Mean delay above which the limit decreases, in ms. */
  readonly target_ms: number
}

/** Shortest round, in ms. */
const ROUND_MS_MIN = 50
const DECREASE = 0.9

export class AdaptiveLimit {
  private readonly options: AdaptiveLimitOptions
  private limit: number
  private began_ms: number | undefined
  private sum_ms = 0
  private count = 0
  private wasReached = false
  private mean = 0

  constructor(options: AdaptiveLimitOptions) {
    this.options = options
    this.limit = options.initial
  }

  /** Most work items in flight. */
  get value(): number {
    return Math.floor(this.limit)
  }
  /** Mean delay of the last round, in ms; 0 before the first. */
  get delay_ms(): number {
    return this.mean
  }

  /** Records that the limit delayed work. */
  reached(): void {
    this.wasReached = true
  }

  /** Records a completed work item with its delay in ms. `now`: monotonic, in ms. */
  observe(now: number, delay_ms: number): void {
    this.began_ms ??= now - delay_ms
    this.sum_ms += delay_ms
    this.count++
    const mean = this.sum_ms / this.count
    if (now - this.began_ms < Math.max(ROUND_MS_MIN, mean)) return
    const { max, min, target_ms } = this.options
    if (mean > target_ms) this.limit = Math.max(min, this.limit * DECREASE)
    else if (this.wasReached) this.limit = Math.min(max, this.limit + Math.sqrt(this.limit))
    this.mean = mean
    this.began_ms = now
    this.sum_ms = 0
    this.count = 0
    this.wasReached = false
  }
}
