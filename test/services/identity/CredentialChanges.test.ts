import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Caller } from "../../../src/domain/User.ts"
import * as NodeSignatures from "../../../src/layers/node/NodeSignatures.ts"
import { Accounts, AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { ApiKeys } from "../../../src/services/identity/ApiKeys.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import { BanStore } from "../../../src/services/identity/BanStore.ts"
import * as CredentialChanges from "../../../src/services/identity/CredentialChanges.ts"
import { type ChangedCredentials, CredentialChangeStore } from "../../../src/services/identity/CredentialChangeStore.ts"
import * as Lease from "../../../src/services/identity/CredentialLease.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import { Tokens } from "../../../src/services/identity/Tokens.ts"
import { History } from "../../../src/services/History.ts"
import { Sequencer } from "../../../src/services/Sequencer.ts"
import { monotonicMillis } from "../../../src/services/operations/Monotonic.ts"
import { InvalidationBus, type InvalidationsMissed } from "../../../src/services/operations/InvalidationBus.ts"
import { shiftedClock } from "../../doubles/ShiftedClock.ts"
import * as Ids from "../../doubles/Ids.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import * as Wallets from "../../doubles/Wallets.ts"

const NOW = 1_767_225_600_250
const USER = "f4d12921-24f9-5d21-bac3-b037fe010f93"
const root_address = Wallets.rootOfUser(USER)
const wallet = { user_id: USER, root_address, rail: "address" as const }
const { hex } = Wallets.walletNo(9)
const newKey = {
  public_key: hex,
  label: undefined,
  scopes: ["read" as const, "trade" as const],
  sub_account_addresses: undefined,
  ip_allowlist: undefined,
  expires_time: undefined,
  require_body_hash: undefined
}
const noChange = { ...newKey, scopes: undefined }

/** How the reads of one gateway's changes go: each completes, fails, or has its answer and waits. */
class Reads {
  count = 0
  isLost = false
  /** A read completes after this time, in ms; it has what was durable when it began. */
  takes_ms = 0
  untrusted_until_ms = 0
  /** Reads in progress, and the most at one time. */
  running = 0
  running_max = 0
  /** The clock of a store that has its own. */
  clock: Clock.Clock | undefined
  of(changes: CredentialChangeStore["Service"]["changes"]): CredentialChangeStore["Service"] {
    return CredentialChangeStore.of({
      changes: (since) =>
        Effect.suspend((): Effect.Effect<ChangedCredentials, AccountsUnavailable> => {
          this.count++
          if (this.isLost) return Effect.fail(new AccountsUnavailable({}))
          this.running_max = Math.max(this.running_max, ++this.running)
          return changes(since).pipe(
            Effect.map((changed) => ({
              ...changed,
              untrusted_until_ms: this.untrusted_until_ms,
              read_ms: this.clock?.currentTimeMillisUnsafe() ?? changed.read_ms
            })),
            Effect.tap(() => Effect.sleep(this.takes_ms)),
            Effect.ensuring(Effect.sync(() => void this.running--))
          )
        })
    })
  }
}

type Handle = (notice: InvalidationsMissed) => Effect.Effect<void>

/** The policies of one gateway over stores that another one shares. */
const gateway = Effect.fnUntraced(function* (
  options: { readonly reads?: Reads; readonly isAlone?: boolean; readonly listeners?: Array<Handle> } = {}
) {
  const { isAlone = false, listeners = [], reads = new Reads() } = options
  const { changes } = yield* CredentialChangeStore
  const stores = yield* Effect.context<Accounts | BanStore>()
  const context = yield* Layer.build(
    Layer.fresh(
      CredentialChanges.layer.pipe(
        Layer.provideMerge(Layer.mergeAll(Tokens.layer({ environment: "testnet" }), ApiKeys.layer())),
        Layer.provideMerge(BanList.layer),
        Layer.provideMerge(Grants.layer),
        Layer.provideMerge(isAlone ? Layer.empty : Lease.layer),
        Layer.provide([
          // the whole context of the test first: what follows replaces parts of it
          Layer.succeedContext(stores),
          Layer.succeed(CredentialChangeStore, reads.of(changes)),
          Layer.succeed(InvalidationBus, {
            publish: () => Effect.void,
            listen: (handle) => Effect.sync(() => void listeners.push(handle))
          }),
          Layer.mock(History)({}),
          Layer.mock(Sequencer)({ commands_down_ms: () => 0 }),
          Ids.layer,
          NodeSignatures.layer(),
          Wallets.signingKeys(1)
        ])
      )
    )
  )
  const lease = Context.get(context, Lease.CredentialLease)
  return {
    keys: Context.get(context, ApiKeys),
    bans: Context.get(context, BanList),
    grants: Context.get(context, Grants),
    tokens: Context.get(context, Tokens),
    lease,
    current: Lease.current(lease),
    reads
  }
})
type Gateway = Effect.Success<ReturnType<typeof gateway>>

const test = (
  name: string,
  body: () => Effect.Effect<void, unknown, Accounts | BanStore | CredentialChangeStore | Scope.Scope>
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      yield* accounts.ensureUser({ ...wallet, party_id: undefined })
      yield* body()
    }).pipe(Effect.provide(SqliteStores.credentials), (ready) => Effect.andThen(TestClock.setTime(NOW), ready))
  )

