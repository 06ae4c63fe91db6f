import { Context, Effect, Layer, Logger } from "effect"
import { assert, describe, it } from "vitest"
import { userIdOf } from "../../../src/domain/Address.ts"
import * as MemoryAccounts from "../../../src/layers/memory/MemoryAccounts.ts"
import * as MemoryBanStore from "../../../src/layers/memory/MemoryBanStore.ts"
import * as NodeIds from "../../../src/layers/node/NodeIds.ts"
import * as NodeSignatures from "../../../src/layers/node/NodeSignatures.ts"
import * as RedisLink from "../../../src/layers/redis/RedisLink.ts"
import * as RedisNotices from "../../../src/layers/redis/RedisNotices.ts"
import { Accounts } from "../../../src/services/Accounts.ts"
import { ApiKeys } from "../../../src/services/ApiKeys.ts"
import { BanList } from "../../../src/services/BanList.ts"
import { History } from "../../../src/services/History.ts"
import { Tokens } from "../../../src/services/Tokens.ts"
import { eventually, suite } from "../../contracts/NoticesContract.ts"
import { isRedisInstalled, link, type RedisServer, running } from "../../doubles/RedisServer.ts"
import { signingKeys, walletNo } from "../../doubles/Wallets.ts"

const database = Layer.mergeAll(MemoryAccounts.layer, MemoryBanStore.layer)
const root_address = `0x${"12".repeat(32)}`
const user = { user_id: userIdOf(root_address), root_address, rail: "address" as const, party_id: undefined }

/** The policies of one gateway, and which credentials and users they said were ended. */
const gateway = (server: RedisServer) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Layer.fresh(
        Tokens.layer({ environment: "testnet" }).pipe(
          Layer.provideMerge(ApiKeys.layer({ cache_for: "1 hour" })),
          Layer.provideMerge(BanList.layer),
          Layer.provide(RedisNotices.layer),
          Layer.provide(RedisLink.layer({ url: server.url, command_timeout: "2 seconds" })),
          Layer.provide([NodeIds.layer, NodeSignatures.layer(), signingKeys(1), Layer.mock(History)({})])
        )
      )
    )
    const ended: Array<string> = []
    const note = (name: string) => void ended.push(name)
    const [tokens, apiKeys, bans] = [
      Context.get(context, Tokens),
      Context.get(context, ApiKeys),
      Context.get(context, BanList)
    ]
    yield* tokens.onRevoked(note)
    yield* apiKeys.onRevoked(note)
    yield* bans.onBanned(note)
    return { tokens, apiKeys, bans, ended }
  })

const key = (n: number) => ({
  public_key: walletNo(n).hex,
  label: undefined,
  scopes: ["read" as const],
  sub_account_addresses: undefined,
  ip_allowlist: undefined,
  expires_time: undefined,
  require_body_hash: undefined
})

describe.skipIf(!isRedisInstalled)("Redis", () => {
  suite("Redis", link, RedisNotices.layer.pipe(Layer.provide(NodeIds.layer)))

  /** One gateway ends a token, a key and a user, which another one knows and uses. */
  const spreads = (name: string, around: (server: RedisServer, end: Effect.Effect<void>) => Effect.Effect<void>) =>
    it(`${name}: what one gateway revokes is refused, and its sockets told, by the other`, async () => {
      await Effect.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const server = yield* running()
            const accounts = yield* Accounts
            yield* accounts.ensureUser(user)
            const [here, there] = [yield* gateway(server), yield* gateway(server)]
            const { token } = yield* here.tokens.issue(user)
            const caller = yield* there.tokens.verify(token)
            if (typeof caller === "string") return assert.fail(caller)
            const created = yield* here.apiKeys.create(user.user_id, key(1))
            assert.isDefined(yield* there.apiKeys.find(walletNo(1).hex))

            const { api_key_id } = created
            const end = Effect.gen(function* () {
              yield* here.apiKeys.revoke(user.user_id, api_key_id)
              yield* here.tokens.revoke(caller.credential, caller.expires_at_ms!)
              yield* here.bans.put({
                root_address,
                user_id: user.user_id,
                banned: true,
                reason: "",
                changed_time: caller.expires_at_ms!
              })
            })
            yield* around(server, Effect.orDie(end))
            const names = [api_key_id, caller.credential, user.user_id]
            yield* eventually(() => names.every((one) => there.ended.includes(one)))
            assert.strictEqual(yield* there.tokens.verify(token), "RevokedToken")
            assert.isUndefined(yield* there.apiKeys.find(walletNo(1).hex))
            assert.isTrue(there.bans.isBanned(user.user_id))
            assert.sameMembers(here.ended, names)
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
      Effect.sync(() => server.hang()),
      end
    )
  )
})
