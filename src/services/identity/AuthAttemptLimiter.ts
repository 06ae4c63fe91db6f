/**
 * Limits the concurrent checks of one client to its remaining failures, so that a burst of bad credentials stops at
 * the limit regardless of the duration of a check. Further checks wait until one ends: valid credentials are never
 * refused because of concurrency. Waiting is bounded by the running checks, each of which ends.
 * Source: docs/contract/limits.md.
 */
import { Effect } from "effect"
import type { Rate } from "../operations/RateLimiter.ts"

interface PendingAttempt<A, E, F> {
  /** State of the failure bucket; `undefined` if it is not counted. */
  readonly left: Effect.Effect<Rate | undefined>
  readonly check: Effect.Effect<A, E>
  readonly isFailure: (error: E) => boolean
  /** Counts a failure. */
  readonly count: Effect.Effect<unknown>
  readonly refuse: (rate: Rate) => F
}

export interface AuthAttemptLimiter {
  /** Runs a check as soon as its possible failure is within the limit. */
  readonly run: <A, E, F>(key: string, attempt: PendingAttempt<A, E, F>) => Effect.Effect<A, E | F>
}

/** The checks of one key. */
class Checks {
  running = 0
  /** Failures counted, and checks ended, since this record was created. */
  failures = 0
  ends = 0
  /** Running and waiting checks; the record is deleted with the last one. */
  users = 0
  readonly waiting: Array<() => void> = []
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export const make = (): AuthAttemptLimiter => {
  const all = new Map<string, Checks>()

  const enter = (key: string): Checks => {
    let checks = all.get(key)
    if (checks === undefined) all.set(key, (checks = new Checks()))
    checks.users++
    return checks
  }
  /** Removes a check and wakes the next waiting one. */
  const leave = (key: string, checks: Checks): void => {
    checks.ends++
    checks.users--
    if (checks.users === 0) all.delete(key)
    checks.waiting.shift()?.()
  }
  /** Waits until a check ends after the given count of `ends`. */
  const nextEnd = (checks: Checks, ends: number) =>
    Effect.callback<void>((resume) => {
      if (checks.ends !== ends) return resume(Effect.void)
      // later: thousands may wait, and each may end at once and wake the next one
      const wake = () => resume(Effect.yieldNow)
      checks.waiting.push(wake)
      return Effect.sync(() => {
        const at = checks.waiting.indexOf(wake)
        if (at !== -1) checks.waiting.splice(at, 1)
      })
    })

  /** Waits for a slot; returns the rate that refuses the check if no failure remains. */
  const admitted = Effect.fnUntraced(function* (
    checks: Checks,
    left: Effect.Effect<Rate | undefined>,
    restore: Restore
  ) {
    for (;;) {
      const { ends, failures } = checks
      const rate = yield* restore(left)
      if (rate?.allowed === false) return rate
      // a failure counted during the read may be missing from the result
      if (failures !== checks.failures) continue
      // with none remaining it is allowed only if limits are reported but not enforced
      if (rate === undefined || rate.remaining === 0 || checks.running < rate.remaining) {
        checks.running++
        return undefined
      }
      yield* restore(nextEnd(checks, ends))
    }
  })

  return {
    run: <A, E, F>(key: string, { check, count, isFailure, left, refuse }: PendingAttempt<A, E, F>) =>
      Effect.uninterruptibleMask((restore) => {
        const checks = enter(key)
        const counted = Effect.tapError(restore(check), (error) =>
          isFailure(error) ? Effect.tap(count, () => Effect.sync(() => checks.failures++)) : Effect.void
        )
        const placed = Effect.ensuring(
          counted,
          Effect.sync(() => checks.running--)
        )
        return admitted(checks, left, restore).pipe(
          Effect.flatMap((refusing): Effect.Effect<A, E | F> =>
            refusing === undefined ? placed : Effect.fail(refuse(refusing))
          ),
          Effect.ensuring(Effect.sync(() => leave(key, checks)))
        )
      })
  }
}
