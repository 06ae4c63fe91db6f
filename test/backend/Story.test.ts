import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../src/backend/engine/Engine.ts"
import * as Reads from "../../src/backend/engine/Reads.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import { CancelType, OrderStatus, RejectReason, Side } from "../../src/proto/gateway/v1/types.ts"
import {
  ackOf,
  balances,
  Bench,
  BTC,
  BUY,
  config,
  executions,
  kinds,
  orderId,
  orders,
  positions,
  SELL,
  statusOf,
  trader
} from "./Bench.ts"

describe("docs/contract/stories.md#login-to-closed-pnl at the engine", () => {
  it("matches every number from deposit to closed PnL", () => {
    const bench = new Bench()
    const user = trader("alice")
    const maker = trader("maker")
    bench.tick()
    bench.index(BTC, "60000")
    // 3, 4
    bench.open(user)
    const deposit = bench.deposit(user, "10000", "faucet")
    assert.strictEqual(balances(deposit, user)[0]!.wallet_balance, "10000")
    bench.open(maker, "100000")
    // 5
    bench.place(maker, { side: SELL, qty: "0.2", price: "60000" })
    // 6, 7
    const create = bench.place(user, { side: BUY, qty: "0.5", price: "60000.0", link: "a-1" })
    const id = orderId(create)
    assert.deepStrictEqual(ackOf(create).orders, [{ order_id: id, order_link_id: "a-1" }])
    assert.deepStrictEqual(kinds(create, user), [
      "order_changed",
      "execution_created",
      "order_changed",
      "position_changed",
      "balance_changed"
    ])
    assert.deepStrictEqual(kinds(create).slice(-2), ["trade_printed", "book_changed"])
    const [accepted, filled] = orders(create, user)
    assert.strictEqual(accepted!.order_status, OrderStatus.ORDER_STATUS_NEW)
    const [execution] = executions(create, user)
    assert.deepInclude(execution, {
      exec_qty: "0.2",
      exec_price: "60000",
      exec_value: "12000",
      base_fee: "6.6",
      fee_rate: "0.00055",
      is_maker: false,
      leaves_qty: "0.3",
      leverage: "10"
    })
    assert.deepInclude(filled, {
      order_status: OrderStatus.ORDER_STATUS_PARTIALLY_FILLED,
      price: "60000",
      cum_exec_qty: "0.2",
      cum_exec_value: "12000",
      cum_exec_fee: "6.6",
      avg_price: "60000",
      leaves_qty: "0.3",
      leaves_value: "18000",
      version: 1,
      reject_reason: RejectReason.REJECT_REASON_EC_NO_ERROR
    })
    assert.strictEqual(positions(create, user)[0]!.size, "0.2")
    assert.deepInclude(balances(create, user)[0], {
      wallet_balance: "9993.4",
      margin_used: "1200",
      order_margin: "1809.9",
      available_balance: "6983.5"
    })
    // 8
    const amend = bench.amend(user, { id }, { qty: "0.3", price: "60000", version: 1 })
    assert.strictEqual(ackOf(amend).version, 2)
    assert.deepInclude(orders(amend, user)[0], {
      order_status: OrderStatus.ORDER_STATUS_PARTIALLY_FILLED,
      qty: "0.3",
      leaves_qty: "0.1",
      version: 2
    })
    assert.strictEqual(balances(amend, user)[0]!.available_balance, "8190.1")
    // 9
    assert.deepInclude(statusOf(bench.amend(user, { id }, { qty: "0.4", version: 1 })), {
      code: 10,
      reason: "OrderVersionMismatch",
      metadata: { version: "2" }
    })
    // 10
    const cancel = bench.cancel(user, { link: "a-1" })
    const [requested, canceled] = orders(cancel, user)
    assert.strictEqual(requested!.order_status, OrderStatus.ORDER_STATUS_CANCEL_REQUESTED)
    assert.deepInclude(canceled, {
      order_status: OrderStatus.ORDER_STATUS_PARTIALLY_FILLED_CANCELED,
      cancel_type: CancelType.CANCEL_TYPE_CANCEL_BY_USER,
      leaves_qty: "0"
    })
    assert.strictEqual(balances(cancel, user)[0]!.available_balance, "8793.4")
    // 11
    assert.deepInclude(statusOf(bench.cancel(user, { link: "a-1" })), {
      code: 9,
      reason: "OrderAlreadyClosed",
      metadata: { order_status: "PartiallyFilledCanceled" }
    })
    // 12
    const [position] = Reads.positions(bench.state, { sub_account_address: user.address })
    assert.deepInclude(position, {
      size: "0.2",
      side: Side.SIDE_BUY,
      avg_price: "60000",
      position_im: "1200",
      position_mm: "120",
      liq_price: "10134.4",
      bust_price: "10033"
    })
    // 13
    bench.place(maker, { side: BUY, qty: "0.2", price: "61000" })
    const close = bench.place(user, { side: SELL, qty: "0.2", reduce_only: true })
    assert.deepInclude(executions(close, user)[0], {
      exec_qty: "0.2",
      exec_price: "61000",
      base_fee: "6.71",
      closed_size: "0.2",
      closed_entry_value: "12000",
      closed_open_fee: "6.6",
      realised_pnl: "200",
      order_price: "0"
    })
    assert.deepInclude(orders(close, user).at(-1), {
      order_status: OrderStatus.ORDER_STATUS_FILLED,
      price: "0",
      avg_price: "61000",
      closed_pnl: "186.69"
    })
    assert.strictEqual(orders(close, user)[0]!.leaves_value, "11400")
    assert.deepInclude(positions(close, user)[0], {
      size: "0",
      side: Side.SIDE_UNSPECIFIED,
      cur_realised_pnl: "186.69",
      liq_price: "",
      bust_price: ""
    })
    assert.strictEqual(balances(close, user)[0]!.wallet_balance, "10186.69")
    assert.deepInclude(executions(close, maker)[0], { base_fee: "2.44", realised_pnl: "-200", is_maker: true })
    assert.strictEqual(balances(close, maker)[0]!.wallet_balance, "99795.16")
    assert.strictEqual(Decimal.format(bench.state.fees), "18.15")
    assert.strictEqual(Decimal.format(bench.state.wallets + bench.state.fees), "110000")
    // a replay of the inputs ends in the same state
    const again = Engine.initial(config())
    for (const input of bench.inputs) Engine.apply(again, input)
    assert.strictEqual(Engine.hash(again), Engine.hash(bench.state))
  })
})
