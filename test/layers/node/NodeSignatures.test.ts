import { assert, describe, it } from "@effect/vitest"
import { hashes, Point, sign as nobleSign } from "@noble/ed25519"
import { sha512 } from "@noble/hashes/sha2.js"
import { Effect, Schema } from "effect"
import { isPublicKey, mayVerify } from "../../../src/domain/Ed25519.ts"
import * as NodeSignatures from "../../../src/layers/node/NodeSignatures.ts"
import { Signatures } from "../../../src/services/identity/Signatures.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { publicVectors } from "../../vectors.ts"

hashes.sha512 = sha512

const hex = (text: string) => Uint8Array.from(Buffer.from(text, "hex"))

interface Case {
  readonly name: string
  readonly key: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly accepted: boolean
}

const wycheproof = publicVectors("wycheproof/ed25519_test.json") as {
  readonly testGroups: ReadonlyArray<{
    readonly publicKey: { readonly pk: string }
    readonly tests: ReadonlyArray<{
      readonly tcId: number
      readonly comment: string
      readonly msg: string
      readonly sig: string
      readonly result: string
    }>
  }>
}
const speccheck = publicVectors("ed25519-speccheck/cases.json") as ReadonlyArray<{
  readonly message: string
  readonly pub_key: string
  readonly signature: string
}>
const cctv = publicVectors("cctv-ed25519/ed25519vectors.json") as ReadonlyArray<{
  readonly number: number
  readonly key: string
  readonly sig: string
  readonly msg: string
  readonly flags: ReadonlyArray<string> | null
}>
const strict = publicVectors("cctv-ed25519/strict-accepted.json") as { readonly accepted: ReadonlyArray<number> }
const rfc = publicVectors("ed25519-sign/sign.json") as {
  readonly cases: ReadonlyArray<{
    readonly seed: string
    readonly public_key: string
    readonly message: string
    readonly signature: string
  }>
}

const tables: ReadonlyArray<readonly [name: string, count: number, cases: () => ReadonlyArray<Case>]> = [
  [
    "wycheproof",
    151,
    () =>
      wycheproof.testGroups.flatMap((group) =>
        group.tests.map((test) => ({
          name: `${test.tcId} ${test.comment}`,
          key: hex(group.publicKey.pk),
          message: hex(test.msg),
          signature: hex(test.sig),
          accepted: test.result === "valid"
        }))
      )
  ],
  [
    "ed25519-speccheck",
    12,
    () =>
      speccheck.map((test, i) => ({
        name: String(i),
        key: hex(test.pub_key),
        message: hex(test.message),
        signature: hex(test.signature),
        accepted: i === 3
      }))
  ],
  [
    "CCTV",
    914,
    () =>
      cctv.map((test) => ({
        name: String(test.number),
        key: hex(test.key),
        message: new TextEncoder().encode(test.msg),
        signature: hex(test.sig),
        accepted: strict.accepted.includes(test.number)
      }))
  ],
  [
    "RFC 8032",
    129,
    () =>
      rfc.cases.map((test, i) => ({
        name: String(i),
        key: hex(test.public_key),
        message: hex(test.message),
        signature: hex(test.signature),
        accepted: true
      }))
  ]
]

describe.skipIf(wycheproof === undefined)("the published test cases", () => {
  for (const [name, count, casesOf] of tables) {
    it.effect(`${name}: one at a time`, () =>
      Effect.gen(function* () {
        const { verifySync } = yield* Signatures
        const cases = casesOf()
        assert.strictEqual(cases.length, count)
        const wrong = cases.filter((one) => verifySync(one.key, one.message, one.signature) !== one.accepted)
        assert.deepStrictEqual(
          wrong.map((one) => one.name),
          []
        )
      }).pipe(Effect.provide(NodeSignatures.layer()))
    )
    it.effect(`${name}: many concurrently, with a small key cache`, () =>
      Effect.gen(function* () {
        const { verify } = yield* Signatures
        const cases = casesOf()
        const verdicts = yield* Effect.forEach(cases, (one) => verify(one.key, one.message, one.signature), {
          concurrency: 64
        })
        assert.deepStrictEqual(
          verdicts,
          cases.map((one) => one.accepted)
        )
      }).pipe(Effect.provide(NodeSignatures.layer({ keys_max: 2 })))
    )
  }

  it("only the strict checks refuse bad encodings and small order, and nothing else", () => {
    const refused = ["low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R"]
    let count = 0
    for (const { number, key, sig, flags } of cctv) {
      const bad = (flags ?? []).some((flag) => refused.includes(flag))
      if (bad) count++
      assert.strictEqual(mayVerify(hex(key), hex(sig)), !bad, String(number))
    }
    assert.isAbove(count, 100)
    assert.isBelow(count, cctv.length)
  })

  it("only the strict checks refuse S + L, and they accept S = L - 1", () => {
    const order = 2n ** 252n + 27742317777372353535851937790883648493n
    const { public_key, signature } = rfc.cases[0]!
    const scalar = (s: bigint) => Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse().toString("hex")
    const withS = (s: bigint) => mayVerify(hex(public_key), hex(signature.slice(0, 64) + scalar(s)))
    const own = BigInt(`0x${Buffer.from(signature.slice(64), "hex").reverse().toString("hex")}`)
    for (const s of [own, 0n, order - 1n]) assert.isTrue(withS(s))
    for (const s of [own + order, order, order + 1n, 2n ** 253n, 2n ** 256n - 1n]) assert.isFalse(withS(s))
  })

  it("every key of an accepted signature is a valid public key, and noble's signatures match RFC 8032", () => {
    for (const [, , casesOf] of tables) {
      for (const one of casesOf()) if (one.accepted) assert.isTrue(isPublicKey(one.key), one.name)
    }
    for (const test of rfc.cases.slice(0, 16)) {
      assert.strictEqual(Buffer.from(nobleSign(hex(test.message), hex(test.seed))).toString("hex"), test.signature)
    }
  })
})

