/** Referral codes: 8 characters of Crockford base32. Source: contract 3.8. */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/**
 * The code of a user: the first 40 bits of a hash, so that the same wallet has the same code after any restore.
 * `attempt` counts up where another user holds the code already.
 */
export const referralCodeOf = (user_id: string, attempt: number): string => {
  const digest = sha256(utf8ToBytes(`referral:${user_id}:${attempt}`))
  let bits = 0n
  for (let i = 0; i < 5; i++) bits = (bits << 8n) | BigInt(digest[i]!)
  let code = ""
  for (let i = 7; i >= 0; i--) code += CROCKFORD[Number((bits >> BigInt(5 * i)) & 31n)]!
  return code
}
