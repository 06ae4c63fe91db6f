/**
 * What gateways of one fleet share through a Redis: nonces of API keys, rate limits, notices of what was revoked, and who
 * is present. Without a Redis, what a gateway that is alone has instead.
 */
import { Duration, Layer } from "effect"
import type { Redis } from "effect/persistence"
import { NonceStore } from "../../services/NonceStore.ts"
import { Presence } from "../../services/Presence.ts"
import * as MemoryRateLimitStore from "../memory/MemoryRateLimitStore.ts"
import * as NodeIds from "../node/NodeIds.ts"
import type { Settings } from "../Settings.ts"
import * as RedisLink from "./RedisLink.ts"
import * as RedisNonceStore from "./RedisNonceStore.ts"
import * as RedisNotices from "./RedisNotices.ts"
import * as RedisPresence from "./RedisPresence.ts"
import * as RedisRateLimitStore from "./RedisRateLimitStore.ts"

export const layer = (link: Layer.Layer<Redis.Redis | RedisLink.RedisLink>) =>
  Layer.mergeAll(RedisRateLimitStore.layer, RedisNotices.layer, RedisPresence.layer()).pipe(
    Layer.provide([link, NodeIds.layer])
  )
export const alone = Layer.merge(MemoryRateLimitStore.layer(), Presence.layer)

/** Both, as REDIS_URL says. `nonces` are the stores that a gateway has without a Redis; those that last stay there. */
export const orAlone = <E1, R1, E2, R2>(
  { apiKeyWindowMs, redisUrl }: Settings,
  nonces: {
    readonly forever: Layer.Layer<NonceStore, E1, R1>
    readonly windowed: Layer.Layer<NonceStore, E2, R2>
  }
) => {
  if (redisUrl === undefined) return Layer.merge(alone, NonceStore.routed(nonces))
  const link = RedisLink.layer({ url: redisUrl })
  // one gateway may take a signature that early, and another one that late
  const retention = Duration.millis(2 * (apiKeyWindowMs + RedisNonceStore.APART_MS))
  const windowed = RedisNonceStore.layer({ retention }).pipe(Layer.provide(link))
  return Layer.merge(layer(link), NonceStore.routed({ forever: nonces.forever, windowed }))
}
