import { assert, describe, it } from "vitest"
import * as Wallet from "../../src/client/Wallet.ts"
import { authMessage } from "../../src/domain/SigningMessages.ts"
import { vectors as read } from "../vectors.ts"

// oxlint-disable-next-line typescript/no-explicit-any -- the vectors are JSON of many shapes
const vectors: any = read("auth.json")

describe("Wallet, with the signing vectors", () => {
  it("derives keys, roots and users", () => {
    const { keys, derivation } = vectors
    const wallet = Wallet.fromSeed(keys.wallet.seed)
    assert.strictEqual(wallet.public_key, keys.wallet.public_key.hex_0x)
    const known = derivation.address_rail.find(
      ({ public_key }: { public_key: string }) => `0x${public_key}` === wallet.public_key
    )
    assert.deepStrictEqual([wallet.root_address, wallet.user_id], [known.root_address, known.user_id])
  })

  it("reproduces the signatures of logins, requests and WebSocket auth", () => {
    const wallets = new Map<string, Wallet.Wallet>()
    for (const { seed } of Object.values(vectors.keys) as Array<{ seed: string }>) {
      const wallet = Wallet.fromSeed(seed)
      wallets.set(wallet.public_key, wallet)
    }
    const signers = [...wallets.values()]
    let checked = 0
    for (const { message, signature } of [...vectors.login, ...vectors.api_key, ...vectors.ws_auth]) {
      assert.isTrue(
        signers.some((wallet) => wallet.sign(message) === signature.hex_0x),
        message
      )
      checked++
    }
    assert.isAbove(checked, 10)
  })

  it("builds the messages of the vectors", () => {
    for (const { body, message } of vectors.login) {
      assert.strictEqual(Wallet.loginMessage(body.public_key, body.timestamp_ms, body.nonce), message)
    }
    for (const { frame, message } of vectors.ws_auth) {
      assert.strictEqual(authMessage(frame.timestamp_ms, frame.nonce), message)
    }
    for (const { message } of vectors.api_key) {
      const [, method, uri, timestamp, nonce, body_sha256] = message.split("|")
      const rebuilt = Wallet.requestMessage({ method, uri, timestamp_ms: Number(timestamp), nonce, body_sha256 })
      assert.strictEqual(rebuilt, message)
    }
  })
})

describe("Wallet", () => {
  it("creates a party from a hint and a key", () => {
    const seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    const party = Wallet.ofParty("alice", seed)
    assert.match(party.login_name, /^alice::1220[0-9a-f]{64}$/u)
    assert.strictEqual(party.verifying_key, party.public_key)
    assert.notStrictEqual(party.root_address, Wallet.fromSeed(seed).root_address)
  })

  it("signs with its key after the caller erased or reused the bytes of the seed", () => {
    const seed = new Uint8Array(32).fill(7)
    const wallet = Wallet.fromSeed(seed)
    const party = Wallet.ofParty("alice", seed)
    const before = [wallet.sign("a"), party.sign("a")]
    seed.fill(0)
    assert.deepStrictEqual([wallet.sign("a"), party.sign("a")], before)
  })

  it("refuses what is no seed, without a repetition of it", () => {
    for (const seed of ["xyz", `${"9d".repeat(32)}00`, new Uint8Array(31)])
      assert.throws(() => Wallet.fromSeed(seed), "seed: expected 32 bytes, or 64 hex digits")
  })

  it("generates wallets that can be restored from their seed", () => {
    const { seed, wallet } = Wallet.generate()
    assert.deepStrictEqual(Wallet.fromSeed(`0x${seed}`).public_key, wallet.public_key)
    assert.notStrictEqual(Wallet.generate().seed, seed)
    assert.match(Wallet.nonce(), /^[0-9a-f]{32}$/u)
    assert.throws(() => Wallet.fromSeed("00"), RangeError)
  })
})
