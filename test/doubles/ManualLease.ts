/** A lease that a test ends and renews. */
import type { LimitedLease } from "../../src/services/identity/CredentialLease.ts"

export class ManualLease implements LimitedLease {
  private current = true
  private readonly waiting = new Set<() => void>()
  readonly isCurrent = () => this.current
  readonly effect_ms: () => number
  readonly overdue_ms = () => 0
  /** Commands must be sequenced within `effect_ms`. */
  constructor(effect_ms = 950) {
    this.effect_ms = () => effect_ms
  }
  readonly onRenewal = (resume: () => void) => {
    this.waiting.add(resume)
    return () => void this.waiting.delete(resume)
  }
  /** Callbacks of the next renewal. */
  get waiters(): number {
    return this.waiting.size
  }
  end(): void {
    this.current = false
  }
  readonly renew = (): void => {
    this.current = true
    this.resume()
  }
  /** A read is complete that began too long ago. */
  renewLate(): void {
    this.resume()
  }
  private resume(): void {
    const resumed = [...this.waiting]
    this.waiting.clear()
    for (const resume of resumed) resume()
  }
}
