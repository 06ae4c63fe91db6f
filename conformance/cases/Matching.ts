/** Matching: which orders are filled, at which price, and with which events. */
import { Effect } from "effect"
import { RefereeService } from "../../src/proto/gateway/v1/referee.ts"
import { BalanceReason, CancelType, OrderStatus, Side, TimeInForce } from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import * as Exact from "../Exact.ts"
import { cancel, changesOf, executionsOf, expectStatuses, lastOf, place } from "../Orders.ts"
import { pick } from "../Record.ts"
import { World } from "../World.ts"
import { expect, expectEqual, present } from "../Expect.ts"

const { ORDER_STATUS_NEW, ORDER_STATUS_PARTIALLY_FILLED, ORDER_STATUS_FILLED } = OrderStatus

/** A fee, rounded by docs/contract/conventions.md#rounding. */
const feeOf = (value: Exact.Exact, rate: string) =>
  Effect.map(present(`a decimal fee rate (it is "${rate}")`, Exact.parse(rate)), (rate) =>
    Exact.format(Exact.multiplyUp(value, rate))
  )

const fill: Case = {
  name: "fill",
  level: "core",
  clause: "docs/contract/exchange.md#matching, #event-order",
  claim:
    "a crossing order is filled at the maker's price; the events of the taker precede those of the maker, and a trade is published",
  run: Effect.gen(function* () {
    const { instrument, rules, symbol, trader } = yield* World
    const [seller, buyer] = [yield* trader, yield* trader]
    const maker = yield* place(seller, { side: Side.SIDE_SELL, lots: 3, ticks: 2 })
    const taker = yield* place(buyer, { side: Side.SIDE_BUY, lots: 2, ticks: 6 })
    const { events } = taker
    yield* expectStatuses(events, taker.order_id, [ORDER_STATUS_NEW, ORDER_STATUS_FILLED])
    yield* expectStatuses(events, maker.order_id, [ORDER_STATUS_PARTIALLY_FILLED])
    const executions = executionsOf(events)
    yield* expectEqual(
      "the executions (order, maker, side, price, qty, what is left)",
      executions.map(({ exec_price, exec_qty, is_maker, leaves_qty, order_id, side }) => [
        order_id,
        is_maker,
        side,
        exec_price,
        exec_qty,
        leaves_qty
      ]),
      [
        [taker.order_id, false, Side.SIDE_BUY, rules.price(2), rules.qty(2), "0"],
        [maker.order_id, true, Side.SIDE_SELL, rules.price(2), rules.qty(2), rules.qty(1)]
      ]
    )
    yield* expectEqual("both sides' market_seq", executions[0]?.market_seq, executions[1]?.market_seq)
    yield* expect(executions[0]?.exec_id !== executions[1]?.exec_id, "both sides have one exec_id")
    const value = rules.value(2, 2)
    for (const { base_fee, exec_value, fee_rate, is_maker } of executions) {
      const side = is_maker ? "maker" : "taker"
      yield* expectEqual(`exec_value of the ${side}`, exec_value, Exact.format(value))
      const rate = is_maker ? instrument.maker_fee_rate : instrument.taker_fee_rate
      yield* expectEqual(`fee_rate of the ${side}`, Exact.parse(fee_rate)?.toString(), Exact.parse(rate)?.toString())
      yield* expectEqual(`base_fee of the ${side}`, base_fee, yield* feeOf(value, rate))
    }
    const trades = pick(events, "trade_printed").flatMap(({ trades }) => trades)
    yield* expectEqual(
      "the trades (price, qty, side of the taker)",
      trades.map(({ price, qty, side, symbol }) => [symbol, price, qty, side]),
      [[symbol, rules.price(2), rules.qty(2), Side.SIDE_BUY]]
    )
    yield* expectEqual(
      "the levels of book_changed",
      pick(events, "book_changed").map(({ asks, bids }) => [bids, asks]),
      [[[], [{ price: rules.price(2), qty: rules.qty(1) }]]]
    )
    const left = yield* lastOf(events, maker.order_id)
    yield* expectEqual(
      "the maker's record (filled, value, left)",
      [left.cum_exec_qty, left.cum_exec_value, left.leaves_qty],
      [rules.qty(2), Exact.format(value), rules.qty(1)]
    )
  })
}

const fillOrder: Case = {
  name: "fill-order",
  level: "core",
  clause: "docs/contract/exchange.md#event-order, docs/contract/orders.md#transitions-on-a-fill",
  claim: "each side of a fill has execution, order, position and balance events, in this order",
  run: Effect.gen(function* () {
    const { trader } = yield* World
    const [seller, buyer] = [yield* trader, yield* trader]
    yield* place(seller, { side: Side.SIDE_SELL, lots: 1, ticks: 1 })
    const { events } = yield* place(buyer, { side: Side.SIDE_BUY, lots: 1, ticks: 1 })
    for (const [side, owner] of [
      ["taker", buyer],
      ["maker", seller]
    ] as const) {
      const kinds = events
        .filter(({ sub_account_address }) => sub_account_address === owner.sub_account_address)
        .map(({ event }) => event?.$case)
      const from = kinds.indexOf("execution_created")
      yield* expectEqual(`events of the ${side} from its execution on`, kinds.slice(from, from + 4), [
        "execution_created",
        "order_changed",
        "position_changed",
        "balance_changed"
      ])
    }
  })
}

