/**
 * What gateways of one fleet share through a Redis, beside the nonces of API keys (`RedisNonceStore`): rate limits,
 * notices of what was revoked, and who is present. Without a Redis, what a gateway that is alone has instead.
 */
import { Layer } from "effect"
import type { Redis } from "effect/persistence"
import { Presence } from "../../services/Presence.ts"
import * as MemoryRateLimitStore from "../memory/MemoryRateLimitStore.ts"
import * as NodeIds from "../node/NodeIds.ts"
import type { RedisLink } from "./RedisLink.ts"
import * as RedisNotices from "./RedisNotices.ts"
import * as RedisPresence from "./RedisPresence.ts"
import * as RedisRateLimitStore from "./RedisRateLimitStore.ts"

export const layer = (link: Layer.Layer<Redis.Redis | RedisLink>) =>
  Layer.mergeAll(RedisRateLimitStore.layer, RedisNotices.layer, RedisPresence.layer()).pipe(
    Layer.provide([link, NodeIds.layer])
  )
export const alone = Layer.merge(MemoryRateLimitStore.layer(), Presence.layer)
