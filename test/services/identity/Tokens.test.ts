import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import * as NodeSignatures from "../../../src/layers/node/NodeSignatures.ts"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import { Signatures } from "../../../src/services/identity/Signatures.ts"
import { Tokens } from "../../../src/services/identity/Tokens.ts"
import {
  type Invalidation,
  InvalidationBus,
  type InvalidationsMissed
} from "../../../src/services/operations/InvalidationBus.ts"
import * as Ids from "../../doubles/Ids.ts"
import { signingKeys, walletNo } from "../../doubles/Wallets.ts"
import { publicVectors } from "../../vectors.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { Stop } from "../../doubles/Stop.ts"

const own = walletNo(1)
const older = walletNo(2)
const stranger = walletNo(3)
const NOW = 1_767_225_600_250
const SECOND = Math.floor(NOW / 1000)

const noBans = Layer.mock(BanList)({
  isBanned: () => false,
  refusedThrough: () => 0,
  apply: () => {}
})
const stores = Layer.mergeAll(
  Ids.layer,
  noBans,
  SqliteStores.accounts,
  NodeSignatures.layer(),
  signingKeys(1, [{ kid: "key-2", publicKey: older.publicKey }])
)
const tokens = (options: { readonly known_max?: number } = {}) =>
  Tokens.layer({ environment: "testnet", ...options }).pipe(
    Layer.provideMerge(Grants.layer),
    Layer.provideMerge(stores)
  )

const user = {
  user_id: "f4d12921-24f9-5d21-bac3-b037fe010f93",
  root_address: "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b",
  rail: "address" as const
}

/** A token that was just issued, and its caller. */
const issued = Effect.gen(function* () {
  yield* TestClock.setTime(NOW)
  const service = yield* Tokens
  const { expires_at_ms, token } = yield* service.issue(user)
  const caller = yield* service.verify(token)
  return typeof caller === "string" ? assert.fail(caller) : { service, token, expires_at_ms, caller }
})
const HEADER = { alg: "EdDSA", typ: "JWT", kid: "key-1" }
const CLAIMS = {
  iss: "trading-gateway",
  aud: "trading-gateway:testnet",
  sub: user.user_id,
  root: user.root_address,
  rail: "address",
  iat: SECOND,
  exp: SECOND + 604_800,
  jti: "00000000-0000-4000-8000-00000000abcd"
}
const segment = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")
const forge = (header: unknown, claims: unknown, signer = own) => {
  const signed = `${segment(header)}.${segment(claims)}`
  return `${signed}.${Buffer.from(signer.sign(signed), "hex").toString("base64url")}`
}
const without = (name: string) => Object.fromEntries(Object.entries(CLAIMS).filter(([key]) => key !== name))

