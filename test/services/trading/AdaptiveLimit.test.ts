import { assert, describe, it } from "vitest"
import { AdaptiveLimit } from "../../../src/services/trading/AdaptiveLimit.ts"
import { limits } from "../../../src/services/trading/CommandAdmission.ts"

const options = { initial: 100, min: 40, max: 200, target_ms: 500 }

/** So many rounds, from a time on, of work that takes so long. */
const rounds = (limit: AdaptiveLimit, count: number, delay_ms: number, from: number, isReached = true): void => {
  for (let i = 1; i <= count; i++) {
    if (isReached) limit.reached()
    limit.observe(from + i * Math.max(50, delay_ms), delay_ms)
  }
}

describe("a limit that follows the delay", () => {
  it("grows by its square root while it holds work back and the delay is below the target, up to its maximum", () => {
    const limit = new AdaptiveLimit(options)
    assert.deepStrictEqual([limit.value, limit.delay_ms], [100, 0])
    rounds(limit, 1, 200, 0)
    assert.strictEqual(limit.value, 110)
    assert.strictEqual(limit.delay_ms, 200)
    rounds(limit, 50, 200, 10_000)
    assert.strictEqual(limit.value, 200)
  })

  it("grows at a delay of exactly the target, and falls by a tenth above it", () => {
    const limit = new AdaptiveLimit(options)
    rounds(limit, 1, 500, 0)
    assert.strictEqual(limit.value, 110)
    const slow = new AdaptiveLimit(options)
    rounds(slow, 1, 501, 0)
    assert.strictEqual(slow.value, 90)
  })

  it("does not change in a round that delayed no work, though the round before it did", () => {
    const limit = new AdaptiveLimit(options)
    rounds(limit, 1, 200, 0)
    rounds(limit, 1, 200, 1_000, false)
    assert.strictEqual(limit.value, 110)
  })

  it("does not change while it delays no work: the delay is no evidence for a higher limit then", () => {
    const limit = new AdaptiveLimit(options)
    rounds(limit, 20, 10, 0, false)
    assert.strictEqual(limit.value, 100)
  })

  it("falls by a tenth a round while the delay is above the target, down to its minimum", () => {
    const limit = new AdaptiveLimit(options)
    rounds(limit, 1, 600, 0)
    assert.strictEqual(limit.value, 90)
    rounds(limit, 20, 600, 10_000)
    assert.strictEqual(limit.value, 40)
  })

  it("moves once a round, however much work ends in it", () => {
    const limit = new AdaptiveLimit(options)
    // the first round began when its first piece did, 700 ms before it ended; a second one is over after as long
    for (let i = 0; i < 1_000; i++) limit.observe(1_000 + i, 700)
    assert.strictEqual(limit.value, 81)
  })

  it("begins its first round with the first work item, not with its end", () => {
    const limit = new AdaptiveLimit(options)
    limit.reached()
    limit.observe(1_000, 49)
    assert.strictEqual(limit.value, 100, "49 ms of a round of 50")
    limit.observe(1_001, 1)
    assert.strictEqual(limit.value, 110)
  })

  /** The limit of a server under as much load as it lets in: work takes limit / rate, and no less than `least_ms`. */
  const settled = (limit: AdaptiveLimit, rate: number, least_ms = 0): number => {
    let now = 0
    for (let i = 0; i < 20_000; i++) {
      const delay_ms = Math.max(least_ms, (limit.value / rate) * 1_000)
      now += delay_ms / limit.value
      limit.reached()
      limit.observe(now, delay_ms)
    }
    return limit.value
  }

  it("settles where work takes as long as the target, at any rate", () => {
    for (const rate of [100, 200, 300]) {
      const value = settled(new AdaptiveLimit(options), rate)
      assert.isAtLeast(value, rate * 0.4)
      assert.isAtMost(value, rate * 0.6)
    }
  })

  it("shows a command of an exchange that executes 3,000 a second within 35 ms", () => {
    assert.isAtMost(settled(new AdaptiveLimit(limits), 3_000) / 3, 35)
  })

  it("lets an exchange that executes 20,000 a second do so, also behind a journal that takes 20 ms", () => {
    const value = settled(new AdaptiveLimit(limits), 20_000, 20)
    assert.isAtLeast(value / 20, 25)
    assert.isAtMost(value / 20, 35)
  })

  it("lets an exchange that is 60 ms away execute 3,000 a second, where the target is 30 ms above the round trip", () => {
    const rate = (target_ms: number) =>
      Math.min(3_000, settled(new AdaptiveLimit({ ...limits, target_ms }), 3_000, 60) / 0.06)
    assert.isBelow(rate(30), 1_100)
    assert.strictEqual(rate(90), 3_000)
  })
})
