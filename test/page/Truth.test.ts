/** What the banner says, case by case: it never calls old data live. */
import { assert, describe, it } from "vitest"
import type { FeedState } from "../../src/client/FeedEvent.ts"
import { RETURN_MS, type Seen, STALE_MS, TOGETHER_MS, truthOf } from "../../page/Truth.ts"

const now_ms = 1_767_225_600_000
const line = (state: FeedState, before_ms = 3_000, returned = true) => ({
  state,
  since_ms: now_ms - before_ms,
  returned
})
const live = line({ type: "live", resume: undefined })
const lost = line({ type: "lost", code: 1006, reason: "connection lost" })
const well: Seen = { now_ms, market: live, heard_ms: now_ms - 100, own: undefined, returned: undefined, ping_ms: 2.4 }

describe("the banner", () => {
  it("tells the age of the data and the way to the gateway while all is well", () => {
    assert.deepStrictEqual(truthOf(well), {
      tone: "good",
      text: "Live · data 0.1 s old · 2 ms to the gateway",
      stale: false
    })
  })
  it("tells since when a connection is lost, why, and how old the screen is", () => {
    assert.deepStrictEqual(truthOf({ ...well, market: lost, heard_ms: now_ms - 12_300 }), {
      tone: "bad",
      text: "Connection lost for 3.0 s: connection lost. Reconnecting… What you see is 12 s old.",
      stale: true
    })
  })
  it("does not call an open connection live on which nothing comes", () => {
    const { stale, text, tone } = truthOf({ ...well, heard_ms: now_ms - STALE_MS - 1 })
    assert.deepStrictEqual([tone, stale], ["bad", true])
    assert.include(text, "nothing came for 12 s")
  })
  it("waits for the first connection without alarm", () => {
    const { text, tone } = truthOf({ ...well, market: line({ type: "connecting" }, 0, false), heard_ms: undefined })
    assert.deepStrictEqual([tone, text], ["waiting", "Connecting to the market…"])
  })
  it("tells when only the account is not followed", () => {
    const { stale, text, tone } = truthOf({ ...well, own: lost })
    assert.deepStrictEqual([tone, stale], ["bad", false])
    assert.include(text, "as they were last known")
  })
  it("says that a feed which will not come back by itself needs a sign-in", () => {
    const { text, tone } = truthOf({ ...well, own: line({ type: "ended", code: 4010, reason: "revoked" }) })
    assert.strictEqual(tone, "bad")
    assert.include(text, "revoked. Sign in again.")
  })
  it("tells for a while whether anything was missed, then that it is live", () => {
    const back = (recovered: boolean, before_ms: number, market_before_ms = before_ms) => {
      const market = line({ type: "live", resume: undefined }, market_before_ms)
      return truthOf({ ...well, market, own: live, returned: { recovered, at_ms: now_ms - before_ms } }).text
    }
    assert.match(back(true, 0), /resumed, nothing of your account was missed/u)
    assert.match(back(false, 0), /read anew/u)
    assert.match(back(true, RETURN_MS), /^Live/u)
    // the market came back later: only now can it be said; or it was another loss, hours after
    assert.match(back(true, RETURN_MS, 0), /resumed/u)
    assert.match(back(true, TOGETHER_MS, 0), /^Live/u)
  })
})