const money: Case = {
  name: "fill-money",
  level: "core",
  clause: "docs/contract/exchange.md#fee-account, #entry, docs/contract/boundary.md#referee (GetAccount)",
  claim: "a fill opens a position at its price and takes the fee from the wallet, and the referee has both",
  run: Effect.gen(function* () {
    const { ask, instrument, rules, symbol, trader } = yield* World
    const [seller, buyer] = [yield* trader, yield* trader]
    yield* place(seller, { side: Side.SIDE_SELL, lots: 4, ticks: 3 })
    const { events } = yield* place(buyer, { side: Side.SIDE_BUY, lots: 4, ticks: 3 })
    const value = rules.value(3, 4)
    for (const [owner, side, rate] of [
      [buyer, Side.SIDE_BUY, instrument.taker_fee_rate],
      [seller, Side.SIDE_SELL, instrument.maker_fee_rate]
    ] as const) {
      const own = events.filter(({ sub_account_address }) => sub_account_address === owner.sub_account_address)
      const fee = yield* feeOf(value, rate)
      const wallet = Exact.format(Exact.parse(rules.funds)! - Exact.parse(fee)!)
      const position = yield* present("position_changed", pick(own, "position_changed").at(-1)?.position)
      yield* expectEqual(
        "the position (market, side, size, average price, entry value)",
        [position.symbol, position.side, position.size, position.avg_price, position.entry_value],
        [symbol, side, rules.qty(4), rules.price(3), Exact.format(value)]
      )
      const trade = pick(own, "balance_changed").find(({ reason }) => reason === BalanceReason.BALANCE_REASON_TRADE)
      yield* expectEqual(
        "the change of the balance (fee, realised, amount, wallet)",
        [trade?.fee, trade?.realised_pnl, trade?.amount, trade?.balance?.wallet_balance],
        [fee, "0", Exact.format(-Exact.parse(fee)!), wallet]
      )
      const { sub_account_address } = owner
      const account = yield* ask.referee(RefereeService.getAccount, { sub_account_address })
      yield* expectEqual("the wallet of GetAccount", account.balances[0]?.wallet_balance, wallet)
      yield* expectEqual(
        "the positions of GetAccount",
        account.positions.map(({ side, size, symbol }) => [symbol, side, size]),
        [[symbol, side, rules.qty(4)]]
      )
    }
  })
}

const priority: Case = {
  name: "price-time",
  level: "core",
  clause: "docs/contract/exchange.md#matching",
  claim: "the better price is filled first, then the earlier order; one taker order is one step",
  run: Effect.gen(function* () {
    const { rules, trader } = yield* World
    const makers: Array<{ readonly order_id: string }> = []
    for (const ticks of [4, 3, 3]) makers.push(yield* place(yield* trader, { side: Side.SIDE_SELL, lots: 1, ticks }))
    const [dear, early, late] = makers
    const { events, order_id } = yield* place(yield* trader, { side: Side.SIDE_BUY, lots: 3, ticks: 4 })
    yield* expectEqual(
      "the makers in the order of their fills",
      executionsOf(events).flatMap((execution) =>
        execution.is_maker ? [[execution.order_id, execution.exec_price]] : []
      ),
      [
        [early?.order_id, rules.price(3)],
        [late?.order_id, rules.price(3)],
        [dear?.order_id, rules.price(4)]
      ]
    )
    yield* expectEqual("steps of the taker's order", new Set(events.map(({ step }) => step)).size, 1)
    const taker = yield* lastOf(events, order_id)
    const value = rules.value(3, 2) + rules.value(4, 1)
    yield* expectEqual("cum_exec_value of the taker", taker.cum_exec_value, Exact.format(value))
  })
}

const rest: Case = {
  name: "remainder",
  level: "core",
  clause: "docs/contract/orders.md#transitions-on-a-fill, #transitions-on-a-cancel",
  claim: "the remainder of a GTC order rests and can be canceled; that of an IOC order is canceled",
  run: Effect.gen(function* () {
    const { rules, trader } = yield* World
    const { ORDER_STATUS_CANCEL_REQUESTED, ORDER_STATUS_PARTIALLY_FILLED_CANCELED } = OrderStatus
    const [seller, buyer] = [yield* trader, yield* trader]
    yield* place(seller, { side: Side.SIDE_SELL, lots: 1, ticks: 0 })
    const first = yield* place(buyer, { side: Side.SIDE_BUY, lots: 3, ticks: 0 })
    yield* expectStatuses(first.events, first.order_id, [ORDER_STATUS_NEW, ORDER_STATUS_PARTIALLY_FILLED])
    yield* expectEqual(
      "the levels of book_changed",
      pick(first.events, "book_changed").map(({ bids }) => bids),
      [[{ price: rules.price(0), qty: rules.qty(2) }]]
    )
    const events = yield* cancel(buyer, first.order_id)
    yield* expectStatuses(events, first.order_id, [
      ORDER_STATUS_CANCEL_REQUESTED,
      ORDER_STATUS_PARTIALLY_FILLED_CANCELED
    ])
    yield* place(seller, { side: Side.SIDE_SELL, lots: 1, ticks: 0 })
    const more = { time_in_force: TimeInForce.TIME_IN_FORCE_IOC }
    const second = yield* place(buyer, { side: Side.SIDE_BUY, lots: 3, ticks: 0, more })
    yield* expectStatuses(second.events, second.order_id, [
      ORDER_STATUS_NEW,
      ORDER_STATUS_PARTIALLY_FILLED,
      ORDER_STATUS_PARTIALLY_FILLED_CANCELED
    ])
    const last = changesOf(second.events, second.order_id).at(-1)!
    yield* expectEqual(
      "its end (why, filled, left)",
      [last.cancel_type, last.cum_exec_qty, last.leaves_qty],
      [CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE, rules.qty(1), "0"]
    )
  })
}

export const cases: ReadonlyArray<Case> = [fill, fillOrder, money, priority, rest]
