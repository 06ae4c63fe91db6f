import { assert, describe, it } from "@effect/vitest"
import * as Accounts from "../../../src/backend/engine/accounts/Accounts.ts"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { CancelType, SmpType, TimeInForce } from "../../../src/proto/gateway/v1/types.ts"
import { Bench, BTC, BUY, config, executions, orders, SELL, type Trader, trader } from "../Bench.ts"
import { pick, random, recomputeTotals, replays } from "../Invariants.ts"
import { Mirror } from "../Mirror.ts"
import { NaiveExchange } from "../NaiveExchange.ts"

const SMP = {
  taker: SmpType.SMP_TYPE_CANCEL_TAKER,
  maker: SmpType.SMP_TYPE_CANCEL_MAKER,
  both: SmpType.SMP_TYPE_CANCEL_BOTH
} as const
const TIF = {
  GTC: TimeInForce.TIME_IN_FORCE_GTC,
  IOC: TimeInForce.TIME_IN_FORCE_IOC,
  FOK: TimeInForce.TIME_IN_FORCE_FOK
} as const

describe("random commands", () => {
  it.each([1, 2, 3])("match like the naive exchange (seed %i)", (seed) => {
    const next = random(seed)
    const bench = new Bench()
    const naive = new NaiveExchange()
    const traders = ["a", "b", "c", "d"].map((name) => trader(name))
    bench.tick()
    bench.index(BTC, "60000")
    for (const who of traders) bench.open(who, "1000000000")
    const known = new Map<string, { who: Trader; smp: keyof typeof SMP; postOnly: boolean }>()
    const ticksOf = (price: string) => Math.round(Number(price) * 10)
    const lotsOf = (qty: string) => Math.round(Number(qty) * 1000)
    for (let i = 0; i < 500; i++) {
      const dice = next()
      const open = naive.orders
      if (dice < 0.6 || open.length === 0) {
        const who = pick(next, traders)
        const buy = next() < 0.5
        const ticks = 600000 + Math.floor(next() * 40) - 20
        const qty = 1 + Math.floor(next() * 30)
        const tif = pick(next, ["GTC", "GTC", "GTC", "IOC", "FOK"] as const)
        const postOnly = tif === "GTC" && next() < 0.2
        const smp = pick(next, ["taker", "maker", "both"] as const)
        const step = bench.place(who, {
          side: buy ? BUY : SELL,
          qty: String(qty / 1000),
          price: (ticks / 10).toFixed(1),
          tif: TIF[tif],
          post_only: postOnly,
          smp: SMP[smp]
        })
        const outcome = step.result!.outcome!
        assert.strictEqual(outcome.$case, "ack")
        if (outcome.$case !== "ack") continue
        const id = outcome.value.orders[0]!.order_id
        known.set(id, { who, smp, postOnly })
        const trades = naive.place({ id, user: who.user_id, buy, price: ticks, qty, tif, postOnly, smp })
        compare(step, id, trades)
      } else if (dice < 0.8) {
        const order = pick(next, open)
        const { who, smp, postOnly } = known.get(order.id)!
        const price = next() < 0.5 ? order.price : 600000 + Math.floor(next() * 40) - 20
        const qty = 1 + Math.floor(next() * 30)
        const step = bench.amend(who, { id: order.id }, { price: (price / 10).toFixed(1), qty: String(qty / 1000) })
        compare(step, order.id, naive.amend(order.id, price, qty, smp, postOnly))
      } else {
        const order = pick(next, open)
        bench.cancel(known.get(order.id)!.who, { id: order.id })
        bench.cancel(known.get(order.id)!.who, { id: order.id })
        naive.remove(order.id)
      }
      const expected = new Map(naive.orders.map((order) => [order.id, [order.price, order.leaves]]))
      const fast = new Map(
        Reads.openOrders(bench.state).map((order) => [order.order_id, [ticksOf(order.price), lotsOf(order.leaves_qty)]])
      )
      assert.deepStrictEqual(fast, expected, `step ${i}`)
    }
    replays(bench)

    function compare(step: Engine.Step, taker: string, trades: ReturnType<NaiveExchange["place"]>): void {
      const all = executions(step)
      assert.deepStrictEqual(
        all
          .filter((execution) => execution.is_maker)
          .map(({ order_id, exec_price, exec_qty }) => ({
            taker,
            maker: order_id,
            price: ticksOf(exec_price),
            qty: lotsOf(exec_qty)
          })),
        trades
      )
    }
  })

  it.each([11, 12, 13, 14])("keep all invariants with scarce money (seed %i)", (seed) => {
    const next = random(seed)
    const bench = new Bench({ simMaker: seed === 14, indexSource: seed === 14 ? "simulated" : "manual" })
    const mirror = new Mirror()
    const symbols = [BTC, "ETH-USDC"] as const
    const base = { [BTC]: 60000, "ETH-USDC": 3000 } as const
    const traders = ["a", "b", "c", "d", "e"].map((name) => trader(name))
    const seconds = traders.slice(0, 2).map((who) => ({ ...trader("", 0), ...who }))
    bench.tick()
    for (const who of traders) bench.open(who, String(500 + Math.floor(next() * 3000)))
    for (const who of seconds) bench.open(who, undefined, 1)
    mirror.read(bench.events)
    let ids: Array<{ who: Trader; id: string; symbol: string }> = []
    for (let i = 0; i < 900; i++) {
      const dice = next()
      const who = pick(next, traders)
      const symbol = pick(next, symbols)
      const price = (base[symbol] * (1 + (next() - 0.5) * (next() < 0.1 ? 0.09 : 0.004))).toFixed(1)
      let step: Engine.Step
      if (dice < 0.62) {
        const reduce = next() < 0.3
        step = bench.place(who, {
          symbol,
          side: next() < 0.5 ? BUY : SELL,
          qty: symbol === BTC ? (1 + Math.floor(next() * 90)) / 1000 + "" : (1 + Math.floor(next() * 180)) / 100 + "",
          ...(next() < 0.2 ? {} : { price }),
          ...(next() < 0.15 ? { link: `l-${i}` } : {}),
          reduce_only: reduce,
          close_on_trigger: reduce && next() < 0.2,
          smp: pick(next, Object.values(SMP))
        })
        const outcome = step.result!.outcome!
        if (outcome.$case === "ack") ids.push({ who, symbol, id: outcome.value.orders[0]!.order_id })
      } else if (dice < 0.74 && ids.length > 0) {
        const order = pick(next, ids)
        step = bench.amend(order.who, order, {
          symbol: order.symbol,
          ...(next() < 0.5
            ? { price: (base[order.symbol as typeof symbol] * (1 + (next() - 0.5) * 0.004)).toFixed(1) }
            : {}),
          qty: order.symbol === BTC ? "0.02" : "0.4"
        })
      } else if (dice < 0.86 && ids.length > 0) {
        const order = pick(next, ids)
        step = bench.cancel(order.who, order, order.symbol)
        ids = ids.filter(({ id }) => id !== order.id)
      } else if (dice < 0.88) {
        step = bench.cancelAll(who, {
          ...(next() < 0.5 ? { symbol } : {}),
          ...(next() < 0.3 ? { side: BUY } : {}),
          ...(next() < 0.3 ? { type: CancelType.CANCEL_TYPE_CANCEL_BY_ADMIN } : {})
        })
      } else if (dice < 0.9) {
        step = bench.send(who, {
          $case: "transfer_funds",
          value: {
            transfer_id: `t-${i}`,
            to_sub_account_address: trader(traders.indexOf(who) === 0 ? "a" : "b", 1).address,
            asset: "USDC",
            amount: String(Math.floor(next() * 300) + 1)
          }
        })
      } else if (dice < 0.92) step = bench.deposit(who, String(Math.floor(next() * 1500) + 1), "faucet")
      else {
        step = bench.tick(Math.floor(next() * 700))
        mirror.read(step.events)
        mirror.refresh(bench.state)
        mirror.check(bench.state)
        continue
      }
      if (step.result!.outcome!.$case === "status") assert.strictEqual(step.events.length, 0)
      mirror.read(step.events)
      if (i % 4 === 0) mirror.check(bench.state)
      recomputeTotals(bench.state)
      const reduceOnly = new Set(orders(step).flatMap((order) => (order.reduce_only ? [order.order_id] : [])))
      for (const fill of executions(step)) {
        if (reduceOnly.has(fill.order_id)) assert.strictEqual(fill.closed_size, fill.exec_qty)
        const account = Accounts.totalsOf(bench.state.accountOf.get(fill.sub_account_address)!)
        assert.isTrue(account.crossEquity >= account.maintenanceMargin, "a fill left an account below its maintenance")
      }
      for (const account of bench.state.accounts)
        for (const holding of account.holdings) {
          if (holding === undefined) continue
          assert.isAtMost(holding.reduceBuyLots, Math.max(0, -holding.lots))
          assert.isAtMost(holding.reduceSellLots, Math.max(0, holding.lots))
        }
    }
    assert.isAbove(bench.state.fillNumber, 50)
    replays(bench)
    assert.notStrictEqual(Engine.hash(bench.state), Engine.hash(Engine.initial(config())))
  })
})
