import { assert, describe, it } from "@effect/vitest"
import {
  aggregatedTradeId,
  assetAddress,
  fingerprintOfKey,
  marketAddress,
  parseAddress,
  rootOfKey,
  rootOfParty,
  subAccountAddress,
  userIdOf
} from "../../src/domain/Address.ts"
import { bytesOfPublicKey, bytesOfSignature, isKeyOfParty, isNonce, parseParty } from "../../src/domain/Identity.ts"
import { vectors } from "../vectors.ts"

interface Wallet {
  readonly public_key: string
  readonly root_address: string
  readonly short_form?: string
  readonly user_id: string
  readonly sub_accounts: ReadonlyArray<{ readonly index: number; readonly sub_account_address: string }>
}
interface PartyWallet extends Wallet {
  readonly hint: string
  readonly fingerprint: string
  readonly party_id: string
}
type Forms = { readonly [form: string]: string }
const data = vectors("auth.json") as {
  readonly keys: Record<string, { readonly public_key: Forms }>
  readonly login: ReadonlyArray<{ readonly signature: Forms }>
  readonly aggregated_trade_id: ReadonlyArray<Parameters<typeof aggregatedTradeId>[0] & { readonly id: string }>
  readonly derivation: {
    readonly address_rail: ReadonlyArray<Wallet>
    readonly party_rail: ReadonlyArray<PartyWallet>
    readonly wrong_fingerprint_purpose_18: { readonly fingerprint: string }
    readonly short_addresses: ReadonlyArray<{ readonly input: string; readonly canonical: string }>
    readonly short_addresses_invalid: ReadonlyArray<string>
    readonly markets: ReadonlyArray<{ readonly symbol: string; readonly market_addr: string }>
    readonly assets: ReadonlyArray<{ readonly asset: string; readonly asset_addr: string }>
    readonly address_rail_anchor: { readonly public_key: string; readonly root_address: string }
  }
}
const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex")

describe("derivations of the vectors", () => {
  const wallets = (all: ReadonlyArray<Wallet>) => {
    assert.isAbove(all.length, 0)
    for (const wallet of all) {
      assert.strictEqual(userIdOf(wallet.root_address), wallet.user_id)
      for (const { index, sub_account_address } of wallet.sub_accounts) {
        assert.strictEqual(subAccountAddress(wallet.root_address, index), sub_account_address)
      }
    }
  }
  it("wallets of the address rail", () => {
    const { address_rail, address_rail_anchor } = data.derivation
    for (const wallet of [...address_rail, address_rail_anchor]) {
      assert.strictEqual(rootOfKey(bytesOfPublicKey(wallet.public_key)!), wallet.root_address)
    }
    for (const wallet of address_rail) assert.strictEqual(parseAddress(wallet.short_form!), wallet.root_address)
    wallets(address_rail)
  })
  it("wallets of the party rail", () => {
    for (const wallet of data.derivation.party_rail) {
      const key = bytesOfPublicKey(wallet.public_key)!
      const party = parseParty(wallet.party_id)!
      assert.deepStrictEqual(party, { id: wallet.party_id, hint: wallet.hint, fingerprint: wallet.fingerprint })
      assert.strictEqual(fingerprintOfKey(key), wallet.fingerprint)
      assert.isTrue(isKeyOfParty(party, key))
      assert.strictEqual(rootOfParty(party.id), wallet.root_address)
      const wrong = parseParty(`alice::${data.derivation.wrong_fingerprint_purpose_18.fingerprint}`)!
      assert.isFalse(isKeyOfParty(wrong, key))
    }
    wallets(data.derivation.party_rail)
  })
  it("addresses in short form, of markets and of assets", () => {
    const { short_addresses, short_addresses_invalid, markets, assets } = data.derivation
    for (const { input, canonical } of short_addresses) assert.strictEqual(parseAddress(input), canonical)
    for (const text of short_addresses_invalid) assert.isUndefined(parseAddress(text), text)
    for (const { symbol, market_addr } of markets) assert.strictEqual(marketAddress(symbol), market_addr)
    for (const { asset, asset_addr } of assets) assert.strictEqual(assetAddress(asset), asset_addr)
  })
  it("ids of aggregated trades", () => {
    assert.isAbove(data.aggregated_trade_id.length, 0)
    for (const trade of data.aggregated_trade_id) assert.strictEqual(aggregatedTradeId(trade), trade.id)
  })
  it("every form of keys and signatures has the same bytes", () => {
    for (const { public_key } of Object.values(data.keys)) {
      for (const text of Object.values(public_key)) assert.strictEqual(hex(bytesOfPublicKey(text)), public_key["hex"])
    }
    for (const { signature } of data.login) {
      for (const text of Object.values(signature)) assert.strictEqual(hex(bytesOfSignature(text)), signature["hex"])
    }
  })
})

describe("what callers write", () => {
  const key = new Uint8Array(32).fill(0xfb)
  const standard = Buffer.from(key).toString("base64")
  const url = Buffer.from(key).toString("base64url")

  it("a key may be padded base64url or bare base64", () => {
    for (const text of [`${url}=`, standard.slice(0, -1)]) assert.deepStrictEqual(bytesOfPublicKey(text), key)
  })
  for (const [name, text] of Object.entries({
    "31 bytes": "ab".repeat(31),
    "33 bytes": "ab".repeat(33),
    "63 digits": "a".repeat(63),
    "0X": `0X${"ab".repeat(32)}`,
    "a digit that is none": `${"ab".repeat(31)}ag`,
    "a blank before": ` ${"ab".repeat(32)}`,
    "a blank after base64": `${url} `,
    "mixed alphabets": `-/${url.slice(2)}`,
    "too much padding": `${url}==`,
    "padding inside": `${url.slice(0, 20)}=${url.slice(21)}`,
    "bits beyond the value": `${url.slice(0, -1)}t`,
    "": ""
  })) {
    it(`no key: ${name}`, () => assert.isUndefined(bytesOfPublicKey(text)))
  }

  const print = `1220${"0a".repeat(32)}`
  for (const hint of ["a", "alice", "Alice_B-2", "a:b", "x".repeat(185)]) {
    it(`a hint: ${hint.slice(0, 20)}`, () => assert.strictEqual(parseParty(`${hint}::${print}`)?.hint, hint))
  }
  for (const text of [
    `::${print}`,
    print,
    `alice:${print}`,
    `a::b::${print}`,
    `${"x".repeat(186)}::${print}`,
    `al ice::${print}`,
    `alice ::${print}`,
    `älice::${print}`,
    `alice\n::${print}`,
    `alice::${print}\n`,
    `alice::${print.toUpperCase()}`,
    `alice::${print}00`,
    `alice::1221${print.slice(4)}`,
    "alice::"
  ]) {
    it(`no party: ${JSON.stringify(text).slice(0, 40)}`, () => assert.isUndefined(parseParty(text)))
  }

  it("a nonce has 8 to 64 characters of the base64url alphabet", () => {
    for (const text of ["a".repeat(8), "-_-_-_-_", "Z9".repeat(32)]) assert.isTrue(isNonce(text))
    for (const text of [
      "",
      "a".repeat(7),
      "a".repeat(65),
      "abcd+efgh",
      "abcdefg=",
      "abcd efgh",
      "abcdefgh\n",
      "äbcdefgh"
    ]) {
      assert.isFalse(isNonce(text), text)
    }
  })
})
