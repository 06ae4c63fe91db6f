import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Ref } from "effect"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { fingerprintOfKey, rootOfKey, rootOfParty, subAccountAddress, userIdOf } from "../../../src/domain/Address.ts"
import { Accounts, AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { ApiKeys } from "../../../src/services/identity/ApiKeys.ts"
import type { ApiKeyChange, NewApiKey } from "../../../src/services/identity/ApiKeyRules.ts"
import type { AuthError } from "../../../src/services/identity/AuthErrors.ts"
import { Authenticator } from "../../../src/services/identity/Authenticator.ts"
import type { SignedRequest } from "../../../src/services/identity/ApiKeyAuthentication.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import { Tokens } from "../../../src/services/identity/Tokens.ts"
import { CredentialLease } from "../../../src/services/identity/CredentialLease.ts"
import { commandIdOf } from "../../../src/services/operations/Ids.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { NonceStore, NonceStoreUnavailable } from "../../../src/services/identity/NonceStore.ts"
import { History } from "../../../src/services/History.ts"
import { OutcomeUnknown } from "../../../src/services/Sequencer.ts"
import { ManualLease } from "../../doubles/ManualLease.ts"
import * as Wallets from "../../doubles/Wallets.ts"
import { vectors } from "../../vectors.ts"

const IP = "192.0.2.1"
const NOW = 1_767_225_600_250
const alice = Wallets.walletNo(40)
const desk = Wallets.walletNo(41)
const PARTY = `alice::${fingerprintOfKey(alice.publicKey)}`

/** What became of an attempt: "ok", a reason, "limited <bucket>" or "unavailable". */
const outcome = <A, R>(effect: Effect.Effect<A, AuthError, R>) =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => {
      switch (error._tag) {
        case "AuthRefused":
          return error.reason
        case "AuthLimited":
          return `limited ${error.rate.bucket}`
        case "AuthUnavailable":
          return "unavailable"
      }
    }
  })

interface Login {
  readonly public_key: string
  readonly signature: string
  readonly timestamp_ms: number
  readonly nonce: string
  readonly verifying_key: string | undefined
}
const login = (change: Partial<Login> = {}, signer = alice): Login => {
  const body = { public_key: signer.hex, timestamp_ms: NOW, nonce: "nonce-0001", verifying_key: undefined, ...change }
  const message = `SERVICE_AUTH|LOGIN|${body.public_key}|${body.timestamp_ms}|${body.nonce}`
  return { signature: signer.sign(message), ...body }
}
const request = (change: Partial<SignedRequest> = {}, signer = desk): SignedRequest => {
  const base = {
    method: "GET",
    uri: "/api/v1/user/me",
    api_key: signer.hex,
    timestamp_ms: String(NOW),
    nonce: "nonce-0001",
    body_sha256: undefined,
    actual_body_sha256: undefined,
    client_ip: IP,
    ...change
  }
  const message = `SERVICE_API|${base.method}|${base.uri}|${base.timestamp_ms}|${base.nonce}`
  return {
    signature: signer.sign(base.body_sha256 === undefined ? message : `${message}|${base.body_sha256}`),
    ...base
  }
}
const frame = (change: Record<string, unknown> = {}, signer = desk) => {
  const base = { api_key: signer.hex, timestamp_ms: NOW, nonce: "nonce-0001", client_ip: IP, ...change }
  return { signature: signer.sign(`SERVICE_WS|AUTH|${base.timestamp_ms}|${base.nonce}`), ...base }
}
const newKey: Omit<NewApiKey, "public_key"> = {
  label: undefined,
  scopes: ["read", "trade"],
  sub_account_addresses: undefined,
  ip_allowlist: undefined,
  expires_time: undefined,
  require_body_hash: undefined
}
/** Logs alice in and registers the bot's key for her. */
const withKey = (change: Partial<ApiKeyChange & Pick<NewApiKey, "scopes">> = {}) =>
  Effect.gen(function* () {
    const auth = yield* Authenticator
    const { user_id } = yield* auth.login(login({ nonce: "nonce-first" }))
    return yield* (yield* ApiKeys).create(user_id, { ...newKey, ...change, public_key: desk.hex })
  })
const send = (change: Partial<SignedRequest> = {}, signer = desk) =>
  Effect.gen(function* () {
    const auth = yield* Authenticator
    const { caller, claimNonce } = yield* auth.signed(request(change, signer))
    yield* claimNonce
    return caller
  })

const test = (
  name: string,
  body: () => Effect.Effect<void, unknown, Layer.Success<ReturnType<typeof Wallets.layer>>>,
  options?: Wallets.Options
) =>
  it.effect(name, () =>
    // the clock first: fibers of the layers count from when they are built
    Effect.andThen(TestClock.setTime(NOW), Effect.provide(Effect.suspend(body), Wallets.layer(options)))
  )

