/** How error texts repeat what was given: in one line, escaped, and cut. */

/** Characters of a given value that an error text repeats. */
export const SHOWN_MAX = 64

/** Everything that could break a line, hide or turn text, or end a quotation. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu
const escaped = (letter: string): string => `\\u{${letter.codePointAt(0)!.toString(16)}}`

/** A text as an error repeats it. */
export const shown = (text: string): string => {
  const letters = Array.from(text.slice(0, 2 * SHOWN_MAX))
  const cut = letters.length > SHOWN_MAX || text.length > 2 * SHOWN_MAX
  const kept = (cut ? letters.slice(0, SHOWN_MAX) : letters).join("").replaceAll(UNPRINTABLE, escaped)
  return cut ? `${kept}…` : kept
}

/** A text in quotation marks, as an error repeats it. */
export const quoted = (text: string): string => `"${shown(text).replaceAll('"', '\\"')}"`

/** Any value as an error repeats it: texts in quotation marks, objects and lists by their kind. */
export const given = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return quoted(value)
    case "undefined":
      return "nothing"
    case "object":
      return value === null ? "null" : Array.isArray(value) ? `a list of ${value.length}` : "an object"
    default:
      return shown(String(value))
  }
}
