/** The clock of another machine: its wall time differs from the test's by `ahead_ms`, elapsed time is the same. */
import { Clock, Effect } from "effect"

export const shiftedClock = (ahead_ms: () => number) =>
  Effect.map(Clock.Clock, (clock): Clock.Clock => {
    const shown = () => clock.currentTimeMillisUnsafe() + ahead_ms()
    return {
      currentTimeMillisUnsafe: shown,
      currentTimeMillis: Effect.sync(shown),
      currentTimeNanosUnsafe: () => BigInt(shown()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(shown()) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    }
  })
