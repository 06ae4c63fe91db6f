import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import * as Snapshot from "../../../src/backend/engine/state/Snapshot.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import { BalanceReason, MarginMode, type Side, TransferStatus } from "../../../src/proto/gateway/v1/types.ts"
import {
  ackOf,
  balances,
  Bench,
  BTC,
  BUY,
  executions,
  kinds,
  orders,
  positions,
  SELL,
  statusOf,
  type Trader,
  trader
} from "../Bench.ts"
import { assertNoneBelowMaintenance, recomputeTotals, replays } from "../Invariants.ts"

const CROSS = MarginMode.MARGIN_MODE_CROSS
const ISOLATED = MarginMode.MARGIN_MODE_ISOLATED

const setup = () => {
  const bench = new Bench()
  const [alice, bob] = [trader("alice"), trader("bob")]
  bench.tick()
  bench.tick(1)
  bench.open(alice, "10000")
  bench.open(bob, "1000000")
  const leverage = (value: string, who = alice, symbol = BTC) =>
    bench.send(who, { $case: "set_leverage", value: { symbol, leverage: value } })
  const mode = (margin_mode: MarginMode, leverage?: string, symbol = BTC) =>
    bench.send(alice, { $case: "set_margin_mode", value: { symbol, margin_mode, leverage } })
  const add = (margin: string, symbol = BTC) => bench.send(alice, { $case: "add_margin", value: { symbol, margin } })
  /** Alice trades with Bob at a price. */
  const trade = (side: Side, qty: string, price = "60000") => {
    bench.place(bob, { side: side === BUY ? SELL : BUY, qty, price })
    return bench.place(alice, { side, qty, price })
  }
  const balance = (who: Trader = alice) => Reads.account(bench.state, who.address)!.balances[0]!
  const position = () => Reads.positions(bench.state, { symbol: BTC, sub_account_address: alice.address })[0]!
  return { bench, alice, bob, leverage, mode, add, trade, balance, position }
}

describe("leverage", () => {
  it("changes only the margins, and is limited by market, tier and balance", () => {
    const { bench, alice, leverage, trade, balance } = setup()
    assert.strictEqual(statusOf(leverage("10")).reason, "LeverageUnchanged")
    for (const text of ["0.99", "50.01", "100"]) assert.strictEqual(statusOf(leverage(text)).reason, "OutOfRange", text)
    for (const text of ["", "abc", "1.234", "-5", "01"])
      assert.strictEqual(statusOf(leverage(text)).reason, "InvalidField", text)
    assert.strictEqual(statusOf(leverage("5", alice, "X-USDC")).reason, "SymbolNotFound")
    assert.strictEqual(statusOf(leverage("5", trader("nobody"))).reason, "SubAccountNotFound")
    for (const text of ["1", "50", "10"]) ackOf(leverage(text))
    trade(BUY, "0.5")
    const step = leverage("20")
    const result = ackOf(step).result!
    assert.isTrue(result.$case === "position" && result.value.leverage === "20")
    assert.deepStrictEqual(kinds(step), ["position_changed", "balance_changed"])
    assert.deepInclude(balances(step, alice)[0], { wallet_balance: "9983.5", margin_used: "1500" })
    // 30000 / 3 = 10000 is above the equity
    assert.deepInclude(statusOf(leverage("3")), { reason: "InsufficientBalance", code: 9 })
    assert.strictEqual(balance().margin_used, "1500")
    leverage("3.01")
    assert.strictEqual(balance().margin_used, "9966.777408637873754153")
    assert.strictEqual(positions(step, alice)[0]!.position_im, "1500")
    replays(bench)
  })

  it("is reduced to 1 / IMR of the exposure's tier, and cannot be set above it", () => {
    const { bench, alice, bob, leverage } = setup()
    bench.deposit(alice, "1000000")
    bench.place(bob, { side: SELL, qty: "31", price: "60000" })
    leverage("50")
    bench.place(alice, { side: BUY, qty: "31", price: "60000" })
    bench.place(alice, { side: BUY, qty: "3", price: "60000" })
    assert.deepInclude(Reads.account(bench.state, alice.address)!.balances[0], {
      order_margin: "7299",
      margin_used: "74400"
    })
    assert.deepInclude(statusOf(leverage("30")), {
      reason: "OutOfRange",
      metadata: { field: "leverage", min: "1", max: "25" }
    })
    // the leverage that an execution shows is that of the exposure too
    bench.place(bob, { side: BUY, qty: "0.1", price: "60000.1" })
    const sold = bench.place(alice, { side: SELL, qty: "0.1", price: "60000.1" })
    assert.deepStrictEqual(
      [sold, bench.place(bob, { side: SELL, qty: "3", price: "60000" })].map(
        (step) => executions(step, alice)[0]!.leverage
      ),
      ["25", "25"]
    )
    ackOf(leverage("25"))
  })
})

