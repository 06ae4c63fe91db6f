/** Hostile senders of `node verification/attacks/main.ts`, few of them: what they leave unfinished is bounded, and others are served. */
import { assert, describe, it } from "vitest"
import type { Kind } from "../../verification/attacks/Attackers.ts"
import { attack, growthOf, serve } from "../../verification/attacks/Attacks.ts"

const MIB = 1024 * 1024
/** The budget of unfinished input, and three times as much for connections. Without the budget each kind holds 38 MiB or more. */
const HELD_MAX = 32 * MIB
const REQUESTS = 50
const kinds: ReadonlyArray<readonly [Kind, count: number]> = [
  ["sockets-public", 620],
  ["sockets-rpc", 200],
  ["slow-uploads", 160],
  ["slow-calls", 160]
]

describe("unfinished messages and bodies", () => {
  it("Amendment 17: hold no memory beyond the budget, and others are served", { timeout: 300_000 }, () =>
    serve("sockets-public", async (gateway) => {
      for (const [kind, count] of kinds) {
        const pairs = await attack(gateway, kind, { count, pairs: 1, requests: REQUESTS })
        for (const { attacked, quiet } of pairs) assert.deepStrictEqual([quiet.refused, attacked.refused], [0, 0], kind)
        assert.isBelow(growthOf(pairs), HELD_MAX, kind)
      }
    })
  )
})
