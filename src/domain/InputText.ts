/** How error texts repeat what was given: in one line, escaped, and cut; secrets not at all. */

/** Characters of a given value that an error text repeats, escapes counted as written. */
export const GIVEN_MAX = 64

/** Fields whose values no error text repeats, whatever they hold. */
const SECRETS: ReadonlySet<string> = new Set([
  "code",
  "codes",
  "nonce",
  "password",
  "signature",
  "token",
  "verifying_key"
])

/** Whether a field, named by its path, is a secret or lies inside one. */
export const isSecret = (field: string): boolean => field.split(".").some((name) => SECRETS.has(name))

/** Everything that could break a line, hide or turn text, or be taken for an escape. */
const UNPRINTABLE = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u
const escaped = (letter: string): string =>
  letter === "\\" ? "\\\\" : UNPRINTABLE.test(letter) ? `\\u{${letter.codePointAt(0)!.toString(16)}}` : letter

/** A text of bounded length as a log line holds it, so that no reader of the log takes it for more than one line. */
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

/** A number as its sender wrote it. */
export class Written {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A text as an error repeats it. */
export const shown = (text: string): string => cut(text, escaped)

/** A text in quotation marks, as an error repeats it. */
export const quoted = (text: string): string => `"${cut(text, (letter) => (letter === '"' ? '\\"' : escaped(letter)))}"`

/** Any value as an error repeats it: texts in quotation marks, objects and lists by their kind. */
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

/** The text of a field that is not accepted. `accepted` is a noun phrase; an absent value is `undefined`. */
export const fieldText = (field: string, accepted: string, value: unknown): string => {
  const got = value !== undefined && isSecret(field) ? "a value that is not repeated" : given(value)
  return `${field}: expected ${accepted}, got ${got}`
}
