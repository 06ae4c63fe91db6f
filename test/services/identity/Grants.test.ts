import { setImmediate } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { ApiKeys } from "../../../src/services/identity/ApiKeys.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import { BanStore } from "../../../src/services/identity/BanStore.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import { History } from "../../../src/services/History.ts"
import { Sequencer } from "../../../src/services/Sequencer.ts"
import * as Ids from "../../doubles/Ids.ts"
import * as Wallets from "../../doubles/Wallets.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { Stop } from "../../doubles/Stop.ts"

const USER = "f4d12921-24f9-5d21-bac3-b037fe010f93"
const root_address = Wallets.rootOfUser(USER)

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")
/** Enough for their bytes to exceed what else changes in the heap. */
const GRANTS = 50_000
/** Most collections of garbage until it counts as a leak. */
const PASSES_MAX = 20

describe("grants", () => {
  it.effect("are one for each credential, end permanently, and are replaced when the credential is valid again", () =>
    Effect.gen(function* () {
      const grants = yield* Grants
      const grant = grants.issue("key", "user")
      assert.strictEqual(grants.issue("key", "user"), grant)
      let ended = 0
      grant.onEnd(() => ended++)
      grant.onEnd(() => ended++)()
      grants.end("other", "revoked")
      assert.isUndefined(grant.ended)
      grants.end("key", "changed")
      grants.endUser("user", "banned")
      assert.deepStrictEqual([grant.ended, ended, grant.hold()], ["changed", 1, false])
      const next = grants.issue("key", "user")
      assert.notStrictEqual(next, grant)
      grants.endUser("user", "banned")
      assert.strictEqual(next.ended, "banned")
      assert.isUndefined(grants.inForce("key"))
    }).pipe(Effect.provide(Grants.layer))
  )

  it.effect("of all credentials of a user end with the user, and those of others stay", () =>
    Effect.gen(function* () {
      const grants = yield* Grants
      const [token, key, other] = [
        grants.issue("token", "user", 5),
        grants.issue("key", "user"),
        grants.issue("other", "another user")
      ]
      grants.endUser("user", "banned")
      assert.deepStrictEqual(
        [token, key, other].map(({ ended }) => ended),
        ["banned", "banned", undefined]
      )
    }).pipe(Effect.provide(Grants.layer))
  )

  it.effect("make a change wait for the effects in progress of its own credential only", () =>
    Effect.gen(function* () {
      const grants = yield* Grants
      const [token, key] = [grants.issue("token", "user"), grants.issue("key", "user")]
      for (const grant of [token, token, key]) assert.isTrue(grant.hold())
      grants.end("key", "revoked")
      const settled = yield* Effect.forkChild(grants.settled("user", "key"))
      const other = grants.issue("other", "another user")
      grants.end("other", "revoked")
      assert.isFalse(other.isHeld)
      yield* grants.settled("another user")
      yield* grants.settled("user", "token")
      grants.end("token", "banned")
      const all = yield* Effect.forkChild(grants.settled("user"))
      yield* Effect.yieldNow
      assert.isUndefined(settled.pollUnsafe())
      key.release()
      yield* Fiber.join(settled)
      token.release()
      yield* Effect.yieldNow
      assert.isUndefined(all.pollUnsafe())
      token.release()
      yield* Fiber.join(all)
    }).pipe(Effect.provide(Grants.layer))
  )

  it.effect("are not kept after their end, whether an effect was in progress or not", () =>
    Effect.gen(function* () {
      const grants = yield* Grants
      const ended = ["used", "unused"].map((credential) => {
        const grant = grants.issue(credential, "user")
        if (credential === "used") grant.hold()
        grants.end(credential, "revoked")
        if (credential === "used") grant.release()
        return new WeakRef(grant)
      })
      // a weak reference keeps its target until the turn ends
      yield* Effect.promise(() => setImmediate())
      collectGarbage()
      assert.deepStrictEqual(
        ended.map((grant) => grant.deref()),
        [undefined, undefined]
      )
      yield* grants.settled("user")
    }).pipe(Effect.provide(Grants.layer))
  )

  it.effect("leave nothing behind when nobody holds them", () =>
    Effect.gen(function* () {
      const grants = yield* Grants
      // the entries of collected grants are removed in a turn that the engine chooses
      const heap = (enough: number) =>
        Effect.promise(async () => {
          for (let pass = 0; pass < PASSES_MAX && (pass < 2 || process.memoryUsage().heapUsed > enough); pass++) {
            await setImmediate()
            collectGarbage()
          }
          return process.memoryUsage().heapUsed
        })
      const before = yield* heap(0)
      for (let i = 0; i < GRANTS; i++) grants.issue(`credential ${i}`, `user ${i}`)
      const most = before + 40 * GRANTS
      assert.isBelow(yield* heap(most), most)
      yield* grants.settled("user 0")
    }).pipe(Effect.provide(Grants.layer))
  )

  it.effect("of tokens end by their time of issue, the last one included; those of API keys have none", () =>
    Effect.gen(function* () {
      const grants = yield* Grants
      const [old, last, next, key] = [
        grants.issue("old", "user", 4),
        grants.issue("last", "user", 5),
        grants.issue("next", "user", 6),
        grants.issue("key", "user")
      ]
      grants.endIssued(5, "revoked")
      assert.deepStrictEqual(
        [old, last, next, key].map(({ ended }) => ended),
        ["revoked", "revoked", undefined, undefined]
      )
    }).pipe(Effect.provide(Grants.layer))
  )

  it.effect("delay a change by ten seconds at most", () =>
    Effect.gen(function* () {
      const grants = yield* Grants
      grants.issue("key", "user").hold()
      grants.end("key", "revoked")
      const settled = yield* Effect.forkChild(grants.settled("user"))
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(settled.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(settled)
    }).pipe(Effect.provide(Grants.layer))
  )
})

const keyNo = (n: number) => ({
  public_key: Wallets.walletNo(n).hex,
  label: undefined,
  scopes: ["read" as const, "trade" as const],
  sub_account_addresses: undefined,
  ip_allowlist: undefined,
  expires_time: undefined,
  require_body_hash: undefined
})
const noChange = { ...keyNo(0), scopes: undefined }

/** The policies of one gateway over stores that another one may share. */
const gateway = (accounts: Accounts["Service"], bans: BanStore["Service"]) =>
  Effect.map(
    Layer.build(
      Layer.fresh(
        ApiKeys.layer().pipe(
          Layer.provideMerge(BanList.layer),
          Layer.provideMerge(Grants.layer),
          Layer.provide([
            Layer.succeed(Accounts, accounts),
            Layer.succeed(BanStore, bans),
            Layer.mock(History)({}),
            Layer.mock(Sequencer)({ commands_down_ms: () => 0 }),
            Ids.layer
          ])
        )
      )
    ),
    (context) => ({
      keys: Context.get(context, ApiKeys),
      bans: Context.get(context, BanList),
      grants: Context.get(context, Grants)
    })
  )
const stores = Layer.mergeAll(SqliteStores.accounts, SqliteStores.bans)
const enlisted = Effect.gen(function* () {
  const accounts = yield* Accounts
  yield* accounts.ensureUser({ user_id: USER, root_address, rail: "address", party_id: undefined })
  return { accounts, bans: yield* BanStore }
})
const { hex } = Wallets.walletNo(9)

describe("API keys", () => {
  it.effect("that are changed while they are being read are read again, and never given out as they were", () =>
    Effect.gen(function* () {
      const { accounts, bans } = yield* enlisted
      const read = new Stop()
      let reads = 0
      const { keys } = yield* gateway(
        {
          ...accounts,
          // the first read has its answer before the change, and brings it after
          apiKeyOf: (public_key) =>
            Effect.gen(function* () {
              const record = yield* accounts.apiKeyOf(public_key)
              if (++reads > 1) return record
              yield* read.here
              return record
            })
        },
        bans
      )
      const { api_key_id } = yield* keys.create(USER, keyNo(9))
      const found = yield* Effect.forkChild(keys.find(hex))
      yield* read.reached
      yield* keys.update(USER, api_key_id, { ...noChange, scopes: ["read"] })
      yield* read.release
      const key = yield* Fiber.join(found)
      assert.deepStrictEqual([...key!.caller.scopes], ["read"])
      assert.isUndefined(key!.caller.grant.ended)
      assert.strictEqual(yield* keys.find(hex), key)
    }).pipe(Effect.provide(stores))
  )

  it.effect("that two changes narrow at once are narrowed by both", () =>
    Effect.gen(function* () {
      const { accounts, bans } = yield* enlisted
      const { keys } = yield* gateway(accounts, bans)
      const { api_key_id } = yield* keys.create(USER, keyNo(9))
      yield* Effect.all(
        [
          keys.update(USER, api_key_id, { ...noChange, scopes: ["read"] }),
          keys.update(USER, api_key_id, { ...noChange, label: "desk" }),
          keys.update(USER, api_key_id, { ...noChange, ip_allowlist: ["10.0.0.0/8"] })
        ],
        { concurrency: "unbounded" }
      )
      const [record] = yield* keys.list(USER)
      assert.deepInclude(record, { scopes: ["read"], label: "desk", ip_allowlist: ["10.0.0.0/8"] })
    }).pipe(Effect.provide(stores))
  )
})

describe("bans", () => {
  it.effect("are lifted by a gateway whose clock is behind", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_767_225_600_000)
      const { accounts, bans } = yield* enlisted
      const here = yield* gateway(accounts, bans)
      const ban = { root_address, user_id: USER, reason: "" }
      yield* here.bans.put({ ...ban, banned: true, changed_time: 1_767_225_605_000 })
      yield* here.bans.put({ ...ban, banned: false, changed_time: 1_767_225_601_000 })
      assert.isFalse(here.bans.isBanned(USER))
      assert.isAbove(here.bans.refusedThrough(USER), 1_767_225_605_000)
    }).pipe(Effect.provide(stores))
  )

  it.effect("that are read again, or late, end no credential that was issued since", () =>
    Effect.gen(function* () {
      const { accounts, bans } = yield* enlisted
      const here = yield* gateway(accounts, bans)
      const ban = { root_address, user_id: USER, reason: "" }
      yield* here.bans.put({ ...ban, banned: true, changed_time: 1_000 })
      const set = yield* here.bans.stored(root_address)
      yield* here.bans.put({ ...ban, banned: false, changed_time: 2_000 })
      const lifted = yield* here.bans.stored(root_address)
      const grant = here.grants.issue("token", USER)
      here.bans.apply(lifted!)
      here.bans.apply(set!)
      assert.isUndefined(grant.ended)
      assert.isFalse(here.bans.isBanned(USER))
    }).pipe(Effect.provide(stores))
  )

  it.effect("end the credentials though the administrator leaves while they are written", () =>
    Effect.gen(function* () {
      const { accounts, bans } = yield* enlisted
      const writing = new Stop()
      const here = yield* gateway(accounts, {
        ...bans,
        put: (ban) => Effect.andThen(writing.here, bans.put(ban))
      })
      const grant = here.grants.issue("token", USER)
      const ban = { root_address, user_id: USER, banned: true, reason: "", changed_time: 1_000 }
      const banning = yield* Effect.forkChild(here.bans.put(ban))
      yield* writing.interrupt(banning)
      assert.isTrue(here.bans.isBanned(USER))
      assert.strictEqual(grant.ended, "banned")
    }).pipe(Effect.provide(stores))
  )
})