describe("login", () => {
  test("makes the user and, through the sequencer, sub-account 0; later logins need no backend", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      const { commands, failure } = yield* Wallets.Submitted
      const root_address = rootOfKey(alice.publicKey)
      const user_id = userIdOf(root_address)
      const first = yield* auth.login(login())
      assert.deepInclude(first, { user_id, root_address, expires_at_ms: Math.floor(NOW / 1000) * 1000 + 604_800_000 })
      const command = {
        command_id: commandIdOf("create_sub_account", root_address, 0),
        user_id,
        sub_account_address: subAccountAddress(root_address, 0),
        body: { type: "create_sub_account", root_address, index: 0 }
      }
      assert.deepStrictEqual(yield* Ref.get(commands), [command] as never)
      assert.deepInclude(yield* auth.bearer(first.token, IP), { user_id, root_address, rail: "address", via: "token" })
      yield* Ref.set(failure, new OutcomeUnknown())
      const second = yield* auth.login(login({ nonce: "nonce-0002" }))
      assert.notStrictEqual(second.token, first.token)
    }))

  test("makes sub-account 0 again where a restore of the backend has lost it", () =>
    Effect.gen(function* () {
      const lost = Layer.mock(History)({ subAccounts: () => Effect.succeed([]) })
      const auth = yield* Authenticator.pipe(
        Effect.provide(Layer.fresh(Authenticator.layer({})).pipe(Layer.provide(lost)))
      )
      const { commands } = yield* Wallets.Submitted
      yield* auth.login(login())
      yield* auth.login(login({ nonce: "nonce-0002" }))
      const [first, second] = yield* Ref.get(commands)
      assert.isDefined(first)
      assert.deepStrictEqual(second, first)
    }))

  test("that finds no backend leaves the nonce spent, and the next one repeats the same command", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      const { commands, failure } = yield* Wallets.Submitted
      yield* Ref.set(failure, new OutcomeUnknown())
      assert.strictEqual(yield* outcome(auth.login(login())), "unavailable")
      yield* Ref.set(failure, undefined)
      assert.strictEqual(yield* outcome(auth.login(login())), "NonceReused")
      assert.strictEqual(yield* outcome(auth.login(login({ nonce: "nonce-0002" }))), "ok")
      assert.strictEqual((yield* Ref.get(commands)).length, 1)
    }))

  test("accepts both ends of the window and nothing beyond, and reports the skew", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      const at = (skew: number) => login({ timestamp_ms: NOW + skew, nonce: `nonce_${skew + 100_000}` })
      for (const skew of [-60_000, 60_000]) assert.strictEqual(yield* outcome(auth.login(at(skew))), "ok")
      for (const skew of [-60_001, 60_001]) {
        const error = yield* Effect.flip(auth.login(at(skew)))
        assert.deepInclude(error, {
          reason: "StaleTimestamp",
          details: { server_time_ms: NOW, window_ms: 60_000, skew_ms: skew }
        })
      }
    }))

  test("refuses what may have been used before the database was replaced, with the time that is accepted", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      const tokens = yield* Tokens
      assert.strictEqual(yield* outcome(auth.login(login())), "ok")
      tokens.distrust(NOW + 1_000)
      yield* TestClock.adjust("2 seconds")
      // signed before, or by a clock that is ahead
      for (const timestamp_ms of [NOW, NOW + 2_000, NOW + 61_000]) {
        const error = yield* Effect.flip(auth.login(login({ timestamp_ms, nonce: "nonce-0002" })))
        assert.deepInclude(error, { reason: "StaleTimestamp" })
        assert.include((error as { readonly text?: string }).text, `after ${NOW + 61_000}`)
      }
      assert.strictEqual(yield* outcome(auth.login(login({ timestamp_ms: NOW + 61_001, nonce: "nonce-0003" }))), "ok")
    }))

  test("refuses a login during which the database was replaced: its nonce may be lost", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const replaced = Layer.effect(
        NonceStore,
        Effect.map(NonceStore, (nonces) => ({
          claim: (...pair: Parameters<typeof nonces.claim>) =>
            Effect.tap(nonces.claim(...pair), () => Effect.sync(() => tokens.distrust(NOW + 1_000)))
        }))
      )
      const auth = yield* Authenticator.pipe(
        Effect.provide(Layer.fresh(Authenticator.layer({})).pipe(Layer.provide(replaced)))
      )
      assert.strictEqual(yield* outcome(auth.login(login())), "StaleTimestamp")
    }))

  describe("refuses in the order nonce form, key, time, signature, rate of the key, nonce", () => {
    const bad = {
      nonce: "short",
      public_key: `01${"00".repeat(31)}`,
      timestamp_ms: 0,
      signature: "00"
    }
    const reasons = ["InvalidNonce", "InvalidPublicKey", "StaleTimestamp", "InvalidSignature"]
    const names = Object.keys(bad)
    for (const [i, reason] of reasons.entries()) {
      test(reason, () =>
        Effect.gen(function* () {
          const auth = yield* Authenticator
          const change = Object.fromEntries(Object.entries(bad).filter(([name]) => names.indexOf(name) >= i))
          assert.strictEqual(yield* outcome(auth.login(login(change))), reason)
        })
      )
    }
  })

  test(
    "counts the key after the signature only, and spends no nonce of a login it limits",
    () =>
      Effect.gen(function* () {
        const auth = yield* Authenticator
        const stranger = Wallets.walletNo(42)
        // strangers cannot lock a wallet out, nor burn its nonces
        for (let i = 0; i < 20; i++) {
          const forged = { ...login({ nonce: "nonce-0000" }), signature: stranger.sign("x") }
          assert.strictEqual(yield* outcome(auth.login(forged)), "InvalidSignature")
        }
        for (let i = 0; i < 10; i++) {
          const body = login({ nonce: `nonce-000${i}` })
          assert.strictEqual(yield* outcome(auth.login(body)), "ok")
        }
        const next = login({ nonce: "nonce-0010" })
        assert.strictEqual(yield* outcome(auth.login(next)), "limited authorize-key")
        yield* TestClock.adjust(60_000)
        assert.strictEqual(yield* outcome(auth.login(next)), "ok")
      }),
    { rate: { mode: "enforce" } }
  )

  describe("of a party", () => {
    const party = (change: Partial<Login> = {}) => login({ public_key: PARTY, verifying_key: alice.hex, ...change })

    test("binds the key to the party, which is a user of its own", () =>
      Effect.gen(function* () {
        const auth = yield* Authenticator
        const unknown = yield* outcome(auth.login(party({ verifying_key: undefined })))
        assert.strictEqual(unknown, "UnknownPartyKey")
        const first = yield* auth.login(party())
        assert.strictEqual(first.root_address, rootOfParty(PARTY))
        assert.strictEqual(yield* (yield* Accounts).partyKey(PARTY), alice.hex)
        const later = party({ verifying_key: undefined, nonce: "nonce-0002" })
        assert.strictEqual((yield* auth.login(later)).user_id, first.user_id)
        assert.deepInclude(yield* auth.bearer(first.token, IP), { rail: "party" })
      }))

    test("has nonces of its own, not those of its key or of another hint", () =>
      Effect.gen(function* () {
        const auth = yield* Authenticator
        const bob = `bob::${fingerprintOfKey(alice.publicKey)}`
        assert.strictEqual(yield* outcome(auth.login(login())), "ok")
        assert.strictEqual(yield* outcome(auth.login(party())), "ok")
        assert.strictEqual(yield* outcome(auth.login(party({ public_key: bob }))), "ok")
        assert.strictEqual(yield* outcome(auth.login(party())), "NonceReused")
      }))

    test(
      "has a rate of its own, not that of its key or of another hint",
      () =>
        Effect.gen(function* () {
          const auth = yield* Authenticator
          const bob = `bob::${fingerprintOfKey(alice.publicKey)}`
          for (let i = 0; i < 10; i++) yield* auth.login(party({ nonce: `nonce-000${i}` }))
          assert.strictEqual(yield* outcome(auth.login(party({ nonce: "nonce-0010" }))), "limited authorize-key")
          assert.strictEqual(yield* outcome(auth.login(party({ public_key: bob }))), "ok")
          assert.strictEqual(yield* outcome(auth.login(login())), "ok")
        }),
      { rate: { mode: "enforce" } }
    )

    test("needs the key that its fingerprint fixes, and binds none by a bad signature", () =>
      Effect.gen(function* () {
        const auth = yield* Authenticator
        const foreign = yield* Effect.flip(auth.login(party({ verifying_key: desk.hex })))
        assert.deepInclude(foreign, {
          reason: "InvalidPublicKey",
          details: { field: "verifying_key" },
          text: "verifying_key: expected the key of this party, one with the fingerprint in the party id, got a value that is not repeated"
        })
        assert.strictEqual(yield* outcome(auth.login(party({ verifying_key: "x" }))), "InvalidPublicKey")
        assert.strictEqual(yield* outcome(auth.login(party({ public_key: "alice::1220" }))), "InvalidPublicKey")
        assert.strictEqual(yield* outcome(auth.login(party({ signature: "" }))), "InvalidSignature")
        assert.isUndefined(yield* (yield* Accounts).partyKey(PARTY))
      }))
  })
})