const verified = (tokens: Gateway["tokens"], token: string): Effect.Effect<Caller> =>
  Effect.map(tokens.verify(token), (verdict) => {
    assert.isObject(verdict)
    return verdict as Caller
  })
const revoked = (tokens: Gateway["tokens"], { credential, expires_at_ms, user_id }: Caller) =>
  tokens.revoke({ jti: credential, user_id, expires_at_ms: expires_at_ms! })

describe("a change by another gateway", () => {
  test("of a key ends its grant within the pause between two reads, unless the key keeps all permissions", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* gateway(), yield* gateway()]
      const used = Effect.map(there.keys.find(hex), (key): Caller => key!.caller)
      const { api_key_id } = yield* here.keys.create(USER, newKey)
      const first = yield* used
      yield* here.keys.update(USER, api_key_id, { ...noChange, label: "desk" })
      yield* TestClock.adjust("200 millis")
      assert.isUndefined(first.grant.ended)
      yield* here.keys.update(USER, api_key_id, { ...noChange, scopes: ["read"] })
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(first.grant.ended, "changed")
      const second = yield* used
      assert.isUndefined(second.grant.ended)
      yield* here.keys.revoke(USER, api_key_id)
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(second.grant.ended, "revoked")
      assert.isUndefined(yield* there.keys.find(hex))
    }))

  test("of a key is applied once: a read that repeats it does not make the gateway look the key up again", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* gateway(), yield* gateway()]
      const { api_key_id } = yield* here.keys.create(USER, newKey)
      yield* here.keys.update(USER, api_key_id, { ...noChange, scopes: ["read"] })
      yield* TestClock.adjust("200 millis")
      const key = yield* there.keys.find(hex)
      yield* TestClock.adjust("600 millis")
      assert.strictEqual(yield* there.keys.find(hex), key)
    }))

  test("revokes a token here, also after a loss of the store", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* gateway(), yield* gateway()]
      const [first, second] = [yield* here.tokens.issue(wallet), yield* here.tokens.issue(wallet)]
      const [one, two] = [yield* verified(there.tokens, first.token), yield* verified(there.tokens, second.token)]
      yield* revoked(here.tokens, one)
      assert.isUndefined(one.grant.ended)
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(there.tokens.known(first.token, NOW), "RevokedToken")
      assert.strictEqual(yield* there.tokens.verify(first.token), "RevokedToken")
      there.reads.isLost = true
      yield* revoked(here.tokens, two)
      yield* TestClock.adjust("2 minutes")
      there.reads.isLost = false
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(two.grant.ended, "revoked")
      assert.strictEqual(yield* there.tokens.verify(second.token), "RevokedToken")
    }))

  test("that may be lost with the store's primary revokes the tokens of its time, and no API key", () =>
    Effect.gen(function* () {
      const there = yield* gateway()
      const { token } = yield* there.tokens.issue(wallet)
      const caller = yield* verified(there.tokens, token)
      yield* there.keys.create(USER, newKey)
      const key = (yield* there.keys.find(hex))!.caller
      there.reads.untrusted_until_ms = NOW + 500
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(caller.grant.ended, "revoked")
      assert.strictEqual(there.tokens.known(token, NOW + 200), "RevokedToken")
      assert.strictEqual(yield* there.tokens.verify(token), "RevokedToken")
      assert.isUndefined(key.grant.ended)
      // a token that is issued now is later than that time
      const next = yield* there.tokens.issue(wallet)
      assert.isUndefined((yield* verified(there.tokens, next.token)).grant.ended)
      there.reads.untrusted_until_ms = 0
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* there.tokens.verify(token), "RevokedToken")
    }))

  test("is found though the clock of the other gateway is 30 s behind", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const there = yield* gateway()
      const { expires_at_ms, token } = yield* there.tokens.issue(wallet)
      const caller = yield* verified(there.tokens, token)
      // several reads find nothing
      yield* TestClock.adjust("10 seconds")
      const behind = { ...(yield* Clock.Clock), currentTimeMillis: Effect.succeed(NOW + 10_000 - 30_000) }
      yield* Effect.provideService(accounts.revokeToken(caller.credential, expires_at_ms), Clock.Clock, behind)
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(yield* there.tokens.verify(token), "RevokedToken")
    }))

  test("bans a user, by gateways with different clocks", () =>
    Effect.gen(function* () {
      const bans = yield* BanStore
      const there = yield* gateway()
      const grant = there.grants.issue("token", USER)
      const ban = (user_id: string, changed_time: number) =>
        bans.put({ root_address: `0x${user_id}`, user_id, banned: true, reason: "", changed_time })
      // by a gateway whose clock is ahead, and then by one whose clock is behind
      yield* ban("other", NOW + 5_000)
      yield* TestClock.adjust("200 millis")
      yield* ban(USER, NOW - 4_000)
      yield* TestClock.adjust("200 millis")
      assert.isTrue(there.bans.isBanned("other") && there.bans.isBanned(USER))
      assert.strictEqual(grant.ended, "banned")
    }))

  test("sets or lifts a ban in the order of the changes, though the clock of the first gateway is ahead", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* gateway(), yield* gateway()]
      const put = (at: Gateway, banned: boolean, changed_time: number) =>
        at.bans.put({ root_address, user_id: USER, banned, reason: "", changed_time })
      yield* put(one, true, NOW - 1_000)
      yield* TestClock.adjust("400 millis")
      // the second gateway does not know of the lifting yet
      yield* put(one, false, NOW + 3_400)
      yield* put(two, true, NOW + 410)
      assert.isTrue(two.bans.isBanned(USER))
      yield* TestClock.adjust("200 millis")
      const started = yield* gateway()
      for (const { bans } of [one, two, started]) assert.isTrue(bans.isBanned(USER))
    }))

  test("is found by a gateway whose clock is ahead of the database and of the other gateway", () =>
    Effect.gen(function* () {
      const here = yield* gateway()
      const reads = new Reads()
      reads.clock = yield* Clock.Clock
      const there = yield* Effect.provideServiceEffect(
        gateway({ reads }),
        Clock.Clock,
        shiftedClock(() => 3_600_000)
      )
      const { token } = yield* here.tokens.issue(wallet)
      const caller = yield* verified(here.tokens, token)
      yield* TestClock.adjust("1 second")
      yield* revoked(here.tokens, caller)
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(there.tokens.known(token, NOW) ?? (yield* there.tokens.verify(token)), "RevokedToken")
    }))

  test("is found though its write was slow to commit, by the slower clock", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const there = yield* gateway()
      const { expires_at_ms, token } = yield* there.tokens.issue(wallet)
      const caller = yield* verified(there.tokens, token)
      yield* TestClock.adjust("70 seconds")
      // its clock is a minute behind, and the commit took 9 s
      const behind = { ...(yield* Clock.Clock), currentTimeMillis: Effect.succeed(NOW + 70_000 - 69_000) }
      yield* Effect.provideService(accounts.revokeToken(caller.credential, expires_at_ms), Clock.Clock, behind)
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(yield* there.tokens.verify(token), "RevokedToken")
    }))

  test("is read by one read at a time: two could judge one promotion differently", () =>
    Effect.gen(function* () {
      const listeners: Array<Handle> = []
      const { reads } = yield* gateway({ listeners })
      reads.takes_ms = 100
      yield* TestClock.adjust("200 millis")
      const noticed = yield* Effect.forkChild(Effect.forEach(listeners, (handle) => handle({ type: "missed" })))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(noticed)
      assert.isAtLeast(reads.count, 4)
      assert.strictEqual(reads.running_max, 1)
    }))

  test("is read at once when the other gateway announces one", () =>
    Effect.gen(function* () {
      const bans = yield* BanStore
      const listeners: Array<Handle> = []
      const there = yield* gateway({ listeners })
      yield* bans.put({ root_address, user_id: USER, banned: true, reason: "", changed_time: NOW })
      yield* Effect.forEach(listeners, (handle) => handle({ type: "missed" }))
      assert.isTrue(there.bans.isBanned(USER))
    }))

  test("before the start is known at the start", () =>
    Effect.gen(function* () {
      const here = yield* gateway()
      const { token } = yield* here.tokens.issue(wallet)
      const caller = yield* verified(here.tokens, token)
      yield* revoked(here.tokens, caller)
      yield* TestClock.adjust("61 seconds")
      const started = yield* gateway({ isAlone: true })
      assert.strictEqual(yield* started.tokens.verify(token), "RevokedToken")
    }))
})

