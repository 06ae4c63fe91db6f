import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { subAccountAddress } from "../../../src/domain/Address.ts"
import type { Details, Reason } from "../../../src/domain/Reason.ts"
import { Accounts, AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { ApiKeys } from "../../../src/services/identity/ApiKeys.ts"
import { type ApiKeyChange, type NewApiKey } from "../../../src/services/identity/ApiKeyRules.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { Stop } from "../../doubles/Stop.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import {
  type Invalidation,
  InvalidationBus,
  type InvalidationsMissed
} from "../../../src/services/operations/InvalidationBus.ts"
import * as Wallets from "../../doubles/Wallets.ts"

const NOW = 1_767_225_600_250
const USER = "f4d12921-24f9-5d21-bac3-b037fe010f93"
const vault = (index: number) => subAccountAddress(Wallets.rootOfUser(USER), index)
const nothing: ApiKeyChange = {
  label: undefined,
  scopes: undefined,
  sub_account_addresses: undefined,
  ip_allowlist: undefined,
  expires_time: undefined,
  require_body_hash: undefined
}
const keyNo = (n: number, change: Partial<NewApiKey> = {}): NewApiKey => ({
  ...nothing,
  public_key: Wallets.walletNo(n).hex,
  scopes: ["read"],
  ...change
})

const test = (
  name: string,
  body: () => Effect.Effect<void, unknown, Layer.Success<ReturnType<typeof Wallets.layer>>>,
  options?: Wallets.Options
) =>
  it.effect(name, () => {
    const ready = Effect.gen(function* () {
      const accounts = yield* Accounts
      for (const [user_id, n] of [
        [USER, 1],
        ["other", 2]
      ] as const) {
        yield* accounts.ensureUser({ user_id, root_address: `0x${n}`, rail: "address", party_id: undefined })
      }
      yield* body()
    })
    // the clock first: fibers of the layers count from when they are built
    return Effect.andThen(TestClock.setTime(NOW), Effect.provide(ready, Wallets.layer(options)))
  })

/** The keys of a gateway of its own, over a store. */
const over = (accounts: Accounts["Service"]) =>
  Effect.map(
    Layer.build(Layer.fresh(ApiKeys.layer()).pipe(Layer.provide(Layer.succeed(Accounts, accounts)))),
    Context.get(ApiKeys)
  )

describe("a new key", () => {
  test("is answered as a record, in canonical forms", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const record = yield* keys.create(
        USER,
        keyNo(50, {
          public_key: Buffer.from(Wallets.walletNo(50).publicKey).toString("base64"),
          label: "desk",
          scopes: ["trade", "read", "trade"],
          sub_account_addresses: [vault(1).toUpperCase().replace("0X", "0x"), vault(0), vault(0)],
          ip_allowlist: ["203.0.113.77/24", "2001:DB8:0::1/32", "198.51.100.1", "203.0.113.0/24"],
          expires_time: NOW + 1,
          require_body_hash: true
        })
      )
      assert.deepStrictEqual(record, {
        api_key_id: record.api_key_id,
        public_key: `0x${Wallets.walletNo(50).hex}`,
        label: "desk",
        scopes: ["read", "trade"],
        sub_account_addresses: [vault(1), vault(0)],
        ip_allowlist: ["203.0.113.0/24", "2001:db8::/32", "198.51.100.1/32"],
        expires_time: NOW + 1,
        require_body_hash: true,
        created_time: NOW
      })
      assert.deepStrictEqual(yield* keys.list(USER), [record])
      const plain = yield* keys.create(USER, keyNo(51))
      assert.deepStrictEqual(plain, {
        api_key_id: plain.api_key_id,
        public_key: `0x${Wallets.walletNo(51).hex}`,
        label: "",
        scopes: ["read"],
        ip_allowlist: [],
        require_body_hash: false,
        created_time: NOW
      })
    }))

  const refusals: Record<string, readonly [reason: Reason, details: Details, change: Partial<NewApiKey>]> = {
    "a key of a bad form": ["InvalidPublicKey", { field: "public_key" }, { public_key: "xyz" }],
    "a key of small order": ["InvalidPublicKey", { field: "public_key" }, { public_key: `01${"00".repeat(31)}` }],
    "a key off the curve": ["InvalidPublicKey", { field: "public_key" }, { public_key: `02${"00".repeat(31)}` }],
    "a label of 65 characters": ["InvalidField", { field: "label" }, { label: "x".repeat(65) }],
    "no scope": ["InvalidField", { field: "scopes" }, { scopes: [] }],
    "an unknown scope": ["InvalidField", { field: "scopes" }, { scopes: ["admin" as never] }],
    "an address that is none": ["InvalidField", { field: "ip_allowlist.1" }, { ip_allowlist: ["::/0", "10.0.0.0/33"] }],
    "21 blocks": [
      "InvalidField",
      { field: "ip_allowlist", max: 20 },
      { ip_allowlist: Array.from({ length: 21 }, (_, i) => `10.0.${i}.0/24`) }
    ],
    "an expiry that is now": ["OutOfRange", { field: "expires_time", min: NOW + 1 }, { expires_time: NOW }],
    "no sub-account": ["InvalidField", { field: "sub_account_addresses" }, { sub_account_addresses: [] }],
    "a sub-account that is no address": [
      "InvalidField",
      { field: "sub_account_addresses.0" },
      { sub_account_addresses: ["vault"] }
    ],
    "a sub-account of somebody else": [
      "SubAccountNotFound",
      { field: "sub_account_addresses" },
      { sub_account_addresses: [vault(0), subAccountAddress(Wallets.rootOfUser("abcd"), 0)] }
    ],
    "a deleted sub-account": [
      "SubAccountNotFound",
      { field: "sub_account_addresses" },
      { sub_account_addresses: [vault(2)] }
    ]
  }
  test("takes a label of 64 characters and 20 blocks", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const blocks = Array.from({ length: 20 }, (_, i) => `10.0.${i}.0/24`)
      const created = yield* keys.create(USER, keyNo(60, { label: "x".repeat(64), ip_allowlist: blocks }))
      assert.deepInclude(created, { label: "x".repeat(64), ip_allowlist: blocks })
    }))

  for (const [name, [reason, details, change]] of Object.entries(refusals)) {
    test(`is refused with ${name}, as is a change to it`, () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const error = yield* Effect.flip(keys.create(USER, keyNo(50, change)))
        assert.deepInclude<object>(error, { _tag: "ApiKeyRefused", reason, details })
        assert.deepStrictEqual(yield* keys.list(USER), [])
        if (reason === "InvalidPublicKey") return
        const record = yield* keys.create(USER, keyNo(50))
        const again = yield* Effect.flip(keys.update(USER, record.api_key_id, { ...nothing, ...change }))
        assert.deepInclude<object>(again, { _tag: "ApiKeyRefused", reason, details })
        assert.deepStrictEqual(yield* keys.list(USER), [record])
      }))
  }

  test("is registered once, by whomever, in whatever form, even after it was revoked", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { api_key_id, public_key } = yield* keys.create(USER, keyNo(50))
      const reason = (user: string, key: NewApiKey) =>
        Effect.map(Effect.flip(keys.create(user, key)), (error) => error._tag === "ApiKeyRefused" && error.reason)
      assert.strictEqual(yield* reason(USER, keyNo(50)), "KeyAlreadyRegistered")
      assert.strictEqual(yield* reason("other", keyNo(50, { public_key })), "KeyAlreadyRegistered")
      yield* keys.revoke(USER, api_key_id)
      assert.strictEqual(yield* reason("other", keyNo(50)), "KeyAlreadyRegistered")
    }))

  test("is bound to a sub-account that the read model does not have yet", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const sub_account_addresses = [vault(0), vault(3)]
      const record = yield* keys.create(USER, keyNo(50, { sub_account_addresses }))
      assert.deepStrictEqual(record.sub_account_addresses, sub_account_addresses)
    }))

  test("is listed before older ones, and by id among those of one millisecond", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const first = yield* keys.create(USER, keyNo(50))
      yield* TestClock.adjust("1 millis")
      const together = []
      for (let n = 51; n < 57; n++) together.push(yield* keys.create(USER, keyNo(n)))
      const byId = together.map(({ api_key_id }) => api_key_id).toSorted((a, b) => (a < b ? 1 : -1))
      const listed = (yield* keys.list(USER)).map(({ api_key_id }) => api_key_id)
      assert.deepStrictEqual(listed, [...byId, first.api_key_id])
    }))

  test("is one of at most fifty", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      for (let n = 50; n < 100; n++) yield* keys.create(USER, keyNo(n))
      const error = yield* Effect.flip(keys.create(USER, keyNo(100)))
      assert.deepInclude(error, { reason: "LimitReached", details: { max: 50 } })
      yield* keys.create("other", keyNo(100))
      const [newest] = yield* keys.list(USER)
      yield* keys.revoke(USER, newest!.api_key_id)
      yield* keys.create(USER, keyNo(101))
    }))
})

