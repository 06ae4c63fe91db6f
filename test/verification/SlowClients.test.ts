import { assert, describe, it } from "vitest"
import { run } from "../../verification/slow-clients/SlowClients.ts"

describe("sockets that do not read", () => {
  it("are conflated or closed by their topics, and no other client misses anything", { timeout: 120_000 }, async () => {
    const outcome = await run({
      readers: 12,
      stuck: 4,
      pairs: 0,
      ticks: 5,
      tick_ms: 30,
      outbound_bytes: 200_000,
      rounds: 150,
      round_ms: 1
    })
    assert.deepStrictEqual(outcome.otherwise, [])
    assert.deepStrictEqual([outcome.closed, outcome.conflated], [2, 2])
    assert.deepStrictEqual([outcome.missed, outcome.queued_bytes], [0, 0])
  })
})
