/**
 * Wallets and API keys: Ed25519 keys from a seed, which never leaves the client. Runs in Node and in a browser.
 *
 * Source: specification, Authentication; docs/contract/conventions.md#identifiers,
 * docs/contract/authentication.md#signatures, #login, #api-keys.
 */
import { getPublicKey, hashes, sign, utils } from "@noble/ed25519"
import { sha256, sha512 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { fingerprintOfKey, rootOfKey, rootOfParty, userIdOf } from "../domain/Address.ts"
import { bytesOfSeed } from "./Seed.ts"

export { loginMessage, requestMessage } from "../domain/SigningMessages.ts"
export { nonce } from "./Signed.ts"

// noble's Ed25519 needs a SHA-512 for synchronous signing
hashes.sha512 = sha512

/** Signs for one key. */
export interface Wallet {
  /** `0x` and 64 hex digits. */
  readonly public_key: string
  /** `public_key` of the login: the key, or the id of a party. */
  readonly login_name: string
  /** `verifying_key` of a party's login; `undefined` for an address wallet. */
  readonly verifying_key: string | undefined
  readonly root_address: string
  readonly user_id: string
  /** Signature over the UTF-8 bytes of a text, `0x` and 128 hex digits. */
  readonly sign: (text: string) => string
}

const make = (seed: Uint8Array, hint: string | undefined): Wallet => {
  const key = getPublicKey(seed)
  const public_key = `0x${bytesToHex(key)}`
  const party = hint === undefined ? undefined : `${hint}::${fingerprintOfKey(key)}`
  const root_address = party === undefined ? rootOfKey(key) : rootOfParty(party)
  return {
    public_key,
    login_name: party ?? public_key,
    verifying_key: party === undefined ? undefined : public_key,
    root_address,
    user_id: userIdOf(root_address),
    sign: (text) => `0x${bytesToHex(sign(utf8ToBytes(text), seed))}`
  }
}

/** A wallet or an API key from a seed of 32 bytes or 64 hex digits. */
export const fromSeed = (seed: string | Uint8Array): Wallet => make(bytesOfSeed(seed), undefined)

/** The wallet of a party: `<hint>::<fingerprint of the key>`. */
export const ofParty = (hint: string, seed: string | Uint8Array): Wallet => make(bytesOfSeed(seed), hint)

/** A new wallet and its seed; store the seed. */
export const generate = (): { readonly wallet: Wallet; readonly seed: string } => {
  const seed = utils.randomSecretKey()
  return { wallet: make(seed, undefined), seed: bytesToHex(seed) }
}

/** The value of X-BODY-SHA256. */
export const bodyHash = (body: Uint8Array): string => bytesToHex(sha256(body))
