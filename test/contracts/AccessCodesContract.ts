/** What every AccessCodes store keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type AccessCode, hashOfCode } from "../../src/domain/AccessCode.ts"
import { AccessCodes } from "../../src/services/identity/AccessCodes.ts"
import { Accounts } from "../../src/services/identity/Accounts.ts"

const NOW = 1_767_225_600_000
const wallet = (name: string) => `0x${hashOfCode(name)}`
/** A code used by no other test; `text` is its plain text. */
const code = (text: string, change: Partial<AccessCode> = {}): AccessCode => ({
  code_id: `00000000-0000-4000-8000-${hashOfCode(text).slice(0, 12)}`,
  code_hash: hashOfCode(text),
  label: "",
  max_uses: 1,
  uses: 0,
  badge: true,
  multiplier_bps: 12_500,
  revoked: false,
  created_time: NOW,
  ...change
})

export const suite = <E>(name: string, layer: Layer.Layer<AccessCodes | Accounts, E>) =>
  withLayer(layer)(`AccessCodes on ${name}`, (it) => {
    const stored = (of: AccessCode) =>
      Effect.gen(function* () {
        const all = yield* (yield* AccessCodes).list({ label: undefined, after: undefined, limit: 1000 })
        return all.find(({ code_id }) => code_id === of.code_id)
      })
    const redeem = (of: AccessCode, root_address: string, now = NOW) =>
      Effect.gen(function* () {
        const codes = yield* AccessCodes
        return yield* Effect.match(codes.redeem(of.code_hash, root_address, now), {
          onSuccess: ({ badge, multiplier_bps }) => `${badge} ${multiplier_bps}`,
          onFailure: (error) => (error._tag === "CodeUnusable" ? error.why : error._tag)
        })
      })

    it.effect("uses the code and admits the wallet, once", () =>
      Effect.gen(function* () {
        const [codes, accounts] = [yield* AccessCodes, yield* Accounts]
        const once = code("once")
        yield* codes.create([once])
        assert.deepStrictEqual(yield* stored(once), once)
        assert.strictEqual(yield* redeem(once, wallet("a1")), "true 12500")
        assert.isTrue(yield* accounts.isWhitelisted(wallet("a1")))
        assert.deepStrictEqual(yield* accounts.activation(wallet("a1")), { badge: true, multiplier_bps: 12_500 })
        assert.strictEqual((yield* stored(once))!.uses, 1)
        assert.strictEqual(yield* redeem(once, wallet("a1")), "WalletActivated")
        assert.strictEqual(yield* redeem(once, wallet("a2")), "used")
      })
    )

    it.effect("leaves nothing behind where the code gives nothing", () =>
      Effect.gen(function* () {
        const [codes, accounts] = [yield* AccessCodes, yield* Accounts]
        const [late, gone] = [code("late", { expires_time: NOW + 1 }), code("gone", { max_uses: 9 })]
        yield* codes.create([late, gone])
        assert.isTrue(yield* codes.revoke(gone.code_id))
        assert.strictEqual(yield* redeem(code("never made"), wallet("b")), "unknown")
        assert.strictEqual(yield* redeem(gone, wallet("b")), "revoked")
        assert.strictEqual(yield* redeem(late, wallet("b"), NOW + 1), "expired")
        assert.isFalse(yield* accounts.isWhitelisted(wallet("b")))
        assert.isUndefined(yield* accounts.activation(wallet("b")))
        assert.strictEqual(yield* redeem(late, wallet("b"), NOW), "true 12500")
        assert.strictEqual(yield* redeem(late, wallet("c"), NOW), "used", "before its end")
      })
    )

    it.effect("refuses a wallet that is already admitted, for any code", () =>
      Effect.gen(function* () {
        const [codes, accounts] = [yield* AccessCodes, yield* Accounts]
        const good = code("spare", { max_uses: 2 })
        yield* codes.create([good])
        yield* accounts.setWhitelisted(wallet("c1"), true)
        assert.strictEqual(yield* redeem(good, wallet("c1")), "WalletActivated")
        assert.strictEqual(yield* redeem(code("never made"), wallet("c1")), "WalletActivated")
        assert.strictEqual(yield* redeem(good, wallet("c2")), "true 12500")
        yield* accounts.setWhitelisted(wallet("c2"), false)
        assert.strictEqual(yield* redeem(code("never made"), wallet("c2")), "WalletActivated")
        assert.strictEqual((yield* stored(good))!.uses, 1)
      })
    )

    it.effect("gives the last uses of a code to as many wallets under concurrent requests", () =>
      Effect.gen(function* () {
        const [codes, accounts] = [yield* AccessCodes, yield* Accounts]
        const scarce = code("scarce", { max_uses: 3 })
        yield* codes.create([scarce])
        const wallets = Array.from({ length: 20 }, (_, i) => wallet(`d${i}`))
        const answers = yield* Effect.forEach(wallets, (root) => redeem(scarce, root), { concurrency: "unbounded" })
        const won = wallets.filter((_, i) => answers[i] === "true 12500")
        assert.strictEqual(won.length, 3)
        assert.strictEqual(answers.filter((answer) => answer === "used").length, 17)
        const admitted = yield* Effect.filter(wallets, (root) => accounts.isWhitelisted(root))
        assert.deepStrictEqual(admitted, won)
        assert.strictEqual((yield* stored(scarce))!.uses, 3)
      })
    )

    it.effect("redeems one of several concurrent codes of a wallet", () =>
      Effect.gen(function* () {
        const codes = yield* AccessCodes
        const several = Array.from({ length: 5 }, (_, i) => code(`several ${i}`))
        yield* codes.create(several)
        const answers = yield* Effect.forEach(several, (one) => redeem(one, wallet("e")), { concurrency: "unbounded" })
        assert.strictEqual(answers.filter((answer) => answer === "true 12500").length, 1)
        const uses = yield* Effect.forEach(several, (one) => Effect.map(stored(one), (found) => found!.uses))
        assert.deepStrictEqual(uses.toSorted(), [0, 0, 0, 0, 1])
      })
    )

    it.effect("adds all codes or none, and names the first that is there already", () =>
      Effect.gen(function* () {
        const codes = yield* AccessCodes
        const [f1, f2, f3] = [code("f1"), code("f2"), code("f3")]
        yield* codes.create([f1])
        const again = { ...f1, code_id: f3.code_id }
        assert.deepInclude(yield* Effect.flip(codes.create([f2, again])), { _tag: "CodeExists", index: 1 })
        assert.isUndefined(yield* stored(f2))
        assert.deepInclude(yield* Effect.flip(codes.create([f2, f3, { ...f2, code_id: again.code_id }])), { index: 2 })
        assert.isUndefined(yield* stored(f3))
        yield* codes.create(Array.from({ length: 1000 }, (_, i) => code(`many ${i}`, { created_time: 1 })))
        assert.isUndefined(yield* codes.create([]))
      })
    )

    it.effect("lists newest first, by label, after a key", () =>
      Effect.gen(function* () {
        const codes = yield* AccessCodes
        const times = [5, 3, 5, 9, 5]
        const made = times.map((time, i) => code(`g${i}`, { label: "g", created_time: NOW + time }))
        yield* codes.create([...made, code("other", { label: "h" })])
        const expected = made
          .toSorted((a, b) => b.created_time - a.created_time || (a.code_id < b.code_id ? 1 : -1))
          .map(({ code_id }) => code_id)
        const seen: Array<string> = []
        for (let after: AccessCode | undefined = undefined; ;) {
          const page: ReadonlyArray<AccessCode> = yield* codes.list({ label: "g", after, limit: 2 })
          if (page.length === 0) break
          seen.push(...page.map(({ code_id }) => code_id))
          after = page.at(-1)!
        }
        assert.deepStrictEqual(seen, expected)
        assert.deepStrictEqual(yield* codes.list({ label: "none", after: undefined, limit: 2 }), [])
      })
    )

    it.effect("revokes permanently, and reports a missing code", () =>
      Effect.gen(function* () {
        const codes = yield* AccessCodes
        const one = code("revoked")
        yield* codes.create([one])
        for (let i = 0; i < 2; i++) assert.isTrue(yield* codes.revoke(one.code_id))
        assert.isTrue((yield* stored(one))!.revoked)
        assert.deepStrictEqual(yield* codes.get(one.code_id), { ...one, revoked: true })
        const missing = "00000000-0000-4000-8000-ffffffffffff"
        assert.deepStrictEqual([yield* codes.revoke(missing), yield* codes.get(missing)], [false, undefined])
      })
    )
  })
