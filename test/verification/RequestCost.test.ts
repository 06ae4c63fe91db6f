/** Requests of `node verification/request-cost/main.ts` that cost most before their form was bounded: none holds the event loop. */
import { assert, describe, it } from "vitest"
import { kinds, measure, TURN_MS } from "../../verification/request-cost/RequestCost.ts"

/** Other processes take parts of the caches: beside other tests and a process that takes a core, a turn of 1.3 ms has 5.5. */
const BUSY = 2
const dearest = [
  "256 KiB of JSON, wide, login",
  "256 KiB of JSON, deep, login",
  "POST /rpc, 256 calls of market.tickers",
  "POST /rpc, 256 calls of market.tickers, abandoned",
  "POST /rpc, 256 KiB of unknown calls"
]

describe("a request without credentials", () => {
  it("costs no turn of the event loop more than its bound", { timeout: 240_000 }, async () => {
    for (const name of dearest) assert.property(kinds, name)
    for (const { cpu_ms, kind, longest_ms } of await measure(dearest, 5)) {
      assert.isBelow(longest_ms, BUSY * TURN_MS, `${kind}: ${cpu_ms} ms in all`)
    }
  })
})