describe("the limits of leverage", () => {
  it("let an account that lacks free margin raise it, and not lower it", () => {
    const { bench, bob, leverage } = setup()
    const poor = trader("poor")
    bench.open(poor, "650")
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(poor, { side: BUY, qty: "0.1", price: "60000" })
    // 650 − 3.3 − 100 is below the initial margin, 590, and also below that at 10.1
    bench.index(BTC, "59000")
    assert.strictEqual(statusOf(leverage("9.9", poor)).reason, "InsufficientBalance")
    ackOf(leverage("10.1", poor))
  })

  it("are those of the market where its first tier would allow more", () => {
    const markets = shippedMarkets.map((market) => (market.symbol === BTC ? { ...market, max_leverage: "20" } : market))
    const bench = new Bench({ markets })
    const alice = trader("alice")
    bench.open(alice)
    const set = (leverage: string) => bench.send(alice, { $case: "set_leverage", value: { symbol: BTC, leverage } })
    assert.deepInclude(statusOf(set("20.01")), {
      reason: "OutOfRange",
      metadata: { field: "leverage", min: "1", max: "20" }
    })
    ackOf(set("20"))
  })
})

describe("the margin mode", () => {
  it("is set with a leverage, also where only the leverage changes, and not while an order waits for its trigger", () => {
    const { bench, alice, mode, position } = setup()
    ackOf(mode(CROSS, "5"))
    assert.deepInclude(position(), { margin_mode: CROSS, leverage: "5" })
    ackOf(mode(ISOLATED, "7"))
    ackOf(mode(ISOLATED, "8"))
    assert.deepInclude(position(), { margin_mode: ISOLATED, leverage: "8" })
    bench.place(alice, { side: BUY, qty: "0.1", trigger: "70000" })
    assert.strictEqual(statusOf(mode(CROSS)).reason, "OpenOrdersExist")
    bench.cancelAll(alice)
    ackOf(mode(CROSS))
  })
})

describe("the break-even price", () => {
  it("is 0 where the realised profit exceeds what is left of the entry value", () => {
    const { bench, bob, trade, position } = setup()
    bench.deposit(bob, "100000000")
    trade(BUY, "0.1")
    bench.index(BTC, "660000")
    trade(SELL, "0.099", "660000")
    assert.deepInclude(position(), { size: "0.001", break_even_price: "0" })
  })
})

