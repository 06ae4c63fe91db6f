/** Monotonic time, for spans and deadlines: a step of the wall clock changes neither. */
import type { Clock } from "effect"

/** Milliseconds of monotonic time, whole ones. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
