import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "fast-check"
import { Activity, flowsOf, join, noFlows, noPath, type Path, plus, step } from "../../src/domain/HourlyStats.ts"
import { format, ONE } from "../../src/domain/Decimal.ts"
import { HOUR_MS } from "../../src/domain/Time.ts"
import { body, execution, START } from "../../verification/harness/Records.ts"

const walk = (steps: ReadonlyArray<bigint>): Path => steps.map(step).reduce(join, noPath)

/** The largest fall, found by looking at every pair of points. */
const largestFall = (steps: ReadonlyArray<bigint>): bigint => {
  const points = [0n]
  for (const amount of steps) points.push(points.at(-1)! + amount)
  let most = 0n
  for (let from = 0; from < points.length; from++) {
    for (let to = from; to < points.length; to++) {
      const fall = points[from]! - points[to]!
      if (fall > most) most = fall
    }
  }
  return most
}

const steps = FastCheck.array(FastCheck.bigInt({ min: -1000n, max: 1000n }), { maxLength: 30 })

describe("a path of results", () => {
  it("has its largest drawdown, independent of how it is joined", () => {
    FastCheck.assert(
      FastCheck.property(steps, steps, steps, (a, b, c) => {
        const whole = [...a, ...b, ...c]
        assert.deepStrictEqual(join(walk(a), join(walk(b), walk(c))), walk(whole))
        assert.strictEqual(walk(whole).drawdown, largestFall(whole))
      })
    )
  })
})

describe("the flows of fills", () => {
  const closing = body.closing({ exec_time: String(START) })
  const closed = closing.type === "execution" ? flowsOf(closing.execution, closing.closing) : noFlows
  const opened = flowsOf(execution(), undefined)

  it("have a volume of the maker or of the taker", () => {
    const volumes = (is_maker: boolean) => {
      const { maker_volume, taker_volume } = flowsOf(execution({ is_maker }), undefined)
      return [format(maker_volume), format(taker_volume)]
    }
    assert.deepStrictEqual(
      [volumes(true), volumes(false)],
      [
        ["12000", "0"],
        ["0", "12000"]
      ]
    )
  })

  it("sum up to the position and what it cost", () => {
    assert.strictEqual(format(opened.size), "0.2")
    assert.strictEqual(format(opened.cost), "12000")
    const both = plus(opened, closed)
    assert.strictEqual(both.size, 0n)
    assert.strictEqual(both.cost, 0n)
    assert.strictEqual(format(both.fees), "13.31")
    assert.strictEqual(format(both.counted_pnl), "186.69")
    assert.deepStrictEqual([both.trade_count, both.executions], [2, 2])
  })

  it("are not changed by those of nothing", () => {
    for (const flows of [opened, closed, noFlows]) assert.deepStrictEqual(plus(noFlows, flows), flows)
  })

  it("keep what it cost exact over a turn to the other side", () => {
    const flip = flowsOf(
      execution({ side: "Sell", exec_qty: "0.5", exec_price: "61000", exec_value: "30500", closed_size: "0.2" }),
      { entry_value: "12000", open_fee: "6.6", realised_pnl: "200", leverage: "10" }
    )
    const both = plus(opened, flip)
    assert.strictEqual(format(both.size), "-0.3")
    // a short of 0.3 at 61000 brought 18300 in
    assert.strictEqual(format(both.cost), "-18300")
  })

  it("leave what was forced out of what competitions count, and keep it in the figures", () => {
    for (const forced of [
      execution({ create_type: "CreateByLiq" }),
      execution({ exec_type: "BustTrade", create_type: "CreateByTakeOverPassThrough" }),
      execution({ exec_type: "AdlTrade", create_type: "CreateByAdlPassThrough" })
    ]) {
      const flows = flowsOf(forced, undefined)
      assert.strictEqual(flows.counted_volume, 0n)
      assert.strictEqual(flows.counted_at, 0)
      assert.strictEqual(flows.taker_volume, 12_000n * ONE)
    }
    assert.strictEqual(opened.counted_volume, 12_000n * ONE)
    const funded = body.funded()
    const funding = funded.type === "execution" ? flowsOf(funded.execution, undefined) : opened
    assert.deepStrictEqual(
      [format(funding.funding), funding.trade_count, funding.size, funding.executions],
      ["9", 0, 0n, 1]
    )
  })
})

describe("the activity in a market", () => {
  it("has the flows of each hour, and the size, cost and executions up to its end", () => {
    const activity = new Activity()
    for (const hour of [0, 0, 1]) {
      activity.fill("u", START + hour * HOUR_MS, "a", "BTC-USDC", { ...noFlows, size: 2n, cost: 3n, executions: 1 })
    }
    const { closedMarkets, markets } = activity.take()
    assert.deepStrictEqual(
      [...closedMarkets, ...markets].map(({ figures: { cost, executions, flows, size } }) => [
        flows.executions,
        executions,
        size,
        cost
      ]),
      [
        [2, 2, 4n, 6n],
        [1, 3, 6n, 9n]
      ]
    )
  })
})

describe("the activity of an account", () => {
  it("has the path of trading results of each hour, and the money at its end", () => {
    const activity = new Activity()
    const balances = [
      [0, 100n, 0n],
      [0, 90n, -10n],
      [0, 120n, 30n],
      [1, 70n, -50n],
      [1, 170n, 0n]
    ] as const
    for (const [hour, money, result] of balances) activity.balance("u", START + hour * HOUR_MS, "a", money, result)
    const { accounts, closedAccounts } = activity.take()
    assert.deepStrictEqual(
      [...closedAccounts, ...accounts].map(({ figures }) => figures),
      [
        { money: 120n, path: walk([-10n, 30n]) },
        { money: 170n, path: walk([-50n]) }
      ]
    )
  })
})
