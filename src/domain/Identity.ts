/**
 * Text forms of keys, signatures, nonces and ids.
 *
 * Source: docs/contract/conventions.md#identifiers, docs/contract/authentication.md#signatures, #login.
 */
import { hexToBytes } from "@noble/hashes/utils.js"
import { Schema } from "effect"
import { fingerprintOfKey } from "./Address.ts"

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u
export const Uuid = Schema.String.check(Schema.isPattern(UUID, { message: "expected a lower-case UUID" })).annotate({
  identifier: "Uuid",
  description: "UUID, lower case",
  examples: ["018f3f1e-5d5b-7a00-8000-000000000001"]
})

export const isUuid = (value: unknown): value is string => typeof value === "string" && UUID.test(value)

/** Client-chosen order reference: 1 to 36 of `[A-Za-z0-9_-]`, unique per sub-account for ever. */
export const OrderLinkId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,36}$/u, { message: "expected 1 to 36 characters of A-Z, a-z, 0-9, - and _" })
).annotate({
  identifier: "OrderLinkId",
  description: "Client-chosen order reference, unique in the sub-account",
  examples: ["a-1"]
})

/** The order reference in a response: always present, empty if the order has none. */
export const OrderLinkIdOrNone = Schema.String.check(
  Schema.isMaxLength(36),
  Schema.isPattern(/^[A-Za-z0-9_-]{0,36}$/u, { message: "expected up to 36 characters of A-Z, a-z, 0-9, - and _" })
).annotate({
  identifier: "OrderLinkIdOrNone",
  description: 'Client-chosen order reference; `""` where the order has none',
  examples: ["a-1"]
})

const NONCE = /^[A-Za-z0-9_-]{8,64}$/u
/** 8 to 64 characters of the Base64URL alphabet, used once. Source: docs/contract/authentication.md#login. */
export const Nonce = Schema.String.check(
  Schema.isPattern(NONCE, { message: "expected 8 to 64 characters of A-Z, a-z, 0-9, - and _" })
).annotate({
  identifier: "Nonce",
  description: "8 to 64 characters of A-Z, a-z, 0-9, - and _; used once",
  examples: ["bG9naW4tbm9uY2UtMDAwMQ"]
})
export const isNonce = (text: string): boolean => NONCE.test(text)

/** Either alphabet; a text does not mix them. */
const BASE64 = /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)$/u

const bytesOfBase64 = (text: string, length: number): Uint8Array | undefined => {
  const bare = text.replace(/={1,2}$/u, "")
  if (!BASE64.test(bare)) return undefined
  const padded = bare.length === text.length ? undefined : text.length % 4 === 0
  if (padded === false) return undefined
  const standard = bare.replaceAll("-", "+").replaceAll("_", "/")
  const binary = atob(standard)
  if (binary.length !== length) return undefined
  // reject unused bits in the last character: the text would not be canonical
  if (btoa(binary).replace(/=+$/u, "") !== standard) return undefined
  return Uint8Array.from(binary, (char) => char.charCodeAt(0))
}

/**
 * Reads `length` bytes written as hex, 0x-hex, base64 or base64url (padded or not). The length of the text determines
 * the form. `undefined` for other lengths, mixed alphabets, blanks and non-zero trailing bits.
 * Source: docs/contract/authentication.md#signatures.
 */
export const bytesOfText = (text: string, length: number): Uint8Array | undefined => {
  const digits = text.length === 2 * length + 2 && text.startsWith("0x") ? text.slice(2) : text
  if (digits.length === 2 * length) return /^[0-9a-fA-F]+$/u.test(digits) ? hexToBytes(digits.toLowerCase()) : undefined
  const bare = Math.ceil((length * 4) / 3)
  if (text.length !== bare && text.length !== Math.ceil(length / 3) * 4) return undefined
  return bytesOfBase64(text, length)
}

/** The 32 bytes of a public key in any accepted form. */
export const bytesOfPublicKey = (text: string): Uint8Array | undefined => bytesOfText(text, 32)
/** The 64 bytes of a signature in any accepted form. */
export const bytesOfSignature = (text: string): Uint8Array | undefined => bytesOfText(text, 64)

/** A party: `<hint>::<fingerprint>`. */
export interface Party {
  readonly id: string
  readonly hint: string
  readonly fingerprint: string
}

/** The accepted form of {@link parseParty}, for error texts. */
export const PARTY_ID = "a party id: <hint>::1220 and 64 lower-case hex digits"

/**
 * Reads a party id; `undefined` if it is malformed. A hint contains no `::` and no space.
 * Source: docs/contract/conventions.md#identifiers.
 */
export const parseParty = (text: string): Party | undefined => {
  const at = text.lastIndexOf("::")
  if (at === -1) return undefined
  const hint = text.slice(0, at)
  const fingerprint = text.slice(at + 2)
  if (!/^[A-Za-z0-9_:-]{1,185}$/u.test(hint) || hint.includes("::") || !/^1220[0-9a-f]{64}$/u.test(fingerprint)) {
    return undefined
  }
  return { id: text, hint, fingerprint }
}

/** Whether a key matches the fingerprint of a party. */
export const isKeyOfParty = (party: Party, publicKey: Uint8Array): boolean =>
  fingerprintOfKey(publicKey) === party.fingerprint

/** The rail on which a wallet logged in. */
export const Rail = Schema.Literals(["address", "party"]).annotate({ identifier: "Rail" })
export type Rail = typeof Rail.Type
