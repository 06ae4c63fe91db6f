import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { activationMessage, codeOfId, hashOfCode, normalizeCode } from "../../../src/domain/AccessCode.ts"
import { fingerprintOfKey, rootOfKey, rootOfParty } from "../../../src/domain/Address.ts"
import * as MemoryRateLimitStore from "../../../src/layers/memory/MemoryRateLimitStore.ts"
import * as NodeSignatures from "../../../src/layers/node/NodeSignatures.ts"
import { AccessCodeIssuer } from "../../../src/services/identity/AccessCodeIssuer.ts"
import { AccessCodes } from "../../../src/services/identity/AccessCodes.ts"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { Activation, type ActivationRequest } from "../../../src/services/identity/Activation.ts"
import type { NonceStore } from "../../../src/services/identity/NonceStore.ts"
import { Cursors } from "../../../src/services/operations/Cursors.ts"
import { RateLimiter } from "../../../src/services/operations/RateLimiter.ts"
import * as Ids from "../../doubles/Ids.ts"
import * as Wallets from "../../doubles/Wallets.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"

const NOW_S = 1_767_225_600
const CODE = "ALPHA-7Q2M-X9KD"
const owner = Wallets.walletNo(1)
const alice = Wallets.walletNo(2)
const PARTY = `alice::${fingerprintOfKey(alice.publicKey)}`

const layer = (nonces: Layer.Layer<NonceStore> = SqliteStores.nonces) =>
  Activation.layer().pipe(
    Layer.provideMerge(SqliteStores.accessCodes),
    Layer.provideMerge(
      Layer.mergeAll(
        RateLimiter.layer({ mode: "enforce" }).pipe(Layer.provide(MemoryRateLimitStore.layer())),
        SqliteStores.accounts,
        nonces,
        NodeSignatures.layer()
      )
    )
  )

const ask = (change: Partial<ActivationRequest> = {}, wallet = owner): ActivationRequest => {
  const asked = {
    code: CODE,
    public_key: wallet.hex,
    signed_at: NOW_S,
    nonce: undefined,
    party_id: undefined,
    ...change
  }
  const party = asked.party_id !== undefined
  const message = activationMessage({
    code_hash: hashOfCode(asked.code),
    root_address: party ? rootOfParty(asked.party_id!) : rootOfKey(wallet.publicKey),
    signed_at: asked.signed_at,
    nonce: party ? asked.nonce : undefined
  })
  return { signature: wallet.sign(message), ...asked }
}
const partyAsk = (change: Partial<ActivationRequest> = {}) =>
  ask({ party_id: PARTY, nonce: "nonce-0001", ...change }, alice)

const outcome = (asked: ActivationRequest) =>
  Effect.gen(function* () {
    const activation = yield* Activation
    return yield* Effect.match(activation.activate(asked), {
      onSuccess: ({ badge, multiplier_bps }) => `${badge} ${multiplier_bps}`,
      onFailure: (error) => (error._tag === "Refused" ? error.reason : error._tag)
    })
  })

const made = (text: string, max_uses = 1) =>
  Effect.flatMap(AccessCodes, (codes) =>
    codes.create([
      {
        code_id: `00000000-0000-4000-8000-${hashOfCode(text).slice(0, 12)}`,
        code_hash: hashOfCode(text),
        label: "",
        max_uses,
        uses: 0,
        badge: true,
        multiplier_bps: 12_500,
        revoked: false,
        created_time: 0
      }
    ])
  )

const test = <E>(
  title: string,
  effect: Effect.Effect<void, E, Layer.Success<ReturnType<typeof layer>>>,
  nonces?: Layer.Layer<NonceStore>
) =>
  it.effect(title, () => Effect.andThen(TestClock.setTime(NOW_S * 1000 + 250), Effect.provide(effect, layer(nonces))))

