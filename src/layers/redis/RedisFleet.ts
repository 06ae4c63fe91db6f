/** The state that gateways of a fleet share through Redis, or its local substitute in a gateway that runs alone. */
import { Effect, Layer } from "effect"
import { NonceStore } from "../../services/identity/NonceStore.ts"
import { Presence } from "../../services/operations/Presence.ts"
import * as MemoryRateLimitStore from "../memory/MemoryRateLimitStore.ts"
import type { Settings } from "../Settings.ts"

const local = Layer.merge(MemoryRateLimitStore.layer(), Presence.layer)

/** Selects by REDIS_URL. `nonces`: the stores without Redis; permanent nonces stay there in either case. */
export const orAlone = <E1, R1, E2, R2>(
  settings: Settings,
  nonces: {
    readonly forever: Layer.Layer<NonceStore, E1, R1>
    readonly windowed: Layer.Layer<NonceStore, E2, R2>
  }
) => {
  const { redisUrl } = settings
  if (redisUrl === undefined) return Layer.merge(local, NonceStore.routed(nonces))
  // loaded only when configured, since module loading is most of the start time
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./RedisShared.ts")),
      ({ layer }) => layer(redisUrl, settings, nonces.forever)
    )
  )
}
