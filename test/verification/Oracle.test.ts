/** The engine against a naive model of the contract, over short seeded sessions. Longer: `node verification/oracle/main.ts`. */
import { assert, describe, it } from "@effect/vitest"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { FAULTS, locate } from "../../verification/oracle/Faults.ts"
import { SHIPPED } from "../../verification/oracle/MarketTable.ts"
import { explain, noCounts, run } from "../../verification/oracle/Oracle.ts"
import { RULES } from "../../verification/oracle/Rules.ts"

const SEEDS = 200
const COMMANDS = 70

describe("oracle", () => {
  it("finds no difference between the engine and the model", { timeout: 300_000 }, () => {
    const counts = noCounts()
    for (let seed = 1; seed <= SEEDS; seed++) {
      const difference = run(seed, COMMANDS, counts)
      if (difference !== undefined) assert.fail(explain(difference))
    }
    // sessions in which nothing happens would prove nothing
    assert.isAbove(counts.fills, 500)
    for (const kind of ["liquidations", "deleveraged", "triggered", "funding"] as const)
      assert.isAbove(counts[kind], 10, kind)
    const { never } = counts.coverage
    assert.isBelow(never.size, RULES.size / 5, `not reached: ${[...never].join(", ")}`)
  })

  it("has faults to plant that fit the source of now", () => {
    assert.isAtLeast(FAULTS.length, 30)
    for (const fault of FAULTS) assert.notStrictEqual(locate(fault).right, fault.wrong)
  })

  it("reads the contract's table of markets as the engine does", () => {
    const of = (symbol: string) => shippedMarkets.find((market) => market.symbol === symbol)!
    for (const { tiers, ...row } of SHIPPED) {
      assert.deepInclude(of(row.symbol), row)
      assert.deepStrictEqual(
        of(row.symbol).risk_tiers.map((tier) => [
          tier.risk_limit_value,
          tier.initial_margin_rate,
          tier.maintenance_margin_rate
        ]),
        tiers.map(([limit, initial, maintenance]) => [limit, initial, maintenance])
      )
    }
  })
})
