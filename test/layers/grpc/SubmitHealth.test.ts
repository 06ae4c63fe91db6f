import { assert, describe, it } from "vitest"
import { ABSENT_MS_MAX, EVIDENCE_MS_MAX, SubmitHealth } from "../../../src/layers/grpc/SubmitHealth.ts"

describe("the health of a stream of commands", () => {
  it("is down until a stream was open for a while, or brought a result", () => {
    const accepted = new SubmitHealth(0)
    accepted.opened(100)
    const downAt = (now: number) => {
      accepted.judge(now, false)
      return accepted.down_ms(now)
    }
    assert.strictEqual(downAt(100 + ABSENT_MS_MAX - 1), 100 + ABSENT_MS_MAX - 1)
    assert.strictEqual(downAt(100 + ABSENT_MS_MAX), 0)

    const answered = new SubmitHealth(0)
    answered.opened(100)
    answered.answered(110)
    answered.judge(120, false)
    assert.strictEqual(answered.down_ms(120), 0)
  })

  it("keeps the time since when it is down over streams that are refused at once", () => {
    const health = new SubmitHealth(0)
    for (const at of [1_000, 3_000, 5_000]) {
      health.opened(at)
      health.judge(at + 10, false)
      health.lost(at + 20)
      health.judge(at + 50, false)
    }
    assert.strictEqual(health.down_ms(5_100), 5_100)
    health.opened(6_000)
    health.answered(6_100)
    health.judge(6_150, false)
    assert.strictEqual(health.down_ms(6_150), 0)
    // the liveness probe finds the sequencer silent
    health.judge(7_000, true)
    assert.strictEqual(health.down_ms(7_500), 500)
  })

  it("fails commands fast without a stream for a second, and while a written one expired without a result since", () => {
    const health = new SubmitHealth(0)
    assert.isFalse(health.isUnavailable(ABSENT_MS_MAX - 1))
    assert.isTrue(health.isUnavailable(ABSENT_MS_MAX))
    health.opened(ABSENT_MS_MAX)
    assert.isFalse(health.isUnavailable(1e9))

    health.answered(5_000)
    health.judge(5_000, false)
    health.expired(4_999, 7_000)
    assert.isFalse(health.isUnavailable(7_000), "a result came after that write")
    health.expired(5_001, 7_000)
    assert.isTrue(health.isUnavailable(1e9))
    health.judge(7_000 + EVIDENCE_MS_MAX - 1, false)
    assert.strictEqual(health.down_ms(7_000 + EVIDENCE_MS_MAX), 1)
    health.judge(7_000 + EVIDENCE_MS_MAX, false)
    assert.strictEqual(health.down_ms(7_000 + EVIDENCE_MS_MAX), 0, "its evidence is old")
    health.answered(9_000)
    assert.isFalse(health.isUnavailable(1e9))
  })
})
