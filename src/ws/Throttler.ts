/**
 * Runs a job at most once per interval: immediately if the interval has passed since its last run, else when it has.
 *
 * One fiber serves all jobs and sleeps while none is due, so an idle gateway does no work and a quiet market has no delay.
 */
import { type Clock, Effect, Latch, type Scope } from "effect"

export interface Job {
  /** Shortest time between two runs, in ms. */
  readonly interval_ms: number
  /** Time of the last run, Unix ms; set by the throttler. */
  lastRun: number
  readonly run: (now: number) => void
}

export interface Throttler {
  /** Requests one run of the job. */
  readonly request: (job: Job, now: number) => void
  /** Cancels a request. */
  readonly cancel: (job: Job) => void
}

/** Longest sleep: the clock may be set back. */
const WAIT_MS_MAX = 1_000

/** Whether a job is due. A time that is more than an interval ahead is from before the clock was set back. */
const isDue = (job: Job, at: number, now: number): boolean => at <= now || at - now > job.interval_ms

export const make = Effect.fnUntraced(function* (clock: Clock.Clock): Effect.fn.Return<Throttler, never, Scope.Scope> {
  const due = new Map<Job, number>()
  const earlier = Latch.makeUnsafe(false)
  let wakesAt = Infinity

  const runDue = (now: number): void => {
    for (const [job, at] of due) {
      if (!isDue(job, at, now)) continue
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
        else {
          const wait_ms = Math.max(0, wakesAt - clock.currentTimeMillisUnsafe())
          yield* Effect.timeoutOption(earlier.await, Math.min(wait_ms, WAIT_MS_MAX))
        }
        runDue(clock.currentTimeMillisUnsafe())
      }
    })
  )
  return {
    request: (job, now) => {
      if (due.has(job)) return
      const at = job.lastRun + job.interval_ms
      if (isDue(job, at, now)) {
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
