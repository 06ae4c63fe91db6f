/** Single orders: rest, read, cancel. */
import { status } from "@grpc/grpc-js"
import { Effect } from "effect"
import { SequencerService } from "../../src/proto/gateway/v1/sequencer.ts"
import { CancelType, OrderStatus, RejectReason, Side, TimeInForce } from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import { cancel, cancelOf, changesOf, expectStatuses, lastOf, limit, place } from "../Orders.ts"
import { pick } from "../Record.ts"
import { World } from "../World.ts"
import { expect, expectEqual } from "../Expect.ts"

const resting: Case = {
  name: "resting-order",
  level: "core",
  clause:
    "docs/contract/orders.md#order-record, #transitions-on-acceptance, docs/contract/boundary.md#sequencer (reads)",
  claim: "a limit order that does not cross rests: it is New, in the book, and in every read",
  run: Effect.gen(function* () {
    const { ask, rules, symbol, trader, uuid } = yield* World
    const owner = yield* trader
    const order_link_id = (yield* uuid).slice(0, 36)
    const { events, order_id } = yield* place(owner, {
      side: Side.SIDE_BUY,
      lots: 3,
      ticks: -10,
      more: { order_link_id }
    })
    yield* expectStatuses(events, order_id, [OrderStatus.ORDER_STATUS_NEW])
    const order = yield* lastOf(events, order_id)
    yield* expectEqual(
      "the order's record",
      [order.order_link_id, order.sub_account_address, order.symbol, order.side, order.price, order.qty],
      [order_link_id, owner.sub_account_address, symbol, Side.SIDE_BUY, rules.price(-10), rules.qty(3)]
    )
    yield* expectEqual(
      "what of it is filled, left, and its version",
      [order.cum_exec_qty, order.avg_price, order.leaves_qty, order.version],
      ["0", "0", rules.qty(3), 1]
    )
    yield* expectEqual(
      "the levels of book_changed",
      pick(events, "book_changed").map(({ asks, bids }) => [bids, asks]),
      [[[{ price: rules.price(-10), qty: rules.qty(3) }], []]]
    )
    const { sub_account_address } = owner
    const byId = yield* ask.sequencer(SequencerService.getOrder, {
      order_id,
      sub_account_address: "",
      order_link_id: ""
    })
    yield* expectEqual("GetOrder by order_id", byId.order, order)
    const byLink = yield* ask.sequencer(SequencerService.getOrder, { order_id: "", sub_account_address, order_link_id })
    yield* expectEqual("GetOrder by order_link_id", byLink.order, order)
    const open = yield* ask.sequencer(SequencerService.getOpenOrders, { sub_account_address, symbol, page_token: "" })
    yield* expectEqual("GetOpenOrders of the sub-account", open.orders, [order])
    const book = yield* ask.sequencer(SequencerService.getOrderBook, { symbol, depth: 1 })
    yield* expectEqual("GetOrderBook", [book.bids, book.asks], [[{ price: rules.price(-10), qty: rules.qty(3) }], []])
    yield* cancel(owner, order_id)
  })
}

const levels: Case = {
  name: "levels",
  level: "core",
  clause:
    "docs/contract/boundary.md#sequencer (GetOrderBook), docs/contract/boundary.md#commands-and-events (BookChanged), docs/contract/exchange.md#matching",
  claim: "a level is the sum of its orders; levels are listed best first, up to the requested depth",
  run: Effect.gen(function* () {
    const { ask, done, rules, symbol, trader } = yield* World
    const owner = yield* trader
    const orders = [
      { side: Side.SIDE_BUY, lots: 1, ticks: -3 },
      { side: Side.SIDE_BUY, lots: 2, ticks: -1 },
      { side: Side.SIDE_BUY, lots: 3, ticks: -1 },
      { side: Side.SIDE_SELL, lots: 4, ticks: 4 },
      { side: Side.SIDE_SELL, lots: 5, ticks: 2 }
    ]
    const ids: Array<string> = []
    for (const order of orders) ids.push((yield* place(owner, order)).order_id)
    const level = (lots: number, ticks: number) => ({ price: rules.price(ticks), qty: rules.qty(lots) })
    const whole = yield* ask.sequencer(SequencerService.getOrderBook, { symbol, depth: 0 })
    yield* expectEqual("the bids", whole.bids, [level(5, -1), level(1, -3)])
    yield* expectEqual("the asks", whole.asks, [level(5, 2), level(4, 4)])
    const best = yield* ask.sequencer(SequencerService.getOrderBook, { symbol, depth: 1 })
    yield* expectEqual("the best levels", [best.bids, best.asks], [[level(5, -1)], [level(5, 2)]])
    for (const order_id of ids) yield* done(owner, cancelOf(symbol, order_id))
    const empty = yield* ask.sequencer(SequencerService.getOrderBook, { symbol, depth: 0 })
    yield* expectEqual("the book after all were canceled", [empty.bids, empty.asks], [[], []])
  })
}

