/**
 * The records of absences: each is written until the store has it, so that other gateways and later starts continue its
 * windows. Absences count in monotonic time, records in Unix ms.
 */
import { Clock, Effect, Semaphore } from "effect"
import type { Switch } from "../../domain/DeadMansSwitchWindow.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import { insist } from "../operations/Insist.ts"
import { Lifecycle } from "../operations/Lifecycle.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import { Absence } from "./Absence.ts"
import { DeadMansSwitchStore } from "./DeadMansSwitchStore.ts"

/** An absent user. */
export interface Absent {
  readonly absence: Absence
  /** One write at a time. */
  readonly alone: Semaphore.Semaphore
}
/** A user whose absence began at a monotonic time, in ms. `inStore`: what the store has of this user. */
export const absentFrom = (began_ms: number, inStore: "unread" | "none"): Absent => ({
  absence: new Absence(began_ms, inStore),
  alone: Semaphore.makeUnsafe(1)
})

/** Reads and writes of the store; none of them fails, because each is repeated or keeps what is known. */
export const make = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const lifecycle = yield* Lifecycle
  const store = yield* DeadMansSwitchStore

  const wallOf = (monotonic_ms: number) =>
    Math.round(clock.currentTimeMillisUnsafe() - (monotonicMillis(clock) - monotonic_ms))
  /** A stored time on the monotonic clock; never in the future, whatever the wall clock was set to. */
  const monotonicOf = (wall_ms: number) =>
    monotonicMillis(clock) - Math.max(0, clock.currentTimeMillisUnsafe() - wall_ms)

  /** Writes the store until it succeeds. A write of a user that has begun ends before the next one begins. */
  const writing = ({ alone }: Absent, write: Effect.Effect<void, AccountsUnavailable>) =>
    insist("storing an absence", alone.withPermits(1)(Effect.uninterruptible(write)))
  /** Stores an absence and the windows that have changed. */
  const save = (user_id: string, absent: Absent) =>
    writing(
      absent,
      Effect.gen(function* () {
        const { absence } = absent
        // connections that end with the gateway are no evidence of absence
        if (lifecycle.isStopping() && absence.inStore !== "this") return
        if (absence.inStore !== "this") {
          absence.inStore = "perhaps"
          yield* store.absent(user_id, wallOf(absence.start_ms))
          absence.inStore = "this"
        }
        const unsaved = absence.unsaved()
        if (unsaved.length === 0) return
        for (const address of unsaved) {
          yield* store
            .window(user_id, absence.save(address, wallOf))
            .pipe(Effect.tapError(() => Effect.sync(() => absence.unsave(address))))
        }
        // a window that another gateway began meanwhile was not overwritten
        const stored = yield* store.absence(user_id)
        if (stored !== undefined) absence.merge(stored, monotonicOf)
      })
    )
  /** Removes the stored absence of a user who is present. */
  const forget = (user_id: string, absent: Absent) => writing(absent, store.present(user_id))
  /** Continues the stored absence of a user, if there is one. None of its windows ends within `pause_ms`. */
  const restore = Effect.fnUntraced(function* (user_id: string, absence: Absence, pause_ms: number) {
    const stored = yield* insist("reading an absence", store.absence(user_id))
    if (stored === undefined) absence.inStore = "perhaps"
    else absence.continue(stored, monotonicOf, monotonicMillis(clock) + pause_ms)
  })
  /** The settings and windows that other gateways may have changed; those that are not read stay as they are known. */
  const refresh = Effect.fnUntraced(function* (user_id: string, absence: Absence, known: ReadonlyArray<Switch>) {
    const settings = yield* Effect.orElseSucceed(store.of(user_id), () => known)
    // until this absence is stored, the store may have an earlier one, with its cancels
    if (absence.inStore !== "this") return settings
    const stored = yield* Effect.orElseSucceed(store.absence(user_id), () => undefined)
    if (stored !== undefined) absence.merge(stored, monotonicOf)
    return settings
  })

  return { save, forget, restore, refresh }
})
