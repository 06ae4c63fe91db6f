import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../src/backend/engine/Engine.ts"
import * as Pools from "../../src/backend/engine/referee/Pools.ts"
import {
  ExecType,
  MarginMode,
  OrderStatus,
  TimeInForce,
  TpslMode,
  TriggerBy
} from "../../src/proto/gateway/v1/types.ts"
import { Bench, BTC, BUY, executions, kinds, orders, SELL, trader } from "./Bench.ts"
import { assertNoneBelowMaintenance, pick, random, recomputeTotals, replays } from "./Invariants.ts"
import { Mirror } from "./Mirror.ts"

const ETH = "ETH-USDC"

describe("markets that crash", () => {
  const seen = new Set<ExecType>()
  const seenKinds = new Set<string>()
  const ended = new Set<string>()

  it.each([21, 22, 23, 24, 25])("keep all invariants with leverage (seed %i)", (seed) => {
    const next = random(seed)
    // small pools become empty, pay each other's deficits and deleverage
    const bench = new Bench({
      poolBaseEquity: ["20", "50", "100", "2000", "1000000"][seed - 21]!,
      simMaker: seed === 25
    })
    const { state } = bench
    const mirror = new Mirror()
    const price: Record<string, number> = { [BTC]: 60000, [ETH]: 3000 }
    const traders = ["a", "b", "c", "d", "e", "f"].map((name) => trader(name))
    let step: Engine.Step
    bench.tick()
    for (const [i, who] of traders.entries())
      bench.open(who, i === 0 ? "200000" : String(400 + Math.floor(next() * 4000)))
    mirror.read(bench.events)
    for (let i = 0; i < 700; i++) {
      const dice = next()
      const symbol = pick(next, [BTC, ETH])
      const who = pick(next, traders)
      let moved = false
      if (dice < 0.72) {
        const near = price[symbol]! * (1 + (next() - 0.5) * 0.01)
        const size = next() * (who === traders[0] ? 0.6 : 0.25)
        step = bench.place(who, {
          symbol,
          side: next() < 0.5 ? BUY : SELL,
          qty: symbol === BTC ? Math.max(0.001, size).toFixed(3) : Math.max(0.01, size * 20).toFixed(2),
          ...(next() < 0.3 ? {} : { price: near.toFixed(1) }),
          reduce_only: next() < 0.1,
          ...(next() < 0.12
            ? {
                trigger: (price[symbol]! * (1 + (next() - 0.5) * 0.06)).toFixed(1),
                by: pick(next, [
                  TriggerBy.TRIGGER_BY_LAST_PRICE,
                  TriggerBy.TRIGGER_BY_INDEX_PRICE,
                  TriggerBy.TRIGGER_BY_MARK_PRICE
                ]),
                close_on_trigger: next() < 0.3
              }
            : {}),
          ...(next() < 0.15
            ? { tif: TimeInForce.TIME_IN_FORCE_GTT, expires: bench.now + 2 + Math.floor(next() * 60_000) }
            : {}),
          ...(next() < 0.25
            ? {
                tpsl: {
                  tp: (near * 1.01).toFixed(1),
                  sl: (near * 0.99).toFixed(1),
                  mode: pick(next, [TpslMode.TPSL_MODE_FULL, TpslMode.TPSL_MODE_PARTIAL])
                }
              }
            : {})
        })
      } else if (dice < 0.735) {
        const stop = (price[symbol]! * (1 + (next() - 0.5) * 0.04)).toFixed(1)
        step = bench.stop(who, next() < 0.5 ? { tp: stop } : { sl: stop }, {}, symbol)
      } else if (dice < 0.745) {
        const leverage = String(5 + Math.floor(next() * 46))
        step = bench.send(who, { $case: "set_leverage", value: { symbol, leverage } })
      } else if (dice < 0.76) {
        const margin_mode = pick(next, [MarginMode.MARGIN_MODE_CROSS, MarginMode.MARGIN_MODE_ISOLATED])
        step = bench.send(who, { $case: "set_margin_mode", value: { symbol, margin_mode } })
      } else if (dice < 0.775) {
        const margin = String(Math.floor(next() * 400) - 200)
        step = bench.send(who, { $case: "add_margin", value: { symbol, margin } })
      } else if (dice < 0.785) {
        const amount = String(1 + Math.floor(next() * 200))
        const value = { withdrawal_id: `w-${i}`, asset: "USDC", amount, destination: "x" }
        step = bench.send(who, { $case: "withdraw_funds", value })
      } else if (dice < 0.79) step = bench.cancelAll(who)
      else if (dice < 0.81) step = bench.deposit(who, String(1 + Math.floor(next() * 900)))
      else if (dice < 0.9) {
        const jump = next() < 0.3 ? 0.5 : 0.02
        price[symbol] =
          Math.min(2, Math.max(0.3, (price[symbol]! / (symbol === BTC ? 60000 : 3000)) * (1 + (next() - 0.5) * jump))) *
          (symbol === BTC ? 60000 : 3000)
        step = bench.index(symbol, price[symbol]!.toFixed(1))
        moved = true
      } else {
        step = bench.tick(next() < 0.03 ? 8 * 3_600_000 : Math.floor(next() * 900))
        moved = true
      }
      for (const { order_status, stop_order_type } of orders(step)) ended.add(`${order_status} ${stop_order_type}`)
      mirror.read(step.events)
      if (moved) mirror.refresh(state)
      if (i % 5 === 0) mirror.check(state)
      recomputeTotals(state)
      assertNoneBelowMaintenance(state)
      for (const fill of executions(step)) seen.add(fill.exec_type)
      for (const kind of kinds(step)) seenKinds.add(kind)
      for (const pool of state.pools) {
        const equity = Pools.equityOf(pool)
        assert.strictEqual(pool.obligation, equity < 0n ? -equity : 0n)
        // a deficit remains only where no other pool can pay
        if (equity >= 0n) continue
        for (const donor of state.pools) assert.strictEqual(Pools.capacityOf(Pools.equityOf(donor), donor.base), 0n)
      }
    }
    replays(bench)
  })

  it("reached every risk rule", () => {
    for (const kind of ["liquidation_started", "insurance_pool_changed", "adl_changed", "funding_settled"])
      assert.isTrue(seenKinds.has(kind), kind)
    for (const type of [ExecType.EXEC_TYPE_BUST_TRADE, ExecType.EXEC_TYPE_ADL_TRADE, ExecType.EXEC_TYPE_FUNDING])
      assert.isTrue(seen.has(type), `execution of type ${type}`)
    const { ORDER_STATUS_DEACTIVATED, ORDER_STATUS_EXPIRED, ORDER_STATUS_TRIGGERED } = OrderStatus
    for (const type of [1, 2, 3, 4, 5])
      for (const status of [ORDER_STATUS_TRIGGERED, ORDER_STATUS_DEACTIVATED])
        assert.isTrue(ended.has(`${status} ${type}`), `status ${status} of stop_order_type ${type}`)
    assert.isTrue(ended.has(`${ORDER_STATUS_EXPIRED} 0`))
  })
})