describe("Activation", () => {
  test(
    "admits the wallet that signs, however the code is written",
    Effect.gen(function* () {
      yield* made(CODE)
      const accounts = yield* Accounts
      assert.strictEqual(yield* outcome(ask({ code: " \u0085\u00a0 alpha-7q2m-X9kd\t\n" })), "true 12500")
      assert.isTrue(yield* accounts.isWhitelisted(rootOfKey(owner.publicKey)))
      assert.strictEqual(yield* outcome(ask()), "WalletAlreadyActivated")
      assert.strictEqual(yield* outcome(ask({}, alice)), "CodeAlreadyUsed")
    })
  )

  test(
    "checks key, time, signature, rate of the wallet, nonce, wallet and code in this order",
    Effect.gen(function* () {
      // each request has every fault behind the one that it is refused for
      const stale = { signed_at: NOW_S - 301 }
      const wrong = { signature: "00" }
      assert.strictEqual(yield* outcome({ ...ask(stale), ...wrong, public_key: "00" }), "InvalidPublicKey")
      const smallOrder = "01".padEnd(64, "0")
      assert.strictEqual(yield* outcome({ ...ask(stale), public_key: smallOrder }), "InvalidPublicKey")
      assert.strictEqual(yield* outcome({ ...ask(stale), ...wrong }), "StaleTimestamp")
      // strangers use nothing of the wallet's five tries
      for (let i = 0; i < 9; i++) assert.strictEqual(yield* outcome({ ...ask(), ...wrong }), "InvalidSignature")
      for (let i = 0; i < 5; i++) assert.strictEqual(yield* outcome(ask()), "InvalidCode")
      yield* made(CODE)
      assert.strictEqual(yield* outcome(ask()), "AuthLimited")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* outcome(ask({ signed_at: NOW_S + 60 })), "true 12500")

      // the same on the rail of parties, where a nonce stands between rate and wallet
      const later = { signed_at: NOW_S + 60 }
      assert.strictEqual(yield* outcome(partyAsk(later)), "CodeAlreadyUsed")
      assert.strictEqual(yield* outcome(partyAsk(later)), "NonceReused")
      yield* (yield* Accounts).setWhitelisted(rootOfParty(PARTY), true)
      const listed = partyAsk({ ...later, nonce: "nonce-0002", code: "UNKNOWN" })
      assert.strictEqual(yield* outcome(listed), "WalletAlreadyActivated")
      for (let i = 3; i < 5; i++) yield* outcome(partyAsk({ ...later, nonce: `nonce-000${i}` }))
      assert.strictEqual(yield* outcome(partyAsk(later)), "AuthLimited")
    })
  )

  test(
    "accepts 300 seconds either way, in whole seconds, and reports the skew",
    Effect.gen(function* () {
      for (const skew of [-300, 300]) {
        assert.strictEqual(yield* outcome(ask({ signed_at: NOW_S + skew })), "InvalidCode")
      }
      const activation = yield* Activation
      for (const skew of [-301, 301, NOW_S * 999]) {
        const error = yield* Effect.flip(activation.activate(ask({ signed_at: NOW_S + skew })))
        assert.strictEqual(error._tag, "Refused")
        if (error._tag !== "Refused") return
        assert.strictEqual(error.reason, "StaleTimestamp")
        assert.deepStrictEqual(error.details, {
          server_time_ms: NOW_S * 1000 + 250,
          window_ms: 300_000,
          skew_ms: skew * 1000
        })
        assert.include(error.message, "Unix seconds")
      }
    })
  )

  test(
    "accepts the window of the settings",
    Effect.gen(function* () {
      const activation = yield* Activation.pipe(Effect.provide(Layer.fresh(Activation.layer({ window: "10 seconds" }))))
      const reasonAt = (signed_at: number) =>
        Effect.map(Effect.flip(activation.activate(ask({ signed_at }))), ({ reason }) => reason)
      assert.strictEqual(yield* reasonAt(NOW_S - 10), "InvalidCode")
      assert.strictEqual(yield* reasonAt(NOW_S - 11), "StaleTimestamp")
    })
  )

  test(
    "explains a wrong signature on request only",
    Effect.gen(function* () {
      const detailsOf = (activation: Activation["Service"]) =>
        Effect.map(Effect.flip(activation.activate({ ...ask(), signature: "00" })), (error) =>
          error._tag === "Refused" ? error.details : error._tag
        )
      assert.deepStrictEqual(yield* detailsOf(yield* Activation), {})
      const explaining = yield* Activation.pipe(
        Effect.provide(Layer.fresh(Activation.layer({ explainSignatures: true })))
      )
      assert.property(yield* detailsOf(explaining), "signed_string")
    })
  )

  describe("of a party", () => {
    test(
      "binds the nonce, spends it whatever follows, and binds the key for later logins",
      Effect.gen(function* () {
        const accounts = yield* Accounts
        assert.strictEqual(yield* outcome({ ...partyAsk(), nonce: "nonce-0009" }), "InvalidSignature")
        assert.isUndefined(yield* accounts.partyKey(PARTY))
        assert.strictEqual(yield* outcome(partyAsk()), "InvalidCode")
        assert.strictEqual(yield* accounts.partyKey(PARTY), alice.hex)
        yield* made(CODE)
        assert.strictEqual(yield* outcome(partyAsk()), "NonceReused")
        assert.strictEqual(yield* outcome(partyAsk({ nonce: "nonce-0002" })), "true 12500")
        assert.isTrue(yield* accounts.isWhitelisted(rootOfParty(PARTY)))
        // the key of the party is another wallet
        assert.isFalse(yield* accounts.isWhitelisted(rootOfKey(alice.publicKey)))
      })
    )
    test(
      "spends the nonce for ever, not for the window of an API key",
      Effect.gen(function* () {
        assert.strictEqual(yield* outcome(partyAsk()), "InvalidCode")
        yield* TestClock.adjust("4 minutes")
        assert.strictEqual(yield* outcome(partyAsk()), "NonceReused")
      })
    )
    test(
      "needs a sound id, its own key and a nonce",
      Effect.gen(function* () {
        assert.strictEqual(yield* outcome({ ...partyAsk(), party_id: "alice::1220" }), "InvalidField")
        assert.strictEqual(yield* outcome({ ...partyAsk(), nonce: undefined }), "MissingField")
        assert.strictEqual(yield* outcome({ ...partyAsk(), nonce: "short" }), "InvalidField")
        assert.strictEqual(yield* outcome({ ...partyAsk(), public_key: owner.hex }), "InvalidPublicKey")
      })
    )
    test(
      "is off while nonces cannot be kept",
      Effect.gen(function* () {
        yield* made(CODE)
        assert.strictEqual(yield* outcome(partyAsk()), "AuthUnavailable")
        assert.isFalse(yield* (yield* Accounts).isWhitelisted(rootOfParty(PARTY)))
        assert.strictEqual(yield* outcome(ask({ nonce: "!" })), "true 12500")
      }),
      SqliteStores.noNonces
    )
  })
})

