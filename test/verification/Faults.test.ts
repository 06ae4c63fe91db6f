/** One of the faults of `node verification/faults/main.ts`, for a moment; and what its table is made of. Times are the script's to print. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { cellOf, run, tableRow } from "../../verification/faults/Faults.ts"
import { plan } from "../../verification/faults/Plan.ts"
import { calls } from "../../verification/faults/Probe.ts"
import { isNatsInstalled } from "../../verification/harness/NatsServer.ts"
import { isPostgresInstalled } from "../../verification/harness/PostgresServer.ts"
import { isRedisInstalled } from "../../verification/harness/RedisServer.ts"

const isAllInstalled = isRedisInstalled && isNatsInstalled && isPostgresInstalled

describe("what a gateway depends on", () => {
  it.skipIf(!isAllInstalled)(
    "goes away: nothing that was acknowledged is lost, no signature is taken twice",
    { timeout: 400_000 },
    async () => {
      const injections = plan.filter(({ dependency, fault }) => dependency === "Redis" && fault === "down")
      const rows = await Effect.runPromise(
        run({ injections, fault_ms: 2_500, every_ms: 500, back_ms: 120_000, say: () => {} })
      )
      assert.lengthOf(rows, 1)
      const [{ acknowledged, cells, lost, repeated }] = rows as [(typeof rows)[number]]
      assert.deepStrictEqual({ lost, repeated }, { lost: 0, repeated: 0 })
      assert.isAbove(acknowledged, 0)
      for (const call of calls)
        assert.isTrue(Number.isFinite(cells[call].back_ms), `${call}: ${JSON.stringify(cells[call])}`)
      // who cannot look a nonce up takes none
      assert.strictEqual(cells["API key"].good, 0)
    }
  )

  it("is judged by what most calls were answered, the slowest, the median, and the first after which all were well", () => {
    const sample = (began: number, status: number, ms: number) => ({
      began,
      status,
      ms,
      reason: status === 200 ? "" : "X"
    })
    const samples = [
      sample(50, 200, 900),
      sample(110, 503, 40),
      sample(160, 503, 3),
      sample(170, 503, 4),
      sample(180, 200, 5),
      sample(210, 503, 2),
      sample(220, 200, 7),
      sample(230, 200, 1)
    ]
    const times = { began: 100, struck: 105, half: 150, undone: 190, healed: 200 }
    assert.deepStrictEqual(cellOf(samples, times), {
      answer: "503 X",
      good: 1,
      first_ms: 40,
      settled_ms: 4,
      back_ms: 27
    })
    assert.strictEqual(cellOf(samples.slice(0, 4), times).back_ms, Infinity)
    assert.strictEqual(cellOf(samples.slice(-2), times).back_ms, 0)
  })

  it("is shown as a row", () => {
    const cell = { answer: "200", good: 1, first_ms: 12, settled_ms: 2_345, back_ms: 10 }
    const cells = Object.fromEntries(calls.map((call) => [call, cell])) as Parameters<typeof tableRow>[0]["cells"]
    const row = tableRow({ dependency: "Redis", fault: "hung", cells, acknowledged: 1, lost: 0, repeated: 0, hung: 0 })
    assert.strictEqual(row, `| Redis | hung |${" 200: 12 ms, 2.3 s |".repeat(calls.length)} 10 ms |`)
  })
})