describe("a bearer token", () => {
  test("is refused after logout, and its grant has ended", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      const { token } = yield* auth.login(login())
      assert.isUndefined(auth.bearerNow!(token), "not verified yet")
      const caller = yield* auth.bearer(token, IP)
      assert.deepStrictEqual(auth.bearerNow!(token), caller)
      yield* auth.logout(caller)
      assert.isUndefined(auth.bearerNow!(token))
      assert.strictEqual(caller.grant.ended, "revoked")
      const refused = yield* Effect.flip(auth.bearer(token, IP))
      assert.deepInclude(refused, { reason: "RevokedToken", details: { cause: "revoked" } })
      assert.strictEqual(yield* outcome(auth.bearer("", IP)), "MissingToken")
      assert.strictEqual(yield* outcome(auth.bearer("x.y.z", IP)), "InvalidToken")
    }))

  test(
    "passes from an address that failed too often only if it was verified before",
    () =>
      Effect.gen(function* () {
        const auth = yield* Authenticator
        const { token } = yield* auth.login(login())
        const fresh = (yield* auth.login(login({ nonce: "nonce-0002" }))).token
        yield* auth.bearer(token, IP)
        for (let i = 0; i < 60; i++) assert.strictEqual(yield* outcome(auth.bearer(`x.y.${i}`, IP)), "InvalidToken")
        assert.strictEqual(yield* outcome(auth.bearer("x.y.z", IP)), "limited auth-failures")
        assert.strictEqual(yield* outcome(auth.bearer(fresh, IP)), "limited auth-failures")
        assert.strictEqual(yield* outcome(auth.signed(request())), "limited auth-failures")
        assert.strictEqual(yield* outcome(auth.bearer(token, IP)), "ok")
        assert.strictEqual(yield* outcome(auth.bearer(fresh, "192.0.2.2")), "ok")
        yield* TestClock.adjust(60_000)
        assert.strictEqual(yield* outcome(auth.bearer("x.y.z", IP)), "InvalidToken")
      }),
    { rate: { mode: "enforce" } }
  )

  it.effect("at a socket waits until changes of credentials are read, and is not answered otherwise", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const lease = new ManualLease()
      yield* Effect.gen(function* () {
        yield* withKey()
        const auth = yield* Authenticator
        const { token } = yield* auth.login(login())
        const both = () =>
          [auth.bearerSocket(token), auth.signedSocket(frame({ nonce: `nonce-${nonces++}` }))].map(outcome)
        let nonces = 1_000
        assert.deepStrictEqual(yield* Effect.all(both()), ["ok", "ok"])
        lease.end()
        const waiting = yield* Effect.forkChild(Effect.all(both(), { concurrency: 2 }))
        yield* TestClock.adjust("1499 millis")
        assert.isUndefined(waiting.pollUnsafe())
        lease.renew()
        assert.deepStrictEqual(yield* Fiber.join(waiting), ["ok", "ok"])
        lease.end()
        const refused = yield* Effect.forkChild(Effect.all(both(), { concurrency: 2 }))
        yield* TestClock.adjust("1500 millis")
        assert.deepStrictEqual(yield* Fiber.join(refused), ["unavailable", "unavailable"])
      }).pipe(Effect.provide(Wallets.layer().pipe(Layer.provide(Layer.succeed(CredentialLease, lease)))))
    })
  )

  test(
    "at a socket counts with the connection, not with the address's requests, and is checked whatever these did",
    () =>
      Effect.gen(function* () {
        const auth = yield* Authenticator
        const { token } = yield* auth.login(login())
        for (let i = 0; i < 100; i++) {
          assert.strictEqual(yield* outcome(auth.bearerSocket(`x.y.${i}`)), "InvalidToken")
        }
        assert.strictEqual(yield* outcome(auth.bearerSocket("")), "MissingToken")
        for (let i = 0; i < 60; i++) assert.strictEqual(yield* outcome(auth.bearer(`x.y.${i}`, IP)), "InvalidToken")
        assert.strictEqual(yield* outcome(auth.bearer("x.y.z", IP)), "limited auth-failures")
        assert.strictEqual(yield* outcome(auth.bearerSocket(token)), "ok")
      }),
    { rate: { mode: "enforce" } }
  )
})