describe("a token", () => {
  it.effect("is ended by a ban of the same second; one issued after the ban is not", () => {
    let banned = false
    let through = 0
    const bans = Layer.mock(BanList)({
      isBanned: () => banned,
      refusedThrough: () => through,
      apply: () => {}
    })
    const layer = Tokens.layer({ environment: "testnet" }).pipe(
      Layer.provideMerge(Grants.layer),
      Layer.provide(bans),
      Layer.provide(stores)
    )
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      for (let round = 0; round < 20; round++) {
        const { token } = yield* service.issue(user)
        assert.strictEqual(typeof (yield* service.verify(token)), "object")
        banned = true
        through = Math.max(NOW, through + 1)
        assert.strictEqual(yield* service.verify(token), "BannedUser")
        banned = false
        through++
        assert.strictEqual(yield* service.verify(token), "RevokedToken")
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("has the claims of the contract, and is accepted", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      const { token, expires_at_ms } = yield* service.issue(user)
      const [header, payload] = token.split(".").map((part) => Buffer.from(part, "base64url").toString())
      assert.deepStrictEqual(JSON.parse(header!), HEADER)
      const jti = "00000000-0000-4000-8000-000000000001"
      assert.deepStrictEqual(JSON.parse(payload!), { ...CLAIMS, iat_ms: NOW, jti })
      assert.strictEqual(expires_at_ms, (SECOND + 604_800) * 1000)
      assert.isUndefined(service.known(token, NOW))
      const caller = yield* service.verify(token)
      if (typeof caller === "string") return assert.fail(caller)
      const { grant, ...claims } = caller
      assert.isUndefined(grant.ended)
      assert.deepStrictEqual(claims, {
        ...user,
        via: "token",
        credential: jti,
        scopes: new Set(["read", "trade", "account", "transfer", "withdraw"] as const),
        bound_to: undefined,
        expires_at_ms
      })
      assert.strictEqual(service.known(token, NOW), caller)
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("is good until the last millisecond of its seventh day, by memory and by verification", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      const { token, expires_at_ms } = yield* service.issue(user)
      yield* TestClock.setTime(expires_at_ms - 1)
      assert.isObject(yield* service.verify(token))
      assert.isObject(service.known(token, expires_at_ms - 1))
      yield* TestClock.setTime(expires_at_ms)
      assert.strictEqual(service.known(token, expires_at_ms), "ExpiredToken")
      assert.strictEqual(yield* service.verify(token), "ExpiredToken")
      assert.isUndefined(service.known(token, expires_at_ms))
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("is refused before and after its validity, wherever the clock is set", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      const { expires_at_ms, token } = yield* service.issue(user)
      const begins = (SECOND - 5) * 1000
      const bothAt = (now: number) =>
        Effect.andThen(
          TestClock.setTime(now),
          Effect.map(service.verify(token), (verdict) => [service.known(token, now) ?? "unknown", verdict])
        )
      assert.isObject(yield* service.verify(token))
      for (const [now, ...verdicts] of [
        [begins - 1, "unknown", "InvalidToken"],
        [NOW - 3_600_000, "unknown", "InvalidToken"],
        [expires_at_ms + 3_600_000, "unknown", "ExpiredToken"]
      ] as const) {
        // remembered when the clock is set, then asked for anew
        yield* TestClock.setTime(NOW)
        assert.isObject(yield* service.verify(token))
        assert.strictEqual(service.known(token, now), verdicts[1])
        assert.deepStrictEqual(yield* bothAt(now), [...verdicts])
      }
      for (const now of [begins, expires_at_ms - 1]) {
        yield* TestClock.setTime(now)
        assert.isObject(yield* service.verify(token))
      }
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("is refused once revoked, and its neighbours are not", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      const { token, expires_at_ms } = yield* service.issue(user)
      const other = (yield* service.issue(user)).token
      const caller = yield* service.verify(token)
      assert.isObject(yield* service.verify(other))
      if (typeof caller === "string") return assert.fail(caller)
      yield* service.revoke({ jti: caller.credential, user_id: caller.user_id, expires_at_ms })
      assert.strictEqual(service.known(token, NOW), "RevokedToken")
      assert.strictEqual(yield* service.verify(token), "RevokedToken")
      assert.isObject(service.known(other, NOW))
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("is revoked when no request of it is in progress", () =>
    Effect.gen(function* () {
      const { caller, expires_at_ms, service } = yield* issued
      caller.grant.hold()
      const { credential: jti, user_id } = caller
      const revoking = yield* Effect.forkChild(service.revoke({ jti, user_id, expires_at_ms }))
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(caller.grant.ended, "revoked")
      assert.isUndefined(revoking.pollUnsafe())
      caller.grant.release()
      yield* Fiber.join(revoking)
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("is revoked though its caller leaves while the revocation is written", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const writing = new Stop()
      const slow = Layer.succeed(Accounts, {
        ...accounts,
        revokeToken: (jti, expires_at_ms) => Effect.andThen(writing.here, accounts.revokeToken(jti, expires_at_ms))
      })
      yield* Effect.gen(function* () {
        const { caller, expires_at_ms, service, token } = yield* issued
        const { credential: jti, user_id } = caller
        const revoking = yield* Effect.forkChild(service.revoke({ jti, user_id, expires_at_ms }))
        yield* writing.interrupt(revoking)
        assert.strictEqual(service.known(token, NOW), "RevokedToken")
      }).pipe(Effect.provide(Layer.provide(Layer.fresh(Tokens.layer({ environment: "testnet" })), slow)))
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("is refused at once when another gateway revokes it, and its own revocations are published", () => {
    const published: Array<Invalidation> = []
    const handlers: Array<(invalidation: Invalidation | InvalidationsMissed) => Effect.Effect<void>> = []
    const bus = Layer.succeed(InvalidationBus, {
      publish: (invalidation) => Effect.sync(() => void published.push(invalidation)),
      listen: (handle) => Effect.sync(() => void handlers.push(handle))
    })
    return Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      const { expires_at_ms, token } = yield* service.issue(user)
      const caller = yield* service.verify(token)
      if (typeof caller === "string") return assert.fail(caller)
      const { credential: jti, user_id } = caller
      const notify = (invalidation: Invalidation | InvalidationsMissed) =>
        Effect.forEach(handlers, (handle) => handle(invalidation))
      yield* notify({ type: "missed" })
      yield* notify({ type: "ban", user_id })
      yield* notify({ type: "token", jti: CLAIMS.jti, expires_at_ms })
      assert.isObject(service.known(token, NOW))
      yield* notify({ type: "token", jti, expires_at_ms })
      assert.strictEqual(service.known(token, NOW), "RevokedToken")
      assert.deepStrictEqual(published, [])
      yield* service.revoke({ jti, user_id, expires_at_ms })
      assert.deepStrictEqual(published, [{ type: "token", jti, expires_at_ms }])
    }).pipe(Effect.provide(tokens().pipe(Layer.provide(bus))))
  })

  it.effect("is still refused after thousands of other tokens were revoked", () =>
    Effect.gen(function* () {
      const { caller, expires_at_ms, service, token } = yield* issued
      const revoke = (jti: string) => service.revoke({ jti, user_id: user.user_id, expires_at_ms })
      yield* revoke(caller.credential)
      for (let i = 0; i < 3_000; i++) yield* revoke(`other-${i}`)
      assert.strictEqual(yield* service.verify(token), "RevokedToken")
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("has its revocation forgotten a validity after its end, once 1,024 are revoked", () =>
    Effect.gen(function* () {
      const { caller, expires_at_ms, service, token } = yield* issued
      const revoke = (jti: string, until_ms: number) =>
        service.revoke({ jti, user_id: user.user_id, expires_at_ms: until_ms })
      yield* revoke(caller.credential, expires_at_ms)
      const validity_ms = 604_800_000
      for (const early_ms of [1, 0]) {
        const now_ms = expires_at_ms + validity_ms - early_ms
        yield* TestClock.setTime(now_ms)
        for (let i = 0; i < 1_024; i++) yield* revoke(`${early_ms}-${i}`, now_ms + validity_ms)
        // only a clock that is set back shows what is remembered
        yield* TestClock.setTime(NOW)
        const verdict = yield* service.verify(token)
        if (early_ms > 0) assert.strictEqual(verdict, "RevokedToken")
        else assert.isObject(verdict)
      }
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("is verified once, and again when too many others were", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      let verified = 0
      const counting = Layer.effect(
        Signatures,
        Effect.map(Signatures, (real) =>
          Signatures.of({
            ...real,
            verify: (...args) => Effect.tap(real.verify(...args), () => Effect.sync(() => verified++))
          })
        )
      ).pipe(Layer.provide(NodeSignatures.layer()))
      const layer = Tokens.layer({ environment: "testnet", known_max: 2 }).pipe(
        Layer.provide(Layer.mergeAll(Ids.layer, Grants.layer, SqliteStores.accounts, noBans, signingKeys(1), counting))
      )
      yield* Effect.gen(function* () {
        const service = yield* Tokens
        const [a, b, c] = [yield* service.issue(user), yield* service.issue(user), yield* service.issue(user)]
        for (const { token } of [a, b]) yield* service.verify(token)
        assert.strictEqual(verified, 2)
        assert.isObject(service.known(a.token, NOW))
        yield* service.verify(c.token)
        assert.isUndefined(service.known(b.token, NOW))
        assert.isObject(service.known(a.token, NOW))
        yield* service.verify(forge(HEADER, CLAIMS, stranger))
        assert.isUndefined(service.known(forge(HEADER, CLAIMS, stranger), NOW))
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("of an older key is accepted; of a removed key it is refused", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      assert.isObject(yield* service.verify(forge({ ...HEADER, kid: "key-2" }, CLAIMS, older)))
      assert.strictEqual(yield* service.verify(forge({ ...HEADER, kid: "key-3" }, CLAIMS, stranger)), "InvalidToken")
      assert.deepStrictEqual(service.jwks, {
        keys: [own, older].map((key, i) => ({
          kty: "OKP",
          crv: "Ed25519",
          x: Buffer.from(key.publicKey).toString("base64url"),
          kid: `key-${i + 1}`,
          use: "sig",
          alg: "EdDSA"
        }))
      })
    }).pipe(Effect.provide(tokens()))
  )
})

describe("what is no token", () => {
  const hs256 = (key: string | Uint8Array) => {
    const signed = `${segment({ alg: "HS256", typ: "JWT", kid: "key-1" })}.${segment(CLAIMS)}`
    return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`
  }
  const good = forge(HEADER, CLAIMS)
  const [goodHeader, goodClaims, goodSignature] = good.split(".") as [string, string, string]
  const flip = (text: string, at: number) => text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)

  const table: Record<string, string> = {
    "the empty text": "",
    "one segment": goodHeader,
    "two segments": `${goodHeader}.${goodClaims}`,
    "four segments": `${good}.`,
    "an empty signature": `${goodHeader}.${goodClaims}.`,
    "alg none, no signature": `${segment({ ...HEADER, alg: "none" })}.${segment(CLAIMS)}.`,
    "alg none, our signature": forge({ ...HEADER, alg: "none" }, CLAIMS),
    "alg NONE": forge({ ...HEADER, alg: "NONE" }, CLAIMS),
    "alg eddsa": forge({ ...HEADER, alg: "eddsa" }, CLAIMS),
    "alg Ed25519": forge({ ...HEADER, alg: "Ed25519" }, CLAIMS),
    "alg ES256": forge({ ...HEADER, alg: "ES256" }, CLAIMS),
    "alg as a list": forge({ ...HEADER, alg: ["EdDSA"] }, CLAIMS),
    "no alg": forge({ typ: "JWT", kid: "key-1" }, CLAIMS),
    "HS256 with the public key as its secret": hs256(own.publicKey),
    "HS256 with the public key's hex as its secret": hs256(own.hex),
    "no kid": forge({ alg: "EdDSA", typ: "JWT" }, CLAIMS),
    "kid unknown": forge({ ...HEADER, kid: "key-9" }, CLAIMS),
    "kid of another key": forge({ ...HEADER, kid: "key-2" }, CLAIMS),
    "kid as a number": forge({ ...HEADER, kid: 1 }, CLAIMS),
    "kid as a path": forge({ ...HEADER, kid: "../key-1" }, CLAIMS),
    "kid as a property of every object": forge({ ...HEADER, kid: "constructor" }, CLAIMS),
    "a key in the header": forge(
      { ...HEADER, jwk: { kty: "OKP", crv: "Ed25519", x: Buffer.from(stranger.publicKey).toString("base64url") } },
      CLAIMS,
      stranger
    ),
    "a critical parameter": forge({ ...HEADER, crit: ["b64"], b64: false }, CLAIMS),
    "typ of an access token": forge({ ...HEADER, typ: "at+jwt" }, CLAIMS),
    "a header that is a list": forge([HEADER], CLAIMS),
    "a header that is null": forge("null", CLAIMS),
    "a stranger's signature": forge(HEADER, CLAIMS, stranger),
    "a changed payload": `${goodHeader}.${segment({ ...CLAIMS, sub: "00000000-0000-4000-8000-000000000000" })}.${goodSignature}`,
    "a changed signature": `${goodHeader}.${goodClaims}.${flip(goodSignature, 10)}`,
    "a padded signature": `${good}==`,
    "a signature with non-zero trailing bits": `${goodHeader}.${goodClaims}.${goodSignature.slice(0, -1)}${
      { A: "B", Q: "R", g: "h", w: "x" }[goodSignature.at(-1)!]
    }`,
    "a signature in plain base64": `${goodHeader}.${goodClaims}.${Buffer.from(goodSignature, "base64url").toString("base64")}`,
    "a line break in the signature": `${goodHeader}.${goodClaims}.${goodSignature.slice(0, 20)}\n${goodSignature.slice(20)}`,
    "a blank before": ` ${good}`,
    "JSON serialization": JSON.stringify({ protected: goodHeader, payload: goodClaims, signature: goodSignature }),
    "another issuer": forge(HEADER, { ...CLAIMS, iss: "somebody" }),
    "another environment": forge(HEADER, { ...CLAIMS, aud: "trading-gateway:production" }),
    "a list of audiences": forge(HEADER, { ...CLAIMS, aud: ["trading-gateway:testnet"] }),
    "a payload that is no JSON": forge(HEADER, "{"),
    "a payload that is a list": forge(HEADER, [CLAIMS]),
    "sub that is no UUID": forge(HEADER, { ...CLAIMS, sub: "root" }),
    "a short root address": forge(HEADER, { ...CLAIMS, root: "0x1" }),
    "an unknown rail": forge(HEADER, { ...CLAIMS, rail: "sea" }),
    "exp as text": forge(HEADER, { ...CLAIMS, exp: String(CLAIMS.exp) }),
    "exp in milliseconds with a fraction": forge(HEADER, { ...CLAIMS, exp: CLAIMS.exp + 0.5 }),
    "exp below zero": forge(HEADER, { ...CLAIMS, exp: -1 }),
    "iat more than 5 s ahead": forge(HEADER, { ...CLAIMS, iat: SECOND + 6 }),
    "nbf more than 5 s ahead": forge(HEADER, { ...CLAIMS, nbf: SECOND + 6 }),
    "more than 2048 characters": forge(HEADER, { ...CLAIMS, pad: "x".repeat(2048) }),
    ...Object.fromEntries(Object.keys(CLAIMS).map((name) => [`no ${name}`, forge(HEADER, without(name))]))
  }
  for (const [name, token] of Object.entries(table)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(NOW)
        const service = yield* Tokens
        assert.strictEqual(yield* service.verify(token), "InvalidToken")
        assert.isUndefined(service.known(token, NOW))
      }).pipe(Effect.provide(tokens()))
    )
  }

  it.effect("the tables start from a token that is accepted, as are iat and nbf 5 s ahead", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      assert.isObject(yield* service.verify(good))
      assert.isObject(yield* service.verify(forge({ kid: "key-1", typ: "JWT", alg: "EdDSA" }, CLAIMS)))
      assert.isObject(yield* service.verify(forge(HEADER, { ...CLAIMS, iat: SECOND + 5, nbf: SECOND + 5 })))
    }).pipe(Effect.provide(tokens()))
  )
})

describe("the length of a token", () => {
  it.effect("is at most 2,048 characters", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      const padded = (length: number) => forge(HEADER, { ...CLAIMS, pad: "x".repeat(length) })
      // three characters of a claim are four of the token
      const most = Math.floor(((2_048 - padded(0).length) * 3) / 4)
      const [longest, longer] = [padded(most), padded(most + 3)]
      assert.isAbove(longest.length, 2_040)
      assert.isAbove(longer.length, 2_048)
      assert.isBelow(longer.length, 2_060)
      assert.isObject(yield* service.verify(longest))
      assert.strictEqual(yield* service.verify(longer), "InvalidToken")
    }).pipe(Effect.provide(tokens()))
  )
})

const jws = publicVectors("wycheproof/json_web_signature_test.json") as {
  readonly testGroups: ReadonlyArray<{
    readonly tests: ReadonlyArray<{ readonly tcId: number; readonly jws: unknown; readonly result: string }>
  }>
}
describe.skipIf(jws === undefined)("published cases", () => {
  it.effect("wycheproof: no JWS of another algorithm or form is a token", () =>
    Effect.gen(function* () {
      const service = yield* Tokens
      const cases = jws.testGroups.flatMap((group) => group.tests)
      assert.strictEqual(cases.length, 401)
      for (const { tcId, jws } of cases) {
        const text = typeof jws === "string" ? jws : JSON.stringify(jws)
        assert.strictEqual(yield* service.verify(text), "InvalidToken", String(tcId))
      }
    }).pipe(Effect.provide(tokens()))
  )

  it.effect("issued just after the database was replaced is newer than all that is revoked by it", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOW)
      const service = yield* Tokens
      service.distrust(NOW + 500)
      const { token } = yield* service.issue(user)
      assert.deepInclude(yield* service.verify(token), { user_id: user.user_id })
    }).pipe(Effect.provide(tokens()))
  )
})
