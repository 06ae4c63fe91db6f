/** Fibers that wait until readers see the event stream up to a seq. */
import { type Duration, Effect } from "effect"

interface Waiter {
  readonly seq: number
  readonly resume: () => void
}

export class SeqWaiters {
  private readonly waiters = new Set<Waiter>()
  /** The seq up to which readers see the stream now; it falls where the numbering restarts. */
  private readonly seq: () => number

  constructor(seq: () => number) {
    this.seq = seq
  }
  get size(): number {
    return this.waiters.size
  }
  /** Waits for a seq, at most for a time. */
  wait(seq: number, longest: Duration.Input): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      if (this.seq() >= seq) return resume(Effect.void)
      const waiter = { seq, resume: () => resume(Effect.void) }
      this.waiters.add(waiter)
      return Effect.sync(() => this.waiters.delete(waiter))
    }).pipe(Effect.timeoutOption(longest), Effect.asVoid)
  }
  /** Resumes the waiters of the seq that readers see now. */
  advance(): void {
    if (this.waiters.size === 0) return
    const seq = this.seq()
    for (const waiter of this.waiters) {
      if (waiter.seq > seq) continue
      this.waiters.delete(waiter)
      waiter.resume()
    }
  }
}
