/** Events caused by the mark alone: docs/contract/websocket.md#emission, its row on mark prices. */
import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import { BalanceReason, MarginMode } from "../../../src/proto/gateway/v1/types.ts"
import { balances, Bench, BTC, BUY, executions, kinds, positions, SELL, START, trader } from "../Bench.ts"

const [alice, bob] = [trader("alice"), trader("bob")]

/** Alice is long 0.5 BTC of 60000 with leverage 10, Bob short: an initial margin of 3000, so that 30 are 1 % of it. */
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

describe("a mark change", () => {
  it("emits a position and its balance once the PnL has moved by 1 % of the initial margin, and not before", () => {
    const bench = opened()
    assert.deepStrictEqual(kinds(bench.index(BTC, "60059.9")), ["prices_sampled"])
    const step = bench.index(BTC, "60060")
    assert.deepStrictEqual(kinds(step), [
      "prices_sampled",
      "position_changed",
      "balance_changed",
      "position_changed",
      "balance_changed"
    ])
    assert.deepInclude(positions(step, alice)[0], { mark_price: "60060", unrealised_pnl: "30", position_im: "3003" })
    assert.deepInclude(balances(step, alice)[0], { wallet_balance: "9983.5", unrealised_pnl: "30", equity: "10013.5" })
    const emitted = step.events.flatMap(({ event }) => (event?.$case === "balance_changed" ? [event.value] : []))
    for (const { amount, fee, realised_pnl, reason } of emitted)
      assert.deepStrictEqual(
        { amount, fee, realised_pnl, reason },
        { amount: "0", fee: "0", realised_pnl: "0", reason: BalanceReason.BALANCE_REASON_MARK }
      )
    assert.strictEqual(bench.state.accounts[0]!.holdings[0]!.seq, step.events[1]!.seq)
  })

  it("also counts in a Tick, always from the last event", () => {
    const bench = new Bench()
    bench.tick(0)
    bench.open(alice, "10000")
    bench.open(bob, "100000")
    bench.place(bob, { side: SELL, qty: "0.5", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.5", price: "60000" })
    // a two-sided book 100 above the index
    bench.place(alice, { side: BUY, qty: "0.01", price: "60099" })
    bench.place(bob, { side: SELL, qty: "0.01", price: "60101" })
    bench.place(bob, { side: SELL, qty: "0.01", price: "60099" })
    bench.place(alice, { side: BUY, qty: "0.01", price: "60099" })
    const step = bench.tick(2000)
    assert.isTrue(Number(positions(step, alice)[0]?.mark_price) > 60060, "the mark is the mid")
    bench.now += 1000
    assert.deepStrictEqual(positions(bench.tick(1000), alice), [])
  })

  it("emits a position once per second, and the rest of the move in the next second", () => {
    const bench = opened()
    bench.now = Math.ceil(bench.now / 1000) * 1000
    assert.lengthOf(positions(bench.index(BTC, "60100"), alice), 1)
    assert.lengthOf(positions(bench.index(BTC, "60300"), alice), 0)
    const late = positions(bench.tick(1000), alice)
    assert.deepInclude(late[0], { mark_price: "60300", unrealised_pnl: "150" })
    assert.lengthOf(late, 1)
  })

  it("counts from the last event of the position, whatever caused it", () => {
    const bench = opened()
    bench.index(BTC, "60050")
    bench.place(bob, { side: SELL, qty: "0.1", price: "60050" })
    bench.place(alice, { side: BUY, qty: "0.1", price: "60050" })
    // 0.6 BTC, initial margin 3603: 60.05 away
    bench.now += 1000
    assert.lengthOf(positions(bench.index(BTC, "60110"), alice), 0)
    assert.lengthOf(positions(bench.index(BTC, "60110.1"), alice), 1)
  })

  it("emits the moved positions of an account, then one balance", () => {
    const bench = opened()
    const isolated = { symbol: "ETH-USDC", margin_mode: MarginMode.MARGIN_MODE_ISOLATED, leverage: "10" }
    bench.send(alice, { $case: "set_margin_mode", value: isolated })
    bench.place(bob, { symbol: "ETH-USDC", side: BUY, qty: "2", price: "3000" })
    bench.place(alice, { symbol: "ETH-USDC", side: SELL, qty: "2", price: "3000" })
    bench.now += 1000
    const step = bench.index("ETH-USDC", "3010")
    assert.deepStrictEqual(kinds(step, alice), ["position_changed", "balance_changed"])
    assert.deepInclude(positions(step, alice)[0], { symbol: "ETH-USDC", unrealised_pnl: "-20" })
  })

  it("emits nothing for accounts that the same step liquidated", () => {
    const bench = opened()
    bench.index(BTC, "57100")
    bench.index(BTC, "54400")
    bench.index(BTC, "51700")
    bench.index(BTC, "49200")
    bench.index(BTC, "46800")
    bench.index(BTC, "44500")
    bench.index(BTC, "42300")
    bench.now += 1000
    const step = bench.index(BTC, "40400")
    const seen = kinds(step, alice)
    assert.include(seen, "liquidation_started")
    const last = step.events.filter(({ user_id }) => user_id === alice.user_id).at(-1)?.event
    assert.isTrue(last?.$case === "balance_changed" && last.value.reason !== BalanceReason.BALANCE_REASON_MARK)
  })

  it("decides the same in a silent step, whose events are only counted", () => {
    const bench = opened()
    bench.index(BTC, "60060")
    bench.tick()
    const state = Engine.initial(bench.state.config)
    for (const input of bench.inputs) assert.lengthOf(Engine.apply(state, { ...input, silent: true }).events, 0)
    assert.strictEqual(state.seq, bench.state.seq)
    assert.strictEqual(Engine.hash(state), Engine.hash(bench.state))
  })
})

describe("a change of the money of an account", () => {
  it("emits each of its Cross positions once, however often the step changes it, and no Isolated one", () => {
    const bench = opened()
    const ETH = "ETH-USDC"
    const symbol = "SOL-USDC"
    const mode = { symbol, margin_mode: MarginMode.MARGIN_MODE_ISOLATED, leverage: "10" }
    bench.send(alice, { $case: "set_margin_mode", value: mode })
    bench.place(bob, { symbol, side: SELL, qty: "1", price: "150" })
    bench.place(alice, { symbol, side: BUY, qty: "1", price: "150" })
    for (const price of ["3000", "3001"]) bench.place(bob, { symbol: ETH, side: SELL, qty: "0.1", price })
    const symbols = (step: Engine.Step) => positions(step, alice).map((position) => position.symbol)
    bench.tick()
    assert.deepStrictEqual(symbols(bench.place(alice, { symbol: ETH, side: BUY, qty: "0.2", price: "3001" })), [
      ETH,
      ETH,
      BTC
    ])
    bench.tick()
    assert.deepStrictEqual(symbols(bench.deposit(alice, "1")), [BTC, ETH])
  })
})

describe("an order that changes the risk tier", () => {
  it("emits the position with the margin of its new tier, as does its cancel; one within the tier emits none", () => {
    const bench = new Bench()
    bench.tick(0)
    for (const who of [alice, bob]) bench.open(who, "10000000")
    bench.send(alice, { $case: "set_leverage", value: { symbol: BTC, leverage: "50" } })
    bench.place(bob, { side: SELL, qty: "31", price: "60000" })
    bench.place(alice, { side: BUY, qty: "31", price: "60000" })
    const margins = (step: Engine.Step) =>
      positions(step, alice).map(({ position_im, risk_tier }) => [position_im, risk_tier])
    bench.tick()
    assert.deepStrictEqual(margins(bench.place(alice, { side: BUY, qty: "2", price: "60000" })), [])
    // 31 + 2 + 1 are worth more than 2 million: at most leverage 25, the position of 1.86 million stays in its own tier
    const step = bench.place(alice, { side: BUY, qty: "1", price: "60000" })
    assert.deepStrictEqual(margins(step), [["74400", 1]])
    // a payment of funding shows the leverage of the exposure too
    bench.now = START + 8 * 3_600_000 - 1_000
    assert.deepStrictEqual(
      executions(bench.tick(), alice).map(({ leverage }) => leverage),
      ["25"]
    )
    bench.tick()
    assert.deepStrictEqual(margins(bench.cancelAll(alice)), [["37200", 1]])
  })
})
