/** How error texts quote input: in one line, escaped and truncated. Secrets are never quoted. */

/** Longest quotation of a value, in characters, with escapes counted as written: an address is quoted whole. */
export const GIVEN_MAX = 66

/** Fields whose values are never quoted. */
const SECRETS: ReadonlySet<string> = new Set([
  "bearer",
  "code",
  "codes",
  "nonce",
  "password",
  "signature",
  "token",
  "verifying_key"
])

/** Whether a field, named by its path, is a secret or inside one. */
export const isSecret = (field: string): boolean => field.split(".").some((name) => SECRETS.has(name))

/** Characters that could break a line, be invisible, change the direction of text, or look like an escape. */
const UNPRINTABLE = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u
const escaped = (letter: string): string =>
  letter === "\\" ? "\\\\" : UNPRINTABLE.test(letter) ? `\\u{${letter.codePointAt(0)!.toString(16)}}` : letter

/** Escapes a text for a log line, so that it cannot be read as more than one line. The caller bounds its length. */
export const printable = (text: string): string => Array.from(text, escaped).join("")

const cut = (text: string, write: (letter: string) => string): string => {
  let kept = ""
  for (const letter of text) {
    const written = write(letter)
    if (kept.length + written.length > GIVEN_MAX) return `${kept}…`
    kept += written
  }
  return kept
}

/** A number with its original text. */
export class Written {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Quotes a text without quotation marks. */
export const shown = (text: string): string => cut(text, escaped)

/** Quotes a text in quotation marks. */
export const quoted = (text: string): string => `"${cut(text, (letter) => (letter === '"' ? '\\"' : escaped(letter)))}"`

/** Quotes any value: texts in quotation marks, objects and lists by their kind. */
export const given = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return quoted(value)
    case "undefined":
      return "nothing"
    case "object":
      if (value instanceof Written) return shown(value.text)
      return value === null ? "null" : Array.isArray(value) ? `a list of ${value.length}` : "an object"
    default:
      return shown(String(value))
  }
}

/** The value of a field, named by its path such as `orders.0.qty`; `undefined`: there is none. */
export const valueAt = (value: unknown, field: string): unknown => {
  let found = value
  for (const key of field.split(".")) {
    if (found === null || typeof found !== "object" || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}

/** The error text of an invalid field. `accepted` is a noun phrase; an absent value is `undefined`. */
export const fieldText = (field: string, accepted: string, value: unknown): string => {
  const got = value !== undefined && isSecret(field) ? "a value that is not repeated" : given(value)
  return `${field}: expected ${accepted}, got ${got}`
}