describe("a change", () => {
  test("is effective at once and leaves the rest", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { hex } = Wallets.walletNo(50)
      const before = yield* keys.create(USER, keyNo(50, { label: "desk", ip_allowlist: ["192.0.2.0/24"] }))
      const find = () => Effect.map(keys.find(hex), (key) => key!)
      const first = yield* find()
      assert.deepStrictEqual(first.caller.scopes, new Set(["read"] as const))
      assert.isTrue(first.allows("192.0.2.5"))
      assert.isFalse(first.allows("192.0.3.5"))
      assert.isFalse(first.allows("nonsense"))
      const scopes = ["withdraw"] as const
      const after = yield* keys.update(USER, before.api_key_id, {
        ...nothing,
        scopes,
        ip_allowlist: [],
        sub_account_addresses: [vault(1)]
      })
      assert.deepStrictEqual(after, { ...before, scopes, ip_allowlist: [], sub_account_addresses: [vault(1)] })
      const second = yield* find()
      assert.deepStrictEqual(second.caller.scopes, new Set(scopes))
      assert.deepStrictEqual(second.caller.bound_to, new Set([vault(1)]))
      assert.isTrue(second.allows("192.0.3.5"))
      yield* keys.revoke(USER, before.api_key_id)
      assert.isUndefined(yield* keys.find(hex))
    }))

  test("is not for other users, nor for a key that is gone", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { api_key_id } = yield* keys.create(USER, keyNo(50))
      const reason = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
        Effect.map(Effect.flip(effect), (error) => (error as { readonly reason?: string }).reason)
      assert.strictEqual(yield* reason(keys.update("other", api_key_id, nothing)), "ApiKeyNotFound")
      assert.strictEqual(yield* reason(keys.revoke("other", api_key_id)), "ApiKeyNotFound")
      yield* keys.revoke(USER, api_key_id)
      assert.strictEqual(yield* reason(keys.update(USER, api_key_id, nothing)), "ApiKeyNotFound")
      assert.strictEqual(yield* reason(keys.revoke(USER, api_key_id)), "ApiKeyNotFound")
    }))

  test("ends the grant of the key when it takes something away, and only then", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { api_key_id } = yield* keys.create(USER, keyNo(50, { scopes: ["read", "trade"] }))
      const { hex } = Wallets.walletNo(50)
      const ends = Effect.fnUntraced(function* (change: Partial<ApiKeyChange>) {
        const { grant } = (yield* keys.find(hex))!.caller
        yield* keys.update(USER, api_key_id, { ...nothing, ...change })
        return grant.ended === "changed"
      })
      assert.isFalse(yield* ends({ label: "new" }))
      assert.isFalse(yield* ends({ scopes: ["read", "trade", "account"] }))
      assert.isTrue(yield* ends({ scopes: ["read"] }))
      assert.isTrue(yield* ends({ sub_account_addresses: [vault(0)] }))
      // an open connection would not hear of the second
      assert.isTrue(yield* ends({ sub_account_addresses: [vault(1), vault(0)] }))
      assert.isFalse(yield* ends({ sub_account_addresses: [vault(0), vault(1)] }))
      assert.isTrue(yield* ends({ sub_account_addresses: [vault(1)] }))
      assert.isTrue(yield* ends({ ip_allowlist: ["10.0.0.0/8"] }))
      assert.isFalse(yield* ends({ ip_allowlist: [] }))
      assert.isTrue(yield* ends({ expires_time: NOW + 1000 }))
      assert.isFalse(yield* ends({ expires_time: NOW + 2000 }))
      assert.isTrue(yield* ends({ expires_time: NOW + 500 }))
      assert.isTrue(yield* ends({ require_body_hash: true }))
      const { grant } = (yield* keys.find(hex))!.caller
      yield* keys.revoke(USER, api_key_id)
      assert.strictEqual(grant.ended, "revoked")
    }))

  test("gives what it adds to the next request", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { api_key_id } = yield* keys.create(USER, keyNo(50))
      const { hex } = Wallets.walletNo(50)
      const { grant } = (yield* keys.find(hex))!.caller
      yield* keys.update(USER, api_key_id, { ...nothing, scopes: ["read", "trade"] })
      assert.deepStrictEqual((yield* keys.find(hex))!.caller.scopes, new Set(["read", "trade"] as const))
      assert.isUndefined(grant.ended)
    }))

  test("is complete though the caller leaves while it is written", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const writing = new Stop()
      const keys = yield* over({
        ...accounts,
        changeApiKey: (id, patch) => Effect.andThen(writing.here, accounts.changeApiKey(id, patch))
      })
      const { api_key_id } = yield* keys.create(USER, keyNo(50, { scopes: ["read", "trade"] }))
      const { grant } = (yield* keys.find(Wallets.walletNo(50).hex))!.caller
      const changing = yield* Effect.forkChild(keys.update(USER, api_key_id, { ...nothing, scopes: ["read"] }))
      yield* writing.interrupt(changing)
      assert.deepStrictEqual((yield* keys.list(USER))[0]!.scopes, ["read"])
      assert.strictEqual(grant.ended, "changed")
    }).pipe(Effect.scoped))

  test("by another gateway is seen after the time that a key in memory is believed", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const accounts = yield* Accounts
      const { hex } = Wallets.walletNo(50)
      yield* keys.create(USER, keyNo(50))
      const known = yield* keys.find(hex)
      const record = yield* accounts.apiKeyOf(hex)
      yield* accounts.changeApiKey(record!.api_key_id, { revoked: true })
      yield* TestClock.adjust(999)
      assert.strictEqual(yield* keys.find(hex), known)
      yield* TestClock.adjust(1)
      assert.isUndefined(yield* keys.find(hex))
    }))
})

