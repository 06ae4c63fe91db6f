/**
 * Runs a job at most once per interval: immediately if the interval has passed since its last run, else when it has.
 *
 * One fiber serves all jobs and sleeps while none is due, so an idle gateway does no work and a quiet market has no delay.
 */
import { type Clock, Effect, Latch, type Scope } from "effect"
import { monotonicMillis } from "../services/operations/Monotonic.ts"

export interface Job {
  /** Shortest time between two runs, in ms. */
  readonly interval_ms: number
  /** Monotonic time of the last run, in ms. */
  lastRun: number
  /** `now`: the wall clock, Unix ms. */
  readonly run: (now: number) => void
}

export interface Throttler {
  /** Requests one run of the job. */
  readonly request: (job: Job) => void
  /** Cancels a request. */
  readonly cancel: (job: Job) => void
}

/** An unexpected exception ends only the run that threw it, and is reported to `onFault`. */
export const make = Effect.fnUntraced(function* (
  clock: Clock.Clock,
  onFault: (fault: unknown) => void
): Effect.fn.Return<Throttler, never, Scope.Scope> {
  const due = new Map<Job, number>()
  const earlier = Latch.makeUnsafe(false)
  let wakesAt = Infinity

  const runNow = (job: Job, at: number): void => {
    job.lastRun = at
    try {
      job.run(clock.currentTimeMillisUnsafe())
    } catch (fault) {
      onFault(fault)
    }
  }
  const runDue = (now: number): void => {
    for (const [job, at] of due) {
      if (at > now) continue
      due.delete(job)
      runNow(job, now)
    }
  }
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      while (true) {
        wakesAt = Math.min(Infinity, ...due.values())
        earlier.closeUnsafe()
        if (wakesAt === Infinity) yield* earlier.await
        else yield* Effect.timeoutOption(earlier.await, Math.max(0, wakesAt - monotonicMillis(clock)))
        runDue(monotonicMillis(clock))
      }
    })
  )
  return {
    request: (job) => {
      if (due.has(job)) return
      const now = monotonicMillis(clock)
      const at = job.lastRun + job.interval_ms
      if (at <= now) runNow(job, now)
      else {
        due.set(job, at)
        if (at < wakesAt) earlier.openUnsafe()
      }
    },
    cancel: (job) => due.delete(job)
  }
})
