/**
 * Ed25519 keys of wallets and API keys: WebCrypto, or noble in a browser whose WebCrypto does not support the curve. Both need a
 * secure context (https or localhost); elsewhere the caller provides a {@link Key} that signs.
 * Source: docs/contract/authentication.md#signatures.
 */
import { etc, getPublicKeyAsync, signAsync, utils } from "@noble/ed25519"
import { bytesOfSeed } from "../client/Seed.ts"

/** Signs for one key. */
export interface Key {
  /** `0x` and 64 hex digits. */
  readonly public_key: string
  /** Signature over the UTF-8 bytes of a text, `0x` and 128 hex digits. */
  readonly sign: (text: string) => Promise<string>
}

/** A seed of 32 bytes, or 64 hex digits with or without `0x`; a WebCrypto key pair; or an object that signs. */
export type KeySource = string | Uint8Array | CryptoKeyPair | Key

const ED25519 = "Ed25519"
/** PKCS #8 prefix before the seed. */
const PKCS8 = etc.hexToBytes("302e020100300506032b657004220420")

const hexOf = (bytes: Uint8Array): string => `0x${etc.bytesToHex(bytes)}`
const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** SHA-256 of a text's UTF-8 bytes, 64 hex digits. */
export const hashOf = async (text: string): Promise<string> =>
  etc.bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))))

const ofPrivate = (public_key: string, key: CryptoKey): Key => ({
  public_key,
  sign: async (text) => hexOf(new Uint8Array(await crypto.subtle.sign(ED25519, key, utf8(text))))
})

const ofSeed = async (seed: Uint8Array): Promise<Key> => {
  const public_key = hexOf(await getPublicKeyAsync(seed))
  try {
    const pkcs8 = Uint8Array.of(...PKCS8, ...seed)
    return ofPrivate(public_key, await crypto.subtle.importKey("pkcs8", pkcs8, ED25519, false, ["sign"]))
  } catch {
    return { public_key, sign: async (text) => hexOf(await signAsync(utf8(text), seed)) }
  }
}

/** Loads a key from a source. */
export const keyOf = async (source: KeySource): Promise<Key> => {
  // a caller without types may pass something else, which is no seed
  if (typeof source !== "object" || source === null || source instanceof Uint8Array) return ofSeed(bytesOfSeed(source))
  if ("sign" in source) return source
  const raw = await crypto.subtle.exportKey("raw", source.publicKey)
  return ofPrivate(hexOf(new Uint8Array(raw)), source.privateKey)
}

/** A new seed of 64 hex digits; keep it secret. */
export const newSeed = (): string => etc.bytesToHex(utils.randomSecretKey())