describe("a key in memory", () => {
  test("is read again as soon as its grant has ended", () =>
    Effect.gen(function* () {
      const [keys, grants] = [yield* ApiKeys, yield* Grants]
      yield* keys.create(USER, keyNo(50))
      const { hex } = Wallets.walletNo(50)
      const before = (yield* keys.find(hex))!.caller.grant
      grants.endUser(USER, "banned")
      const after = (yield* keys.find(hex))!.caller.grant
      assert.deepStrictEqual([before.ended, after.ended], ["banned", undefined])
    }))
})

describe("a change at another gateway", () => {
  /** Two gateways over one store. The second one loses its reads of changes, or stops with a record. */
  const fleet = Effect.gen(function* () {
    const listeners: Array<(notice: Invalidation | InvalidationsMissed) => Effect.Effect<void>> = []
    const bus = Layer.succeed(InvalidationBus, {
      publish: (notice) => Effect.forEach(listeners, (handle) => handle(notice), { discard: true }),
      listen: (handle) => Effect.sync(() => void listeners.push(handle))
    })
    const stores = yield* Effect.context<Layer.Success<ReturnType<typeof Wallets.layer>>>()
    const accounts = yield* Accounts
    const state: { readings: number; stop: Stop | undefined } = { readings: 0, stop: undefined }
    const lossy = Accounts.of({
      ...accounts,
      apiKeyOf: (public_key) =>
        Effect.flatMap(accounts.apiKeyOf(public_key), (record) =>
          Effect.suspend(() => {
            state.readings++
            return Effect.as(state.stop?.here ?? Effect.void, record)
          })
        )
    })
    const gateway = (store: Accounts["Service"]) =>
      Effect.map(
        Layer.build(
          Layer.fresh(ApiKeys.layer()).pipe(
            Layer.provideMerge(Layer.fresh(Grants.layer)),
            Layer.provide([bus, Layer.succeed(Accounts, store)]),
            Layer.provide(Layer.succeedContext(stores))
          )
        ),
        Context.get(ApiKeys)
      )
    return { first: yield* gateway(accounts), second: yield* gateway(lossy), state }
  })
  const { hex } = Wallets.walletNo(50)

  test("that narrows a key ends the grant here, without a read of the database", () =>
    Effect.gen(function* () {
      const { first, second } = yield* fleet
      const { api_key_id } = yield* first.create(USER, keyNo(50, { scopes: ["read", "trade"] }))
      const { grant } = (yield* second.find(hex))!.caller
      yield* first.update(USER, api_key_id, { ...nothing, label: "desk" })
      assert.isUndefined(grant.ended)
      yield* first.update(USER, api_key_id, { ...nothing, scopes: ["read"] })
      assert.strictEqual(grant.ended, "changed")
    }).pipe(Effect.scoped))

  test("whose notice is lost ends the grant when the key is read again, after a second", () =>
    Effect.gen(function* () {
      const { api_key_id, grant, second } = yield* Effect.gen(function* () {
        const { second } = yield* fleet
        // the bus of this fleet does not reach the next one
        const { first } = yield* fleet
        const { api_key_id } = yield* first.create(USER, keyNo(50, { scopes: ["read", "trade"] }))
        const { grant } = (yield* second.find(hex))!.caller
        yield* first.update(USER, api_key_id, { ...nothing, scopes: ["read"] })
        return { api_key_id, grant, second }
      })
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* second.find(hex))!.caller.grant, grant)
      assert.isUndefined(grant.ended)
      yield* TestClock.adjust("1 millis")
      const read = yield* second.find(hex)
      assert.deepStrictEqual([read!.caller.credential, read!.caller.scopes], [api_key_id, new Set(["read"] as const)])
      assert.strictEqual(grant.ended, "changed")
    }).pipe(Effect.scoped))

  test("that comes while the key is read here makes the gateway read it again", () =>
    Effect.gen(function* () {
      const { first, second, state } = yield* fleet
      const { api_key_id } = yield* first.create(USER, keyNo(50, { scopes: ["read", "trade"] }))
      const stop = (state.stop = new Stop())
      const reading = yield* Effect.forkChild(second.find(hex))
      yield* stop.reached
      // the record is read, the answer is on its way
      yield* first.update(USER, api_key_id, { ...nothing, scopes: ["read"] })
      yield* stop.release
      const key = yield* Fiber.join(reading)
      assert.deepStrictEqual(key!.caller.scopes, new Set(["read"] as const))
      assert.strictEqual(yield* second.find(hex), key)
      assert.strictEqual(state.readings, 2)
    }).pipe(Effect.scoped))

  test("that comes between the ends of two reads is in the answer to the second one", () =>
    Effect.gen(function* () {
      const { first, second, state } = yield* fleet
      const { api_key_id } = yield* first.create(USER, keyNo(50, { scopes: ["read", "trade"] }))
      const stop = (state.stop = new Stop())
      const late = yield* Effect.forkChild(second.find(hex))
      yield* stop.reached
      state.stop = undefined
      yield* second.find(hex)
      yield* first.update(USER, api_key_id, { ...nothing, scopes: ["read"] })
      yield* stop.release
      assert.deepStrictEqual((yield* Fiber.join(late))!.caller.scopes, new Set(["read"] as const))
    }).pipe(Effect.scoped))

  test("that revokes a key while it is read here leaves no key in memory", () =>
    Effect.gen(function* () {
      const { first, second, state } = yield* fleet
      const { api_key_id } = yield* first.create(USER, keyNo(50))
      const stop = (state.stop = new Stop())
      const reading = yield* Effect.forkChild(second.find(hex))
      yield* stop.reached
      yield* first.revoke(USER, api_key_id)
      yield* stop.release
      assert.isUndefined(yield* Fiber.join(reading))
      assert.isUndefined(yield* second.find(hex))
    }).pipe(Effect.scoped))

  test("that revokes a key ends its grant where the key is read next", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const accounts = yield* Accounts
      const { api_key_id } = yield* keys.create(USER, keyNo(50))
      const { hex } = Wallets.walletNo(50)
      const { grant } = (yield* keys.find(hex))!.caller
      yield* accounts.changeApiKey(api_key_id, { revoked: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(grant.ended)
      assert.isUndefined(yield* keys.find(hex))
      assert.strictEqual(grant.ended, "revoked")
    }))

  test("that revokes a key is complete when no request of the key is in progress", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { api_key_id } = yield* keys.create(USER, keyNo(50))
      const { grant } = (yield* keys.find(Wallets.walletNo(50).hex))!.caller
      grant.hold()
      const revoking = yield* Effect.forkChild(keys.revoke(USER, api_key_id))
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(grant.ended, "revoked")
      assert.isUndefined(revoking.pollUnsafe())
      grant.release()
      yield* Fiber.join(revoking)
    }))
})

