/**
 * A clock under the control of the test, on which sleeps never end: whole days pass at once, and periodic work is called by
 * hand. A step changes the wall time without elapsed time.
 */
import { Clock, Duration, Effect, Layer } from "effect"

export const stillClock = (start_ms: number) => {
  let now = start_ms
  let stepped_ms = 0
  const shown = () => now + stepped_ms
  return {
    set: (ms: number) => Effect.sync(() => void (now = ms)),
    pass: (ms: number) => Effect.sync(() => void (now += ms)),
    step: (ms: number) => Effect.sync(() => void (stepped_ms += ms)),
    layer: Layer.succeed(Clock.Clock, {
      currentTimeMillisUnsafe: shown,
      currentTimeMillis: Effect.sync(shown),
      currentTimeNanosUnsafe: () => BigInt(shown()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(shown()) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
      monotonicTimeNanos: Effect.sync(() => BigInt(now) * 1_000_000n),
      // a repetition without a delay sleeps for 0
      sleep: (duration) => (Duration.isZero(duration) ? Effect.yieldNow : Effect.never)
    })
  }
}
