/** Clocks whose wall time a test sets. Sleeping takes real time. */
import { Clock, Effect, Layer } from "effect"

/** A clock ahead of the real one. Its monotonic time is the real one, unless `passes`: then limits see that time pass, too. */
export const aheadOf = (real: Clock.Clock, ahead_ms: () => number, passes = false): Clock.Clock => {
  const ahead_ns = () => BigInt(ahead_ms()) * 1_000_000n
  const millis = () => real.currentTimeMillisUnsafe() + ahead_ms()
  const nanos = () => real.currentTimeNanosUnsafe() + ahead_ns()
  const monotonic = () => real.monotonicTimeNanosUnsafe() + (passes ? ahead_ns() : 0n)
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) => real.sleep(duration)
  }
}

/** Wall time that stays at `at_ms`, Unix ms. */
export const frozenClock = (at_ms: number): Layer.Layer<never> =>
  Layer.effect(
    Clock.Clock,
    Effect.map(Clock.Clock, (real) => ({
      ...aheadOf(real, () => 0),
      currentTimeMillisUnsafe: () => at_ms,
      currentTimeMillis: Effect.succeed(at_ms),
      currentTimeNanosUnsafe: () => BigInt(at_ms) * 1_000_000n,
      currentTimeNanos: Effect.succeed(BigInt(at_ms) * 1_000_000n)
    }))
  )

/** Time that begins at `at_ms` and passes `slower` times as slowly, on both clocks: a test that takes long sees little of it. */
export const slowClock = (at_ms: number, slower: number) => {
  const began = performance.now()
  const passed_ms = () => (performance.now() - began) / slower
  const now = () => Math.floor(at_ms + passed_ms())
  const nanos = () => BigInt(now()) * 1_000_000n
  const monotonic = () => BigInt(Math.round(passed_ms() * 1e6))
  return {
    now,
    layer: Layer.effect(
      Clock.Clock,
      Effect.map(Clock.Clock, (real) => ({
        ...aheadOf(real, () => 0),
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
        currentTimeNanosUnsafe: nanos,
        currentTimeNanos: Effect.sync(nanos),
        monotonicTimeNanosUnsafe: monotonic,
        monotonicTimeNanos: Effect.sync(monotonic)
      }))
    )
  }
}

/**
 * Wall time that a test moves forward, in place of waiting for minutes. With `passes` monotonic time moves with it, as limits
 * measure it; without, only the wall clock is set.
 */
export const movableClock = ({ passes = false } = {}) => {
  let ahead_ms = 0
  return {
    /** Moves wall time forward. */
    skip: (ms: number): void => {
      ahead_ms += ms
    },
    now: (): number => Date.now() + ahead_ms,
    layer: Layer.effect(
      Clock.Clock,
      Effect.map(Clock.Clock, (real) => aheadOf(real, () => ahead_ms, passes))
    )
  }
}