describe("the time of last use", () => {
  test("is returned at once and written within ten seconds", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const accounts = yield* Accounts
      const { hex } = Wallets.walletNo(50)
      const { api_key_id } = yield* keys.create(USER, keyNo(50))
      keys.touch(api_key_id, NOW + 5)
      assert.strictEqual((yield* keys.list(USER))[0]!.last_used_time, NOW + 5)
      assert.isUndefined((yield* accounts.apiKeyOf(hex))!.last_used_time)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* accounts.apiKeyOf(hex))!.last_used_time, NOW + 5)
      assert.strictEqual((yield* keys.list(USER))[0]!.last_used_time, NOW + 5)
    }))

  test("is in the answer to a change", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { api_key_id } = yield* keys.create(USER, keyNo(50))
      keys.touch(api_key_id, NOW + 5)
      assert.strictEqual((yield* keys.update(USER, api_key_id, { ...nothing, label: "a" })).last_used_time, NOW + 5)
    }))

  test("is kept where the key is used again while the earlier time is written", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const writing = new Stop()
      const keys = yield* over({
        ...accounts,
        touchApiKey: (id, at_ms) => Effect.andThen(writing.here, accounts.touchApiKey(id, at_ms))
      })
      const { api_key_id } = yield* keys.create(USER, keyNo(50))
      keys.touch(api_key_id, NOW + 1)
      yield* TestClock.adjust("10 seconds")
      yield* writing.reached
      keys.touch(api_key_id, NOW + 2)
      yield* writing.release
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* accounts.apiKeyOf(Wallets.walletNo(50).hex))!.last_used_time, NOW + 2)
    }).pipe(Effect.scoped))

  test("is kept for 10,000 keys an interval: a flood of uses takes no more memory", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const [early, late] = [yield* keys.create(USER, keyNo(50)), yield* keys.create(USER, keyNo(51))]
      keys.touch(early.api_key_id, NOW)
      for (let i = 1; i < 10_000; i++) keys.touch(`key-${i}`, NOW)
      keys.touch(late.api_key_id, NOW)
      // one that is kept already takes no further place
      keys.touch(early.api_key_id, NOW + 1)
      const uses = new Map((yield* keys.list(USER)).map((key) => [key.api_key_id, key.last_used_time]))
      assert.deepStrictEqual([uses.get(early.api_key_id), uses.get(late.api_key_id)], [NOW + 1, undefined])
    }))

  test("is written later where the database fails", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      let isDown = true
      const keys = yield* over({
        ...accounts,
        touchApiKey: (id, at_ms) =>
          isDown ? Effect.fail(new AccountsUnavailable({})) : accounts.touchApiKey(id, at_ms)
      })
      for (const n of [50, 51]) keys.touch((yield* keys.create(USER, keyNo(n))).api_key_id, NOW + n)
      yield* TestClock.adjust("10 seconds")
      isDown = false
      yield* TestClock.adjust("10 seconds")
      for (const n of [50, 51])
        assert.strictEqual((yield* accounts.apiKeyOf(Wallets.walletNo(n).hex))!.last_used_time, NOW + n)
    }).pipe(Effect.scoped))

  it.effect("is written when the gateway stops", () =>
    Effect.gen(function* () {
      // the memo map keeps the database open after the gateway's scope has closed
      const memoMap = yield* Layer.makeMemoMap
      const stores = yield* Layer.buildWithMemoMap(SqliteStores.accounts, memoMap, yield* Effect.scope)
      const accounts = Context.get(stores, Accounts)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.buildWithMemoMap(Wallets.layer(), memoMap, yield* Effect.scope)
          yield* Effect.gen(function* () {
            yield* accounts.ensureUser({ user_id: USER, root_address: "0x1", rail: "address", party_id: undefined })
            const keys = yield* ApiKeys
            const { api_key_id } = yield* keys.create(USER, keyNo(50))
            keys.touch(api_key_id, 77)
          }).pipe(Effect.provide(context))
        })
      )
      assert.strictEqual((yield* accounts.apiKeyOf(Wallets.walletNo(50).hex))!.last_used_time, 77)
    })
  )
})
