import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import {
  CancelType,
  CreateType,
  type Order,
  OrderStatus,
  RejectReason,
  type Side,
  StopOrderType,
  TimeInForce,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../../src/proto/gateway/v1/types.ts"
import {
  ackOf,
  balances,
  Bench,
  BTC,
  BUY,
  executions,
  kinds,
  orderId,
  orders,
  positions,
  SELL,
  START,
  statusOf,
  trader
} from "../Bench.ts"
import { recomputeTotals, replays } from "../Invariants.ts"
import { Mirror } from "../Mirror.ts"

const INDEX = TriggerBy.TRIGGER_BY_INDEX_PRICE
const MARK = TriggerBy.TRIGGER_BY_MARK_PRICE
const UP = TriggerDirection.TRIGGER_DIRECTION_UP
const DOWN = TriggerDirection.TRIGGER_DIRECTION_DOWN
const S = OrderStatus
const statuses = (list: ReadonlyArray<Order>) => list.map(({ order_status }) => order_status)

const setup = () => {
  const bench = new Bench()
  const [v, m, x] = [trader("v1"), trader("m"), trader("x")]
  bench.tick()
  bench.tick(1)
  bench.open(v, "10000")
  bench.open(m, "100000")
  bench.open(x, "10000")
  bench.index(BTC, "60000")
  const open = () => Reads.openOrders(bench.state, { sub_account_address: v.address })
  const wallet = (who = v) => Reads.account(bench.state, who.address)!.balances[0]!.wallet_balance
  const position = () => Reads.positions(bench.state, { symbol: BTC, sub_account_address: v.address })[0]!
  /** V buys from M at a price. */
  const buy = (qty: string, price: string, more: object = {}) => {
    bench.place(m, { side: SELL, qty, price })
    return bench.place(v, { side: BUY, qty, price, ...more })
  }
  /** The last price, without V. */
  const last = (price: string) => {
    bench.place(m, { side: BUY, qty: "0.001", price })
    return bench.place(x, { side: SELL, qty: "0.001", price })
  }
  return { bench, v, m, x, open, wallet, position, buy, last }
}

describe("docs/contract/stories.md#conditional-order at the engine", () => {
  it("matches every number from a conditional order to a take-profit", () => {
    const { bench, v, m, x, wallet, position } = setup()
    // 1
    const create = bench.place(v, { side: BUY, qty: "0.1", trigger: "61000", by: INDEX })
    const id = orderId(create)
    assert.strictEqual(create.events.length, 1)
    assert.deepInclude(orders(create, v)[0], {
      order_status: S.ORDER_STATUS_UNTRIGGERED,
      trigger: { trigger_by: INDEX, trigger_direction: UP, trigger_price: "61000" },
      stop_order_type: StopOrderType.STOP_ORDER_TYPE_STOP,
      create_type: CreateType.CREATE_TYPE_CREATE_BY_STOP_ORDER,
      version: 1
    })
    assert.strictEqual(Reads.account(bench.state, v.address)!.balances[0]!.order_margin, "0")
    // 2
    const amend = bench.amend(v, { id }, { trigger: "60500" })
    assert.strictEqual(ackOf(amend).version, 2)
    assert.strictEqual(orders(amend, v)[0]!.trigger!.trigger_price, "60500")
    // 3
    bench.place(m, { side: SELL, qty: "0.1", price: "60500" })
    const hit = bench.index(BTC, "60500")
    assert.deepStrictEqual(statuses(orders(hit, v)), [
      S.ORDER_STATUS_TRIGGERED,
      S.ORDER_STATUS_NEW,
      S.ORDER_STATUS_FILLED
    ])
    assert.deepInclude(executions(hit, v)[0], { exec_price: "60500", exec_qty: "0.1", base_fee: "3.3275" })
    assert.strictEqual(wallet(), "9996.6725")
    // the activation is a separate step
    const steps = new Set(hit.events.map(({ step }) => step))
    assert.strictEqual(steps.size, 2)
    // 4
    const met = bench.place(v, { side: BUY, qty: "0.1", trigger: "59000", direction: UP, by: INDEX })
    assert.deepInclude(orders(met, v)[0], {
      order_status: S.ORDER_STATUS_REJECTED,
      reject_reason: RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET
    })
    // 5
    const parent = bench.place(v, { side: BUY, qty: "0.1", price: "60000", tpsl: { tp: "62000", sl: "59000" } })
    const fill = bench.place(m, { side: SELL, qty: "0.1", price: "60000" })
    assert.deepInclude(executions(fill, v)[0], { base_fee: "1.2", is_maker: true })
    assert.strictEqual(wallet(), "9995.4725")
    const legs = orders(fill, v).slice(1)
    assert.deepStrictEqual(
      legs.map((leg) => [leg.order_status, leg.stop_order_type, leg.parent_order_id, leg.trigger!.trigger_price]),
      [
        [S.ORDER_STATUS_UNTRIGGERED, StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT, orderId(parent), "62000"],
        [S.ORDER_STATUS_UNTRIGGERED, StopOrderType.STOP_ORDER_TYPE_STOP_LOSS, orderId(parent), "59000"]
      ]
    )
    assert.deepInclude(position(), { size: "0.2", avg_price: "60250", take_profit: "62000", stop_loss: "59000" })
    assert.deepInclude(positions(fill, v).at(-1), { take_profit: "62000", stop_loss: "59000" })
    // 6
    bench.index(BTC, "62000")
    bench.place(m, { side: BUY, qty: "0.21", price: "62000" })
    const close = bench.place(x, { side: SELL, qty: "0.01", price: "62000" })
    assert.deepStrictEqual(statuses(orders(close, v)), [
      S.ORDER_STATUS_TRIGGERED,
      S.ORDER_STATUS_DEACTIVATED,
      S.ORDER_STATUS_NEW,
      S.ORDER_STATUS_FILLED
    ])
    assert.strictEqual(
      orders(close, v)[1]!.cancel_type,
      CancelType.CANCEL_TYPE_CANCEL_BY_OCO_SL_CANCELED_BY_TP_TRIGGERED
    )
    assert.deepInclude(executions(close, v)[0], {
      exec_qty: "0.2",
      exec_price: "62000",
      base_fee: "6.82",
      realised_pnl: "350",
      closed_open_fee: "4.5275",
      create_type: CreateType.CREATE_TYPE_CREATE_BY_TAKE_PROFIT,
      stop_order_type: StopOrderType.STOP_ORDER_TYPE_TAKE_PROFIT
    })
    assert.strictEqual(orders(close, v).at(-1)!.closed_pnl, "338.6525")
    assert.strictEqual(wallet(), "10338.6525")
    assert.deepInclude(position(), { size: "0", take_profit: "", stop_loss: "" })
    // 7
    assert.strictEqual(wallet(m), "99642.886")
    assert.strictEqual(wallet(x), "9999.659")
    assert.strictEqual(Decimal.format(bench.state.fees), "18.8025")
    const left = Reads.positions(bench.state, {}).map(({ entry_value, size }) => [size, entry_value])
    assert.deepStrictEqual(left, [
      ["0.01", "620"],
      ["0.01", "620"]
    ])
    recomputeTotals(bench.state)
    replays(bench)
  })

  it("cancels an order that an empty book cannot fill", () => {
    const { bench, v } = setup()
    bench.place(v, { side: BUY, qty: "0.1", trigger: "60500", by: INDEX })
    const hit = bench.index(BTC, "60500")
    assert.deepInclude(orders(hit, v).at(-1), {
      order_status: S.ORDER_STATUS_CANCELED,
      cancel_type: CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE
    })
  })
})

describe("conditional orders", () => {
  it("follow the last, the index and the mark price, up and down, in order of acceptance", () => {
    const { bench, v, last } = setup()
    const place = (trigger: string, by: TriggerBy) =>
      orderId(bench.place(v, { side: BUY, qty: "0.001", price: "50000", trigger, by }))
    const lastUp = place("60100", TriggerBy.TRIGGER_BY_LAST_PRICE)
    const lastDown = place("59900", TriggerBy.TRIGGER_BY_LAST_PRICE)
    const markUp = place("60200", MARK)
    const first = place("60300", INDEX)
    const second = place("60200", INDEX)
    const triggered = (step: Engine.Step) =>
      orders(step, v)
        .filter(({ order_status }) => order_status === S.ORDER_STATUS_TRIGGERED)
        .map(({ order_id }) => order_id)
    assert.deepStrictEqual(triggered(last("60099.9")), [])
    assert.deepStrictEqual(triggered(last("60100")), [lastUp])
    assert.deepStrictEqual(triggered(last("59900")), [lastDown])
    // mark and index move together here
    assert.deepStrictEqual(triggered(bench.index(BTC, "60300")), [markUp, first, second])
    const open = Reads.openOrders(bench.state, { sub_account_address: v.address })
    assert.isTrue(open.every(({ order_status }) => order_status === S.ORDER_STATUS_NEW))
    assert.strictEqual(open.length, 5)
    replays(bench)
  })

  it("derive their direction, and trigger at a price equal to the reference", () => {
    const { bench, v } = setup()
    const direction = (trigger: string) =>
      orders(bench.place(v, { side: SELL, qty: "0.01", trigger, by: MARK }), v)[0]!.trigger!.trigger_direction
    assert.strictEqual(direction("60000.1"), UP)
    assert.strictEqual(direction("59999.9"), DOWN)
    const equal = bench.place(v, { side: SELL, qty: "0.01", trigger: "60000", by: MARK })
    assert.strictEqual(orders(equal, v)[0]!.reject_reason, RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET)
    assert.strictEqual(orders(equal, v)[0]!.trigger!.trigger_direction, UP)
    assert.strictEqual(
      statusOf(bench.place(v, { side: SELL, qty: "0.01", trigger: "60000.05" })).reason,
      "NotMultipleOfTick"
    )
  })

  it("follow the mark in place of the last price, before the first trade", () => {
    const { bench, v, m, x } = setup()
    bench.place(m, { side: SELL, qty: "1", price: "60600" })
    bench.place(x, { side: BUY, qty: "0.1", price: "60400" })
    bench.tick()
    bench.tick()
    assert.deepInclude(Reads.prices(bench.state, [BTC])[0], { index_price: "60000", mark_price: "60500" })
    const step = bench.place(v, { side: BUY, qty: "0.1", price: "50000", trigger: "60200" })
    assert.deepInclude(orders(step, v)[0], {
      order_status: S.ORDER_STATUS_UNTRIGGERED,
      trigger: { trigger_by: TriggerBy.TRIGGER_BY_LAST_PRICE, trigger_direction: DOWN, trigger_price: "60200" }
    })
  })

  it("are checked at the trigger, and rejected then", () => {
    const { bench, v } = setup()
    bench.place(v, { side: BUY, qty: "20", trigger: "60100", by: INDEX })
    bench.place(v, { side: SELL, qty: "0.1", trigger: "60200", by: INDEX, reduce_only: true })
    const big = orders(bench.index(BTC, "60100"), v)
    assert.deepStrictEqual(statuses(big), [S.ORDER_STATUS_TRIGGERED, S.ORDER_STATUS_REJECTED])
    assert.strictEqual(big[1]!.reject_reason, RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE)
    const none = orders(bench.index(BTC, "60200"), v)
    assert.strictEqual(none[1]!.reject_reason, RejectReason.REJECT_REASON_EC_REDUCE_ONLY_NO_POSITION)
  })

  it("take prices within the band of their trigger, not of their acceptance", () => {
    const { bench, v, m } = setup()
    bench.place(v, { side: BUY, qty: "0.1", trigger: "66000", by: INDEX })
    bench.place(m, { side: SELL, qty: "0.05", price: "66000" })
    bench.place(m, { side: SELL, qty: "0.05", price: "69300.1" })
    const step = bench.index(BTC, "66000")
    assert.deepStrictEqual(
      executions(step, v).map(({ exec_price }) => exec_price),
      ["66000"]
    )
    assert.deepInclude(orders(step, v).at(-1), {
      order_status: S.ORDER_STATUS_PARTIALLY_FILLED_CANCELED,
      cancel_type: CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE
    })
  })

  it("close the whole position at the trigger, where their qty is 0", () => {
    const { bench, v, m, buy, position } = setup()
    buy("0.1", "60000")
    const close = { side: SELL, qty: "0", reduce_only: true, close_on_trigger: true, trigger: "59500", by: INDEX }
    const id = orderId(bench.place(v, close))
    assert.deepInclude(orders(bench.amend(v, { id }, { qty: "0.05" }), v)[0], {
      reject_reason: RejectReason.REJECT_REASON_EC_INVALID_QTY,
      qty: "0"
    })
    // the values of its own record change nothing
    assert.deepInclude(ackOf(bench.amend(v, { id }, { price: "0", qty: "0" })), { version: 1 })
    buy("0.05", "60000")
    bench.place(m, { side: BUY, qty: "1", price: "59400" })
    const step = bench.index(BTC, "59500")
    assert.strictEqual(executions(step, v)[0]!.exec_qty, "0.15")
    assert.strictEqual(position().size, "0")
  })

  it("close nothing of a position on their own side, where their qty is 0", () => {
    const { bench, v, buy } = setup()
    buy("0.1", "60000")
    bench.place(v, { side: BUY, qty: "0", reduce_only: true, close_on_trigger: true, trigger: "60500", by: INDEX })
    assert.deepInclude(orders(bench.index(BTC, "60500"), v).at(-1), {
      order_status: S.ORDER_STATUS_REJECTED,
      reject_reason: RejectReason.REJECT_REASON_EC_REDUCE_ONLY_SAME_SIDE,
      qty: "0"
    })
  })

  it("are reduce-only once triggered with close_on_trigger", () => {
    const { bench, v, m, buy, position } = setup()
    buy("0.1", "60000")
    bench.place(v, { side: SELL, qty: "0.3", close_on_trigger: true, trigger: "59500", by: INDEX })
    bench.place(m, { side: BUY, qty: "1", price: "59400" })
    const step = bench.index(BTC, "59500")
    assert.strictEqual(position().size, "0")
    assert.deepInclude(orders(step, v).at(-1), {
      reduce_only: true,
      cum_exec_qty: "0.1",
      cancel_type: CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY
    })
  })

  it("are rejected at the trigger in a reduce-only market, as all orders are", () => {
    const markets = shippedMarkets.map((market) =>
      market.symbol === BTC ? { ...market, status: "ReduceOnly" as const } : market
    )
    const bench = new Bench({ markets })
    const v = trader("v1")
    bench.open(v, "10000")
    const refused = bench.place(v, { side: BUY, qty: "0.1", price: "60000" })
    assert.strictEqual(orders(refused, v)[0]!.reject_reason, RejectReason.REJECT_REASON_EC_INVALID_SYMBOL_STATUS)
    bench.place(v, { side: BUY, qty: "0.1", price: "60000", trigger: "60100", by: INDEX })
    const hit = bench.index(BTC, "60100")
    assert.strictEqual(orders(hit, v)[1]!.reject_reason, RejectReason.REJECT_REASON_EC_INVALID_SYMBOL_STATUS)
  })

  it("have a limit of their own: twenty, in which exits do not count", () => {
    const { bench, v, buy } = setup()
    buy("0.01", "60000", { tpsl: { tp: "70000", sl: "50000" } })
    for (let i = 0; i < 20; i++) {
      const accepted = bench.place(v, { side: BUY, qty: "0.01", trigger: "70000", by: INDEX })
      assert.strictEqual(orders(accepted, v)[0]!.order_status, S.ORDER_STATUS_UNTRIGGERED)
    }
    const step = bench.place(v, { side: BUY, qty: "0.01", trigger: "70000", by: INDEX })
    assert.strictEqual(orders(step, v)[0]!.reject_reason, RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM)
    ackOf(bench.place(v, { side: BUY, qty: "0.01", price: "50000" }))
  })

  it("can be amended, canceled and filtered before the trigger", () => {
    const { bench, v, open } = setup()
    const id = orderId(bench.place(v, { side: BUY, qty: "0.1", price: "60000", trigger: "61000", by: INDEX }))
    const rests = orderId(bench.place(v, { side: BUY, qty: "0.01", price: "50000" }))
    const same = bench.amend(v, { id }, { trigger: "61000", qty: "0.1" })
    assert.deepStrictEqual([same.events.length, ackOf(same).version], [0, 1])
    assert.deepInclude(orders(bench.amend(v, { id }, { price: "61500", qty: "0.2" }), v)[0], {
      price: "61500",
      qty: "0.2",
      leaves_qty: "0.2",
      version: 2
    })
    const refused = bench.amend(v, { id }, { trigger: "60000" })
    assert.deepInclude(orders(refused, v)[0], {
      order_status: S.ORDER_STATUS_UNTRIGGERED,
      reject_reason: RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET,
      version: 2
    })
    assert.strictEqual(statusOf(bench.amend(v, { id: rests }, { trigger: "60000" })).reason, "InvalidField")
    bench.cancelAll(v, { order_filter: 1 })
    assert.deepStrictEqual(
      open().map(({ order_id }) => order_id),
      [id]
    )
    const other = orderId(bench.place(v, { side: BUY, qty: "0.01", price: "50000" }))
    const ended = bench.cancelAll(v, { order_filter: 2 })
    assert.deepStrictEqual(statuses(orders(ended, v)), [S.ORDER_STATUS_DEACTIVATED])
    assert.strictEqual(orders(ended, v)[0]!.cancel_type, CancelType.CANCEL_TYPE_CANCEL_BY_USER)
    assert.strictEqual(ended.events.length, 1)
    assert.deepStrictEqual(
      open().map(({ order_id }) => order_id),
      [other]
    )
    // the reason of the refused amend has ended with the order
    assert.deepInclude(orders(ended, v)[0], {
      reject_reason: RejectReason.REJECT_REASON_EC_NO_ERROR,
      reject_message: undefined
    })
    assert.deepInclude(statusOf(bench.cancel(v, { id })), { metadata: { order_status: "Deactivated" } })
    const again = orderId(bench.place(v, { side: BUY, qty: "0.01", trigger: "61000", by: INDEX }))
    assert.deepStrictEqual(statuses(orders(bench.cancel(v, { id: again }), v)), [S.ORDER_STATUS_DEACTIVATED])
    replays(bench)
  })
})

describe("the quantity of an amend", () => {
  it("of a conditional Market order has the bounds of a Market order: its largest, and the smallest value at the mark", () => {
    const { bench, v } = setup()
    const id = orderId(bench.place(v, { side: BUY, qty: "0.002", trigger: "70000", by: INDEX }))
    const refused = (qty: string) => statusOf(bench.amend(v, { id }, { qty }))
    assert.deepInclude(refused("0"), { reason: "OutOfRange", metadata: { field: "qty", min: "0.001", max: "30" } })
    assert.deepInclude(refused("30.001"), {
      reason: "OutOfRange",
      metadata: { field: "qty", min: "0.001", max: "30" }
    })
    bench.index(BTC, "4999.9")
    assert.deepInclude(refused("0.001"), { reason: "OutOfRange", metadata: { field: "qty", min: "5" } })
    bench.index(BTC, "5000")
    ackOf(bench.amend(v, { id }, { qty: "0.001" }))
    // an amend of its trigger alone is no new quantity
    bench.index(BTC, "4999.9")
    ackOf(bench.amend(v, { id }, { trigger: "69000" }))
  })

  it("of a reduce-only order may have any value, so that small rests of positions can be closed", () => {
    const { bench, v, m } = setup()
    const symbol = "DOGE-USDC"
    bench.place(m, { symbol, side: SELL, qty: "100", price: "0.2" })
    bench.place(v, { symbol, side: BUY, qty: "100", price: "0.2" })
    const amended = (reduce_only: boolean, change: { readonly qty?: string; readonly price?: string }) => {
      const id = orderId(bench.place(v, { symbol, side: SELL, qty: "50", price: "0.21", reduce_only }))
      return bench.amend(v, { id }, { symbol, ...change })
    }
    const tooSmall = (field: string) => ({ reason: "OutOfRange", metadata: { field, min: "5" } })
    assert.deepInclude(statusOf(amended(false, { qty: "10" })), tooSmall("qty"))
    assert.deepInclude(statusOf(amended(false, { price: "0.05" })), tooSmall("price"))
    assert.strictEqual(orders(amended(true, { qty: "10" }), v)[0]!.qty, "10")
  })
})

describe("GTT", () => {
  const GTT = TimeInForce.TIME_IN_FORCE_GTT

  it("rests until its expiry, and ends in a Tick", () => {
    const { bench, v, m } = setup()
    const at = START + 20_000
    const early = bench.place(v, { side: BUY, qty: "0.1", price: "59000", tif: GTT, expires: at })
    assert.strictEqual(orders(early, v)[0]!.expire_time_ms, at)
    bench.place(v, { side: BUY, qty: "0.1", price: "58000", trigger: "61000", by: INDEX, tif: GTT, expires: at })
    bench.place(m, { side: SELL, qty: "0.04", price: "59000" })
    bench.now = at - 1
    assert.strictEqual(orders(bench.tick(0)).length, 0)
    bench.now = at
    assert.isTrue(Engine.tickMatters(bench.state, at))
    const ended = bench.tick(0)
    const list = orders(ended, v)
    assert.deepStrictEqual(statuses(list), [S.ORDER_STATUS_EXPIRED, S.ORDER_STATUS_EXPIRED])
    assert.deepInclude(list[0], {
      cum_exec_qty: "0.04",
      leaves_qty: "0",
      cancel_type: CancelType.CANCEL_TYPE_CANCEL_BY_EXPIRY
    })
    assert.strictEqual(balances(ended, v).at(-1)!.order_margin, "0")
    assert.strictEqual(bench.state.expiries.size, 0)
    assert.deepInclude(statusOf(bench.cancel(v, { id: orderId(early) })), { metadata: { order_status: "Expired" } })
    recomputeTotals(bench.state)
    replays(bench)
  })

  it("ends without the reason of an amend that was refused before", () => {
    const { bench, v } = setup()
    const expires = bench.now + 5_000
    for (const more of [{}, { trigger: "61000", by: INDEX }]) {
      const id = orderId(bench.place(v, { side: BUY, qty: "0.1", price: "59000", tif: GTT, expires, ...more }))
      const refused = bench.amend(v, { id }, "trigger" in more ? { trigger: "60000" } : { price: "64000" })
      assert.isString(orders(refused, v)[0]!.reject_message)
    }
    bench.now = expires
    assert.deepStrictEqual(
      orders(bench.tick(0), v).map(({ order_status, reject_message, reject_reason }) => [
        order_status,
        reject_reason,
        reject_message
      ]),
      Array.from({ length: 2 }, () => [S.ORDER_STATUS_EXPIRED, RejectReason.REJECT_REASON_EC_NO_ERROR, undefined])
    )
  })

  it("requires a time within 90 days, which other orders cannot have", () => {
    const { bench, v } = setup()
    const place = (tif: TimeInForce, expires?: number) =>
      bench.place(v, { side: BUY, qty: "0.1", price: "59000", tif, ...(expires === undefined ? {} : { expires }) })
    assert.strictEqual(statusOf(place(GTT)).reason, "MissingField")
    assert.strictEqual(statusOf(place(GTT, bench.now)).reason, "OutOfRange")
    const late = statusOf(place(GTT, bench.now + 91 * 86_400_000))
    assert.strictEqual(late.reason, "OutOfRange")
    // the times that it accepts at this millisecond
    assert.deepStrictEqual(late.metadata, {
      field: "expire_time",
      min: String(bench.now + 1),
      max: String(bench.now + 90 * 86_400_000)
    })
    assert.strictEqual(statusOf(place(TimeInForce.TIME_IN_FORCE_GTC, bench.now + 5000)).reason, "InvalidField")
    ackOf(place(GTT, bench.now + 90 * 86_400_000))
  })

  it("leaves its queue with a cancel or a fill, and keeps it with an amend", () => {
    const { bench, v, m } = setup()
    const place = (ms: number) =>
      orderId(bench.place(v, { side: BUY, qty: "0.1", price: "59000", tif: GTT, expires: START + ms }))
    const [a, b, c] = [place(90_000), place(80_000), place(90_000)]
    bench.amend(v, { id: b }, { price: "59100" })
    assert.strictEqual(bench.state.expiries.size, 3)
    bench.cancel(v, { id: a })
    bench.place(m, { side: SELL, qty: "0.1", price: "59100" })
    assert.deepStrictEqual(
      bench.state.expiries.sorted().map(({ id }) => id),
      [c]
    )
  })
})

describe("exits", () => {
  it("of mode Partial are sized by their order's fills, one pair each", () => {
    const { bench, v, m, open } = setup()
    const partial = { tp: "62000", sl: "59000", mode: TpslMode.TPSL_MODE_PARTIAL }
    bench.place(v, { side: BUY, qty: "0.1", price: "60000", tpsl: partial })
    const first = bench.place(m, { side: SELL, qty: "0.04", price: "60000" })
    assert.deepStrictEqual(
      orders(first, v)
        .slice(1)
        .map(({ qty, stop_order_type }) => [qty, stop_order_type]),
      [
        ["0.04", StopOrderType.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT],
        ["0.04", StopOrderType.STOP_ORDER_TYPE_PARTIAL_STOP_LOSS]
      ]
    )
    const second = bench.place(m, { side: SELL, qty: "0.06", price: "60000" })
    assert.deepStrictEqual(
      orders(second, v).map(({ qty }) => qty),
      ["0.1", "0.1", "0.1"]
    )
    assert.strictEqual(open().length, 2)
    bench.place(m, { side: SELL, qty: "0.05", price: "60000" })
    bench.place(v, { side: BUY, qty: "0.05", price: "60000", tpsl: { ...partial, sl: "58000" } })
    assert.strictEqual(open().length, 4)
    // the first pair's stop closes its own 0.1 of 0.15
    bench.place(m, { side: BUY, qty: "1", price: "58900" })
    const hit = bench.place(trader("x"), { side: SELL, qty: "0.001", price: "58900" })
    assert.strictEqual(executions(hit, v)[0]!.exec_qty, "0.1")
    assert.strictEqual(executions(hit, v)[0]!.create_type, CreateType.CREATE_TYPE_CREATE_BY_PARTIAL_STOP_LOSS)
    assert.strictEqual(orders(hit, v)[1]!.cancel_type, CancelType.CANCEL_TYPE_CANCEL_BY_OCO_TP_CANCELED_BY_SL_TRIGGERED)
    assert.strictEqual(open().length, 2)
    assert.strictEqual(
      Reads.positions(bench.state, { symbol: BTC, sub_account_address: v.address })[0]!.tpsl_mode,
      TpslMode.TPSL_MODE_PARTIAL
    )
    recomputeTotals(bench.state)
    replays(bench)
  })

  it("trigger alone where the other of their pair has ended before", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, TpslMode.TPSL_MODE_PARTIAL]) {
      const { bench, v, m, buy, open, position } = setup()
      buy("0.1", "60000", { tpsl: { tp: "62000", sl: "59000", by: INDEX, mode } })
      bench.cancel(v, { id: open()[0]!.order_id })
      bench.place(m, { side: BUY, qty: "1", price: "58900" })
      const hit = bench.index(BTC, "59000")
      assert.deepStrictEqual(statuses(orders(hit, v)), [
        S.ORDER_STATUS_TRIGGERED,
        S.ORDER_STATUS_NEW,
        S.ORDER_STATUS_FILLED
      ])
      assert.strictEqual(position().size, "0")
    }
  })

  it("name in the end of the other one which of the pair has triggered, in both modes", () => {
    const [byTakeProfit, byStopLoss] = [
      CancelType.CANCEL_TYPE_CANCEL_BY_OCO_SL_CANCELED_BY_TP_TRIGGERED,
      CancelType.CANCEL_TYPE_CANCEL_BY_OCO_TP_CANCELED_BY_SL_TRIGGERED
    ]
    for (const mode of [TpslMode.TPSL_MODE_FULL, TpslMode.TPSL_MODE_PARTIAL])
      for (const [price, type] of [
        ["62000", byTakeProfit],
        ["59000", byStopLoss]
      ] as const) {
        const { bench, v, buy } = setup()
        buy("0.1", "60000", { tpsl: { tp: "62000", sl: "59000", by: INDEX, mode } })
        assert.strictEqual(orders(bench.index(BTC, price), v)[1]!.cancel_type, type)
      }
  })

  it("of mode Full replace earlier ones, and end with the position", () => {
    const { bench, v, m, buy, open, position } = setup()
    buy("0.1", "60000", { tpsl: { tp: "62000", sl: "59000" } })
    const newer = buy("0.1", "60000", { tpsl: { tp: "63000" } })
    assert.deepStrictEqual(
      orders(newer, v)
        .slice(2)
        .map(({ order_status, cancel_type }) => [order_status, cancel_type]),
      [
        [S.ORDER_STATUS_DEACTIVATED, CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR],
        [S.ORDER_STATUS_DEACTIVATED, CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR],
        [S.ORDER_STATUS_UNTRIGGERED, CancelType.CANCEL_TYPE_UNSPECIFIED]
      ]
    )
    assert.deepInclude(position(), { take_profit: "63000", stop_loss: "" })
    bench.place(m, { side: BUY, qty: "0.3", price: "60000" })
    const closed = bench.place(v, { side: SELL, qty: "0.3", price: "60000" })
    assert.deepInclude(orders(closed, v).at(-1), {
      order_status: S.ORDER_STATUS_DEACTIVATED,
      cancel_type: CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR
    })
    assert.deepInclude(position(), { size: "0.1", take_profit: "" })
    assert.strictEqual(open().length, 0)
  })

  it("end with a liquidated position and survive a dead man's switch, unlike conditional orders", () => {
    const { bench, v, buy, open } = setup()
    buy("0.5", "60000", { tpsl: { sl: "30000" } })
    bench.place(v, { side: BUY, qty: "0.01", trigger: "90000", by: INDEX })
    const types = () => open().map(({ stop_order_type }) => stop_order_type)
    bench.cancelAll(v, { type: CancelType.CANCEL_TYPE_CANCEL_BY_DCP })
    assert.deepStrictEqual(types(), [StopOrderType.STOP_ORDER_TYPE_STOP_LOSS])
    bench.place(v, { side: BUY, qty: "0.01", trigger: "90000", by: INDEX })
    bench.index(BTC, "40000")
    assert.deepStrictEqual(types(), [StopOrderType.STOP_ORDER_TYPE_STOP])
  })

  it("are set on a position, changed and removed", () => {
    const { bench, v, buy, open, position } = setup()
    assert.strictEqual(statusOf(bench.stop(v, { tp: "62000" })).reason, "PositionNotFound")
    buy("0.1", "60000")
    assert.strictEqual(statusOf(bench.stop(v, {})).reason, "MissingField")
    // a removal is announced with the position, also where there is nothing to remove
    assert.deepStrictEqual(kinds(bench.stop(v, { tp: "0" })), ["position_changed"])
    assert.deepInclude(statusOf(bench.stop(v, { tp: "60000" })), {
      reason: "OutOfRange",
      metadata: { field: "take_profit" }
    })
    assert.deepInclude(statusOf(bench.stop(v, { sl: "60000" })), { metadata: { field: "stop_loss" } })
    const set = bench.stop(v, { tp: "62000", by: MARK })
    const result = ackOf(set).result!
    assert.isTrue(result.$case === "position" && result.value.take_profit === "62000")
    bench.stop(v, { sl: "59000", by: MARK })
    assert.deepInclude(position(), { take_profit: "62000", stop_loss: "59000" })
    bench.stop(v, { tp: "63000", by: MARK })
    assert.deepInclude(position(), { take_profit: "63000", stop_loss: "59000" })
    assert.strictEqual(open().length, 2)
    // still a pair: one cancels the other
    const hit = bench.index(BTC, "63000")
    assert.strictEqual(orders(hit, v)[1]!.cancel_type, CancelType.CANCEL_TYPE_CANCEL_BY_OCO_SL_CANCELED_BY_TP_TRIGGERED)
    bench.stop(v, { sl: "61000", by: MARK })
    bench.stop(v, { sl: "0.00" })
    assert.deepInclude(position(), { take_profit: "", stop_loss: "" })
    const partial = { tp: "64000", sl: "60000", by: MARK, mode: TpslMode.TPSL_MODE_PARTIAL }
    const above = { reason: "OutOfRange", message: "the size is above the position's" }
    assert.deepInclude(statusOf(bench.stop(v, partial, { tp: "0.2" })), { ...above, metadata: { field: "tp_size" } })
    assert.deepInclude(statusOf(bench.stop(v, partial, { sl: "0.2" })), { ...above, metadata: { field: "sl_size" } })
    bench.stop(v, partial, { tp: "0.04", sl: "0.04" })
    bench.stop(v, partial, { tp: "0.06" })
    assert.deepStrictEqual(
      open().map(({ qty }) => qty),
      ["0.04", "0.04", "0.06", "0.1"]
    )
    const frozen = (frozen: boolean) => bench.send(v, { $case: "set_sub_account", value: { frozen } })
    frozen(true)
    assert.strictEqual(statusOf(bench.stop(v, { tp: "64000" })).reason, "SubAccountFrozen")
    bench.stop(v, { tp: "0", mode: TpslMode.TPSL_MODE_PARTIAL })
    assert.strictEqual(open().length, 2)
    frozen(false)
    replays(bench)
  })

  it("lie on their sides of a Limit order's price, and are amended with it", () => {
    const { bench, v, m, open, position } = setup()
    const place = (tp: string, sl: string, side: Side = BUY) =>
      bench.place(v, { side, qty: "0.1", price: "60000", tpsl: { tp, sl } })
    const field = (leg: string) => `tpsl.${leg}.market.trigger_price`
    assert.deepInclude(statusOf(place("60000", "59000")), { metadata: { field: field("take_profit") } })
    assert.deepInclude(statusOf(place("61000", "60000")), { metadata: { field: field("stop_loss") } })
    assert.deepInclude(statusOf(place("61000", "59000", SELL)), { metadata: { field: field("take_profit") } })
    const id = orderId(place("61000", "59000"))
    const version = (change: object) => ackOf(bench.amend(v, { id }, change)).version
    assert.strictEqual(version({ tpsl: { tp: "61000" } }), 1)
    assert.strictEqual(version({ tpsl: { tp: "61500" } }), 2)
    assert.deepInclude(statusOf(bench.amend(v, { id }, { tpsl: { tp: "59999" } })), {
      reason: "OutOfRange",
      metadata: { field: field("take_profit") }
    })
    bench.place(m, { side: SELL, qty: "0.04", price: "60000" })
    assert.deepInclude(position(), { take_profit: "61500", stop_loss: "59000" })
    // it keeps its priority; its exits are replaced
    assert.strictEqual(version({ tpsl: { tp: "0", sl: "58000" } }), 3)
    assert.deepInclude(position(), { take_profit: "", stop_loss: "58000" })
    assert.strictEqual(version({ tpsl: { sl: "0" } }), 4)
    assert.strictEqual(open().length, 1)
    const leg = bench.stop(v, { tp: "62000" })
    const legId = orders(leg, v)[0]!.order_id
    bench.amend(v, { id: legId }, { trigger: "62500" })
    assert.strictEqual(position().take_profit, "62500")
    assert.strictEqual(
      orders(bench.amend(v, { id: legId }, { qty: "0.01" }), v)[0]!.reject_reason,
      RejectReason.REJECT_REASON_EC_INVALID_QTY
    )
    replays(bench)
  })

  it("appear in the event stream", () => {
    const { bench, v, buy, last } = setup()
    const mirror = new Mirror()
    buy("0.1", "60000", { tpsl: { tp: "62000", sl: "59000" } })
    bench.place(v, { side: SELL, qty: "0.05", trigger: "59500" })
    bench.stop(v, { tp: "61000" })
    last("59500")
    last("59000")
    mirror.read(bench.events)
    mirror.refresh(bench.state)
    mirror.check(bench.state)
  })
})
