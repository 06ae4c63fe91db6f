/** What every CredentialChangeStore returns, over the stores that write the changes. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { TOKEN_VALIDITY_MS } from "../../src/domain/Time.ts"
import { Accounts, type ApiKeyRecord } from "../../src/services/identity/Accounts.ts"
import { type Ban, BanStore } from "../../src/services/identity/BanStore.ts"
import { CredentialChangeStore } from "../../src/services/identity/CredentialChangeStore.ts"

/** The year 2100: no database has a later clock, by which it would stamp a change. */
const BASE = 4_102_444_800_000

const ban = (n: number, fields: Partial<Ban> = {}): Ban => ({
  root_address: `0x${n}`,
  user_id: `user-${n}`,
  banned: true,
  reason: "test",
  changed_time: BASE + n,
  ...fields
})
export const key = (n: number): ApiKeyRecord => ({
  api_key_id: `key-${n}`,
  user_id: "u1",
  public_key: String(n).padStart(64, "0"),
  label: "desk",
  scopes: ["read", "trade"],
  sub_account_addresses: n % 2 === 0 ? undefined : ["0x1", "0x2"],
  ip_allowlist: ["203.0.113.0/24"],
  expires_time: n % 2 === 0 ? undefined : 9_000,
  require_body_hash: n % 2 === 0,
  created_time: 1,
  last_used_time: undefined,
  revoked: false
})

export const suite = <E>(name: string, layer: Layer.Layer<Accounts | BanStore | CredentialChangeStore, E>) =>
  withLayer(layer)(`CredentialChangeStore on ${name}`, (it) => {
    it.effect("returns revoked tokens since a time, until they have been expired for as long as a token is valid", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const { changes } = yield* CredentialChangeStore
        const tokens = (since: number | undefined) => Effect.map(changes(since), ({ tokens }) => tokens)
        yield* TestClock.setTime(BASE + 0)
        yield* accounts.revokeToken("short", BASE + 1_000)
        yield* TestClock.setTime(BASE + 10)
        yield* accounts.revokeToken("long", BASE + 5_000)
        yield* TestClock.setTime(BASE + 20)
        yield* accounts.revokeToken("long", BASE + 5_000)
        assert.deepStrictEqual(yield* tokens(BASE + 10), [{ jti: "long", expires_at_ms: BASE + 5_000 }])
        assert.deepStrictEqual(yield* tokens(BASE + 11), [], "revoked once, at the first time")
        const both = [
          { jti: "short", expires_at_ms: BASE + 1_000 },
          { jti: "long", expires_at_ms: BASE + 5_000 }
        ]
        assert.sameDeepMembers([...(yield* tokens(BASE + 0))], both)
        assert.sameDeepMembers([...(yield* tokens(undefined))], both)
        // a clock that is ahead for some time makes no token valid again
        yield* TestClock.setTime(BASE + TOKEN_VALIDITY_MS + 999)
        yield* accounts.revokeToken("early", BASE + TOKEN_VALIDITY_MS + 2_000)
        assert.lengthOf(yield* tokens(undefined), 3)
        yield* TestClock.setTime(BASE + TOKEN_VALIDITY_MS + 1_000)
        yield* accounts.revokeToken("later", BASE + TOKEN_VALIDITY_MS + 2_000)
        const left = (yield* tokens(undefined)).map(({ jti }) => jti)
        assert.sameMembers(left, ["long", "early", "later"])
      })
    )

    it.effect("returns the state of each wallet that was banned or freed since a time", () =>
      Effect.gen(function* () {
        const store = yield* BanStore
        const { changes } = yield* CredentialChangeStore
        const bans = (since: number | undefined) =>
          Effect.map(changes(since), ({ bans }) => bans.toSorted((a, b) => a.changed_time - b.changed_time))
        assert.deepStrictEqual(yield* bans(undefined), [])
        assert.deepStrictEqual(yield* store.put(ban(1)), ban(1))
        yield* store.put(ban(2))
        assert.deepStrictEqual(yield* bans(BASE + 2), [ban(2)])
        const lifted = ban(1, { banned: false, reason: "a mistake", changed_time: BASE + 3 })
        yield* store.put(lifted)
        assert.deepStrictEqual(yield* bans(undefined), [ban(2), lifted])
        assert.deepStrictEqual(yield* bans(BASE + 4), [])
        assert.deepStrictEqual(yield* store.get(ban(1).root_address), lifted)
        assert.isUndefined(yield* store.get(ban(3).root_address))
      })
    )

    it.effect("gives each change of a ban a later time, whatever the clock of the gateway that makes it", () =>
      Effect.gen(function* () {
        const store = yield* BanStore
        const put = (banned: boolean, changed_time: number) => store.put(ban(7, { banned, changed_time }))
        assert.strictEqual((yield* put(true, BASE)).changed_time, BASE)
        for (const [ms, later] of [
          [0, 1],
          [-1_000, 2],
          [1_000, 1_000]
        ] as const) {
          const stored = yield* put(ms < 0, BASE + ms)
          assert.deepStrictEqual(stored, ban(7, { banned: ms < 0, changed_time: BASE + later }))
          assert.deepStrictEqual(yield* store.get(ban(7).root_address), stored)
        }
      })
    )

    it.effect("returns keys as they are after their last change, and not those that were only used", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const { changes } = yield* CredentialChangeStore
        const keys = (since: number | undefined) =>
          Effect.map(changes(since), ({ keys }) => keys.toSorted((a, b) => a.changed_time - b.changed_time))
        const [one, two, three] = [key(1), key(2), key(3)]
        for (const record of [one, two, three]) yield* accounts.createApiKey(record, 50)
        yield* TestClock.setTime(BASE + 5_000_000)
        yield* accounts.changeApiKey(one.api_key_id, { label: "early" })
        yield* TestClock.setTime(BASE + 5_000_010)
        yield* accounts.changeApiKey(two.api_key_id, { revoked: true })
        yield* accounts.touchApiKey(three.api_key_id, BASE + 5_000_010)
        const second = { key: { ...two, revoked: true }, changed_time: BASE + 5_000_010 }
        assert.deepStrictEqual(yield* keys(BASE + 5_000_000), [
          { key: { ...one, label: "early" }, changed_time: BASE + 5_000_000 },
          second
        ])
        assert.deepStrictEqual(yield* keys(BASE + 5_000_001), [second])
        assert.deepStrictEqual(yield* keys(BASE + 5_000_011), [])
        assert.deepStrictEqual(yield* keys(undefined), [], "a gateway that starts has no keys in memory")
      })
    )

    it.effect("gives each change of a key a later time, whatever the clock of the gateway that makes it", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const { changes } = yield* CredentialChangeStore
        const record = key(4)
        yield* accounts.createApiKey(record, 50)
        const changedAt = Effect.map(
          changes(BASE + 6_000_000),
          ({ keys }) => keys.find(({ key }) => key.api_key_id === record.api_key_id)?.changed_time
        )
        yield* TestClock.setTime(BASE + 6_000_100)
        yield* accounts.changeApiKey(record.api_key_id, { scopes: ["read"] })
        assert.strictEqual(yield* changedAt, BASE + 6_000_100)
        yield* accounts.changeApiKey(record.api_key_id, { scopes: ["trade"] })
        assert.strictEqual(yield* changedAt, BASE + 6_000_101)
        yield* TestClock.setTime(BASE + 6_000_050)
        yield* accounts.changeApiKey(record.api_key_id, {})
        assert.strictEqual(yield* changedAt, BASE + 6_000_102)
      })
    )
  })
