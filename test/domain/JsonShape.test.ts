import { assert, describe, it } from "vitest"
import { endOfString, hasDoubledKey, isTooComplex } from "../../src/domain/JsonShape.ts"
import { transportLimits } from "../../src/domain/TransportLimits.ts"

const DEPTH = transportLimits.json_depth.figure
const MEMBERS = transportLimits.json_members.figure
/** Long enough that the shape is checked. */
const padding = "x".repeat(5_000)
const nested = (open: string, close: string, depth: number, within = "") =>
  `${open.repeat(depth)}"${padding}${within}"${close.repeat(depth)}`

describe("a key of a JSON text", () => {
  it("is doubled within one object only, whatever its spelling", () => {
    const isDoubled = (text: string): boolean => hasDoubledKey(text, JSON.parse(text))
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":{"b":1,"b":2}}',
      '[{"a":[{"b":1,"c":2,"b":3}]}]',
      String.raw`{"a":1,"\u0061":2}`
    ])
      assert.isTrue(isDoubled(text), text)
    for (const text of [
      '{"a":1,"b":{"a":1}}',
      '[{"a":1},{"a":1}]',
      '{"a":"b:c\\"d:"}',
      '{"a:b":":"}',
      '{"__proto__":1}',
      "null",
      '"a:b"'
    ])
      assert.isFalse(isDoubled(text), text)
  })
})

describe("the shape of a JSON text", () => {
  it("has a limited depth, of arrays and objects", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"]
    ] as const) {
      assert.isFalse(isTooComplex(nested(open, close, DEPTH)), open)
      assert.isTrue(isTooComplex(nested(open, close, DEPTH + 1)), open)
    }
    // side by side is not nested
    assert.isFalse(isTooComplex(`[${"[[]],{},".repeat(MEMBERS / 4)}"${padding}"]`))
  })

  it("has a limited number of members", () => {
    const members = (n: number) => `["${padding}"${",1".repeat(n - 1)}]`
    assert.isFalse(isTooComplex(members(MEMBERS)))
    assert.isTrue(isTooComplex(members(MEMBERS + 1)))
  })

  it("does not count what is inside of strings", () => {
    const text = `\\"${"[{,".repeat(MEMBERS)}\\\\`
    assert.isFalse(isTooComplex(nested("[", "]", DEPTH, text)))
    assert.isTrue(isTooComplex(nested("[", "]", DEPTH + 1, text)))
  })

  it("is free in a short text", () => {
    assert.isFalse(isTooComplex("[".repeat(4 * 1024)))
    assert.isTrue(isTooComplex("[".repeat(4 * 1024 + 1)))
  })
})

describe("the end of a JSON string", () => {
  it.each([
    ['"a"', 2],
    ['""', 1],
    [String.raw`"\""`, 3],
    [String.raw`"\\"`, 3],
    [String.raw`"\\\"b"`, 6],
    [String.raw`"a\"`, 4],
    ['"a', 2]
  ] as const)("of %s is at %i", (text, end) => assert.strictEqual(endOfString(text, 0), end))
})
