import { assert, describe, it } from "@effect/vitest"
import { MessageRate } from "../../src/ws/MessageRate.ts"

describe("the message rate of a connection", () => {
  const taken = (...times: ReadonlyArray<number>) => {
    const rate = new MessageRate({ message_burst: 1, messages_per_s: 1, flood_ms: 3_000 }, 0)
    return times.map((at) => rate.take(at))
  }

  it("counts a flood from its first message above the rate, though single messages pass meanwhile", () => {
    assert.deepStrictEqual(taken(0, 1, 2, 1_002, 1_003, 2_005, 2_006, 3_007, 3_008), [
      "taken",
      "notice",
      "dropped",
      "taken",
      "notice",
      "taken",
      "notice",
      "taken",
      "flood"
    ])
  })

  it("ends a flood after a pause of more than two seconds since the last notice", () => {
    assert.deepStrictEqual(taken(0, 1, 2_002, 2_003, 3_100, 3_101), [
      "taken",
      "notice",
      "taken",
      "notice",
      "taken",
      "notice"
    ])
    assert.deepStrictEqual(taken(0, 1, 2_001, 2_002, 3_100, 3_101).at(-1), "flood", "two seconds are no more than that")
  })
})
