import { createRequire } from "node:module"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { type Options, PEER, run } from "../../bench/Matching.bench.ts"
import * as Flow from "../../bench/matching/Flow.ts"
import { subjectOf, verify } from "../../bench/matching/Variant.ts"
import * as NaiveBook from "../backend/NaiveBook.ts"

const hasPeer = (() => {
  try {
    createRequire(join(process.env["BENCH_PEERS"] ?? import.meta.dirname, "package.json")).resolve(PEER)
    return true
  } catch {
    return false
  }
})()

const options: Options = {
  rounds: 1,
  seconds: 0.01,
  flow: { seed: 1, mixed: 20_000, resting: 500 },
  oracle: { seed: 2, mixed: 5_000, resting: 200 }
}

describe("the matching benchmark", () => {
  it("produces its stated mix of orders, and leaves the book empty", () => {
    const { count, kind, mixed } = Flow.make(1, 50_000, 1_000)
    const shares = [0, 0, 0]
    for (let i = 1_000; i < 1_000 + mixed; i++) shares[kind[i]!]! += 1 / mixed
    const expected = [0.6, 0.3, 0.1]
    for (const [i, share] of shares.entries()) assert.approximately(share, expected[i]!, 0.02)
    assert.isBelow(count, 1.2 * mixed)
  })

  it("leaves every book equal to the naive one, with the code of the measurement", { timeout: 60_000 }, async () => {
    const rows = await run(options, ["book", "book, text ids"])
    const { mixed, resting, seed } = options.oracle
    const naive = verify(subjectOf(NaiveBook.make()), Flow.make(seed, mixed, resting), resting)
    for (const row of rows) {
      assert.strictEqual(row.oracle, naive, row.name)
      assert.isAbove(row.cpu_us.median, 0)
    }
  })

  it.skipIf(!hasPeer)(
    `leaves ${PEER} with the same book (skipped where it is not installed)`,
    { timeout: 60_000 },
    async () => {
      const [own, peer] = await run(options, ["book", PEER])
      assert.strictEqual(own!.hash, peer!.hash)
      assert.strictEqual(own!.oracle, peer!.oracle)
    }
  )
})
