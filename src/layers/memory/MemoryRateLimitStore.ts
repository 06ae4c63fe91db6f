/**
 * Sliding logs in this process. Bounded by keys: a key that has not passed for a window makes room first, else the one
 * that was asked for longest ago. Each bucket has its own keys, so that a flood of one cannot push out those of another.
 * Windows are measured by the time that has passed: setting the clock neither frees a slot nor takes one.
 */
import { Clock, Effect, Layer } from "effect"
import { type Log, RateLimitStore, type Standing } from "../../services/RateLimitStore.ts"

/** Times of the last passes: a ring that grows with use up to the limit. */
interface Passes {
  times: Array<number>
  head: number
  count: number
}

const at = (passes: Passes, i: number): number => passes.times[(passes.head + i) % passes.times.length]!
const newest = (passes: Passes): number => (passes.count === 0 ? -Infinity : at(passes, passes.count - 1))

const forget = (passes: Passes, until: number): void => {
  while (passes.count > 0 && at(passes, 0) <= until) {
    passes.head = (passes.head + 1) % passes.times.length
    passes.count--
  }
}

const remember = (passes: Passes, now: number, limit: number): void => {
  if (passes.count === passes.times.length) {
    const times = Array.from({ length: passes.count }, (_, i) => at(passes, i))
    const length = Math.max(passes.count + 1, Math.min(Math.max(limit, 1), Math.max(4, passes.count * 2)))
    passes.times = [...times, ...Array.from({ length: length - times.length }, () => 0)]
    passes.head = 0
  }
  passes.times[(passes.head + passes.count) % passes.times.length] = now
  passes.count++
}

const passedMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

export interface Options {
  /** Keys kept a bucket. Default 100 000. */
  readonly keys_max?: number
}

export const layer = (options: Options = {}): Layer.Layer<RateLimitStore> =>
  Layer.effect(
    RateLimitStore,
    Effect.map(Clock.Clock, (clock) => {
      const keysMax = options.keys_max ?? 100_000
      const buckets = new Map<string, Map<string, Passes>>()

      const standing = (passed: boolean, passes: Passes | undefined, log: Log, now: number): Standing => {
        const used = passes?.count ?? 0
        const wait =
          used < log.limit ? 0 : used === 0 ? log.window_ms : at(passes!, used - log.limit) + log.window_ms - now
        return { passed, used, wait_ms: wait }
      }

      const makeRoom = (keys: Map<string, Passes>, until: number): void => {
        // the first keys were asked for longest ago; two a time keep up with one insertion
        for (let i = 0; i < 2; i++) {
          const oldest = keys.entries().next().value
          if (oldest === undefined) return
          if (keys.size < keysMax && newest(oldest[1]) > until) return
          keys.delete(oldest[0])
        }
      }

      const take = (log: Log, now: number): Standing => {
        let keys = buckets.get(log.bucket)
        if (keys === undefined) buckets.set(log.bucket, (keys = new Map<string, Passes>()))
        let passes = keys.get(log.key)
        if (passes === undefined) {
          makeRoom(keys, now - log.window_ms)
          passes = { times: [], head: 0, count: 0 }
        } else {
          keys.delete(log.key)
          forget(passes, now - log.window_ms)
        }
        keys.set(log.key, passes)
        const passed = passes.count < log.limit
        if (passed) remember(passes, now, log.limit)
        return standing(passed, passes, log, now)
      }

      const peek = (log: Log, now: number): Standing => {
        const passes = buckets.get(log.bucket)?.get(log.key)
        if (passes !== undefined) forget(passes, now - log.window_ms)
        return standing((passes?.count ?? 0) < log.limit, passes, log, now)
      }

      return RateLimitStore.of({
        takeNow: (log) => take(log, passedMillis(clock)),
        take: (log) => Effect.clockWith((clock) => Effect.sync(() => take(log, passedMillis(clock)))),
        peek: (log) => Effect.clockWith((clock) => Effect.sync(() => peek(log, passedMillis(clock))))
      })
    })
  )
