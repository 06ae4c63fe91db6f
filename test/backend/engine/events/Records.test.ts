/**
 * Records of positions and balances, and the market sequence: docs/contract/rest-trading.md#executions, #positions,
 * docs/contract/rest-account.md#balance-record, docs/contract/websocket.md#emission.
 */
import { assert, describe, it } from "@effect/vitest"
import type * as Engine from "../../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../../src/backend/engine/Reads.ts"
import * as Decimal from "../../../../src/domain/Decimal.ts"
import * as Grid from "../../../../src/domain/Grid.ts"
import {
  BalanceReason,
  type Execution,
  ExecType,
  MarginMode,
  type Side
} from "../../../../src/proto/gateway/v1/types.ts"
import { balances, Bench, BTC, BUY, executions, kinds, orders, positions, SELL, trader } from "../../Bench.ts"

const [alice, bob, carol] = [trader("alice"), trader("bob"), trader("carol")]
const ETH = "ETH-USDC"
const n = (text: string) => (text.startsWith("-") ? -Decimal.parse(text.slice(1)) : Decimal.parse(text))

/** Alice is long 0.5 BTC of 60000 with 10000, Bob short. */
const opened = (): Bench => {
  const bench = new Bench()
  bench.tick(0)
  bench.open(alice, "10000")
  bench.open(bob, "100000")
  bench.place(bob, { side: SELL, qty: "0.5", price: "60000" })
  bench.place(alice, { side: BUY, qty: "0.5", price: "60000" })
  bench.now += 1000
  return bench
}
/** Lowers the index until alice is liquidated at 40400: 0.3 go to Carol's bids, 0.2 to the pool. */
const liquidated = () => {
  const bench = opened()
  bench.open(carol, "100000")
  for (const price of ["57100", "54400", "51700", "49200", "46800", "44500", "42300", "41000"]) bench.index(BTC, price)
  for (const [qty, price] of [
    ["0.2", "40390"],
    ["0.1", "40100"]
  ] as const)
    bench.place(carol, { side: BUY, qty, price })
  // one of her orders, which the liquidation cancels
  bench.place(alice, { symbol: ETH, side: BUY, qty: "0.01", price: "2990" })
  bench.now += 1000
  return { bench, step: bench.index(BTC, "40400") }
}
const balanceEvents = (step: Engine.Step) =>
  step.events.flatMap(({ event }) => (event?.$case === "balance_changed" ? [event.value] : []))

describe("the market sequence", () => {
  it("Amendment 9: rises with each fill of a market, with the pool's takeover last; both sides share it", () => {
    const { bench, step } = liquidated()
    const own = executions(step, alice)
    assert.deepStrictEqual(
      own.map(({ exec_type, exec_price }) => [exec_type, exec_price]),
      [
        [ExecType.EXEC_TYPE_TRADE, "40390"],
        [ExecType.EXEC_TYPE_TRADE, "40100"],
        [ExecType.EXEC_TYPE_BUST_TRADE, "40033"]
      ]
    )
    const [first, second, third] = own.map(({ market_seq }) => market_seq) as [number, number, number]
    assert.isTrue(first < second && second < third)
    assert.deepStrictEqual(
      executions(step, carol).map(({ market_seq }) => market_seq),
      [first, second]
    )
    const trades = step.events.flatMap(({ event }) => (event?.$case === "trade_printed" ? event.value.trades : []))
    assert.deepStrictEqual(
      trades.map(({ market_seq }) => market_seq),
      [first, second]
    )
    // and a book contains only fills at or below its seq
    const book = step.events.flatMap(({ event }) => (event?.$case === "book_changed" ? [event.value] : []))
    assert.isAbove(book[0]!.book_seq, third)
    assert.strictEqual(Reads.orderBook(bench.state, BTC, 1)!.book_seq, book[0]!.book_seq)
  })

  it("rises with each funding record", () => {
    const bench = opened()
    bench.now = Math.ceil(bench.now / 28_800_000) * 28_800_000 - 1000
    bench.tick(0)
    const funded = bench.tick().events.flatMap(({ event }): Array<Execution> => {
      const execution = event?.$case === "execution_created" ? event.value.execution! : undefined
      return execution?.exec_type === ExecType.EXEC_TYPE_FUNDING ? [execution] : []
    })
    assert.lengthOf(funded, 2)
    const seqs = bench.events.flatMap(({ event }) =>
      event?.$case === "execution_created" ? [event.value.execution!.market_seq] : []
    )
    assert.deepStrictEqual(new Set(seqs.slice(-2)).size, 2)
    assert.isAbove(Math.min(...seqs.slice(-2)), Math.max(...seqs.slice(0, -2)))
  })
})

