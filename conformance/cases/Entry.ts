/** Order entry beyond plain limit orders: refusals, rejections, amends. */
import { status } from "@grpc/grpc-js"
import { Effect } from "effect"
import { type Command, OrderCause } from "../../src/proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  OrderFilter,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  TimeInForce
} from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import * as Exact from "../Exact.ts"
import { changesOf, executionsOf, expectStatuses, lastOf, limit, type Limit, nameOf, place } from "../Orders.ts"
import { pick } from "../Record.ts"
import { type Trader, World } from "../World.ts"
import { expectEqual } from "../Expect.ts"

const { SIDE_BUY, SIDE_SELL } = Side
const { ORDER_STATUS_CANCELED, ORDER_STATUS_FILLED, ORDER_STATUS_NEW, ORDER_STATUS_REJECTED } = OrderStatus

/** Places an order that must be rejected at its turn: acknowledged, with the reason in its record. */
const expectRejected = Effect.fnUntraced(function* (owner: Trader, asked: Limit, why: RejectReason) {
  const { events, order_id } = yield* place(owner, asked)
  yield* expectStatuses(events, order_id, [ORDER_STATUS_REJECTED])
  const { leaves_qty, reject_reason } = yield* lastOf(events, order_id)
  const name = (reason: RejectReason) => nameOf(RejectReason, "REJECT_REASON_", reason)
  yield* expectEqual("reject_reason", name(reject_reason), name(why))
  yield* expectEqual("leaves_qty", leaves_qty, "0")
})

const rejections: Case = {
  name: "rejections",
  level: "full",
  clause: "docs/contract/orders.md#transitions-on-acceptance, #refusals",
  claim: "an order that fails a check of its turn is acknowledged and leaves a Rejected record with its reason",
  run: Effect.gen(function* () {
    const { instrument, open, rules, stranger, trader } = yield* World
    const [seller, buyer] = [yield* trader, yield* trader]
    yield* place(seller, { side: SIDE_SELL, lots: 1, ticks: 1 })
    yield* expectRejected(
      buyer,
      { side: SIDE_BUY, lots: 1, ticks: 1, more: { post_only: true } },
      RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY
    )
    yield* expectRejected(
      buyer,
      { side: SIDE_BUY, lots: 1, ticks: 0, more: { reduce_only: true } },
      RejectReason.REJECT_REASON_EC_REDUCE_ONLY_NO_POSITION
    )
    const poor = yield* open(yield* stranger, 0)
    yield* expectRejected(
      poor,
      { side: SIDE_BUY, lots: 1, ticks: 0 },
      RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE
    )
    const band = Exact.parse(instrument.price_band) ?? 0n
    const beyond = Number(Exact.multiplyUp(Exact.parse(rules.price(0))!, 2n * band) / rules.tick)
    yield* expectRejected(
      buyer,
      { side: SIDE_BUY, lots: 1, ticks: beyond },
      RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT
    )
  })
}

const rules: Case = {
  name: "order-rules",
  level: "full",
  clause: "docs/contract/orders.md#new-order, #refusals, docs/contract/boundary.md#errors",
  claim: "an order that violates tick, step or limits is refused with the field and leaves no record",
  run: Effect.gen(function* () {
    const { instrument, refused, rules, trader } = yield* World
    const owner = yield* trader
    const half = (text: string) => Exact.format(Exact.parse(text)! / 2n)
    const wrong = [
      [{ price: Exact.format(Exact.parse(rules.price(0))! + rules.tick / 2n) }, "NotMultipleOfTick", "price"],
      [{ qty: Exact.format(rules.lot + Exact.parse(half(instrument.qty_step))!) }, "NotMultipleOfStep", "qty"],
      [
        { qty: Exact.format(Exact.parse(instrument.max_order_qty)! + Exact.parse(instrument.qty_step)!) },
        "OutOfRange",
        "qty"
      ],
      [{ price: "1e3" }, "InvalidDecimal", "price"]
    ] as const
    for (const [more, reason, field] of wrong)
      yield* refused(owner, yield* limit({ side: SIDE_BUY, lots: 1, ticks: 0, more }), {
        code: status.INVALID_ARGUMENT,
        reason,
        fact: ["field", field]
      })
  })
}