describe("a signed request", () => {
  test("names its user and what its key may do; the nonce is spent when it is claimed", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      const key = yield* withKey()
      const caller = yield* send()
      assert.deepStrictEqual(caller, {
        user_id: userIdOf(rootOfKey(alice.publicKey)),
        root_address: rootOfKey(alice.publicKey),
        rail: "address",
        via: "api-key",
        credential: key.api_key_id,
        scopes: new Set(["read", "trade"] as const),
        bound_to: undefined,
        expires_at_ms: undefined,
        grant: caller.grant
      })
      assert.isUndefined(caller.grant.ended)
      // accepted again up to the claim, so that the rate of the key can stand between
      const { claimNonce } = yield* auth.signed(request())
      assert.strictEqual(yield* outcome(claimNonce), "NonceReused")
      assert.strictEqual(yield* outcome(send({ nonce: "nonce-0002" })), "ok")
    }))

  test("without its signature, or with one of a bad form, is refused with what is missing or wrong", () =>
    Effect.gen(function* () {
      yield* withKey()
      const auth = yield* Authenticator
      for (const signature of [undefined, ""]) {
        assert.deepInclude(yield* Effect.flip(auth.signed(request({ signature }))), {
          reason: "InvalidSignature",
          details: { field: "X-SIGNATURE" },
          text: "X-SIGNATURE: expected the signature, 64 bytes in hex or base64, got nothing"
        })
      }
      assert.deepInclude(yield* Effect.flip(auth.signed(request({ signature: "abc" }))), {
        reason: "InvalidSignature",
        text: "the signature is not 64 bytes in hex, 0x-hex, base64 or base64url"
      })
      // what was verified is explained on request only
      const signature = request({ nonce: "nonce-else" }).signature
      assert.deepInclude(yield* Effect.flip(auth.signed(request({ signature }))), {
        reason: "InvalidSignature",
        details: {}
      })
    }))

  test("may write key and signature in any form, and shares nonces between the forms", () =>
    Effect.gen(function* () {
      yield* withKey()
      const base64 = Buffer.from(desk.publicKey).toString("base64")
      const signature = Buffer.from(request().signature!, "hex").toString("base64url")
      assert.strictEqual(yield* outcome(send({ api_key: base64, signature })), "ok")
      assert.strictEqual(yield* outcome(send({ api_key: `0x${desk.hex.toUpperCase()}` })), "NonceReused")
    }))

  const hash = createHash("sha256").update('{"a":1}').digest("hex")
  const empty = createHash("sha256").update("").digest("hex")
  const table: Record<string, readonly [reason: string, change: Partial<SignedRequest>]> = {
    "no key": ["MissingToken", { api_key: undefined }],
    "an empty key": ["MissingToken", { api_key: "" }],
    "a key of a bad form": ["InvalidPublicKey", { api_key: "xyz" }],
    "two keys": ["InvalidPublicKey", { api_key: `${desk.hex}, ${desk.hex}` }],
    "no signature": ["InvalidSignature", { signature: undefined }],
    "two signatures": ["InvalidSignature", { signature: `${request().signature}, ${request().signature}` }],
    "no timestamp": ["StaleTimestamp", { timestamp_ms: undefined }],
    "a timestamp with a sign": ["StaleTimestamp", { timestamp_ms: `+${NOW}` }],
    "a timestamp with an exponent": ["StaleTimestamp", { timestamp_ms: "1767225600e3" }],
    "two timestamps": ["StaleTimestamp", { timestamp_ms: `${NOW}, ${NOW}` }],
    "no nonce": ["InvalidNonce", { nonce: undefined }],
    "a nonce of seven characters": ["InvalidNonce", { nonce: "1234567" }],
    "a timestamp 30 s old": ["ok", { timestamp_ms: String(NOW - 30_000) }],
    "a timestamp 30 s ahead": ["ok", { timestamp_ms: String(NOW + 30_000) }],
    "a timestamp 30.001 s old": ["StaleTimestamp", { timestamp_ms: String(NOW - 30_001) }],
    "a timestamp 30.001 s ahead": ["StaleTimestamp", { timestamp_ms: String(NOW + 30_001) }],
    "a raw | in the target": ["InvalidSignature", { uri: "/api/v1/user/me?a=1|2" }],
    "an encoded | in the target": ["ok", { uri: "/api/v1/user/me?a=1%7C2" }],
    "a body without its hash": ["ok", { method: "POST", actual_body_sha256: hash }],
    "a body and its hash": ["ok", { method: "POST", body_sha256: hash, actual_body_sha256: hash }],
    "a body and its hash in capitals": ["ok", { body_sha256: hash.toUpperCase(), actual_body_sha256: hash }],
    "another body than its hash": ["InvalidSignature", { body_sha256: empty, actual_body_sha256: hash }],
    "a hash of no body": ["ok", { body_sha256: empty }],
    "the hash of a body that did not come": ["InvalidSignature", { body_sha256: hash }],
    "a hash that was not signed": [
      "InvalidSignature",
      { body_sha256: hash, actual_body_sha256: hash, signature: request().signature }
    ],
    "a hash that was signed and not sent": [
      "InvalidSignature",
      { signature: request({ body_sha256: hash }).signature, actual_body_sha256: hash }
    ]
  }
  for (const [name, [reason, change]] of Object.entries(table)) {
    test(`with ${name}: ${reason}`, () =>
      Effect.gen(function* () {
        yield* withKey()
        assert.strictEqual(yield* outcome(send(change)), reason)
      }))
  }

  test("with a key that requires a body hash is refused without it, unless there is no body", () =>
    Effect.gen(function* () {
      const key = yield* withKey()
      const keys = yield* ApiKeys
      const user_id = userIdOf(rootOfKey(alice.publicKey))
      yield* keys.update(user_id, key.api_key_id, { ...newKey, require_body_hash: true })
      assert.strictEqual(yield* outcome(send({ actual_body_sha256: hash })), "InvalidSignature")
      assert.strictEqual(yield* outcome(send({ body_sha256: hash, actual_body_sha256: hash })), "ok")
      assert.strictEqual(yield* outcome(send({ nonce: "nonce-0002" })), "ok")
    }))

  test("checks forms, key, time, signature and address in this order", () =>
    Effect.gen(function* () {
      const stranger = Wallets.walletNo(43)
      const away = { client_ip: "198.51.100.7" }
      const old = { ...away, timestamp_ms: "1" }
      yield* withKey({ ip_allowlist: ["192.0.2.0/24"] })
      assert.strictEqual(yield* outcome(send({ ...old, nonce: "" }, stranger)), "InvalidNonce")
      assert.strictEqual(yield* outcome(send(old, stranger)), "UnknownApiKey")
      assert.strictEqual(yield* outcome(send({ ...old, signature: "11".repeat(64) })), "StaleTimestamp")
      assert.strictEqual(yield* outcome(send({ ...away, signature: "11".repeat(64) })), "InvalidSignature")
      assert.strictEqual(yield* outcome(send(away)), "IpNotAllowed")
      assert.strictEqual(yield* outcome(send({ client_ip: "::ffff:192.0.2.200" })), "ok")
    }))

  test("of a banned user is refused as such, also where the ban has revoked its key", () =>
    Effect.gen(function* () {
      const { api_key_id } = yield* withKey()
      const [bans, keys] = [yield* BanList, yield* ApiKeys]
      const { root_address, user_id } = yield* send()
      const refused = Effect.flip(send({ nonce: "nonce-0002" }))
      yield* bans.put({ user_id, root_address, banned: true, reason: "", changed_time: NOW })
      assert.deepInclude(yield* refused, { details: { cause: "banned" } })
      yield* keys.revoke(user_id, api_key_id)
      assert.deepInclude(yield* refused, { details: { cause: "banned" } })
      assert.strictEqual(yield* outcome(send({ nonce: "nonce-0003" }, Wallets.walletNo(9))), "UnknownApiKey")
    }))

  test("is refused from the moment its key expires", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      const { user_id } = yield* auth.login(login({ nonce: "nonce-first" }))
      const expires_time = NOW + 20_000
      yield* (yield* ApiKeys).create(user_id, { ...newKey, expires_time, public_key: desk.hex })
      yield* TestClock.setTime(expires_time - 1)
      assert.strictEqual((yield* send()).expires_at_ms, expires_time)
      yield* TestClock.setTime(expires_time)
      assert.strictEqual(yield* outcome(send({ nonce: "nonce-0002" })), "ExpiredApiKey")
    }))

  describe("from an address that is limited", () => {
    /** The policy over API keys that are looked up in this way. */
    const over = (find: ApiKeys["Service"]["find"]) =>
      Effect.gen(function* () {
        const keys = Layer.succeed(ApiKeys, { ...(yield* ApiKeys), find })
        return yield* Authenticator.pipe(Effect.provide(Layer.fresh(Authenticator.layer({})).pipe(Layer.provide(keys))))
      })
    const limits = { rate: { mode: "enforce" } } as const

    test(
      "counts one IPv6 network as one address, however many of its addresses fail at once",
      () =>
        Effect.gen(function* () {
          const auth = yield* over(() => Effect.as(Effect.yieldNow, undefined))
          const burst = yield* Effect.all(
            Array.from({ length: 100 }, (_, n) =>
              outcome(auth.signed(request({ client_ip: `2001:db8::${(n + 1).toString(16)}` })))
            ),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(burst.filter((each) => each === "UnknownApiKey").length, 60)
          assert.strictEqual(burst.filter((each) => each === "limited auth-failures").length, 40)
        }),
      limits
    )

    test(
      "counts no failure while the database does not respond",
      () =>
        Effect.gen(function* () {
          const auth = yield* over(() => Effect.fail(new AccountsUnavailable({})))
          for (let i = 0; i < 61; i++) assert.strictEqual(yield* outcome(auth.signed(request())), "unavailable")
          assert.strictEqual(yield* outcome((yield* Authenticator).signed(request())), "UnknownApiKey")
        }),
      limits
    )
  })

  test("that was accepted is the last use of its key; one whose nonce is refused is none", () =>
    Effect.gen(function* () {
      const { api_key_id } = yield* withKey()
      const keys = yield* ApiKeys
      const lastUse = Effect.map(keys.list(userIdOf(rootOfKey(alice.publicKey))), (all) =>
        all.map((key) => [key.api_key_id, key.last_used_time])
      )
      yield* send()
      assert.deepStrictEqual(yield* lastUse, [[api_key_id, NOW]])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* outcome(send()), "NonceReused")
      assert.deepStrictEqual(yield* lastUse, [[api_key_id, NOW]])
    }))

  test("fails as unavailable, not as refused, when nonces cannot be claimed", () =>
    Effect.gen(function* () {
      const down = Layer.succeed(NonceStore, NonceStore.of({ claim: () => Effect.fail(new NonceStoreUnavailable({})) }))
      const broken = yield* Authenticator.pipe(
        Effect.provide(Layer.fresh(Authenticator.layer({})).pipe(Layer.provide(down)))
      )
      yield* withKey()
      const { claimNonce } = yield* broken.signed(request())
      assert.strictEqual(yield* outcome(claimNonce), "unavailable")
      assert.strictEqual(yield* outcome(broken.login(login({ nonce: "nonce-0009" }))), "unavailable")
    }))
})

