/** Short texts: ids in base32, refusals of unknown names, and heads of requests. */
import { assert, it } from "@effect/vitest"
import { crockford } from "../../src/domain/Crockford.ts"
import { hostsOf } from "../../src/domain/RequestTarget.ts"
import { unknownParameter } from "../../src/domain/UnknownNames.ts"

it("crockford writes as many characters as are asked for, whatever bits are left", () => {
  const bytes = Uint8Array.from([0xff, 0x00, 0x84, 0x21, 0x08])
  assert.strictEqual(crockford(bytes, 8), "ZW088888")
  for (let length = 1; length <= 8; length++) assert.strictEqual(crockford(bytes, length), "ZW088888".slice(0, length))
})

it("an unknown parameter is refused with the names that the endpoint takes", () => {
  const refused = (...known: ReadonlyArray<string>) => unknownParameter("colour", new Set(known)).message
  assert.strictEqual(refused(), 'unknown query parameter "colour"; this endpoint takes no query parameters')
  assert.strictEqual(refused("symbol"), 'unknown query parameter "colour"; expected symbol')
  assert.strictEqual(refused("symbol", "limit"), 'unknown query parameter "colour"; expected symbol, limit')
})

it("hostsOf counts the names of headers, whatever their values and places", () => {
  assert.strictEqual(hostsOf(["a", "host", "b", "host"]), 0)
  assert.strictEqual(hostsOf(["Host", "x"]), 1)
  assert.strictEqual(hostsOf(["a", "1", "Host", "x", "b", "2", "HOST", "y"]), 2)
})
