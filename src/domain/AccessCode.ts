/**
 * Access codes of a closed launch: normalization, hashing, printing and the message that a wallet signs.
 *
 * The gateway stores only the hash of a code.
 * Source: docs/contract/rest-access.md#access-codes, docs/contract/authentication.md#activation.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { crockford } from "./Crockford.ts"
import { described, field, measure } from "./Field.ts"
import { Uuid } from "./Identity.ts"
import { Millis } from "./Time.ts"

/** Reward multiplier of an activation, in basis points; also the multiplier of a wallet without an activation. */
export const MULTIPLIER_BPS_DEFAULT = 10_000
export const MULTIPLIER_BPS_MAX = 100_000

const AROUND = /^[\s\p{White_Space}]+|[\s\p{White_Space}]+$/gu

/** Normal form of a code: surrounding white space removed, ASCII letters in upper case. */
export const normalizeCode = (code: string): string =>
  code.replace(AROUND, "").replace(/[a-z]+/gu, (letters) => letters.toUpperCase())

/** SHA-256 of the normalized code, 64 lower-case hex digits. */
export const hashOfCode = (code: string): string => bytesToHex(sha256(utf8ToBytes(normalizeCode(code))))

/** `XXXX-XXXX-XXXX`: 60 bits of a hash over a random id, in Crockford base32. */
export const codeOfId = (randomId: string): string => {
  const text = crockford(sha256(utf8ToBytes(`access-code:${randomId}`)), 12)
  return `${text.slice(0, 4)}-${text.slice(4, 8)}-${text.slice(8)}`
}

/**
 * The message that a wallet signs to activate a code. `signed_at` is Unix seconds. Only the party rail has a nonce.
 * Source: docs/contract/authentication.md#activation.
 */
export const activationMessage = (of: {
  readonly code_hash: string
  readonly root_address: Address
  readonly signed_at: number
  readonly nonce: string | undefined
}): string =>
  `service-stage1-activate:${of.code_hash}:${of.root_address}:${of.signed_at}${of.nonce === undefined ? "" : `:${of.nonce}`}`

export const MultiplierBps = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MULTIPLIER_BPS_MAX })).annotate(
  described("Multiplier of rewards: 10000 is one times", "basis points", 12500)
)

const fields = {
  code_id: field(Uuid, "Access code id"),
  code_hash: field(Schema.String, "SHA-256 of the normalized code, 64 lower-case hex digits"),
  label: field(Schema.String, "Your label"),
  max_uses: measure(Schema.Int, "Maximum number of uses", "count"),
  uses: measure(Schema.Int, "Number of uses", "count"),
  badge: field(Schema.Boolean, "Whether the wallet has the badge of its access code"),
  multiplier_bps: MultiplierBps,
  expires_time: Schema.optionalKey(field(Millis, "Expiry of the code")),
  revoked: field(Schema.Boolean, "Whether the code is revoked"),
  created_time: field(Millis, "Creation time")
}

export const AccessCode = Schema.Struct(fields).annotate({ identifier: "AccessCode" })
export type AccessCode = typeof AccessCode.Type

/** An access code together with its plain text. Only the response that creates the code contains the text. */
export const IssuedAccessCode = Schema.Struct({
  ...fields,
  code: field(Schema.String, "The code; no later response contains it")
}).annotate({ identifier: "IssuedAccessCode" })
export type IssuedAccessCode = typeof IssuedAccessCode.Type
