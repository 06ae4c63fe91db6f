import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { Context, Effect, Layer, Logger, type Scope } from "effect"
import { Redis } from "effect/persistence"
import { TestClock } from "effect/testing"
import { assert, describe, it } from "@effect/vitest"
import { userIdOf } from "../../../src/domain/Address.ts"
import * as NodeIds from "../../../src/layers/node/NodeIds.ts"
import * as NodeSignatures from "../../../src/layers/node/NodeSignatures.ts"
import * as RedisLink from "../../../src/layers/redis/RedisLink.ts"
import * as RedisInvalidationBus from "../../../src/layers/redis/RedisInvalidationBus.ts"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { ApiKeys } from "../../../src/services/identity/ApiKeys.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import * as CredentialChanges from "../../../src/services/identity/CredentialChanges.ts"
import * as CredentialLease from "../../../src/services/identity/CredentialLease.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import { History } from "../../../src/services/History.ts"
import { Sequencer } from "../../../src/services/Sequencer.ts"
import { InvalidationBus } from "../../../src/services/operations/InvalidationBus.ts"
import { Tokens } from "../../../src/services/identity/Tokens.ts"
import { eventually, suite } from "../../contracts/NoticesContract.ts"
import { isRedisInstalled, type RedisServer } from "../../../verification/harness/RedisServer.ts"
import { until } from "../../../verification/harness/Wait.ts"
import { signingKeys, walletNo } from "../../doubles/Wallets.ts"
import { link, running } from "../../doubles/RedisLinks.ts"

const database = SqliteStores.credentials
const root_address = `0x${"12".repeat(32)}`
const user = { user_id: userIdOf(root_address), root_address, rail: "address" as const, party_id: undefined }

/** The policies of one gateway. */
const gateway = (server: RedisServer) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Layer.fresh(
        CredentialChanges.layer.pipe(
          Layer.provideMerge(Tokens.layer({ environment: "testnet" })),
          Layer.provideMerge(ApiKeys.layer({ cache_for: "1 hour" })),
          Layer.provideMerge(BanList.layer),
          Layer.provide(Grants.layer),
          Layer.provide(CredentialLease.layer),
          Layer.provide(RedisInvalidationBus.layer),
          Layer.provide(RedisLink.layer({ url: server.url, command_timeout: "2 seconds" })),
          Layer.provide([
            NodeIds.layer,
            NodeSignatures.layer(),
            signingKeys(1),
            Layer.mock(History)({}),
            Layer.mock(Sequencer)({ commands_down_ms: () => 0 })
          ])
        )
      )
    )
    const [tokens, apiKeys, bans] = [
      Context.get(context, Tokens),
      Context.get(context, ApiKeys),
      Context.get(context, BanList)
    ]
    return { tokens, apiKeys, bans }
  })

const keyNo = (n: number) => ({
  public_key: walletNo(n).hex,
  label: undefined,
  scopes: ["read" as const],
  sub_account_addresses: undefined,
  ip_allowlist: undefined,
  expires_time: undefined,
  require_body_hash: undefined
})

describe("a gateway whose subscription begins or is lost", () => {
  it.effect("receives missed each time, and once a second without one", () =>
    Effect.gen(function* () {
      let listener: RedisLink.Listener | undefined
      const link = Layer.mock(RedisLink.RedisLink)({
        server: () => undefined,
        listen: (_, given) => Effect.sync(() => void (listener = given))
      })
      const bus = RedisInvalidationBus.layer.pipe(
        Layer.provide([link, Layer.succeed(Redis.Redis, {} as Redis.Redis["Service"]), NodeIds.layer])
      )
      const { listen } = yield* Effect.provide(InvalidationBus, yield* Layer.build(bus))
      let missed = 0
      yield* listen(({ type }) => Effect.sync(() => void (type === "missed" && missed++)))
      const count = (ms: number) =>
        Effect.map(TestClock.adjust(ms), () => {
          const counted = missed
          missed = 0
          return counted
        })
      yield* count(100)
      // a loss and a new subscription between two reports
      for (const isSubscribed of [true, false, true]) {
        listener!.subscribed(isSubscribed)
        assert.strictEqual(yield* count(10), 1)
      }
      assert.strictEqual(yield* count(10_000), 0)
      listener!.subscribed(false)
      assert.strictEqual(yield* count(5_000), 6)
    })
  )
})

describe("a gateway whose Redis accepts no message", () => {
  it.effect("keeps 1,000 to publish, and drops those beyond them", () =>
    Effect.gen(function* () {
      let waiting = 0
      const redis = {
        send: () =>
          Effect.andThen(
            Effect.sync(() => waiting++),
            Effect.never
          )
      }
      const link = Layer.mock(RedisLink.RedisLink)({ server: () => undefined, listen: () => Effect.void })
      const bus = RedisInvalidationBus.layer.pipe(
        Layer.provide([link, Layer.succeed(Redis.Redis, redis as unknown as Redis.Redis["Service"]), NodeIds.layer])
      )
      const { publish } = yield* Effect.provide(InvalidationBus, yield* Layer.build(bus))
      for (let i = 0; i < 1_100; i++) yield* publish({ type: "ban", user_id: `u${i}` })
      yield* TestClock.adjust(1)
      assert.strictEqual(waiting, 1_000)
    }).pipe(Effect.provide(Logger.layer([])))
  )
})

