/** Requests of `node verification/request-cost/main.ts` that cost most before their form was bounded: none holds the event loop. */
import { assert, describe, it } from "vitest"
import { kinds, measure, TURN_MS } from "../../verification/request-cost/RequestCost.ts"

/** Some systems count the time of a thread in steps of 4 ms. */
const STEP_MS = 4
const dearest = [
  "256 KiB of JSON, wide, login",
  "256 KiB of JSON, deep, login",
  "POST /rpc, 256 calls of market.tickers"
]

describe("a request without credentials", () => {
  it("costs no turn of the event loop more than its bound", { timeout: 240_000 }, async () => {
    for (const name of dearest) assert.property(kinds, name)
    for (const { cpu_ms, kind, longest_ms } of await measure(dearest, 5)) {
      assert.isBelow(longest_ms, TURN_MS + STEP_MS, `${kind}: ${cpu_ms} ms in all`)
    }
  })
})