describe("a signature of an API key from before the database was replaced", () => {
  /** Over a promoted server, which lacks every nonce. */
  const promoted = (noncesInDatabase: boolean) =>
    Authenticator.pipe(
      Effect.provide(
        Layer.fresh(Authenticator.layer({ noncesInDatabase })).pipe(
          Layer.provide(Layer.succeed(NonceStore, NonceStore.of({ claim: () => Effect.void })))
        )
      )
    )
  const sent = (auth: Authenticator["Service"], change: Partial<SignedRequest> = {}) =>
    outcome(Effect.flatMap(auth.signed(request(change)), ({ claimNonce }) => claimNonce))

  test("is refused where its nonce may be lost with the database, also on a socket", () =>
    Effect.gen(function* () {
      yield* withKey()
      assert.strictEqual(yield* outcome(send()), "ok")
      const tokens = yield* Tokens
      tokens.distrust(NOW + 1_000)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* outcome(send({ nonce: "nonce-0002" })), "StaleTimestamp", "by default")
      const auth = yield* promoted(true)
      // signed before, or by a clock that is ahead
      for (const timestamp_ms of [NOW, NOW + 31_000]) {
        assert.strictEqual(yield* sent(auth, { timestamp_ms: String(timestamp_ms) }), "StaleTimestamp")
        const socket = yield* Effect.flip(auth.signedSocket(frame({ timestamp_ms })))
        assert.include((socket as { readonly text?: string }).text, `after ${NOW + 31_000}`)
      }
      assert.strictEqual(yield* sent(auth, { timestamp_ms: String(NOW + 31_001) }), "ok")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame({ timestamp_ms: NOW + 31_001 }))), "ok")
    }))

  test("is refused when this is noticed while the nonce is claimed", () =>
    Effect.gen(function* () {
      yield* withKey()
      const tokens = yield* Tokens
      const auth = yield* promoted(true)
      const { claimNonce } = yield* auth.signed(request())
      tokens.distrust(NOW + 1_000)
      assert.strictEqual(yield* outcome(claimNonce), "StaleTimestamp")
    }))

  test("is accepted where nonces are elsewhere", () =>
    Effect.gen(function* () {
      yield* withKey()
      const tokens = yield* Tokens
      tokens.distrust(NOW + 1_000)
      assert.strictEqual(yield* sent(yield* promoted(false)), "ok")
    }))
})

