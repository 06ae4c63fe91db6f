/**
 * Lets only as many checks of one caller run at once as it has failures left, so that a burst of bad credentials is
 * stopped at the limit however long a check takes. The others wait until a check has ended: good credentials are never
 * refused for being many. Waiting is bounded by the checks in hand, of which each ends.
 * Source: docs/contract/limits.md.
 */
import { Effect } from "effect"
import type { Rate } from "../operations/RateLimiter.ts"

interface PendingAttempt<A, E, F> {
  /** How the bucket of failures stands; `undefined`: nobody counts. */
  readonly left: Effect.Effect<Rate | undefined>
  readonly check: Effect.Effect<A, E>
  readonly isFailure: (error: E) => boolean
  /** Counts a failure. */
  readonly count: Effect.Effect<unknown>
  readonly refuse: (rate: Rate) => F
}

export interface AuthAttemptLimiter {
  /** Runs a check, as soon as a failure of it would be within the limit. */
  readonly run: <A, E, F>(key: string, asked: PendingAttempt<A, E, F>) => Effect.Effect<A, E | F>
}

/** The checks of one key. */
class Checks {
  running = 0
  /** Failures counted, and checks that ended in any way, since the first of those that are here. */
  failures = 0
  ends = 0
  /** Who holds this record, running or waiting: it is forgotten with the last of them. */
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
  /** Whoever goes, whatever for, lets the next one look. */
  const leave = (key: string, checks: Checks): void => {
    checks.ends++
    checks.users--
    if (checks.users === 0) all.delete(key)
    checks.waiting.shift()?.()
  }
  /** Waits until somebody has gone since `ends` were counted. */
  const another = (checks: Checks, ends: number) =>
    Effect.callback<void>((resume) => {
      if (checks.ends !== ends) return resume(Effect.void)
      const wake = () => resume(Effect.void)
      checks.waiting.push(wake)
      return Effect.sync(() => {
        const at = checks.waiting.indexOf(wake)
        if (at !== -1) checks.waiting.splice(at, 1)
      })
    })

  /** Takes a place among the running checks; answers the rate that refuses it, where no failure is left. */
  const admitted = Effect.fnUntraced(function* (
    checks: Checks,
    left: Effect.Effect<Rate | undefined>,
    restore: Restore
  ) {
    for (;;) {
      const { ends, failures } = checks
      const rate = yield* restore(left)
      if (rate?.allowed === false) return rate
      // what was counted since it was asked for may be missing from the answer
      if (failures !== checks.failures) continue
      // with none left it is allowed only where limits are told and not enforced
      if (rate === undefined || rate.remaining === 0 || checks.running < rate.remaining) {
        checks.running++
        return undefined
      }
      yield* restore(another(checks, ends))
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
