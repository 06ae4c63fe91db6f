/** Crockford's base32: digits and upper-case letters without I, L, O and U, which people misread. */

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

/** The first `5 × length` bits, 5 a character, the highest first. */
export const crockford = (bytes: Uint8Array, length: number): string => {
  let text = ""
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    bits = (bits << 8) | byte
    for (held += 8; held >= 5 && text.length < length; held -= 5) text += ALPHABET[(bits >> (held - 5)) & 31]!
    if (text.length === length) return text
    bits &= (1 << held) - 1
  }
  return text
}
