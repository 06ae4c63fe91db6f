import { assert, describe, it } from "vitest"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { simulateDay } from "../../verification/market-day/Day.ts"

describe("a day of simulated market", () => {
  it("trades in every minute without a violation, and its journal grows only by Ticks", () => {
    const day = simulateDay({ hours: 1 / 20 })
    assert.isAbove(day.trades, 3 * 20)
    assert.isAtMost(day.away_bps, 50)
    assert.isAtMost(day.entries, 2 * 180)
    assert.isAbove(day.bytes, 0)
    assert.strictEqual(day.openOrders, 4 * 20)
  })

  it("finds money that appears, and a trade outside the price band", () => {
    const lost = {
      ...machine,
      apply: (...args: Parameters<typeof machine.apply>) => {
        const step = machine.apply(...args)
        args[0].accounts[0]!.wallet += 1n
        return step
      }
    }
    assert.throws(() => simulateDay({ hours: 1 / 60, machine: lost }), /money/u)
    const outside = {
      ...machine,
      apply: (...args: Parameters<typeof machine.apply>) => {
        const step = machine.apply(...args)
        for (const market of args[0].markets) market.bandBuyTicks = 1
        return step
      }
    }
    assert.throws(() => simulateDay({ hours: 1 / 60, machine: outside }), /band/u)
  })
})