describe("the lease of a gateway of a fleet", () => {
  test("lasts 600 ms from the begin of the last complete read, however late the read completes", () =>
    Effect.gen(function* () {
      const { lease, reads } = yield* gateway()
      assert.isTrue(lease.isCurrent())
      // begins at 200, completes at 700 with what was durable at 200
      reads.takes_ms = 500
      yield* TestClock.adjust("599 millis")
      assert.isTrue(lease.isCurrent())
      yield* TestClock.adjust("1 milli")
      assert.isFalse(lease.isCurrent())
      assert.strictEqual(lease.overdue_ms(), 0)
      yield* TestClock.adjust("100 millis")
      assert.isTrue(lease.isCurrent(), "the read of 200 completes at 700")
      yield* TestClock.adjust("100 millis")
      assert.isFalse(lease.isCurrent(), "and lasts until 800")
      yield* TestClock.adjust("150 millis")
      assert.strictEqual(lease.overdue_ms(), 150)
    }))

  test("is not renewed by a read that fails, nor by one that completes too late", () =>
    Effect.gen(function* () {
      const { lease, reads } = yield* gateway()
      reads.isLost = true
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(lease.isCurrent())
      assert.strictEqual(lease.overdue_ms(), 4_400)
      reads.isLost = false
      reads.takes_ms = 600
      yield* TestClock.adjust("10 seconds")
      assert.isFalse(lease.isCurrent())
    }))

  test("bounds an effect to 600 ms after a change, though this gateway reads the database late", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* gateway(), yield* gateway()]
      const { token } = yield* here.tokens.issue(wallet)
      const caller = yield* verified(there.tokens, token)
      there.reads.takes_ms = 450
      // the read that begins at 200 does not see the change of 201
      yield* TestClock.adjust("201 millis")
      yield* revoked(here.tokens, caller)
      let last_ms = 0
      for (let ms = 1; ms <= 1_500; ms++) {
        yield* TestClock.adjust("1 milli")
        if (caller.grant.ended === undefined && there.lease.isCurrent()) last_ms = ms
      }
      assert.isAtLeast(last_ms, 400, "the gateway goes on while its lease is current")
      assert.isBelow(last_ms, 600)
      assert.strictEqual(caller.grant.ended, "revoked")
    }))

  test("leaves a command that is written at its end 350 ms until it is sequenced: within a second of every change", () =>
    Effect.gen(function* () {
      const { lease, reads } = yield* gateway()
      assert.strictEqual(lease.effect_ms(), 950)
      reads.isLost = true
      yield* TestClock.adjust("599 millis")
      assert.isTrue(lease.isCurrent())
      assert.strictEqual(lease.effect_ms(), 351)
    }))

  test("delays its users until the next complete read, for 1.5 s at most", () =>
    Effect.gen(function* () {
      const { current, reads } = yield* gateway()
      yield* current
      reads.isLost = true
      yield* TestClock.adjust("5 seconds")
      const waiting = yield* Effect.forkChild(current)
      yield* TestClock.adjust("1400 millis")
      assert.isUndefined(waiting.pollUnsafe())
      reads.isLost = false
      yield* TestClock.adjust("99 millis")
      const refused = yield* Effect.forkChild(Effect.exit(current))
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(yield* Effect.exit(Fiber.join(waiting)), Exit.fail(new AccountsUnavailable({})))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(refused)
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(refused)))
    }))

  test("is measured by the monotonic clock: a step of the wall clock does not extend it", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let step_ms = 0
      const stepped = { ...clock, currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + step_ms }
      const { lease, reads } = yield* Effect.provideService(gateway(), Clock.Clock, stepped)
      reads.isLost = true
      step_ms = -3_600_000
      yield* TestClock.adjust("599 millis")
      assert.isTrue(lease.isCurrent())
      yield* TestClock.adjust("1 milli")
      assert.isFalse(lease.isCurrent())
    }))
})

