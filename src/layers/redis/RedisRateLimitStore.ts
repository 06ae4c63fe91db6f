/**
 * Sliding logs in Redis, by its clock, shared by all gateways: one round trip a take.
 *
 * While Redis does not answer, limits are counted in this process, as they are without Redis; a log line says so once,
 * and once more when they are shared again. A caller may then pass as often as the limit with each gateway.
 */
import { Context, Effect, Layer } from "effect"
import { Redis } from "effect/persistence"
import {
  type Log,
  RateLimitStore,
  type RateLimitStoreUnavailable,
  type Standing
} from "../../services/RateLimitStore.ts"
import * as MemoryRateLimitStore from "../memory/MemoryRateLimitStore.ts"
import { NOW } from "./Script.ts"

/** A log is a list of the times of its passes, oldest first. Takes count, peeks do not. */
const askScript = Redis.script(
  ({ bucket, key, limit, window_ms }: Log, counts: boolean) => [
    `gateway:limit:${bucket}:${key}`,
    limit,
    window_ms,
    counts ? 1 : 0
  ],
  {
    numberOfKeys: 1,
    lua: `${NOW}
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest = tonumber(redis.call("LINDEX", key, 0))
while oldest and oldest <= now - window do
  redis.call("LPOP", key)
  oldest = tonumber(redis.call("LINDEX", key, 0))
end
local used = redis.call("LLEN", key)
local passed = used < limit
if passed and ARGV[3] == "1" then
  redis.call("RPUSH", key, now)
  redis.call("PEXPIRE", key, window)
  used = used + 1
end
local wait = 0
if used == 0 and limit <= 0 then
  wait = window
elseif used >= limit then
  wait = redis.call("LINDEX", key, used - limit) + window - now
end
return { passed and 1 or 0, used, wait }
`
  }
).withReturnType<readonly [passed: number, used: number, wait_ms: number]>()

export const layer: Layer.Layer<RateLimitStore, never, Redis.Redis> = Layer.effect(
  RateLimitStore,
  Effect.gen(function* () {
    const run = (yield* Redis.Redis).eval(askScript)
    const own = Context.get(yield* Layer.build(MemoryRateLimitStore.layer()), RateLimitStore)

    let isShared = true
    const tell = (now: boolean) =>
      Effect.suspend(() => {
        if (now === isShared) return Effect.void
        isShared = now
        return now
          ? Effect.logInfo("rate limits are shared again")
          : Effect.logWarning("Redis does not answer: rate limits are counted by this process alone")
      })
    const ask =
      (counts: boolean, alone: (log: Log) => Effect.Effect<Standing, RateLimitStoreUnavailable>) => (log: Log) =>
        Effect.matchEffect(run(log, counts), {
          onFailure: () => Effect.andThen(tell(false), alone(log)),
          onSuccess: ([passed, used, wait_ms]) => Effect.as(tell(true), { passed: passed === 1, used, wait_ms })
        })
    return RateLimitStore.of({ take: ask(true, own.take), peek: ask(false, own.peek) })
  })
)
