/** A clock that a test sets, on which nobody wakes: whole days pass at once, and what works at intervals is called by hand. */
import { Clock, Effect, Layer } from "effect"

export const stillClock = (start_ms: number) => {
  let now = start_ms
  return {
    set: (ms: number) => Effect.sync(() => void (now = ms)),
    layer: Layer.succeed(Clock.Clock, {
      currentTimeMillisUnsafe: () => now,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(now) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
      monotonicTimeNanos: Effect.sync(() => BigInt(now) * 1_000_000n),
      sleep: () => Effect.never
    })
  }
}
