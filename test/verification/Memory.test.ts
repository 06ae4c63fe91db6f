/** Hostile senders of `node verification/attacks/main.ts`, few of them: what they leave unfinished is bounded, and others are served. */
import { assert, describe, it } from "vitest"
import type { Kind } from "../../verification/attacks/Attackers.ts"
import { growthOf, run } from "../../verification/attacks/Attacks.ts"

const MIB = 1024 * 1024
const kinds: ReadonlyArray<Kind> = ["sockets-public", "sockets-rpc", "slow-uploads", "slow-calls"]

describe("unfinished messages and bodies", () => {
  for (const kind of kinds) {
    it(
      `Amendment 17: of ${kind} hold no memory beyond the budget, and others are served`,
      { timeout: 300_000 },
      async () => {
        const pairs = await run(kind, { count: kind.startsWith("sockets") ? 600 : 200, pairs: 1, requests: 200 })
        for (const { attacked, quiet } of pairs) assert.deepStrictEqual([quiet.refused, attacked.refused], [0, 0])
        assert.isBelow(growthOf(pairs) / MIB, 64)
      }
    )
  }
})
