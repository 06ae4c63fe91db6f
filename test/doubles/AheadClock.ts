/** A clock on whose wall time a test may run ahead; sleeping, and what passes between two moments, is real. */
import { type Clock, Effect } from "effect"

export const aheadOf = (real: Clock.Clock, ahead_ms: () => number): Clock.Clock => {
  const millis = () => real.currentTimeMillisUnsafe() + ahead_ms()
  const nanos = () => real.currentTimeNanosUnsafe() + BigInt(ahead_ms()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: real.monotonicTimeNanos,
    sleep: (duration) => real.sleep(duration)
  }
}