describe("Isolated positions", () => {
  it("have their own margin, as in the contract's examples", () => {
    const { bench, alice, leverage, mode, trade, balance, position } = setup()
    const step = mode(ISOLATED)
    assert.deepStrictEqual(kinds(step), ["position_changed", "balance_changed"])
    assert.strictEqual(mode(ISOLATED).events.length, 0)
    const amounts = (step: Engine.Step) =>
      step.events.flatMap(({ event, user_id }) =>
        event?.$case === "balance_changed" && user_id === alice.user_id ? [event.value.amount] : []
      )
    // the wallet pays the margin and the fee
    assert.deepStrictEqual(amounts(trade(BUY, "0.5")), ["-3016.5"])
    assert.deepInclude(position(), {
      margin_mode: ISOLATED,
      isolated_margin: "3000",
      liq_price: "54545.5",
      bust_price: "54000"
    })
    assert.deepInclude(balance(), {
      wallet_balance: "6983.5",
      isolated_margin: "3000",
      equity: "9983.5",
      margin_used: "3000",
      available_balance: "6983.5",
      withdrawable: "6983.5"
    })
    // the record of an order has the margin mode of its position
    const order = orders(bench.place(alice, { side: BUY, qty: "0.01", price: "50000" }), alice)[0]!
    assert.strictEqual(order.margin_mode, ISOLATED)
    assert.strictEqual(statusOf(mode(CROSS)).reason, "PositionExists")
    // the preview matches set-leverage: 60000 × 0.5 / 9.99 is above the position's margin, whatever is free
    const preview = (leverage: string) => Reads.previewMargin(bench.state, alice.address, BTC, Decimal.parse(leverage))!
    assert.isFalse(preview("9.99").ok)
    assert.deepInclude(preview("10"), { ok: true })
    assert.deepInclude(preview("20"), { ok: true, required: preview("20").required })
    assert.strictEqual(statusOf(leverage("9.99")).reason, "InsufficientBalance")
    // 60000 × 0.5 / 10 is exactly the position's margin
    for (const text of ["20", "10"]) ackOf(leverage(text))
    // a part of the margin is released with a part of the position
    const sold = trade(SELL, "0.2", "61000")
    assert.strictEqual(position().isolated_margin, "1800")
    assert.strictEqual(executions(sold, alice)[0]!.realised_pnl, "200")
    // 6983.5 + 1200 + 200 − 6.71
    assert.deepStrictEqual(amounts(sold), ["1393.29"])
    assert.strictEqual(balance().wallet_balance, "8376.79")
    trade(SELL, "0.3", "61000")
    assert.strictEqual(position().isolated_margin, "0")
    assert.strictEqual(statusOf(mode(CROSS)).reason, "OpenOrdersExist")
    bench.cancelAll(alice)
    ackOf(mode(CROSS, "5"))
    assert.deepInclude(position(), { margin_mode: CROSS, leverage: "5", isolated_margin: undefined })
    recomputeTotals(bench.state)
    replays(bench)
  })

  it("receive margin from the wallet and return it down to the initial margin", () => {
    const { bench, mode, add, trade, balance, position, leverage } = setup()
    assert.strictEqual(statusOf(add("5")).reason, "PositionNotFound")
    mode(ISOLATED)
    assert.strictEqual(statusOf(add("5")).reason, "PositionNotFound")
    trade(BUY, "0.5")
    assert.strictEqual(statusOf(add("0")).reason, "OutOfRange")
    assert.strictEqual(statusOf(add("x")).reason, "InvalidDecimal")
    assert.deepInclude(statusOf(add("6983.51")), { reason: "InsufficientBalance", metadata: { max: "6983.5" } })
    const added = add("1000.5")
    // the wallet pays it
    const { event } = added.events.at(-1)!
    assert.isTrue(event?.$case === "balance_changed" && event.value.amount === "-1000.5")
    ackOf(added)
    assert.strictEqual(position().isolated_margin, "4000.5")
    assert.strictEqual(balance().wallet_balance, "5983")
    assert.strictEqual(position().bust_price, "51999")
    assert.strictEqual(statusOf(add("-1000.51")).reason, "InsufficientBalance")
    bench.index(BTC, "59000")
    // 4000.5 − 500 of loss − 2950 of initial margin
    assert.deepInclude(statusOf(add("-550.51")), { metadata: { max: "550.5" } })
    ackOf(add("-550.5"))
    assert.strictEqual(position().isolated_margin, "3450")
    // a margin below the initial margin has nothing to return
    bench.index(BTC, "58900")
    assert.deepInclude(statusOf(add("-0.01")), { reason: "InsufficientBalance", metadata: { max: "0" } })
    // profit stays with the position
    bench.index(BTC, "61000")
    assert.deepInclude(statusOf(add("-400.01")), { metadata: { max: "400" } })
    // 30500 / 8 is above the margin
    assert.strictEqual(statusOf(leverage("8")).reason, "InsufficientBalance")
    ackOf(leverage("9"))
    recomputeTotals(bench.state)
  })

  it("refuse added margin in Cross, and pay a reduction from their own margin", () => {
    const { bench, alice, bob, mode, add, trade, position } = setup()
    trade(BUY, "0.1")
    assert.strictEqual(statusOf(add("5")).reason, "NotIsolated")
    trade(SELL, "0.1")
    mode(ISOLATED, "50")
    trade(BUY, "0.5")
    assert.strictEqual(position().isolated_margin, "600")
    // at 58700 the half would realise −325 of its 300
    bench.place(bob, { side: BUY, qty: "0.25", price: "58700" })
    const step = bench.place(alice, { side: SELL, qty: "0.25", price: "58700" })
    assert.strictEqual(executions(step).length, 0)
    assert.strictEqual(orders(step, alice).at(-1)!.cancel_type, 12)
    assert.strictEqual(position().size, "0.5")
  })

  it("reduce at a price at which margin and result are exactly the fee, but not one tick below", () => {
    const { bench, alice, bob, mode, trade, position } = setup()
    mode(ISOLATED)
    trade(BUY, "0.1", "59967")
    assert.strictEqual(position().isolated_margin, "599.67")
    // a loss at the mark that the margin covers
    bench.index(BTC, "56000")
    const close = (price: string) => {
      bench.place(bob, { side: BUY, qty: "0.1", price })
      return executions(bench.place(alice, { side: SELL, qty: "0.1", price }), alice)
    }
    assert.deepStrictEqual(close("53999.9"), [])
    // 599.67 − 596.7 = 0.00055 × 5400
    assert.deepInclude(close("54000")[0], { realised_pnl: "-596.7", base_fee: "2.97" })
    assert.strictEqual(position().size, "0")
  })

  it("are liquidated separately, without a payment from the wallet", () => {
    const { bench, alice, mode, trade, balance } = setup()
    mode(ISOLATED)
    trade(BUY, "0.5")
    const step = bench.index(BTC, "54500")
    assert.isTrue(kinds(step).includes("liquidation_started"))
    assert.deepInclude(balance(), { wallet_balance: "6983.5", isolated_margin: "0" })
    assert.strictEqual(positions(step, alice).at(-1)!.size, "0")
    assertNoneBelowMaintenance(bench.state)
    recomputeTotals(bench.state)
  })
})