describe("the windows of timestamps", () => {
  test("are those of the settings", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator.pipe(
        Effect.provide(Layer.fresh(Authenticator.layer({ loginWindow: "10 seconds", apiKeyWindow: "5 seconds" })))
      )
      yield* withKey()
      const cases: ReadonlyArray<
        readonly [name: string, window_ms: number, at: (timestamp_ms: number) => Effect.Effect<unknown, AuthError>]
      > = [
        ["login", 10_000, (timestamp_ms) => auth.login(login({ timestamp_ms, nonce: `nonce-${timestamp_ms}` }))],
        ["request", 5_000, (timestamp_ms) => auth.signed(request({ timestamp_ms: String(timestamp_ms) }))],
        ["socket", 5_000, (timestamp_ms) => auth.signedSocket(frame({ timestamp_ms }))]
      ]
      for (const [name, window_ms, at] of cases) {
        assert.strictEqual(yield* outcome(at(NOW - window_ms)), "ok", name)
        assert.deepInclude(yield* Effect.flip(at(NOW - window_ms - 1)), {
          reason: "StaleTimestamp",
          details: { server_time_ms: NOW, window_ms, skew_ms: -window_ms - 1 }
        })
      }
    }))
})

describe("credentials that are refused", () => {
  test("are counted by their reason, each once", () =>
    Effect.gen(function* () {
      const registry = new MetricsRegistry()
      const auth = yield* Authenticator.pipe(
        Effect.provide(Layer.fresh(Authenticator.layer({}))),
        Effect.provideService(CurrentMetricsRegistry, registry)
      )
      yield* withKey()
      yield* Effect.flip(auth.login(login({ signature: "" })))
      yield* Effect.flip(auth.bearer("", IP))
      yield* Effect.flip(auth.signed(request({ timestamp_ms: "1" })))
      const [first, second] = [yield* auth.signed(request()), yield* auth.signed(request())]
      yield* first.claimNonce
      yield* Effect.flip(second.claimNonce)
      const text = yield* registry.text
      const counts = [...text.matchAll(/^gateway_auth_failures_total\{reason="(\w+)"\} (\d+)$/gmu)]
      assert.sameMembers(
        counts.map(([, reason, count]) => `${reason} ${count}`),
        ["InvalidSignature 1", "MissingToken 1", "StaleTimestamp 1", "NonceReused 1"]
      )
    }))

  test(
    "are counted as limited where the rate refuses them",
    () =>
      Effect.gen(function* () {
        const registry = new MetricsRegistry()
        const auth = yield* Authenticator.pipe(
          Effect.provide(Layer.fresh(Authenticator.layer({}))),
          Effect.provideService(CurrentMetricsRegistry, registry)
        )
        for (let i = 0; i < 62; i++) yield* Effect.flip(auth.bearer("", IP))
        const text = yield* registry.text
        assert.include(text, 'gateway_auth_failures_total{reason="MissingToken"} 60\n')
        assert.include(text, 'gateway_auth_failures_total{reason="RateLimitExceeded"} 2\n')
      }),
    { rate: { mode: "enforce" } }
  )
})

