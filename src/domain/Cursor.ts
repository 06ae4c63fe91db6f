/**
 * Opaque cursors of lists: base64url of `v1|endpoint|hash of the filters|key of the last row`, with an HMAC.
 *
 * Cursors are keyset positions, not offsets: later rows never shift, repeat or drop a row. An altered cursor, or one
 * of another endpoint, query or user, is invalid.
 * Source: docs/contract/conventions.md#paging.
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"

/** The filters of a list; their order is significant. */
export type Filters = ReadonlyArray<string | number | undefined>

const MAC_BYTES = 16
const TEXT_MAX = 512

const hashOf = (filters: Filters): string =>
  bytesToHex(sha256(utf8ToBytes(JSON.stringify(filters.map((filter) => filter ?? null)))).subarray(0, 8))

const macOf = (key: Uint8Array, message: Uint8Array): Uint8Array => hmac(sha256, key, message).subarray(0, MAC_BYTES)

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")

const fromBase64Url = (text: string): Uint8Array | undefined => {
  if (text.length > TEXT_MAX || !/^[A-Za-z0-9_-]+$/u.test(text)) return undefined
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0))
    // reject unused bits in the last character: they would allow a second text of the same cursor
    return toBase64Url(bytes) === text ? bytes : undefined
  } catch {
    return undefined
  }
}

/** Prints the cursor after the row with this key. */
export const print = (key: Uint8Array, endpoint: string, filters: Filters, rowKey: string): string => {
  const message = utf8ToBytes(`v1|${endpoint}|${hashOf(filters)}|${rowKey}`)
  return toBase64Url(concatBytes(message, macOf(key, message)))
}

/** The row key of a cursor; `undefined` if it does not belong to this endpoint and these filters. */
export const parse = (key: Uint8Array, endpoint: string, filters: Filters, cursor: string): string | undefined => {
  const bytes = fromBase64Url(cursor)
  if (bytes === undefined || bytes.length <= MAC_BYTES) return undefined
  const message = bytes.subarray(0, -MAC_BYTES)
  const mac = macOf(key, message)
  let difference = 0
  for (let i = 0; i < MAC_BYTES; i++) difference |= mac[i]! ^ bytes[message.length + i]!
  if (difference !== 0) return undefined
  const text = new TextDecoder().decode(message)
  const prefix = `v1|${endpoint}|${hashOf(filters)}|`
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined
}
