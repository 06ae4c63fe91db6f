/**
 * Bounds the cost of a JSON text before it is parsed: an unauthenticated client may send 256 KiB of brackets.
 * Source: docs/contract/limits.md#transports.
 */
import { transportLimits } from "./TransportLimits.ts"

const DEPTH_MAX = transportLimits.json_depth.figure
const MEMBERS_MAX = transportLimits.json_members.figure
/** Texts up to this length are always accepted, in characters: they cost little. */
const FREE_CHARS = 4 * 1024

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_ARRAY = 91
const BACKSLASH = 92
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** Index of the quote that ends the JSON string that begins at `start`; the length of the text if none does. */
export const endOfString = (text: string, start: number): number => {
  for (let i = text.indexOf('"', start + 1); i !== -1; i = text.indexOf('"', i + 1)) {
    let first = i
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    // an odd number of backslashes escapes the quote
    if ((i - first) % 2 === 0) return i
  }
  return text.length
}

/** Colons of a JSON text outside its strings: as many as it has keys, doubled ones counted twice. */
const keysOfText = (text: string): number => {
  let keys = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === COLON) keys++
  }
  return keys
}
const keysOfValue = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  const members = Object.values(value)
  return members.reduce<number>((keys, member) => keys + keysOfValue(member), Array.isArray(value) ? 0 : members.length)
}

/** Whether an object of a JSON text has a key twice, of which the parsed value has the last one only. */
export const hasDoubledKey = (text: string, value: unknown): boolean => keysOfText(text) !== keysOfValue(value)

/** Whether a text is nested too deep or has too many members. Stops at the first violation. */
export const isTooComplex = (text: string): boolean => {
  if (text.length <= FREE_CHARS) return false
  let depth = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > DEPTH_MAX) return true
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--
    else if (code === COMMA && ++members >= MEMBERS_MAX) return true
  }
  return false
}
