/** Texts of the banner, case by case: it never reports old data as live. */
import { assert, describe, it } from "vitest"
import type { FeedState } from "../../src/client/FeedEvent.ts"
import { RECONNECTED_MS, type StatusInput, STALE_MS, TOGETHER_MS, statusOf } from "../../page/ConnectionStatus.ts"

const now_ms = 1_767_225_600_000
const line = (state: FeedState, before_ms = 3_000, returned = true) => ({
  state,
  since_ms: now_ms - before_ms,
  returned
})
const live = line({ type: "live", resume: undefined })
const lost = line({ type: "lost", code: 1006, reason: "connection lost" })
const well: StatusInput = {
  now_ms,
  market: live,
  received_ms: now_ms - 100,
  own: undefined,
  returned: undefined,
  ping_ms: 2.4
}

describe("the banner", () => {
  it("shows the age of the data and the round-trip time while live", () => {
    assert.deepStrictEqual(statusOf(well), {
      tone: "good",
      text: "Live · data 0.1 s old · 2 ms to the gateway",
      stale: false
    })
  })
  it("shows since when a connection is lost, why, and the age of the prices", () => {
    assert.deepStrictEqual(statusOf({ ...well, market: lost, received_ms: now_ms - 12_300 }), {
      tone: "bad",
      text: "Connection lost for 3.0 s: connection lost. Reconnecting… Prices are 12 s old.",
      stale: true
    })
  })
  it("does not report a silent connection as live", () => {
    const { stale, text, tone } = statusOf({ ...well, received_ms: now_ms - STALE_MS - 1 })
    assert.deepStrictEqual([tone, stale], ["bad", true])
    assert.include(text, "no data for 12 s")
  })
  it("shows no error before the first connection", () => {
    const { text, tone } = statusOf({ ...well, market: line({ type: "connecting" }, 0, false), received_ms: undefined })
    assert.deepStrictEqual([tone, text], ["waiting", "Connecting to the market…"])
  })
  it("reports a lost account feed", () => {
    const { stale, text, tone } = statusOf({ ...well, own: lost })
    assert.deepStrictEqual([tone, stale], ["bad", false])
    assert.include(text, "positions may be out of date")
  })
  it("asks for a sign-in after a final end of the feed", () => {
    const { text, tone } = statusOf({ ...well, own: line({ type: "ended", code: 4010, reason: "revoked" }) })
    assert.strictEqual(tone, "bad")
    assert.include(text, "revoked. Sign in again.")
  })
  it("reports a reconnect for a while, then live", () => {
    const back = (recovered: boolean, before_ms: number, market_before_ms = before_ms) => {
      const market = line({ type: "live", resume: undefined }, market_before_ms)
      return statusOf({ ...well, market, own: live, returned: { recovered, at_ms: now_ms - before_ms } }).text
    }
    assert.match(back(true, 0), /no account event was missed/u)
    assert.match(back(false, 0), /account reloaded/u)
    assert.match(back(true, RECONNECTED_MS), /^Live/u)
    // the market feed returned later; or that was another outage, much later
    assert.match(back(true, RECONNECTED_MS, 0), /no account event was missed/u)
    assert.match(back(true, TOGETHER_MS, 0), /^Live/u)
  })
})