describe("withdrawals", () => {
  const withdraw = (bench: Bench, who: Trader, amount: string, id = "w-1", destination = "0xabc") =>
    bench.send(who, {
      $case: "withdraw_funds",
      value: { withdrawal_id: id, asset: "USDC", amount, destination }
    })

  it("are debited immediately, complete after five seconds, and happen once per id", () => {
    const { bench, alice, balance } = setup()
    const step = withdraw(bench, alice, "4000")
    const sent = ackOf(step).result!
    assert.isTrue(sent.$case === "transfer" && sent.value.status === TransferStatus.TRANSFER_STATUS_PENDING)
    assert.deepStrictEqual(kinds(step), ["transfer_changed", "balance_changed"])
    assert.strictEqual(balance().wallet_balance, "6000")
    assert.strictEqual(Decimal.format(bench.state.deposits), "1006000")
    assert.strictEqual(withdraw(bench, alice, "4000").events.length, 0)
    assert.strictEqual(statusOf(withdraw(bench, alice, "4001")).reason, "DuplicateRequestId")
    assert.deepInclude(statusOf(withdraw(bench, alice, "6000.01", "w-2")), {
      reason: "InsufficientBalance",
      metadata: { max: "6000" }
    })
    assert.deepInclude(statusOf(withdraw(bench, alice, "1", "w-2", "")), { reason: "MissingField" })
    assert.strictEqual(statusOf(withdraw(bench, alice, "0", "w-2")).reason, "OutOfRange")
    const due = step.events[0]!.ts_ms + 5000
    bench.now = due - 1
    assert.isFalse(kinds(bench.tick(0)).includes("transfer_changed"))
    bench.now = due
    assert.isTrue(Engine.tickMatters(bench.state, due))
    const arrived = bench.tick(0).events.find(({ event }) => event?.$case === "transfer_changed")!.event!
    assert.isTrue(
      arrived.$case === "transfer_changed" &&
        arrived.value.transfer!.status === TransferStatus.TRANSFER_STATUS_COMPLETED &&
        arrived.value.transfer!.updated_time_ms === due
    )
    assert.isFalse(Engine.tickMatters(bench.state, due))
    recomputeTotals(bench.state)
    replays(bench)
  })

  it("cannot use unrealised profit or reserved margin", () => {
    const { bench, alice, trade } = setup()
    trade(BUY, "0.5")
    bench.index(BTC, "62000")
    // free is above the wallet: the wallet is the limit
    assert.deepInclude(statusOf(withdraw(bench, alice, "99999")), { metadata: { max: "7883.5" } })
    bench.index(BTC, "70000")
    assert.deepInclude(statusOf(withdraw(bench, alice, "99999")), { metadata: { max: "9983.5" } })
  })
})