const wholeOrNothing: Case = {
  name: "fill-or-kill",
  level: "full",
  clause: "docs/contract/orders.md#transitions-on-a-cancel",
  claim: "a FOK order is filled completely or not at all",
  run: Effect.gen(function* () {
    const { trader } = yield* World
    const [seller, buyer] = [yield* trader, yield* trader]
    const more = { time_in_force: TimeInForce.TIME_IN_FORCE_FOK }
    yield* place(seller, { side: SIDE_SELL, lots: 2, ticks: 1 })
    const none = yield* place(buyer, { side: SIDE_BUY, lots: 3, ticks: 1, more })
    yield* expectStatuses(none.events, none.order_id, [ORDER_STATUS_NEW, ORDER_STATUS_CANCELED])
    yield* expectEqual("its executions", executionsOf(none.events).length, 0)
    const { reject_reason } = yield* lastOf(none.events, none.order_id)
    yield* expectEqual("reject_reason", reject_reason, RejectReason.REJECT_REASON_EC_NO_ENOUGH_QTY_TO_FILL)
    const all = yield* place(buyer, { side: SIDE_BUY, lots: 2, ticks: 1, more })
    yield* expectStatuses(all.events, all.order_id, [ORDER_STATUS_NEW, ORDER_STATUS_FILLED])
  })
}

const market: Case = {
  name: "market-order",
  level: "full",
  clause: "docs/contract/orders.md#new-order, #market-orders",
  claim: "a market order is an IOC order without a price",
  run: Effect.gen(function* () {
    const { rules, trader } = yield* World
    const [buyer, seller] = [yield* trader, yield* trader]
    yield* place(buyer, { side: SIDE_BUY, lots: 2, ticks: -2 })
    const more = {
      order_type: OrderType.ORDER_TYPE_MARKET,
      price: undefined,
      time_in_force: TimeInForce.TIME_IN_FORCE_UNSPECIFIED
    }
    const { events, order_id } = yield* place(seller, { side: SIDE_SELL, lots: 3, ticks: 0, more })
    const order = yield* lastOf(events, order_id)
    yield* expectEqual(
      "the order (price, time in force, filled, status)",
      [order.price, order.time_in_force, order.cum_exec_qty, order.order_status],
      ["0", TimeInForce.TIME_IN_FORCE_IOC, rules.qty(2), OrderStatus.ORDER_STATUS_PARTIALLY_FILLED_CANCELED]
    )
  })
}

const selfTrade: Case = {
  name: "self-trade",
  level: "full",
  clause: "docs/contract/orders.md#self-trade",
  claim: "orders of one user never match, also from two sub-accounts; by default the taker is canceled",
  run: Effect.gen(function* () {
    const { deposit, open, rules, trader } = yield* World
    const owner = yield* trader
    const second = yield* open(owner, undefined)
    yield* deposit(second, rules.funds)
    yield* place(owner, { side: SIDE_SELL, lots: 1, ticks: 1 })
    const { events, order_id } = yield* place(second, { side: SIDE_BUY, lots: 1, ticks: 1 })
    yield* expectStatuses(events, order_id, [ORDER_STATUS_NEW, ORDER_STATUS_CANCELED])
    const { cancel_type } = yield* lastOf(events, order_id)
    yield* expectEqual("cancel_type", cancel_type, CancelType.CANCEL_TYPE_CANCEL_BY_SMP)
    yield* expectEqual("executions", executionsOf(events).length, 0)
  })
}

const amendOf = (symbol: string, order_id: string, qty: string | undefined, expected_version = 0) =>
  ({
    $case: "amend_order",
    value: {
      symbol,
      order: { order_id },
      price: undefined,
      qty,
      trigger_price: undefined,
      tpsl: undefined,
      expected_version
    }
  }) satisfies NonNullable<Command["command"]>

