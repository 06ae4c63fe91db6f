/** The parser that judges our headers is judged by the vectors of the HTTP working group. */
import { assert, describe, it } from "vitest"
import { publicVectors } from "../vectors.ts"
import { parseDictionary, parseItem, parseList } from "./StructuredFields.ts"

interface Vector {
  readonly name: string
  readonly raw: ReadonlyArray<string>
  readonly header_type: "item" | "list" | "dictionary"
  readonly expected?: unknown
  readonly must_fail?: boolean
  readonly can_fail?: boolean
}
const parsers = { item: parseItem, list: parseList, dictionary: parseDictionary }
const files = ["dictionary", "examples", "item", "list", "number", "param-dict", "string", "token"]
const cases = files.map(
  (file) => [file, publicVectors(`structured-fields/${file}.json`) as Array<Vector> | undefined] as const
)

const base32 = (bytes: Uint8Array): string => {
  let bits = ""
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0")
  const digits = bits.match(/.{1,5}/gu) ?? []
  const text = digits
    .map((five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("")
  return text.padEnd(Math.ceil(text.length / 8) * 8, "=")
}
/** A parsed value as the vectors write it. */
const asWritten = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, part: unknown) => (part instanceof Uint8Array ? base32(part) : part)))

describe.skipIf(cases.some(([, vectors]) => vectors === undefined))("structured fields", () => {
  for (const [file, vectors] of cases) {
    it(`${file}: ${vectors?.length} cases`, () => {
      for (const { can_fail, expected, header_type, must_fail, name, raw } of vectors ?? []) {
        const parse = () => parsers[header_type](raw)
        if (must_fail === true) assert.throws(parse, undefined, undefined, name)
        else if (can_fail !== true) assert.deepStrictEqual(asWritten(parse()), asWritten(expected), name)
      }
    })
  }
})
