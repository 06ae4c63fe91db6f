/** What a fleet keeps in Redis, and for how long. */
import { Effect, Layer, Logger, Redacted, Schedule } from "effect"
import { assert, describe, it } from "vitest"
import { RateLimitStore } from "../../../src/services/operations/RateLimitStore.ts"
import { NonceReused, NonceStore } from "../../../src/services/identity/NonceStore.ts"
import { Presence } from "../../../src/services/operations/Presence.ts"
import { APART_MS } from "../../../src/layers/redis/RedisNonceStore.ts"
import * as RedisShared from "../../../src/layers/redis/RedisShared.ts"
import type { Settings } from "../../../src/layers/Settings.ts"
import { isRedisInstalled, type RedisServer } from "../../../verification/harness/RedisServer.ts"
import { running } from "../../doubles/RedisLinks.ts"

const WINDOW_MS = 20_000
const owner = new Uint8Array(32).fill(3)
/** Permanent nonces: one is used. */
const forever = Layer.mock(NonceStore)({
  claim: (space, _, nonce) => (`${space} ${nonce}` === "login used" ? Effect.fail(new NonceReused()) : Effect.void)
})
const shared = (server: RedisServer) =>
  RedisShared.layer(Redacted.make(Redacted.value(server.url)), { apiKeyWindowMs: WINDOW_MS } as Settings, forever)

describe.skipIf(!isRedisInstalled)("the state of a fleet in Redis", () => {
  const run = (
    test: (
      server: RedisServer,
      keys: (pattern: string) => Effect.Effect<ReadonlyArray<readonly [key: string, ttl_ms: number]>>
    ) => Effect.Effect<void, unknown, NonceStore | RateLimitStore | Presence>
  ) =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const server = yield* running()
          const keys = (pattern: string) =>
            Effect.promise(() =>
              server.use(async (client) => {
                const found = await client.keys(pattern)
                return Promise.all(found.map(async (key) => [key, await client.pTTL(key)] as const))
              })
            )
          yield* Effect.provide(test(server, keys), shared(server))
        })
      ).pipe(Effect.provide(Logger.layer([])))
    )

  it("keeps a nonce of an API key for as long as its signature can be valid at any gateway", () =>
    run((server, keys) =>
      Effect.gen(function* () {
        const { claim } = yield* NonceStore
        // the window after the first start is over
        const claimed = Effect.gen(function* () {
          yield* Effect.promise(() => server.use((client) => client.hSet("{gateway:nonces}", "since", "0")))
          yield* claim("rest", owner, "nonce")
        })
        yield* Effect.retry(claimed, { schedule: Schedule.spaced("20 millis"), times: 1_000 })
        const [found, ...others] = yield* keys("{gateway:nonces}:*")
        assert.deepStrictEqual(others, [])
        // early by one clock, late by another one; less the time of this test
        const retention_ms = 2 * (WINDOW_MS + APART_MS)
        assert.isAtMost(found![1], retention_ms + 1_000)
        assert.isAbove(found![1], retention_ms - 15_000)
      })
    ))

  it("does not keep the nonces of logins and activations, which are permanent", () =>
    run((_, keys) =>
      Effect.gen(function* () {
        const { claim } = yield* NonceStore
        assert.strictEqual((yield* Effect.flip(claim("login", owner, "used")))._tag, "NonceReused")
        yield* claim("login", owner, "fresh")
        yield* claim("activation", owner, "used")
        assert.deepStrictEqual(yield* keys("{gateway:nonces}:*"), [])
      })
    ))

  it("keeps passes of a rate limit for its window, and the users of a gateway for two leases", () =>
    run((_, keys) =>
      Effect.gen(function* () {
        const [{ takeAll }, { connected, settled }] = [yield* RateLimitStore, yield* Presence]
        const log = (bucket: string, window_ms: number) => ({ bucket, key: "a", limit: 2, window_ms })
        while ((yield* keys("gateway:limit:*")).length === 0)
          yield* takeAll([log("public", 60_000), log("user", 3_600_000)])
        const ttls = (yield* keys("gateway:limit:*")).toSorted().map(([, ttl_ms]) => ttl_ms)
        for (const [i, window_ms] of [60_000, 3_600_000].entries()) {
          assert.isAbove(ttls[i]!, window_ms - 20_000)
          assert.isAtMost(ttls[i]!, window_ms)
        }
        connected("user")
        yield* settled
        const sets = (yield* keys("{gateway:presence}:*")).filter(([key]) => !key.endsWith(":versions"))
        assert.lengthOf(sets, 1)
        assert.isAbove(sets[0]![1], 0)
        assert.isAtMost(sets[0]![1], 10_000)
      })
    ))
})