const amend: Case = {
  name: "amend",
  level: "full",
  clause: "docs/contract/orders.md#transitions-on-an-amend, #amends, #order-version",
  claim: "an amend raises the version; less quantity keeps the priority, more loses it; another version is refused",
  run: Effect.gen(function* () {
    const { done, refused, symbol, rules, trader } = yield* World
    const [first, second, buyer] = [yield* trader, yield* trader, yield* trader]
    const early = yield* place(first, { side: SIDE_SELL, lots: 4, ticks: 2 })
    const late = yield* place(second, { side: SIDE_SELL, lots: 2, ticks: 2 })
    const less = yield* done(first, amendOf(symbol, early.order_id, rules.qty(3), 1))
    yield* expectEqual("the version of the ack", less.ack.version, 2)
    const amended = yield* lastOf(less.events, early.order_id)
    yield* expectEqual(
      "the amended order (status, qty, version)",
      [amended.order_status, amended.qty, amended.version],
      [ORDER_STATUS_NEW, rules.qty(3), 2]
    )
    yield* refused(first, amendOf(symbol, early.order_id, rules.qty(2), 1), {
      code: status.ABORTED,
      reason: "OrderVersionMismatch",
      fact: ["version", "2"]
    })
    const makersOf = Effect.map(place(buyer, { side: SIDE_BUY, lots: 1, ticks: 2 }), ({ events }) =>
      executionsOf(events).flatMap(({ is_maker, order_id }) => (is_maker ? [order_id] : []))
    )
    yield* expectEqual("the maker after less quantity", yield* makersOf, [early.order_id])
    yield* done(first, amendOf(symbol, early.order_id, rules.qty(5)))
    yield* expectEqual("the maker after more quantity", yield* makersOf, [late.order_id])
  })
}

const amendRefused: Case = {
  name: "amend-refused",
  level: "full",
  clause: "docs/contract/orders.md#transitions-on-an-amend, #order-statuses (docs/contract/orders.md",
  claim:
    "an amend that is refused at its turn leaves the order unchanged; event and acknowledgement have the same reason",
  run: Effect.gen(function* () {
    const { done, rules, symbol, trader } = yield* World
    const [seller, buyer] = [yield* trader, yield* trader]
    yield* place(seller, { side: SIDE_SELL, lots: 1, ticks: 1 })
    const resting = yield* place(buyer, { side: SIDE_BUY, lots: 1, ticks: -1, more: { post_only: true } })
    const amend = amendOf(symbol, resting.order_id, undefined)
    const { ack, events } = yield* done(buyer, { ...amend, value: { ...amend.value, price: rules.price(1) } })
    const [change, ...more] = pick(events, "order_changed").filter(({ order }) => order?.order_id === resting.order_id)
    yield* expectEqual(
      "the event (cause, status, price, version, reject_reason) and more of the order",
      [
        change?.cause,
        change?.order?.order_status,
        change?.order?.price,
        change?.order?.version,
        change?.order?.reject_reason,
        more.length
      ],
      [
        OrderCause.ORDER_CAUSE_AMEND_REFUSED,
        ORDER_STATUS_NEW,
        rules.price(-1),
        1,
        RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY,
        0
      ]
    )
    // absent where the backend acknowledges before the turn
    if (ack.refusal === undefined) return
    yield* expectEqual(
      "the refusal of the acknowledgement (code, reason)",
      [ack.refusal.code, ack.refusal.reason],
      [status.FAILED_PRECONDITION, "PostOnlyWouldTake"]
    )
  })
}

const cancelAll: Case = {
  name: "cancel-all",
  level: "full",
  clause: "docs/contract/boundary.md#commands-and-events (CancelAll)",
  claim: "CancelAll cancels the open orders that its filters select, and returns them",
  run: Effect.gen(function* () {
    const { done, symbol, trader } = yield* World
    const owner = yield* trader
    const buys = [
      yield* place(owner, { side: SIDE_BUY, lots: 1, ticks: -5 }),
      yield* place(owner, { side: SIDE_BUY, lots: 1, ticks: -6 })
    ]
    const sell = yield* place(owner, { side: SIDE_SELL, lots: 1, ticks: 5 })
    const value = {
      symbol,
      side: SIDE_BUY,
      order_filter: OrderFilter.ORDER_FILTER_ACTIVE,
      reduce_only: undefined,
      cancel_type: CancelType.CANCEL_TYPE_CANCEL_BY_DCP
    }
    const { ack, events } = yield* done(owner, { $case: "cancel_all", value })
    const ids = buys.map(({ order_id }) => order_id)
    yield* expectEqual("the orders of the ack", ack.orders.map(({ order_id }) => order_id).toSorted(), ids.toSorted())
    for (const id of ids) {
      const { cancel_type, order_status } = yield* lastOf(events, id)
      yield* expectEqual("its end", [order_status, cancel_type], [ORDER_STATUS_CANCELED, value.cancel_type])
    }
    yield* expectEqual("changes of the order that was not meant", changesOf(events, sell.order_id).length, 0)
  })
}

export const cases: ReadonlyArray<Case> = [
  rules,
  rejections,
  wholeOrNothing,
  market,
  selfTrade,
  amend,
  amendRefused,
  cancelAll
]