describe("a revoked token", () => {
  test("is still revoked after its gateway's clock was days ahead, with a logout and a start at that time", () =>
    Effect.gen(function* () {
      let ahead_ms = 0
      const clock = yield* shiftedClock(() => ahead_ms)
      yield* Effect.gen(function* () {
        const here = yield* gateway({ isAlone: true })
        const issued = Effect.map(here.tokens.issue(wallet), ({ token }) => token)
        const token = yield* issued
        yield* revoked(here.tokens, yield* verified(here.tokens, token))
        ahead_ms = 8 * 86_400_000
        yield* revoked(here.tokens, yield* verified(here.tokens, yield* issued))
        const started = yield* gateway({ isAlone: true })
        ahead_ms = 0
        const restarted = yield* gateway({ isAlone: true })
        for (const { tokens } of [here, started, restarted])
          assert.strictEqual(yield* tokens.verify(token), "RevokedToken")
      }).pipe(Effect.provideService(Clock.Clock, clock))
    }))
})

describe("a gateway by itself", () => {
  test("reads the changes once, and uses credentials for ever", () =>
    Effect.gen(function* () {
      const { current, lease, reads } = yield* gateway({ isAlone: true })
      assert.strictEqual(reads.count, 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(reads.count, 1)
      assert.isTrue(lease.isCurrent())
      yield* current
      assert.isFalse(Lease.isLimited(lease))
      assert.strictEqual(lease.effect_ms(), Infinity)
    }))
})

describe("the start of a gateway", () => {
  test("fails while the changes cannot be read", () =>
    Effect.gen(function* () {
      const reads = new Reads()
      reads.isLost = true
      const started = yield* Effect.exit(gateway({ reads }))
      assert.isTrue(Exit.isFailure(started))
    }))

  it.effect("is waited for beyond a renewal that is itself old, and no older read shortens it", () =>
    Effect.gen(function* () {
      const lease = yield* Lease.CredentialLease
      const now = monotonicMillis(yield* Clock.Clock)
      const waiting = yield* Effect.forkChild(Lease.current(lease), { startImmediately: true })
      lease.renew(now - 600)
      yield* TestClock.adjust("0 millis")
      assert.isUndefined(waiting.pollUnsafe())
      lease.renew(now)
      yield* Fiber.join(waiting)
      lease.renew(now - 300)
      yield* TestClock.adjust("599 millis")
      assert.isTrue(lease.isCurrent())
      yield* TestClock.adjust("1 millis")
      assert.isFalse(lease.isCurrent())
    }).pipe(Effect.provide(Layer.fresh(Lease.layer)))
  )
})