describe("a record", () => {
  it("of a Cross position has an event when money of the account moves its liquidation price", () => {
    const bench = opened()
    const before = positions(bench.tick(0), alice)
    assert.deepStrictEqual(before, [])
    const step = bench.deposit(alice, "1000")
    const [position] = positions(step, alice)
    assert.strictEqual(position!.liq_price, "38417.2")
    assert.deepStrictEqual(kinds(step, alice), ["transfer_changed", "balance_changed", "position_changed"])
    // once per second; the next sample has the rest
    assert.deepStrictEqual(positions(bench.deposit(alice, "1000"), alice), [])
    const late = positions(bench.tick(1000), alice)
    assert.deepStrictEqual(
      late.map(({ liq_price }) => liq_price),
      ["36397"]
    )
    assert.deepStrictEqual(positions(bench.tick(1000), alice), [])
  })

  it("of another position of the account has one after a fill, at most once per second", () => {
    const bench = opened()
    let count = 0
    bench.now = Math.ceil(bench.now / 1000) * 1000
    for (let i = 0; i < 20; i++) {
      bench.place(bob, { symbol: ETH, side: SELL, qty: "0.01", price: "3000" })
      const step = bench.place(alice, { symbol: ETH, side: BUY, qty: "0.01", price: "3000" })
      count += positions(step, alice).filter(({ symbol }) => symbol === BTC).length
    }
    assert.strictEqual(count, 1)
    assert.lengthOf(
      positions(bench.tick(1000), alice).filter(({ symbol }) => symbol === BTC),
      1
    )
  })

  it("has an event when its ADL indicator changes", () => {
    const bench = opened()
    bench.open(carol, "100000")
    bench.place(carol, { side: SELL, qty: "0.5", price: "61000" })
    const open = bench.place(carol, { side: BUY, qty: "0.1", price: "60000" })
    assert.deepStrictEqual(positions(open, carol), [])
    const [first] = positions(bench.place(bob, { side: SELL, qty: "0.1", price: "60000" }), carol)
    assert.strictEqual(first!.adl_rank_indicator, 3, "last of two longs until they are ranked")
    const shown = new Map(
      bench
        .tick(1000)
        .events.flatMap(({ event }) =>
          event?.$case === "position_changed"
            ? [[event.value.position!.sub_account_address, event.value.position!.adl_rank_indicator]]
            : []
        )
    )
    for (const { address } of [alice, carol]) {
      const now = Reads.account(bench.state, address)!.positions[0]!.adl_rank_indicator
      assert.strictEqual(shown.get(address) ?? (address === alice.address ? 5 : 3), now)
    }
  })

  it("has an event when another one of its side closes and its place in line moves up", () => {
    const bench = opened()
    bench.open(carol, "100000")
    bench.place(carol, { side: BUY, qty: "0.1", price: "60000" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.tick(1000)
    const rankOf = () => Reads.account(bench.state, carol.address)!.positions[0]!.adl_rank_indicator
    assert.strictEqual(rankOf(), 3, "the second of two longs")
    bench.place(bob, { side: BUY, qty: "0.5", price: "60000" })
    bench.place(alice, { side: SELL, qty: "0.5", price: "60000", reduce_only: true })
    const shown = positions(bench.tick(1000), carol)
    assert.deepStrictEqual(
      shown.map(({ adl_rank_indicator }) => adl_rank_indicator),
      [5]
    )
    assert.strictEqual(rankOf(), 5)
  })

  it("has an event when a short position with a better return is ranked before it", () => {
    const bench = opened()
    bench.open(carol, "100000")
    bench.place(carol, { side: SELL, qty: "0.1", price: "61000" })
    bench.place(alice, { side: BUY, qty: "0.1", price: "61000" })
    const step = bench.tick(1000)
    const ranks = [bob, carol].map((user) => positions(step, user).map(({ adl_rank_indicator }) => adl_rank_indicator))
    assert.deepStrictEqual(ranks, [[3], [5]])
  })

  it("has an event when a deposit lowers the leverage of another one of its side and its place in line moves up", () => {
    const bench = opened()
    bench.open(carol, "100000")
    bench.place(carol, { side: BUY, qty: "0.1", price: "60000" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.index(BTC, "63000")
    bench.tick(1000)
    const ranksOf = () =>
      [alice, carol].map(({ address }) => Reads.account(bench.state, address)!.positions[0]!.adl_rank_indicator)
    assert.deepStrictEqual(ranksOf(), [5, 3])
    bench.deposit(alice, "10000000")
    const step = bench.tick(1000)
    const shown = [alice, carol].map((user) =>
      positions(step, user).map(({ adl_rank_indicator }) => adl_rank_indicator)
    )
    assert.deepStrictEqual(shown, [[3], [5]])
    assert.deepStrictEqual(ranksOf(), [3, 5])
  })

  it("of a side without others, is first in line immediately and has no later event for it", () => {
    const bench = opened()
    const ranks = bench.events.flatMap(({ event }) =>
      event?.$case === "position_changed" ? [event.value.position!.adl_rank_indicator] : []
    )
    assert.deepStrictEqual(ranks, [5, 5])
    assert.deepStrictEqual(positions(bench.tick(1000), alice), [])
  })

  it("of a position has the time since when there are lots on its side, and 0 before the first one", () => {
    const bench = opened()
    const created = (step: Engine.Step, user = alice) =>
      positions(step, user).map(({ created_time_ms, size }) => [size, created_time_ms])
    bench.open(carol, "100000")
    const flat = bench.send(carol, { $case: "set_leverage", value: { symbol: BTC, leverage: "5" } })
    assert.deepStrictEqual(created(flat, carol), [["0", 0]])
    const trade = (side: Side, qty: string) => {
      bench.place(bob, { side: side === BUY ? SELL : BUY, qty, price: "60000" })
      return created(bench.place(alice, { side, qty, price: "60000" }))
    }
    const [[, opened_ms]] = trade(BUY, "0.1") as [[string, number]]
    assert.isBelow(opened_ms, bench.now - 1000)
    assert.deepStrictEqual(trade(SELL, "0.2"), [["0.4", opened_ms]])
    assert.deepStrictEqual(trade(SELL, "0.5"), [["0.1", bench.now]])
    const closed_ms = bench.now
    assert.deepStrictEqual(trade(BUY, "0.1"), [["0", closed_ms]])
    assert.deepStrictEqual(trade(SELL, "0.1"), [["0.1", bench.now]])
  })

  it("of an order with exactly one lot filled has its average price, value and fee", () => {
    const bench = opened()
    const lot = Grid.text(bench.state.marketOf.get(BTC)!.rules.qty, 1)
    assert.strictEqual(lot, "0.001")
    bench.place(bob, { side: SELL, qty: lot, price: "60000" })
    const order = orders(bench.place(alice, { side: BUY, qty: "0.002", price: "60000" }), alice).at(-1)
    assert.deepInclude(order, {
      avg_price: "60000",
      cum_exec_qty: lot,
      cum_exec_value: "60",
      // with the taker fee of 0.00055
      cum_exec_fee: "0.033"
    })
  })

  it("Amendment 11: carries the time of its event", () => {
    const { bench } = liquidated()
    bench.tick(1000)
    for (const { event, ts_ms } of bench.events) {
      if (event?.$case === "position_changed") assert.strictEqual(event.value.position!.updated_time_ms, ts_ms)
      if (event?.$case === "balance_changed") assert.strictEqual(event.value.balance!.updated_time_ms, ts_ms)
      if (event?.$case === "order_changed") assert.strictEqual(event.value.order!.updated_time_ms, ts_ms)
    }
  })

  it("Amendment 12: of a balance includes the margins of Isolated positions, as the portfolio does", () => {
    const bench = opened()
    bench.send(alice, {
      $case: "set_margin_mode",
      value: { symbol: ETH, margin_mode: MarginMode.MARGIN_MODE_ISOLATED, leverage: "10" }
    })
    bench.place(bob, { symbol: ETH, side: SELL, qty: "2", price: "3000" })
    bench.place(alice, { symbol: ETH, side: BUY, qty: "2", price: "3000" })
    const { balances: all, positions: open } = Reads.account(bench.state, alice.address)!
    const { isolated_margin, maintenance_margin, margin_used, order_margin } = all[0]!
    assert.deepStrictEqual([margin_used, isolated_margin], ["3600", "600"])
    const sum = open.reduce((total, { position_mm }) => total + n(position_mm), 0n)
    assert.strictEqual(n(maintenance_margin), sum)
    const { summary } = Reads.portfolio(bench.state, alice.user_id)
    assert.strictEqual(n(summary!.total_margin_used), n(margin_used) + n(order_margin))
    assert.strictEqual(summary!.maintenance_margin_required, maintenance_margin)
  })
})

describe("a liquidation", () => {
  it("ends with one balance event, after its fee", () => {
    const { step } = liquidated()
    const own = balanceEvents(step).filter(({ balance }) => balance!.sub_account_address === alice.address)
    assert.strictEqual(own.at(-1)!.reason, BalanceReason.BALANCE_REASON_LIQUIDATION_FEE)
    const texts = own.map(({ balance }) => JSON.stringify(balance))
    for (const [i, text] of texts.entries()) if (i > 0) assert.notStrictEqual(text, texts[i - 1])
  })

  it("shows its fee beside the result, so that both add up to the change of the wallet", () => {
    const { step } = liquidated()
    const position = positions(step, alice).at(-1)!
    assert.deepInclude(position, { size: "0", liquidation_fee: "60.44" })
    const wallet = n(balances(step, alice).at(-1)!.wallet_balance)
    assert.strictEqual(wallet, n("10000") + n(position.cur_realised_pnl) - n(position.liquidation_fee))
    const fee = balanceEvents(step).find(({ reason }) => reason === BalanceReason.BALANCE_REASON_LIQUIDATION_FEE)!
    assert.strictEqual(fee.order_id, executions(step, alice)[0]!.order_id)
  })

  it("resets the fee for the next position", () => {
    const { bench } = liquidated()
    bench.deposit(alice, "10000")
    bench.place(carol, { side: SELL, qty: "0.1", price: "40400" })
    const step = bench.place(alice, { side: BUY, qty: "0.1", price: "40400" })
    assert.strictEqual(positions(step, alice).at(-1)!.liquidation_fee, "0")
  })
})
