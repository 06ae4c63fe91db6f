/**
 * JSON as this API takes it: one object, no key twice, keys in snake_case, integers without fraction or exponent.
 *
 * `null` and `""` in an optional field mean that it is absent, so both are taken out here, before a schema looks.
 * Source: docs/contract/conventions.md#json-and-http.
 */
import { endOfString, isTooComplex } from "../domain/JsonShape.ts"
import type { Details, Reason } from "../domain/Reason.ts"
import { valueAt, Written } from "../domain/InputText.ts"
import { transportLimits } from "../domain/TransportLimits.ts"

/** A body or query that is refused. */
export class BadJson<out R extends Reason = Reason> {
  readonly reason: R
  readonly field: string | undefined
  /** In place of the text of the catalogue. */
  readonly message: string | undefined
  readonly facts: Details
  constructor(reason: R, field?: string, message?: string, facts: Details = {}) {
    this.reason = reason
    this.field = field
    this.message = message
    this.facts = facts
  }
}

/** No body of this API has more than four. */
const DEPTH_MAX = transportLimits.json_depth.figure

const QUOTE = 34
const POINT = 46
const ZERO = 48
const NINE = 57
const COLON = 58
const LOWER_E = 101
const UPPER_E = 69

/**
 * Facts that a parsed value has lost: `keys` counts the colons outside strings, as many as the text has keys,
 * doubled ones counted twice; `fraction` says whether a number is written with a point or an exponent.
 */
const scan = (text: string): { readonly keys: number; readonly fraction: boolean } => {
  let keys = 0
  let fraction = false
  let before = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    else if (code === COLON) keys++
    else if (code === POINT) fraction = true
    else if ((code === LOWER_E || code === UPPER_E) && before >= ZERO && before <= NINE) fraction = true
    before = code
  }
  return { keys, fraction }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** Replaces every number that is written with a fraction or an exponent: 1.0 and 1e3 parse as integers. */
const FRACTION = 0.5
const refuseFractions: Reviver = (_key, value, context) =>
  typeof value === "number" && /[.eE]/u.test(context?.source ?? "") ? FRACTION : value

const asWritten: Reviver = (_key, value, context) =>
  typeof value === "number" && context?.source !== undefined ? new Written(context.source) : value

/** The value of a field of a body that {@link parse} accepted; a number as it was written. */
export const writtenAt = (value: unknown, field: string, bytes: Uint8Array | undefined): unknown => {
  const found = valueAt(value, field)
  return typeof found === "number" && bytes !== undefined
    ? valueAt(JSON.parse(utf8.decode(bytes), asWritten as Parameters<typeof JSON.parse>[1]), field)
    : found
}

class Reader {
  keys = 0
  /** Whether something was taken out. */
  changed = false
  /** Whether `null` is a value here (PUT /admin/index-price). */
  readonly keepNull: boolean
  problem: BadJson<"MalformedJson" | "UnknownField"> | undefined = undefined
  constructor(keepNull: boolean) {
    this.keepNull = keepNull
  }

  read(value: unknown, path: string, depth: number): unknown {
    if (value === null || typeof value !== "object") return value
    if (depth > DEPTH_MAX) {
      this.problem = new BadJson("MalformedJson")
      return value
    }
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) value[i] = this.read(value[i], `${path}${i}.`, depth + 1)
      return value
    }
    const record = value as Record<string, unknown>
    const names = Object.keys(record)
    this.keys += names.length
    let kept: Record<string, unknown> | undefined
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!
      const member = record[name]
      if (name !== name.toLowerCase() && this.problem === undefined) {
        this.problem = new BadJson("UnknownField", path + name)
      }
      const read =
        typeof member === "object" && member !== null ? this.read(member, `${path}${name}.`, depth + 1) : member
      const absent = member === "" || (member === null && !this.keepNull) || name === "__proto__"
      if (absent && kept === undefined) {
        kept = {}
        this.changed = true
        for (let j = 0; j < i; j++) kept[names[j]!] = record[names[j]!]
      }
      if (absent) continue
      if (kept !== undefined) kept[name] = read
      else if (read !== member) record[name] = read
    }
    return kept ?? record
  }
}

/** A body that was accepted. */
export interface Body {
  readonly value: { readonly [key: string]: unknown }
  /** JSON text of the value: that of the request, unless something had to be taken out of it. */
  readonly text: string
}

const EMPTY: Body = { value: {}, text: "{}" }

/** Reads a body. An absent one is an empty object: whatever is required is then missing by name. */
export const parse = (
  bytes: Uint8Array | undefined,
  keepNull = false
): Body | BadJson<"MalformedJson" | "UnknownField"> => {
  if (bytes === undefined) return EMPTY
  let text: string
  let value: unknown
  let scanned: ReturnType<typeof scan>
  try {
    text = utf8.decode(bytes)
    if (isTooComplex(text)) return new BadJson("MalformedJson")
    value = JSON.parse(text)
    scanned = scan(text)
    if (scanned.fraction) value = JSON.parse(text, refuseFractions as Parameters<typeof JSON.parse>[1])
  } catch {
    return new BadJson("MalformedJson")
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return new BadJson("MalformedJson")
  const reader = new Reader(keepNull)
  const read = reader.read(value, "", 1) as Body["value"]
  if (reader.problem?.reason === "MalformedJson") return reader.problem
  if (reader.keys !== scanned.keys) return new BadJson("MalformedJson")
  if (reader.problem !== undefined) return reader.problem
  return { value: read, text: reader.changed || scanned.fraction ? JSON.stringify(read) : text }
}
