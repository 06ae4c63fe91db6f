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

  it("begins with its burst, and refills at its rate up to the burst", () => {
    const rate = new MessageRate({ message_burst: 3, messages_per_s: 2, flood_ms: 3_000 }, 0)
    const take = (now: number, count: number) => Array.from({ length: count }, () => rate.take(now))
    assert.deepStrictEqual(take(0, 4), ["taken", "taken", "taken", "notice"])
    assert.deepStrictEqual(take(499, 1), ["dropped"])
    assert.deepStrictEqual(take(1_000, 3), ["taken", "taken", "notice"])
    assert.deepStrictEqual(take(60_000, 4), ["taken", "taken", "taken", "notice"])
  })

  it("gives a notice each second, and ends a flood after exactly its time", () => {
    assert.deepStrictEqual(taken(0, 1, 2, 1_000), ["taken", "notice", "dropped", "taken"])
    const rate = new MessageRate({ message_burst: 1, messages_per_s: 0.1, flood_ms: 3_000 }, 0)
    assert.deepStrictEqual(
      [0, 1, 1_000, 1_001, 2_000, 2_001, 3_000, 3_001].map((at) => rate.take(at)),
      ["taken", "notice", "dropped", "notice", "dropped", "notice", "dropped", "flood"]
    )
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
