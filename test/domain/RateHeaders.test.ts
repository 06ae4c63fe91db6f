import { assert, describe, it } from "vitest"
import { addRate, type Rate, tightest } from "../../src/domain/RateHeaders.ts"

const rate = (fields: Partial<Rate> = {}): Rate => ({
  bucket: "token",
  allowed: true,
  limit: 100,
  remaining: 40,
  reset_s: 0,
  window_s: 60,
  ...fields
})

describe("the rate of several buckets", () => {
  it("is that with the fewest remaining requests, and of equal ones the first", () => {
    const [many, few, same] = [rate(), rate({ remaining: 3 }), rate({ remaining: 3, bucket: "user" })]
    assert.strictEqual(tightest([many, undefined, few, same]), few)
    assert.strictEqual(tightest([few, many]), few)
    assert.isUndefined(tightest([undefined]))
  })

  it("is one that refuses before any that allows", () => {
    const [allows, refuses] = [rate({ remaining: 0 }), rate({ allowed: false, remaining: 5 })]
    assert.strictEqual(tightest([allows, refuses]), refuses)
    assert.strictEqual(tightest([refuses, allows]), refuses)
  })
})

describe("the header fields of a rate", () => {
  const fieldsOf = (of: Rate) => {
    const flat: Array<string> = []
    addRate(flat, of)
    return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!]))
  }

  it("have limit, rest, seconds to the next free slot, and policy", () => {
    assert.deepStrictEqual(fieldsOf(rate({ reset_s: 7 })), {
      "ratelimit-limit": "100",
      "ratelimit-remaining": "40",
      "ratelimit-reset": "7",
      "ratelimit-policy": '"token";q=100;w=60',
      ratelimit: '"token";r=40;t=7'
    })
  })

  it("of a refusal say when to try again, at least a second later", () => {
    const {
      ratelimit,
      "ratelimit-reset": reset,
      "retry-after": retry
    } = fieldsOf(rate({ allowed: false, remaining: 0 }))
    assert.deepStrictEqual([retry, reset, ratelimit], ["1", "1", '"token";r=0;t=1'])
    assert.strictEqual(fieldsOf(rate({ allowed: false, reset_s: 12 }))["retry-after"], "12")
  })
})
