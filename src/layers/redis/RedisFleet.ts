/** What gateways of one fleet share through a Redis, or what a gateway that is alone has instead. */
import { Effect, Layer } from "effect"
import { NonceStore } from "../../services/identity/NonceStore.ts"
import { Presence } from "../../services/operations/Presence.ts"
import * as MemoryRateLimitStore from "../memory/MemoryRateLimitStore.ts"
import type { Settings } from "../Settings.ts"

const alone = Layer.merge(MemoryRateLimitStore.layer(), Presence.layer)

/** As REDIS_URL says. `nonces` are the stores that a gateway has without a Redis; those that last stay there. */
export const orAlone = <E1, R1, E2, R2>(
  settings: Settings,
  nonces: {
    readonly forever: Layer.Layer<NonceStore, E1, R1>
    readonly windowed: Layer.Layer<NonceStore, E2, R2>
  }
) => {
  const { redisUrl } = settings
  if (redisUrl === undefined) return Layer.merge(alone, NonceStore.routed(nonces))
  // a client that is not needed is not loaded: a start takes as long as what it loads
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./RedisShared.ts")),
      ({ layer }) => layer(redisUrl, settings, nonces.forever)
    )
  )
}
