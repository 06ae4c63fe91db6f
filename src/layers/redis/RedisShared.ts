/** What gateways of one fleet share through a Redis: nonces of API keys, rate limits, notices of what was revoked, who is present. */
import { Duration, Layer } from "effect"
import { NonceStore } from "../../services/identity/NonceStore.ts"
import * as NodeIds from "../node/NodeIds.ts"
import type { Settings } from "../Settings.ts"
import * as RedisLink from "./RedisLink.ts"
import * as RedisNonceStore from "./RedisNonceStore.ts"
import * as RedisInvalidationBus from "./RedisInvalidationBus.ts"
import * as RedisPresence from "./RedisPresence.ts"
import * as RedisRateLimitStore from "./RedisRateLimitStore.ts"

/** All of it over one link; nonces that last stay where they are. */
export const layer = <E, R>(
  url: NonNullable<Settings["redisUrl"]>,
  { apiKeyWindowMs }: Settings,
  forever: Layer.Layer<NonceStore, E, R>
) => {
  const link = RedisLink.layer({ url })
  // one gateway may take a signature that early, and another one that late
  const retention = Duration.millis(2 * (apiKeyWindowMs + RedisNonceStore.APART_MS))
  const windowed = RedisNonceStore.layer({ retention }).pipe(Layer.provide(link))
  return Layer.mergeAll(RedisRateLimitStore.layer, RedisInvalidationBus.layer, RedisPresence.layer()).pipe(
    Layer.provide([link, NodeIds.layer]),
    Layer.merge(NonceStore.routed({ forever, windowed }))
  )
}
