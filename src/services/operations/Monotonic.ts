/** Monotonic time, for spans and deadlines: a step of the wall clock changes neither. */
import { type Clock, Effect } from "effect"

/** Milliseconds of monotonic time, whole ones. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** The same of the clock in context. */
export const currentMonotonicMillis: Effect.Effect<number> = Effect.clockWith((clock) =>
  Effect.sync(() => monotonicMillis(clock))
)
