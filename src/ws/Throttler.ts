/**
 * Cadence of the feeds: runs a job at most once per interval, at once when the interval has passed, else when it has.
 *
 * One fiber serves all jobs and sleeps while nothing is due, so an idle gateway pays nothing and a quiet market is told
 * without delay.
 */
import { type Clock, Effect, Latch, type Scope } from "effect"

export interface Job {
  /** Least time between two runs, in ms. */
  readonly interval_ms: number
  /** When it ran last, Unix ms; kept by the pacer. */
  lastRun: number
  readonly run: (now: number) => void
}

export interface Throttler {
  /** Asks for one run of the job. */
  readonly request: (job: Job, now: number) => void
  /** Takes back a request. */
  readonly cancel: (job: Job) => void
}

export const make = Effect.fnUntraced(function* (clock: Clock.Clock): Effect.fn.Return<Throttler, never, Scope.Scope> {
  const due = new Map<Job, number>()
  const earlier = Latch.makeUnsafe(false)
  let wakesAt = Infinity

  const runDue = (now: number): void => {
    for (const [job, at] of due) {
      if (at > now) continue
      due.delete(job)
      job.lastRun = now
      job.run(now)
    }
  }
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      while (true) {
        wakesAt = Math.min(Infinity, ...due.values())
        earlier.closeUnsafe()
        if (wakesAt === Infinity) yield* earlier.await
        else yield* Effect.timeoutOption(earlier.await, Math.max(0, wakesAt - clock.currentTimeMillisUnsafe()))
        runDue(clock.currentTimeMillisUnsafe())
      }
    })
  )
  return {
    request: (job, now) => {
      if (due.has(job)) return
      const at = job.lastRun + job.interval_ms
      if (at <= now) {
        job.lastRun = now
        job.run(now)
      } else {
        due.set(job, at)
        if (at < wakesAt) earlier.openUnsafe()
      }
    },
    cancel: (job) => due.delete(job)
  }
})
