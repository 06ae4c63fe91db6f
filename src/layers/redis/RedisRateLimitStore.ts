/**
 * Sliding logs in Redis, by its clock, shared by all gateways: one round trip per request.
 *
 * While Redis does not respond, this process counts alone, as without Redis; one log line reports the outage and one its
 * end. During an outage a caller has the whole limit at each gateway.
 */
import { Context, Effect, Layer } from "effect"
import { Redis } from "effect/persistence"
import {
  type Log,
  RateLimitStore,
  type RateLimitStoreUnavailable,
  type BucketState
} from "../../services/operations/RateLimitStore.ts"
import * as MemoryRateLimitStore from "../memory/MemoryRateLimitStore.ts"
import { NOW } from "./Script.ts"

/**
 * A log is a list of the times of its passes, oldest first. Adds `count` passes to each of the logs, or to none where one of
 * them is full. With 0 it adds none and checks for one.
 */
const script = Redis.script(
  (logs: ReadonlyArray<Log>, count: number) => [
    ...logs.map(({ bucket, key }) => `gateway:limit:${bucket}:${key}`),
    count,
    ...logs.flatMap(({ limit, window_ms }) => [limit, window_ms])
  ],
  {
    numberOfKeys: (logs) => logs.length,
    lua: `${NOW}
local count = tonumber(ARGV[1])
local wanted = math.max(count, 1)
local logs, all = {}, true
for n, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[2 * n]), tonumber(ARGV[2 * n + 1])
  local newest = tonumber(redis.call("LINDEX", key, -1))
  if newest and newest > now then
    -- the clock was set back: no caller waits longer than a window, and none passes more often
    local length = redis.call("LLEN", key)
    redis.call("DEL", key)
    for i = 1, length do redis.call("RPUSH", key, now) end
    redis.call("PEXPIRE", key, window)
  end
  local oldest = tonumber(redis.call("LINDEX", key, 0))
  while oldest and oldest <= now - window do
    redis.call("LPOP", key)
    oldest = tonumber(redis.call("LINDEX", key, 0))
  end
  local used = redis.call("LLEN", key)
  local passed = used + wanted <= limit
  logs[n] = { limit = limit, window = window, used = used, passed = passed }
  all = all and passed
end
local answer = {}
for n, key in ipairs(KEYS) do
  local log = logs[n]
  if all then
    for i = 1, count do redis.call("RPUSH", key, now) end
    if count > 0 then redis.call("PEXPIRE", key, log.window) end
    log.used = log.used + count
  end
  local next = log.passed and 1 or wanted
  local wait = 0
  if log.used + next > log.limit then
    -- number of oldest passes that must leave the window
    local leaving = math.min(log.used, log.used + next - log.limit)
    wait = log.window
    if leaving > 0 then wait = tonumber(redis.call("LINDEX", key, leaving - 1)) + log.window - now end
  end
  answer[n] = { log.passed and 1 or 0, log.used, wait }
end
return answer
`
  }
).withReturnType<ReadonlyArray<readonly [passed: number, used: number, wait_ms: number]>>()

export const layer: Layer.Layer<RateLimitStore, never, Redis.Redis> = Layer.effect(
  RateLimitStore,
  Effect.gen(function* () {
    const run = (yield* Redis.Redis).eval(script)
    const localStore = Context.get(yield* Layer.build(MemoryRateLimitStore.layer()), RateLimitStore)

    let isShared = true
    const report = (now: boolean) =>
      Effect.suspend(() => {
        if (now === isShared) return Effect.void
        isShared = now
        return now
          ? Effect.logInfo("rate limits are shared again")
          : Effect.logWarning("Redis does not respond: this process counts rate limits alone")
      })
    const request = (
      logs: ReadonlyArray<Log>,
      count: number,
      local: Effect.Effect<ReadonlyArray<BucketState>, RateLimitStoreUnavailable>
    ) =>
      Effect.matchEffect(run(logs, count), {
        onFailure: () => Effect.andThen(report(false), local),
        onSuccess: (all) =>
          Effect.as(
            report(true),
            all.map(([passed, used, wait_ms]): BucketState => ({ passed: passed === 1, used, wait_ms }))
          )
      })
    const takeAll = (logs: ReadonlyArray<Log>, count = 1) => request(logs, count, localStore.takeAll(logs, count))
    return RateLimitStore.of({
      takeAll,
      take: (log) => Effect.map(takeAll([log]), ([state]) => state!),
      peek: (log) =>
        Effect.map(
          request(
            [log],
            0,
            Effect.map(localStore.peek(log), (state) => [state])
          ),
          ([state]) => state!
        )
    })
  })
)
