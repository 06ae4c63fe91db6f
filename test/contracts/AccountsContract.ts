/** What every Accounts store keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { Accounts, type ApiKeyRecord } from "../../src/services/identity/Accounts.ts"

const address = (n: number) => `0x${n.toString(16).padStart(64, "0")}`
const user = (n: number) => ({
  user_id: `00000000-0000-5000-8000-${n.toString(16).padStart(12, "0")}`,
  root_address: address(n),
  rail: "address" as const,
  party_id: undefined
})
const key = (n: number, user_id: string): ApiKeyRecord => ({
  api_key_id: `00000000-0000-4000-9000-${n.toString(16).padStart(12, "0")}`,
  user_id,
  public_key: n.toString(16).padStart(64, "0"),
  label: "desk",
  scopes: ["read", "trade"],
  sub_account_addresses: undefined,
  ip_allowlist: [],
  expires_time: undefined,
  require_body_hash: false,
  created_time: 1_767_225_600_000,
  last_used_time: undefined,
  revoked: false
})

export const suite = <E>(name: string, layer: Layer.Layer<Accounts, E>) =>
  withLayer(layer)(`Accounts on ${name}`, (it) => {
    it.effect("creates a user once and returns the same one later", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        yield* TestClock.setTime(1_767_225_600_250)
        const first = yield* accounts.ensureUser(user(1))
        assert.isTrue(first.created)
        assert.deepStrictEqual(first.user, {
          ...user(1),
          referral_code: first.user.referral_code,
          activated: false,
          badge: false,
          multiplier_bps: 10_000,
          created_time: 1_767_225_600_250
        })
        assert.match(first.user.referral_code, /^[0-9A-HJKMNP-TV-Z]{8}$/u)
        yield* TestClock.adjust("1 day")
        assert.deepStrictEqual(yield* accounts.ensureUser(user(1)), { user: first.user, created: false })
        assert.deepStrictEqual(yield* accounts.user(user(1).user_id), first.user)
        assert.isUndefined(yield* accounts.user("none"))
        assert.deepStrictEqual(yield* accounts.userOfCode(first.user.referral_code), first.user)
        assert.isUndefined(yield* accounts.userOfCode("00000000"))
      })
    )

    it.effect("creates one user under concurrent requests", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const answers = yield* Effect.forEach(
          Array.from({ length: 10 }, (_, i) => i),
          () => accounts.ensureUser({ ...user(2), rail: "party", party_id: `p::1220${"0".repeat(64)}` }),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(answers.filter(({ created }) => created).length, 1)
        assert.strictEqual(new Set(answers.map((answer) => answer.user.referral_code)).size, 1)
        assert.strictEqual(answers[0]!.user.party_id, `p::1220${"0".repeat(64)}`)
      })
    )

    it.effect("remembers that a user is ready", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        yield* accounts.ensureUser(user(3))
        assert.isFalse(yield* accounts.isReady(user(3).user_id))
        yield* accounts.markReady(user(3).user_id)
        assert.isTrue(yield* accounts.isReady(user(3).user_id))
        assert.isFalse(yield* accounts.isReady("none"))
      })
    )

    it.effect("activates a wallet once, before its first login or after it", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const given = { badge: true, multiplier_bps: 12_500 }
        const [early, late, listed] = [user(30), user(31), user(32)]
        assert.isUndefined(yield* accounts.activation(early.root_address))
        assert.isTrue(yield* accounts.activate(early.root_address, given))
        assert.isFalse(yield* accounts.activate(early.root_address, { badge: false, multiplier_bps: 0 }))
        assert.deepStrictEqual(yield* accounts.activation(early.root_address), given)
        assert.isTrue(yield* accounts.isWhitelisted(early.root_address))
        assert.deepInclude((yield* accounts.ensureUser(early)).user, { activated: true, ...given })

        yield* accounts.ensureUser(late)
        assert.isTrue(yield* accounts.activate(late.root_address, { badge: false, multiplier_bps: 0 }))
        assert.deepInclude(yield* accounts.user(late.user_id), { activated: true, badge: false, multiplier_bps: 0 })

        // a whitelisted wallet needs no code, and a wallet that redeemed one stays activated
        yield* accounts.setWhitelisted(listed.root_address, true)
        assert.isFalse(yield* accounts.activate(listed.root_address, given))
        assert.isUndefined(yield* accounts.activation(listed.root_address))
        yield* accounts.setWhitelisted(early.root_address, false)
        assert.isFalse(yield* accounts.activate(early.root_address, given))
        assert.isFalse(yield* accounts.isWhitelisted(early.root_address))
        yield* accounts.setWhitelisted(listed.root_address, false)
        assert.isTrue(yield* accounts.activate(listed.root_address, given))
      })
    )

    it.effect("binds the key of a party for ever", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        assert.isUndefined(yield* accounts.partyKey("alice"))
        yield* accounts.bindPartyKey("alice", "aa")
        yield* accounts.bindPartyKey("alice", "bb")
        assert.strictEqual(yield* accounts.partyKey("alice"), "aa")
      })
    )

    it.effect("adds a wallet to the whitelist and removes it", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        assert.isFalse(yield* accounts.isWhitelisted(address(9)))
        yield* accounts.setWhitelisted(address(9), true)
        yield* accounts.setWhitelisted(address(9), true)
        assert.isTrue(yield* accounts.isWhitelisted(address(9)))
        yield* accounts.setWhitelisted(address(9), false)
        assert.isFalse(yield* accounts.isWhitelisted(address(9)))
      })
    )

    it.effect("returns a key as it was written", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const plain = key(1, "u1")
        const full: ApiKeyRecord = {
          ...key(2, "u1"),
          label: "Kö'); DROP TABLE api_keys; --",
          sub_account_addresses: [address(1), address(2)],
          ip_allowlist: ["203.0.113.0/24", "2001:db8::/32"],
          expires_time: 1_800_000_000_000,
          require_body_hash: true
        }
        yield* accounts.createApiKey(plain, 50)
        yield* accounts.createApiKey(full, 50)
        assert.deepStrictEqual(yield* accounts.apiKeyOf(plain.public_key), plain)
        assert.deepStrictEqual(yield* accounts.apiKeyOf(full.public_key), full)
        assert.sameDeepMembers([...(yield* accounts.apiKeys("u1"))], [plain, full])
        assert.isUndefined(yield* accounts.apiKeyOf("00"))
        const patch = { label: "", scopes: ["withdraw" as const] }
        assert.deepStrictEqual(yield* accounts.changeApiKey(full.api_key_id, patch), { ...full, ...patch })
        assert.deepStrictEqual(yield* accounts.apiKeyOf(full.public_key), { ...full, ...patch })
        assert.isUndefined(yield* accounts.changeApiKey("no such key", patch))
      })
    )

    it.effect("writes only the fields of a patch, so that concurrent changes do not undo each other", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const record = { ...key(40, "u6"), scopes: ["read" as const, "trade" as const] }
        yield* accounts.createApiKey(record, 50)
        const patches = [
          { scopes: ["read" as const] },
          { label: "desk" },
          { ip_allowlist: ["10.0.0.0/8"] },
          { expires_time: 1_800_000_000_000 },
          { require_body_hash: true },
          { sub_account_addresses: [address(1)] }
        ]
        yield* Effect.forEach(patches, (patch) => accounts.changeApiKey(record.api_key_id, patch), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(
          yield* accounts.apiKeyOf(record.public_key),
          patches.reduce((all, patch) => ({ ...all, ...patch }), record)
        )
      })
    )

    it.effect("registers a public key once, even after it was revoked", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const record = key(3, "u2")
        yield* accounts.createApiKey(record, 50)
        yield* accounts.changeApiKey(record.api_key_id, { revoked: true })
        assert.isTrue((yield* accounts.apiKeyOf(record.public_key))!.revoked)
        assert.deepStrictEqual(yield* accounts.apiKeys("u2"), [])
        const again = { ...key(4, "u3"), public_key: record.public_key }
        assert.strictEqual((yield* Effect.flip(accounts.createApiKey(again, 50)))._tag, "KeyRegistered")
        // a revocation is final
        assert.isUndefined(yield* accounts.changeApiKey(record.api_key_id, { revoked: false }))
        assert.isTrue((yield* accounts.apiKeyOf(record.public_key))!.revoked)
      })
    )

    it.effect("registers a public key for one of the users who register it at once", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        for (let n = 100; n < 120; n++) {
          const { public_key } = key(n, "u5")
          const results = yield* Effect.forEach(
            Array.from({ length: 6 }, (_, i) => ({ ...key(1_000 + 10 * n + i, `u5-${i}`), public_key })),
            (record) => Effect.result(accounts.createApiKey(record, 50)),
            { concurrency: "unbounded" }
          )
          const outcomes = results.map((result) => (result._tag === "Success" ? "registered" : result.failure._tag))
          assert.deepStrictEqual(outcomes.toSorted(), [
            ...Array.from({ length: 5 }, () => "KeyRegistered"),
            "registered"
          ])
        }
      })
    )

    it.effect("holds no more keys than allowed, revoked ones not counted", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const results = yield* Effect.forEach(
          Array.from({ length: 6 }, (_, i) => key(10 + i, "u4")),
          (record) => Effect.result(accounts.createApiKey(record, 3)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter((result) => result._tag === "Success").length, 3)
        const [held] = yield* accounts.apiKeys("u4")
        yield* accounts.changeApiKey(held!.api_key_id, { revoked: true })
        yield* accounts.createApiKey(key(20, "u4"), 3)
        const error = yield* Effect.flip(accounts.createApiKey(key(21, "u4"), 3))
        assert.deepInclude(error, { _tag: "TooManyKeys", max: 3 })
      })
    )

    it.effect("moves the time of last use forward only, whatever else is written", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const record = key(30, "u5")
        yield* accounts.createApiKey(record, 50)
        yield* accounts.touchApiKey(record.api_key_id, 2000)
        yield* accounts.touchApiKey(record.api_key_id, 1000)
        yield* accounts.changeApiKey(record.api_key_id, { label: "new" })
        assert.deepInclude(yield* accounts.apiKeyOf(record.public_key), { last_used_time: 2000, label: "new" })
      })
    )

    it.effect("keeps labels by user and sub-account", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        yield* accounts.setLabel("u6", address(1), "one")
        yield* accounts.setLabel("u6", address(2), "two")
        yield* accounts.setLabel("u6", address(1), "uno")
        yield* accounts.setLabel("u7", address(1), "other")
        assert.deepStrictEqual(
          yield* accounts.labels("u6"),
          new Map([
            [address(1), "uno"],
            [address(2), "two"]
          ])
        )
      })
    )
  })