describe("rewards", () => {
  it("are paid from the fee account, once per id", () => {
    const { bench, alice, balance } = setup()
    const credit = (amount: string, reward_id = "r-1") =>
      bench.send(alice, { $case: "credit_reward", value: { reward_id, asset: "USDC", amount } })
    const step = credit("12.5")
    const moved = step.events.find(({ event }) => event?.$case === "balance_changed")!.event!
    assert.isTrue(moved.$case === "balance_changed" && moved.value.reason === BalanceReason.BALANCE_REASON_REWARD)
    assert.strictEqual(balance().wallet_balance, "10012.5")
    assert.strictEqual(Decimal.format(bench.state.fees), "-12.5")
    assert.strictEqual(credit("12.5").events.length, 0)
    assert.strictEqual(statusOf(credit("13")).reason, "DuplicateRequestId")
    assert.strictEqual(statusOf(credit("13", "")).reason, "MissingField")
    recomputeTotals(bench.state)
  })
})

describe("deleting a sub-account", () => {
  it("requires an empty sub-account, and never reuses its index", () => {
    const { bench, alice, bob } = setup()
    const second = { ...alice, address: trader("alice", 1).address }
    bench.open(second, "1000", 1)
    const remove = (who: Trader) => bench.send(who, { $case: "delete_sub_account", value: {} })
    assert.strictEqual(statusOf(remove(alice)).reason, "InvalidField")
    bench.place(bob, { side: SELL, qty: "0.01", price: "60000" })
    bench.place(second, { side: BUY, qty: "0.01", price: "60000" })
    assert.strictEqual(statusOf(remove(second)).reason, "PositionExists")
    bench.place(bob, { side: BUY, qty: "0.01", price: "60000" })
    bench.place(second, { side: SELL, qty: "0.01", price: "60000" })
    bench.place(second, { side: BUY, qty: "0.01", price: "50000" })
    assert.strictEqual(statusOf(remove(second)).reason, "OpenOrdersExist")
    bench.cancelAll(second)
    assert.strictEqual(statusOf(remove(second)).reason, "NotEmpty")
    bench.send(second, {
      $case: "transfer_funds",
      value: { transfer_id: "t", to_sub_account_address: alice.address, asset: "USDC", amount: "999.34" }
    })
    const step = remove(second)
    const event = step.events[0]!.event!
    assert.isTrue(event.$case === "sub_account_changed" && event.value.sub_account!.deleted)
    assert.strictEqual(statusOf(bench.deposit(second, "1")).reason, "SubAccountNotFound")
    assert.strictEqual(statusOf(remove(second)).reason, "SubAccountNotFound")
    assert.strictEqual(Reads.subAccounts(bench.state, alice.user_id).length, 1)
    const create = (index?: number) =>
      bench.send(alice, { $case: "create_sub_account", value: { root_address: alice.root, index } })
    assert.strictEqual(statusOf(create(1)).reason, "InvalidField")
    const next = ackOf(create()).result!
    assert.isTrue(next.$case === "sub_account" && next.value.index === 2)
    replays(bench)
  })
  it("frees its memory, and never reuses its index or its order_link_ids", () => {
    const bench = new Bench()
    const [alice, bob] = [trader("alice"), trader("bob")]
    bench.open(alice, "1000")
    bench.open(bob, "1000")
    const { state } = bench
    const spent = new Set<string>()
    const sizes = () => [state.accounts.length, state.accountOf.size, state.users.get(alice.user_id)!.accounts.length]
    const [before, bytes] = [sizes(), Snapshot.dump(state).length]
    for (let index = 1; index <= 100; index++) {
      const one = trader("alice", index)
      bench.open(one, undefined, index)
      bench.place(one, { side: BUY, qty: "0.001", price: "50000", link: "l" })
      assert.strictEqual(ackOf(bench.send(one, { $case: "delete_sub_account", value: {} })).orders.length, 0)
      spent.add(one.address)
    }
    assert.strictEqual(spent.size, 100)
    assert.deepStrictEqual(sizes(), before)
    // the statuses of its closed orders are stored separately, with a limit
    assert.isBelow(Snapshot.dump(state).length - bytes, 1000)
    const again = bench.send(alice, { $case: "create_sub_account", value: { root_address: alice.root, index: 50 } })
    assert.deepInclude(statusOf(again), { reason: "InvalidField", message: "the sub-account was deleted" })
    bench.open(trader("alice", 101), undefined, 101)
    assert.strictEqual(new Set(state.accounts.map(({ index }) => index)).size, 3)
    replays(bench)
  })
})
