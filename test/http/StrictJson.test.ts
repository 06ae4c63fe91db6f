import { assert, describe, it } from "vitest"
import { transportLimits } from "../../src/domain/TransportLimits.ts"
import { given } from "../../src/domain/InputText.ts"
import { BadJson, parse, writtenAt } from "../../src/http/StrictJson.ts"
import { publicVectors } from "../vectors.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
/** The value of an accepted body, which its text holds too; else the refusal. */
const read = (text: string, keepNull = false) => {
  const body = parse(bytes(text), keepNull)
  if (body instanceof BadJson) return body
  assert.deepStrictEqual(JSON.parse(body.text), body.value)
  return body.value
}
const reasonOf = (result: unknown) => (result instanceof BadJson ? result.reason : "accepted")

describe("a body", () => {
  it("is one object", () => {
    for (const text of ["", " ", "[]", "1", '"a"', "null", "true", "{} {}", "{},", "\ufeff{}"]) {
      assert.strictEqual(reasonOf(read(text)), "MalformedJson", JSON.stringify(text))
    }
    assert.deepStrictEqual(read("{}"), {})
    assert.deepStrictEqual(parse(undefined), { value: {}, text: "{}" })
  })
  it("is UTF-8", () => {
    assert.strictEqual(reasonOf(parse(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d))), "MalformedJson")
  })
  it("names no key twice, in whatever spelling or depth", () => {
    for (const text of [
      '{"a":1,"a":1}',
      String.raw`{"a":1,"\u0061":2}`,
      '{"a":{"b":1,"b":2}}',
      '{"a":[{"b":1,"b":2}]}',
      '{"__proto__":1,"__proto__":2}'
    ]) {
      assert.strictEqual(reasonOf(read(text)), "MalformedJson", text)
    }
  })
  it("may hold colons, quotes and braces in its strings", () => {
    const value = { a: ':{"b":1}', b: "\\", c: '\\":', d: [":", { e: '"' }] }
    assert.deepStrictEqual(read(JSON.stringify(value)), value)
  })
  it("has snake_case keys", () => {
    const refused = read('{"a":1,"b":{"cD":1}}')
    assert.strictEqual(reasonOf(refused), "UnknownField")
    assert.strictEqual((refused as BadJson).field, "b.cD")
    assert.strictEqual((read('{"bC":1,"cD":1,"e":{"fG":1}}') as unknown as BadJson).field, "bC")
    assert.deepStrictEqual(read('{"a_b":1,"c-d":2,"é":3}'), { a_b: 1, "c-d": 2, é: 3 })
  })
  it("leaves out what is null or empty", () => {
    assert.deepStrictEqual(read('{"a":null,"b":"","c":0,"d":false,"e":{"f":"","g":1},"h":[null,""]}'), {
      c: 0,
      d: false,
      e: { g: 1 },
      h: [null, ""]
    })
    assert.deepStrictEqual(read('{"price":null,"b":""}', true), { price: null })
  })
  it("writes integers as integers", () => {
    const integer = (text: string) =>
      Number.isSafeInteger((read(`{"n":${text}}`) as unknown as { readonly n: number }).n)
    for (const text of ["1.0", "1e3", "1E3", "10e-1", "0.0", "-1.0", "1e0"]) assert.isFalse(integer(text), text)
    for (const text of ["1", "-1", "0", "9007199254740991"]) assert.isTrue(integer(text), text)
    assert.isFalse(integer("9007199254740993"))
    assert.deepStrictEqual(read('{"a":true,"e":"1e3","f":"1.5","g":5}'), { a: true, e: "1e3", f: "1.5", g: 5 })
  })
  it("has its numbers quoted as they were written, and nothing for what it leaves out", () => {
    const body = bytes('{"a":1.0,"b":12345678901234567890,"c":[{"d":-0}],"e":"","f":null,"g":"1.0"}')
    const read = parse(body)
    assert.notInstanceOf(read, BadJson)
    const { value } = read as Exclude<typeof read, BadJson>
    const quoted = ["a", "b", "c.0.d", "e", "f", "g"].map((field) => given(writtenAt(value, field, body)))
    assert.deepStrictEqual(quoted, ["1.0", "12345678901234567890", "-0", "nothing", "nothing", '"1.0"'])
  })
  it("keeps no prototype of its own", () => {
    const value = read('{"__proto__":{"price":"1"},"a":1}') as Record<string, unknown>
    assert.isUndefined(value["price"])
    assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
  })
  it("keeps no prototype of its own where it leaves out another field too", () => {
    for (const text of [
      '{"b":null,"__proto__":{"price":"1"},"a":1}',
      '{"__proto__":{"price":"1"},"b":"","a":1}',
      '{"a":1,"b":null,"__proto__":{"price":"1"}}'
    ]) {
      const value = read(text) as Record<string, unknown>
      assert.deepStrictEqual(value, { a: 1 })
      assert.isUndefined(value["price"])
      assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
    }
  })
  it("is not nested without end", () => {
    const deep = (n: number) => `{"a":${"[".repeat(n)}${"]".repeat(n)}}`
    assert.notInstanceOf(read(deep(10)), BadJson)
    // the object around them is one level
    assert.notInstanceOf(read(deep(transportLimits.json_depth.figure - 1)), BadJson)
    assert.strictEqual(reasonOf(read(deep(transportLimits.json_depth.figure))), "MalformedJson")
    assert.strictEqual(reasonOf(read(deep(100_000))), "MalformedJson")
  })
})

const suite = publicVectors("json-test-suite/parsing.json") as
  | { readonly cases: ReadonlyArray<{ readonly name: string; readonly expect: string; readonly base64?: string }> }
  | undefined
describe.skipIf(suite === undefined)("JSONTestSuite", () => {
  it("finds every malformed text, whole or as a value", () => {
    for (const { name, expect, base64 } of suite!.cases) {
      if (base64 === undefined) continue
      const text = Buffer.from(base64, "base64")
      const wrapped = Buffer.concat([Buffer.from('{"v":'), text, Buffer.from("}")])
      if (expect === "reject") assert.instanceOf(parse(text), BadJson, name)
      // a duplicate key is sound JSON, and refused here
      else if (expect === "accept" && !name.includes("duplicated_key")) {
        const outcome = parse(wrapped)
        const camel = outcome instanceof BadJson && outcome.reason === "UnknownField"
        assert.isTrue(!(outcome instanceof BadJson) || camel, name)
      }
    }
  })
})
