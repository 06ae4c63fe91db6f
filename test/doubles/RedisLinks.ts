/** Links of the gateway to a redis-server of their own. */
import { Clock, Effect, Layer } from "effect"
import { Redis } from "effect/persistence"
import * as RedisLink from "../../src/layers/redis/RedisLink.ts"
import { type RedisOptions, RedisServer } from "../../verification/harness/RedisServer.ts"

/** A server that ends with the scope. */
export const running = (options: RedisOptions = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => RedisServer.start(options)),
    (server) => Effect.promise(() => server.remove())
  )

/** Lua scripts read the time of the test's clock in place of TIME; they are otherwise the same. */
const atTestTime = Layer.effect(
  Redis.Redis,
  Effect.map(Redis.Redis, (redis) => {
    const shifted = new Map<unknown, unknown>()
    const evaluate: Redis.Redis["Service"]["eval"] = (script) => {
      type Of = typeof script
      const known = shifted.get(script) as Of | undefined
      const own: Of =
        known ??
        Object.setPrototypeOf(
          { ...script, lua: script.lua.replace('redis.call("TIME")', 'redis.call("HMGET", "test:time", "s", "us")') },
          Object.getPrototypeOf(script)
        )
      shifted.set(script, own)
      const run = redis.eval(own)
      return (...params) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.andThen(
            redis.send("HSET", "test:time", "s", String(Math.floor(now / 1000)), "us", String((now % 1000) * 1000)),
            run(...params)
          )
        )
    }
    return Redis.Redis.of({ ...redis, eval: evaluate })
  })
)

/** A link to a server of its own. Commands do not time out on a loaded machine or when a test moves its clock. */
export const link = Layer.unwrap(
  Effect.map(running(), ({ url }) => RedisLink.layer({ url, command_timeout: "1 hour" }))
)
export const linkAtTestTime = Layer.merge(atTestTime, Layer.effect(RedisLink.RedisLink, RedisLink.RedisLink)).pipe(
  // heartbeats use real time
  Layer.provide(link.pipe(Layer.provide(Layer.succeed(Clock.Clock, Clock.Clock.defaultValue()))))
)