describe("isPublicKey", () => {
  const keys: Record<string, string> = {
    "0": "00".repeat(32),
    "0 with the sign bit": `${"00".repeat(31)}80`,
    "1, the identity": `01${"00".repeat(31)}`,
    "1 with the sign bit": `01${"00".repeat(30)}80`,
    "p - 1, order 2": `ec${"ff".repeat(30)}7f`,
    "p - 1 with the sign bit": `ec${"ff".repeat(31)}`,
    "p, that is 0": `ed${"ff".repeat(30)}7f`,
    "p + 1, that is 1": `ee${"ff".repeat(30)}7f`,
    "2^255 - 1": `${"ff".repeat(31)}7f`,
    "order 8": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "order 8, sign bit": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "order 8, other": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "order 8, other, sign bit": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "2, not on the curve": `02${"00".repeat(31)}`,
    "31 bytes": "11".repeat(31),
    "33 bytes": "11".repeat(33)
  }
  for (const [name, text] of Object.entries(keys)) {
    it(name, () => assert.isFalse(isPublicKey(hex(text))))
  }
  const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  const Bytes = Schema.Array(Byte).check(Schema.isMinLength(32), Schema.isMaxLength(32))
  it.prop(
    "accepts 32 bytes exactly where noble finds a point that is not of small order",
    { bytes: Bytes },
    ({ bytes }) => {
      const key = Uint8Array.from(bytes)
      let found = true
      try {
        found = !Point.fromBytes(key, false).isSmallOrder()
      } catch {
        found = false
      }
      assert.strictEqual(isPublicKey(key), found)
    }
  )
  it("accepts 3, which is on the curve", () => assert.isTrue(isPublicKey(hex(`03${"00".repeat(31)}`))))
})

describe("verify", () => {
  it.live("runs a burst in the thread pool and gives each caller its own verdict", () =>
    Effect.gen(function* () {
      const { verify } = yield* Signatures
      const seed = new Uint8Array(32).fill(9)
      const { getPublicKey } = yield* Effect.promise(() => import("@noble/ed25519"))
      const key = getPublicKey(seed)
      const message = new TextEncoder().encode("a message")
      const good = nobleSign(message, seed)
      const bad = Uint8Array.from(good, (byte, i) => (i === 40 ? byte ^ 1 : byte))
      for (let round = 0; round < 3; round++) {
        const verdicts = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, i) => i),
          (i) => verify(key, message, i % 3 === 0 ? bad : good),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          verdicts,
          verdicts.map((_, i) => i % 3 !== 0)
        )
      }
      // after it a single one is run at once, by the calling thread
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.isTrue(Effect.runSync(verify(key, message, good)))
    }).pipe(Effect.provide(NodeSignatures.layer()))
  )
})

describe("the cache of public keys", () => {
  const KEYS_MAX = 4096
  it.effect(`holds ${KEYS_MAX} keys`, () =>
    Effect.gen(function* () {
      const { verifySync } = yield* Signatures
      const keyOf = (i: number) => Uint8Array.of(i, i >> 8, ...new Uint8Array(30).fill(7))
      const signature = Uint8Array.of(...keyOf(0), ...new Uint8Array(32))
      const verified = (i: number) => verifySync(keyOf(i), new Uint8Array(), signature)
      const lookups = Effect.map((yield* CurrentMetricsRegistry).text, (text) =>
        ["hit", "miss"].map((result) =>
          Number(new RegExp(`cache="signature_keys",result="${result}"\\} (\\d+)`, "u").exec(text)?.[1])
        )
      )
      for (let i = 0; i <= KEYS_MAX; i++) verified(i)
      verified(KEYS_MAX)
      assert.deepStrictEqual(yield* lookups, [1, KEYS_MAX + 1])
      // the first one had to leave
      verified(0)
      assert.deepStrictEqual(yield* lookups, [1, KEYS_MAX + 2])
    }).pipe(
      Effect.provide(NodeSignatures.layer()),
      Effect.provideService(CurrentMetricsRegistry, new MetricsRegistry())
    )
  )
})