describe("access codes", () => {
  it("are upper case by ASCII rules, without the white space around them", () => {
    assert.strictEqual(normalizeCode("  alpha-7Q2M-x9kd \n"), CODE)
    assert.strictEqual(normalizeCode("\ufeff\u2003ab c\u3000"), "AB C")
    // no letter outside ASCII changes, nor how many there are
    assert.strictEqual(normalizeCode("straße-ı-é"), "STRAßE-ı-é")
    assert.strictEqual(hashOfCode(CODE), "3f2a4aeab0fdc190a5031ebd98fd8a767923287824eafd43a4a1c6d2f3f43dd6")
  })
  it("consist of 12 unambiguous letters and digits", () => {
    const codes = Array.from({ length: 1000 }, () => codeOfId(crypto.randomUUID()))
    for (const code of codes) assert.match(code, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/u)
    assert.strictEqual(new Set(codes).size, 1000)
    assert.strictEqual(new Set(codes.join("")).size, 33)
  })
})

describe("AccessCodeIssuer", () => {
  const issuer = AccessCodeIssuer.layer.pipe(
    Layer.provide([Cursors.layer, Ids.layer]),
    Layer.provide(Wallets.signingKeys(1))
  )

  test(
    "makes one code by default, of one use, and returns given codes in normalized form",
    Effect.gen(function* () {
      const { issue } = yield* AccessCodeIssuer
      const [made, ...others] = yield* issue({})
      assert.deepInclude(made, {
        max_uses: 1,
        uses: 0,
        badge: false,
        multiplier_bps: 10_000,
        label: "",
        revoked: false
      })
      assert.lengthOf(others, 0)
      const given = yield* issue({ codes: [CODE.toLowerCase(), "other-code"] })
      assert.deepStrictEqual(
        given.map(({ code }) => code),
        [CODE, "OTHER-CODE"]
      )
    }).pipe(Effect.provide(issuer))
  )

  test(
    "names the first code that exists, and a count that is not that of the codes",
    Effect.gen(function* () {
      const { issue } = yield* AccessCodeIssuer
      yield* made(CODE)
      assert.deepInclude<object>(yield* Effect.flip(issue({ codes: ["NEW-CODE", CODE] })), {
        reason: "CodeExists",
        details: { field: "codes.1" }
      })
      assert.deepInclude<object>(yield* Effect.flip(issue({ codes: ["NEW-CODE"], count: 2 })), {
        reason: "InvalidField",
        details: { field: "count" }
      })
      assert.lengthOf(yield* issue({ codes: ["NEW-CODE"], count: 1 }), 1)
    }).pipe(Effect.provide(issuer))
  )

  test(
    "refuses an expiry that is not in the future, and names the first one",
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const { issue } = yield* AccessCodeIssuer
      assert.deepInclude<object>(yield* Effect.flip(issue({ expires_time: now })), {
        reason: "OutOfRange",
        details: { field: "expires_time", min: now + 1 }
      })
      assert.lengthOf(yield* issue({ expires_time: now + 1 }), 1)
    }).pipe(Effect.provide(issuer))
  )

  test(
    "revokes a code, and none where no code has the id",
    Effect.gen(function* () {
      const { get, issue, list, revoke } = yield* AccessCodeIssuer
      const [code] = yield* issue({})
      for (const unknown of ["00000000-0000-4000-8000-000000000000", "ALPHA"])
        for (const failed of [yield* Effect.flip(revoke(unknown)), yield* Effect.flip(get(unknown))])
          assert.deepInclude(failed, { reason: "AccessCodeNotFound" })
      yield* revoke(code!.code_id)
      assert.isTrue((yield* get(code!.code_id)).revoked)
      assert.deepStrictEqual(
        (yield* list({})).list.map(({ revoked }) => revoked),
        [true]
      )
    }).pipe(Effect.provide(issuer))
  )

  test(
    "lists the codes by pages, newest first, and a last page that is full ends the list",
    Effect.gen(function* () {
      const { issue, list } = yield* AccessCodeIssuer
      const ids: Array<string> = []
      for (const code of ["A", "B", "C", "D"]) {
        yield* TestClock.adjust(1)
        ids.unshift((yield* issue({ codes: [code] }))[0]!.code_id)
      }
      const pagesOf = Effect.fnUntraced(function* (limit: number) {
        const pages: Array<ReadonlyArray<string>> = []
        let cursor: string | undefined
        do {
          const page: Effect.Success<ReturnType<typeof list>> = yield* list({
            limit,
            ...(cursor !== undefined && { cursor })
          })
          pages.push(page.list.map(({ code_id }) => code_id))
          cursor = page.next_page_cursor === "" ? undefined : page.next_page_cursor
        } while (cursor !== undefined)
        return pages
      })
      assert.deepStrictEqual(yield* pagesOf(2), [ids.slice(0, 2), ids.slice(2)])
      assert.deepStrictEqual(yield* pagesOf(3), [ids.slice(0, 3), ids.slice(3)])
      assert.deepStrictEqual(yield* pagesOf(4), [ids])
    }).pipe(Effect.provide(issuer))
  )
})