const canceled: Case = {
  name: "cancel",
  level: "core",
  clause: "docs/contract/orders.md#transitions-on-a-cancel, #cancels",
  claim:
    "a cancel is requested, then executed; the level is removed; a second cancel is refused with the order's status",
  run: Effect.gen(function* () {
    const { ask, refused, rules, symbol, trader } = yield* World
    const owner = yield* trader
    const { order_id } = yield* place(owner, { side: Side.SIDE_SELL, lots: 2, ticks: 10 })
    const stranger = yield* trader
    const notFound = { code: status.NOT_FOUND, reason: "OrderNotFound" }
    yield* refused(stranger, cancelOf(symbol, order_id), notFound)
    const events = yield* cancel(owner, order_id)
    const { ORDER_STATUS_CANCEL_REQUESTED, ORDER_STATUS_CANCELED } = OrderStatus
    yield* expectStatuses(events, order_id, [ORDER_STATUS_CANCEL_REQUESTED, ORDER_STATUS_CANCELED])
    const order = yield* lastOf(events, order_id)
    yield* expectEqual("cancel_type", order.cancel_type, CancelType.CANCEL_TYPE_CANCEL_BY_USER)
    yield* expectEqual("leaves_qty", order.leaves_qty, "0")
    yield* expectEqual(
      "the levels of book_changed",
      pick(events, "book_changed").map(({ asks, bids }) => [bids, asks]),
      [[[], [{ price: rules.price(10), qty: "0" }]]]
    )
    const { sub_account_address } = owner
    const open = yield* ask.sequencer(SequencerService.getOpenOrders, { sub_account_address, page_token: "" })
    yield* expectEqual("GetOpenOrders of the sub-account", open.orders, [])
    yield* refused(owner, cancelOf(symbol, order_id), {
      code: status.FAILED_PRECONDITION,
      reason: "OrderAlreadyClosed",
      fact: ["order_status", "Canceled"]
    })
  })
}

const reference: Case = {
  name: "order-link-id",
  level: "core",
  clause: "docs/contract/conventions.md#identifiers, docs/contract/boundary.md#ground-rules",
  claim: "a used order_link_id is refused with the first order's id, even when that order is closed",
  run: Effect.gen(function* () {
    const { refused, trader } = yield* World
    const owner = yield* trader
    const more = { order_link_id: "conformance-1" }
    const { order_id } = yield* place(owner, { side: Side.SIDE_BUY, lots: 1, ticks: -5, more })
    const expected = {
      code: status.ALREADY_EXISTS,
      reason: "DuplicateOrderLinkId",
      fact: ["order_id", order_id]
    } as const
    const second = yield* limit({ side: Side.SIDE_BUY, lots: 2, ticks: -6, more })
    yield* refused(owner, second, expected)
    yield* cancel(owner, order_id)
    yield* refused(owner, second, expected)
    const other = yield* place(yield* trader, { side: Side.SIDE_BUY, lots: 1, ticks: -5, more })
    yield* expect(other.order_id !== order_id, "two orders have one order_id")
  })
}

const immediate: Case = {
  name: "immediate-or-cancel",
  level: "core",
  clause: "docs/contract/orders.md#transitions-on-a-cancel, #order-semantics",
  claim: "an IOC order that does not cross is canceled at once and never in the book",
  run: Effect.gen(function* () {
    const { trader } = yield* World
    const more = { time_in_force: TimeInForce.TIME_IN_FORCE_IOC }
    const { events, order_id } = yield* place(yield* trader, { side: Side.SIDE_BUY, lots: 1, ticks: 0, more })
    yield* expectStatuses(events, order_id, [OrderStatus.ORDER_STATUS_NEW, OrderStatus.ORDER_STATUS_CANCELED])
    const order = changesOf(events, order_id).at(-1)!
    yield* expectEqual(
      "why",
      [order.cancel_type, order.reject_reason],
      [CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE, RejectReason.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL]
    )
    const shown = pick(events, "book_changed").flatMap(({ asks, bids }) => [...bids, ...asks])
    yield* expectEqual("levels that changed", shown, [])
  })
}

export const cases: ReadonlyArray<Case> = [resting, levels, canceled, reference, immediate]
