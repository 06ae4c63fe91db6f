/** Fibers that wait until readers see the event stream up to a seq. */
import { type Duration, Effect } from "effect"

interface Waiter {
  readonly seq: number
  readonly resume: () => void
}

export class SeqWaiters {
  private readonly waiters = new Set<Waiter>()
  private reached = 0

  get size(): number {
    return this.waiters.size
  }
  /** Waits for a seq, at most for a time. */
  wait(seq: number, longest: Duration.Input): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      if (this.reached >= seq) return resume(Effect.void)
      const waiter = { seq, resume: () => resume(Effect.void) }
      this.waiters.add(waiter)
      return Effect.sync(() => this.waiters.delete(waiter))
    }).pipe(Effect.timeoutOption(longest), Effect.asVoid)
  }
  /** Sets the seq without resuming: of a position that was loaded. */
  load(seq: number): void {
    this.reached = seq
  }
  /** Sets the seq and resumes its waiters. */
  advance(seq: number): void {
    this.reached = seq
    if (this.waiters.size === 0) return
    for (const waiter of this.waiters) {
      if (waiter.seq > seq) continue
      this.waiters.delete(waiter)
      waiter.resume()
    }
  }
}
