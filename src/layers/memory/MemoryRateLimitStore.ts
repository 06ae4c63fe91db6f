/**
 * Sliding logs in this process, with a limit of keys: a full bucket evicts a key without passes in the window first, else
 * the least recently used one. Buckets evict separately, so a flood of one cannot evict keys of another. Windows are
 * measured by the monotonic clock: a change of the wall clock neither frees a slot nor takes one.
 */
import { Clock, Effect, Layer } from "effect"
import { monotonicMillis } from "../../services/operations/Monotonic.ts"
import { type Log, RateLimitStore, type BucketState } from "../../services/operations/RateLimitStore.ts"

/** Times of the passes in the window: a ring buffer that grows with use up to the limit. */
interface Passes {
  times: Array<number>
  head: number
  count: number
}

const at = (passes: Passes, i: number): number => passes.times[(passes.head + i) % passes.times.length]!
const newest = (passes: Passes): number => (passes.count === 0 ? -Infinity : at(passes, passes.count - 1))

const expire = (passes: Passes, until: number): void => {
  while (passes.count > 0 && at(passes, 0) <= until) {
    passes.head = (passes.head + 1) % passes.times.length
    passes.count--
  }
}

const record = (passes: Passes, now: number, limit: number): void => {
  if (passes.count === passes.times.length) {
    const times = Array.from({ length: passes.count }, (_, i) => at(passes, i))
    const length = Math.max(passes.count + 1, Math.min(Math.max(limit, 1), Math.max(4, passes.count * 2)))
    passes.times = [...times, ...Array.from({ length: length - times.length }, () => 0)]
    passes.head = 0
  }
  passes.times[(passes.head + passes.count) % passes.times.length] = now
  passes.count++
}

export interface Options {
  /** Keys per bucket. Default 100 000. */
  readonly keys_max?: number
}

export const layer = (options: Options = {}): Layer.Layer<RateLimitStore> =>
  Layer.effect(
    RateLimitStore,
    Effect.map(Clock.Clock, (clock) => {
      const keysMax = options.keys_max ?? 100_000
      const buckets = new Map<string, Map<string, Passes>>()

      /** The state of a log; `next`: number of slots that the caller wants next. */
      const stateOf = (passed: boolean, passes: Passes | undefined, log: Log, now: number, next = 1): BucketState => {
        const used = passes?.count ?? 0
        // number of oldest passes that must leave the window
        const leaving = Math.min(used, used + next - log.limit)
        const wait =
          used + next <= log.limit ? 0 : leaving <= 0 ? log.window_ms : at(passes!, leaving - 1) + log.window_ms - now
        return { passed, used, wait_ms: wait }
      }

      const evict = (keys: Map<string, Passes>, until: number): void => {
        // the first keys are the least recently used; two evictions a call keep up with one insertion
        for (let i = 0; i < 2; i++) {
          const oldest = keys.entries().next().value
          if (oldest === undefined) return
          if (keys.size < keysMax && newest(oldest[1]) > until) return
          keys.delete(oldest[0])
        }
      }

      /** The passes of a log within its window; makes its key the most recently used. */
      const current = (log: Log, now: number): Passes => {
        let keys = buckets.get(log.bucket)
        if (keys === undefined) buckets.set(log.bucket, (keys = new Map<string, Passes>()))
        let passes = keys.get(log.key)
        if (passes === undefined) {
          evict(keys, now - log.window_ms)
          passes = { times: [], head: 0, count: 0 }
        } else {
          keys.delete(log.key)
          expire(passes, now - log.window_ms)
        }
        keys.set(log.key, passes)
        return passes
      }
      const take = (log: Log, now: number): BucketState => {
        const passes = current(log, now)
        const passed = passes.count < log.limit
        if (passed) record(passes, now, log.limit)
        return stateOf(passed, passes, log, now)
      }
      const takeAll = (logs: ReadonlyArray<Log>, count: number, now: number): ReadonlyArray<BucketState> => {
        const all = logs.map((log) => current(log, now))
        const pass = all.map((passes, i) => passes.count + count <= logs[i]!.limit)
        const isTaken = !pass.includes(false)
        return all.map((passes, i) => {
          const log = logs[i]!
          if (isTaken) for (let n = 0; n < count; n++) record(passes, now, log.limit)
          return stateOf(pass[i]!, passes, log, now, pass[i] === true ? 1 : count)
        })
      }

      const peek = (log: Log, now: number): BucketState => {
        const passes = buckets.get(log.bucket)?.get(log.key)
        if (passes !== undefined) expire(passes, now - log.window_ms)
        return stateOf((passes?.count ?? 0) < log.limit, passes, log, now)
      }

      return RateLimitStore.of({
        takeAllNow: (logs, count = 1) => takeAll(logs, count, monotonicMillis(clock)),
        takeAll: (logs, count = 1) =>
          Effect.clockWith((clock) => Effect.sync(() => takeAll(logs, count, monotonicMillis(clock)))),
        take: (log) => Effect.clockWith((clock) => Effect.sync(() => take(log, monotonicMillis(clock)))),
        peek: (log) => Effect.clockWith((clock) => Effect.sync(() => peek(log, monotonicMillis(clock))))
      })
    })
  )