describe("a key that is deleted while its nonce is claimed", () => {
  test("is refused", () =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const { api_key_id } = yield* withKey()
      const user_id = userIdOf(rootOfKey(alice.publicKey))
      const during = Layer.succeed(
        NonceStore,
        NonceStore.of({ claim: () => Effect.orDie(keys.revoke(user_id, api_key_id)) })
      )
      const racing = yield* Authenticator.pipe(
        Effect.provide(Layer.fresh(Authenticator.layer({})).pipe(Layer.provide(during)))
      )
      const { claimNonce } = yield* racing.signed(request())
      assert.strictEqual(yield* outcome(claimNonce), "RevokedToken")
    }))
})

describe("a signed socket", () => {
  test("spends nonces of its own space, and needs the scope read and an allowed address", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      yield* withKey({ ip_allowlist: ["192.0.2.0/24"] })
      assert.strictEqual(yield* outcome(send()), "ok")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame())), "ok")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame())), "NonceReused")
      const next = { nonce: "nonce-0002" }
      assert.strictEqual(yield* outcome(auth.signedSocket(frame({ ...next, client_ip: "1.1.1.1" }))), "IpNotAllowed")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame({ timestamp_ms: NOW - 30_001 }))), "StaleTimestamp")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame({ signature: "" }))), "InvalidSignature")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame({ nonce: "x" }))), "InvalidNonce")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame({ api_key: "" }))), "InvalidPublicKey")
      assert.strictEqual(yield* outcome(auth.signedSocket(frame({}, Wallets.walletNo(44)))), "UnknownApiKey")
    }))

  test("is refused to a key that may not read", () =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      yield* withKey({ scopes: ["trade"] })
      const error = yield* Effect.flip(auth.signedSocket(frame()))
      assert.deepInclude(error, { reason: "InsufficientScope", details: { required: "read" } })
    }))
})

// The vectors, at the level of the policy; the doors are tested over sockets.

interface Expect {
  readonly status?: number
  readonly success?: boolean
  readonly user_id?: string
  readonly root_address?: string
}
interface Vector {
  readonly name: string
  readonly mechanism: string
  readonly method: string
  readonly uri: string
  readonly body: unknown
  readonly headers: Record<string, string>
  readonly frame: Record<string, unknown>
  readonly send_times?: number
  readonly precondition?: string
  readonly why?: string
  readonly signature: Record<"hex" | "hex_0x" | "base64" | "base64url", string>
  readonly expect: Expect
}
const data = vectors("auth.json") as {
  readonly server_time_ms: number
  readonly keys: Record<string, { readonly seed: string; readonly public_key: { readonly hex: string } }>
  readonly login: ReadonlyArray<Vector>
  readonly api_key: ReadonlyArray<Vector>
  readonly ws_auth: ReadonlyArray<Vector>
  readonly negatives: ReadonlyArray<Vector>
}

