/** The state that gateways of a fleet share through Redis: API-key nonces, rate limits, invalidations and presence. */
import { Duration, Layer } from "effect"
import { NonceStore } from "../../services/identity/NonceStore.ts"
import * as NodeIds from "../node/NodeIds.ts"
import type { Settings } from "../Settings.ts"
import * as RedisLink from "./RedisLink.ts"
import * as RedisNonceStore from "./RedisNonceStore.ts"
import * as RedisInvalidationBus from "./RedisInvalidationBus.ts"
import * as RedisPresence from "./RedisPresence.ts"
import * as RedisRateLimitStore from "./RedisRateLimitStore.ts"

/** All ports over one connection; permanent nonces stay in their own store. */
export const layer = <E, R>(
  url: NonNullable<Settings["redisUrl"]>,
  { apiKeyWindowMs }: Settings,
  forever: Layer.Layer<NonceStore, E, R>
) => {
  const link = RedisLink.layer({ url })
  // one gateway's clock may be early by this much and another one's late
  const retention = Duration.millis(2 * (apiKeyWindowMs + RedisNonceStore.APART_MS))
  const windowed = RedisNonceStore.layer({ retention }).pipe(Layer.provide(link))
  return Layer.mergeAll(RedisRateLimitStore.layer, RedisInvalidationBus.layer, RedisPresence.layer()).pipe(
    Layer.provide([link, NodeIds.layer]),
    Layer.merge(NonceStore.routed({ forever, windowed }))
  )
}