describe.skipIf(!isRedisInstalled)("Redis", () => {
  suite("Redis", link, RedisInvalidationBus.layer.pipe(Layer.provide(NodeIds.layer)))

  const CHANNEL = "gateway:notices"
  const TRIES = 3
  /** A link whose first messages are not published. */
  const failing = Layer.effect(
    Redis.Redis,
    Effect.map(Redis.Redis, (redis) => {
      let failures = 0
      return Redis.Redis.of({
        ...redis,
        send: (command, ...args) =>
          Effect.suspend(() =>
            command === "PUBLISH" && failures++ < TRIES
              ? Effect.fail(new Redis.RedisError({ cause: "cut" }))
              : redis.send(command, ...args)
          )
      })
    })
  )
  /** A gateway and what its listener receives, from the moment at which it is subscribed. */
  const joined = Effect.fnUntraced(function* (server: RedisServer, link: Layer.Layer<Redis.Redis, never, Redis.Redis>) {
    const context = yield* Layer.build(
      Layer.fresh(
        RedisInvalidationBus.layer.pipe(
          Layer.provide(link),
          Layer.provideMerge(RedisLink.layer({ url: server.url, command_timeout: "2 seconds" })),
          Layer.provide(NodeIds.layer)
        )
      )
    )
    const bus = yield* Effect.provide(InvalidationBus, context)
    const received: Array<string> = []
    yield* bus.listen((notice) => Effect.sync(() => void received.push(notice.type)))
    return { bus, received }
  })
  const subscribed = (server: RedisServer, count: number) =>
    Effect.promise(() =>
      until(`${count} are subscribed`, () =>
        server.use(async (client) => {
          const subscriptions = await client.pubSubNumSub(CHANNEL)
          return Number(subscriptions[CHANNEL]) >= count
        })
      )
    )
  /** Another gateway publishes texts, in order. */
  const say = (server: RedisServer, ...texts: ReadonlyArray<string>) =>
    Effect.promise(() =>
      server.use(async (client) => {
        for (const text of texts) await client.publish(CHANNEL, text)
      })
    )
  const run = (test: Effect.Effect<void, unknown, Scope.Scope>) =>
    Effect.runPromise(Effect.scoped(test).pipe(Effect.provide(Logger.layer([]))))
  const asIs = Layer.effect(Redis.Redis, Redis.Redis)
  const countOf = (received: ReadonlyArray<string>, type: string) => received.filter((one) => one === type).length

  it("publishes a message again until Redis accepts it", () =>
    run(
      Effect.gen(function* () {
        const server = yield* running()
        const [publisher, other] = [yield* joined(server, failing), yield* joined(server, asIs)]
        yield* subscribed(server, 2)
        yield* publisher.bus.publish({ type: "ban", user_id: "u" })
        yield* eventually(() => other.received.includes("ban"))
        assert.strictEqual(countOf(other.received, "ban"), 1)
      })
    ))

  it("takes a message of another version for a missed one: it may concern any credential", () =>
    run(
      Effect.gen(function* () {
        const server = yield* running()
        const gateway = yield* joined(server, asIs)
        yield* subscribed(server, 1)
        const known = '{"by":"1","notice":{"type":"ban","user_id":"u"}}'
        yield* say(server, known)
        yield* eventually(() => gateway.received.includes("ban"))
        const before = countOf(gateway.received, "missed")
        yield* say(server, '{"by":"1","notice":{"type":"party","party_id":"p"}}', known, "no JSON", known)
        yield* eventually(() => countOf(gateway.received, "ban") === 3)
        assert.strictEqual(countOf(gateway.received, "missed"), before + 2)
      })
    ))

  /** One gateway revokes a token, a key and a user that another one has cached and uses. */
  const spreads = (name: string, around: (server: RedisServer, end: Effect.Effect<void>) => Effect.Effect<void>) =>
    it(`${name}: a revocation by one gateway is enforced at the other, and ends its sockets`, async () => {
      await Effect.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const server = yield* running()
            const accounts = yield* Accounts
            yield* accounts.ensureUser(user)
            const [here, there] = [yield* gateway(server), yield* gateway(server)]
            const [{ token }, other] = [yield* here.tokens.issue(user), yield* here.tokens.issue(user)]
            const [caller, beside] = [yield* there.tokens.verify(token), yield* there.tokens.verify(other.token)]
            if (typeof caller === "string" || typeof beside === "string") return assert.fail("a token is refused")
            const created = yield* here.apiKeys.create(user.user_id, keyNo(1))
            const key = yield* there.apiKeys.find(walletNo(1).hex)
            const grants = [caller.grant, beside.grant, key!.caller.grant]

            const { api_key_id } = created
            const end = Effect.gen(function* () {
              yield* here.apiKeys.revoke(user.user_id, api_key_id)
              yield* here.tokens.revoke({
                jti: caller.credential,
                user_id: user.user_id,
                expires_at_ms: caller.expires_at_ms!
              })
              yield* here.bans.put({
                root_address,
                user_id: user.user_id,
                banned: true,
                reason: "",
                changed_time: caller.expires_at_ms!
              })
            })
            yield* around(server, Effect.orDie(end))
            yield* eventually(() => grants.every(({ ended }) => ended !== undefined))
            assert.strictEqual(yield* there.tokens.verify(token), "BannedUser")
            assert.isUndefined(yield* there.apiKeys.find(walletNo(1).hex))
            assert.isTrue(there.bans.isBanned(user.user_id))
          })
        ).pipe(Effect.provide(database), Effect.provide(Logger.layer([])))
      )
    })

  spreads("while Redis stands", (_, end) => end)
  spreads("while Redis is away, by the database", (server, end) =>
    Effect.andThen(
      Effect.promise(() => server.kill()),
      end
    )
  )
  spreads("while Redis hangs, by the database", (server, end) =>
    Effect.andThen(
      Effect.sync(() => server.freeze()),
      end
    )
  )
})