describe("vectors", () => {
  /** Reasons that a negative case may be refused with, by what the vectors say of it. */
  const reasonOf: Record<string, string> = {
    "invalid signature": "InvalidSignature",
    "the message holds public_key exactly as sent": "InvalidSignature",
    "stale timestamp": "StaleTimestamp",
    "timestamp in the future": "StaleTimestamp",
    "stale timestamp; the message must say that milliseconds are expected": "StaleTimestamp",
    "nonce length": "InvalidNonce",
    "nonce alphabet": "InvalidNonce",
    "reused nonce": "NonceReused",
    "a (public_key, nonce) pair is spent for ever": "NonceReused",
    "nonces are keyed by the raw key bytes": "NonceReused",
    "S must be below the group order": "InvalidSignature",
    "invalid public key": "InvalidPublicKey",
    "fingerprint mismatch": "InvalidPublicKey",
    "no key is bound to this party": "UnknownPartyKey",
    "uri is path plus query": "InvalidSignature",
    "uri is compared byte for byte": "InvalidSignature",
    "uri has no scheme or host": "InvalidSignature",
    "method is upper case": "InvalidSignature",
    "window of 30 s": "StaleTimestamp",
    "key is not registered": "UnknownApiKey",
    "nonce reused inside the window": "NonceReused",
    "X-BODY-SHA256 differs from the body received": "InvalidSignature",
    "domain separation": "InvalidSignature"
  }

  const attempt = (vector: Vector, mechanism: string) =>
    Effect.gen(function* () {
      const auth = yield* Authenticator
      if (mechanism === "login") return yield* auth.login(vector.body as Login)
      if (mechanism === "ws_auth")
        return yield* auth.signedSocket({ ...(vector.frame as never as ReturnType<typeof frame>), client_ip: IP })
      const { caller, claimNonce } = yield* auth.signed({
        method: vector.method,
        uri: vector.uri,
        api_key: vector.headers["X-API-KEY"],
        signature: vector.headers["X-SIGNATURE"],
        timestamp_ms: vector.headers["X-TIMESTAMP-MS"],
        nonce: vector.headers["X-NONCE"],
        body_sha256: vector.headers["X-BODY-SHA256"],
        actual_body_sha256:
          vector.body === undefined
            ? undefined
            : createHash("sha256")
                .update(vector.body as string)
                .digest("hex"),
        client_ip: IP
      })
      yield* claimNonce
      return caller
    })

  /** The wallet of the vectors is logged in and holds their API key. */
  const prepared = Effect.gen(function* () {
    const auth = yield* Authenticator
    const owner = Wallets.wallet(Uint8Array.from(Buffer.from(data.keys["wallet"]!.seed, "hex")))
    const { user_id } = yield* auth.login(
      login({ nonce: "before-all-cases", timestamp_ms: data.server_time_ms }, owner)
    )
    yield* (yield* ApiKeys).create(user_id, { ...newKey, public_key: data.keys["api_key"]!.public_key.hex })
    return user_id
  })

  /** Runs at the vectors' time, which is set before the layers are built. */
  const atServerTime = <A, E>(effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof Wallets.layer>>>) =>
    Effect.andThen(
      Effect.suspend(() => TestClock.setTime(data.server_time_ms)),
      Effect.provide(effect, Wallets.layer())
    )

  it.effect("login: every case, in their order, and its four encodings of the signature", () =>
    Effect.gen(function* () {
      yield* prepared
      for (const vector of data.login) {
        const answer = yield* attempt(vector, "login")
        assert.deepInclude(answer, Object.fromEntries(Object.entries(vector.expect).filter(([k]) => k !== "status")))
      }
      for (const vector of data.login) {
        for (const form of ["hex", "hex_0x", "base64", "base64url"] as const) {
          const again = { ...vector, body: { ...(vector.body as Login), signature: vector.signature[form] } }
          // the nonce is spent: a valid signature gets as far as that
          assert.strictEqual(yield* outcome(attempt(again, "login")), "NonceReused")
        }
      }
    }).pipe(atServerTime)
  )

  for (const kind of ["api_key", "ws_auth"] as const) {
    for (const vector of data?.[kind] ?? []) {
      it.effect(`${kind}: ${vector.name}`, () =>
        Effect.gen(function* () {
          const user_id = yield* prepared
          assert.deepInclude(yield* attempt(vector, kind), { user_id, via: "api-key" })
        }).pipe(atServerTime)
      )
    }
  }

  const negatives = (data?.negatives ?? []).filter(({ mechanism }) => mechanism !== "activation")
  it("every negative case has a reason to expect", () => {
    assert.isAbove(negatives.length, 25)
    for (const { why } of negatives) assert.property(reasonOf, why!)
  })
  for (const vector of negatives) {
    it.effect(`refused: ${vector.name}`, () =>
      Effect.gen(function* () {
        yield* prepared
        // cases with a precondition or a repetition come after a first use of the same nonce
        if (vector.precondition !== undefined) {
          const earlier = data.negatives.find(({ name }) => name === "same body sent twice")!
          yield* attempt(earlier, "login")
        }
        for (let i = 1; i < (vector.send_times ?? 1); i++) yield* attempt(vector, vector.mechanism)
        const error = yield* Effect.flip(attempt(vector, vector.mechanism))
        assert.strictEqual(error._tag, "AuthRefused")
        if (error._tag === "AuthRefused") assert.strictEqual(error.reason, reasonOf[vector.why!])
      }).pipe(atServerTime)
    )
  }
})
