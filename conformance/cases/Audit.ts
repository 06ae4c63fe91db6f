/** Audits: checks of the whole event stream of the run, after all other cases. */
import { Effect } from "effect"
import { type Event, OrderCause, SequencerService, StreamEventsResponse } from "../../src/proto/gateway/v1/sequencer.ts"
import { BalanceReason, ExecType, type OrderStatus, Side } from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import * as Exact from "../Exact.ts"
import { nameOf, statusName } from "../Orders.ts"
import { isTransition } from "../Statuses.ts"
import { World } from "../World.ts"
import { broken, expect, expectEqual, present } from "../Expect.ts"

const kindOf = ({ seq, event }: Event) => `event ${seq} (${event?.$case})`

/** A number of a record, which must be a decimal string. */
const exact = (what: string, text: string) => present(`a decimal ${what} (it is "${text}")`, Exact.parse(text))

const inOrder: Case = {
  name: "events-in-order",
  level: "core",
  clause: "docs/contract/boundary.md#ground-rules, #one-event-stream",
  claim: "seq rises by one from event to event: none is missing, repeated or out of order",
  run: Effect.gen(function* () {
    const { record } = yield* World
    let last = (record.events[0]?.seq ?? 1) - 1
    for (const event of record.events) {
      yield* expect(event.seq === last + 1, `${kindOf(event)} followed event ${last}; expected ${last + 1}`)
      last = event.seq
    }
  })
}

/** Size of a frame below which it holds whole steps. Source: docs/contract/boundary.md#commands-and-events. */
const STEP_BYTES_MIN = 256 * 1024
const bytesOf = (frame: StreamEventsResponse): number => StreamEventsResponse.encode(frame).finish().length

const steps: Case = {
  name: "whole-steps",
  level: "core",
  clause: "Event.step, StreamEventsResponse",
  claim:
    "a step of up to 256 KiB is in one frame, steps and times never fall, and an event of a command has its command_id",
  run: Effect.gen(function* () {
    const { record } = yield* World
    let [step, time] = [0, 0]
    let before: StreamEventsResponse | undefined
    for (const frame of record.frames) {
      const cut = before?.events.at(-1)?.step
      for (const event of frame.events) {
        yield* expect(event.step >= step, `${kindOf(event)} is of step ${event.step}, after one of step ${step}`)
        yield* expect(
          event.step !== cut || bytesOf(before!) >= STEP_BYTES_MIN,
          `${kindOf(event)} goes on with step ${cut}, which the frame before it began`
        )
        yield* expect(event.ts_ms >= time, `${kindOf(event)} is of ${event.ts_ms}, after one of ${time}`)
        step = event.step
        time = event.ts_ms
      }
      if (frame.events.length > 0) before = frame
    }
  })
}

const answers: Case = {
  name: "one-answer",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (SubmitStream)",
  claim: "every command of the stream gets one result",
  run: Effect.gen(function* () {
    const { commands, deposit, trader } = yield* World
    // the results of all others precede the result of this one
    yield* deposit(yield* trader, "1")
    for (const [command_id, times] of commands.answered) {
      const sent = commands.sent.get(command_id) ?? 0
      yield* expect(times <= sent, `command ${command_id} was sent ${sent} times and got ${times} results`)
    }
    for (const [command_id, times] of commands.sent) {
      const answered = commands.answered.get(command_id) ?? 0
      yield* expect(times <= answered, `command ${command_id} was sent ${times} times and got ${answered} results`)
    }
  })
}

const statuses: Case = {
  name: "statuses",
  level: "core",
  clause: "docs/contract/orders.md#order-statuses",
  claim: "every change of an order is a row of the state machine; a version rises only with an amend",
  run: Effect.gen(function* () {
    const { record, symbol } = yield* World
    const known = new Map<string, { readonly status: OrderStatus; readonly version: number }>()
    for (const event of record.events) {
      if (event.event?.$case !== "order_changed" || event.event.value.order?.symbol !== symbol) continue
      const { cause } = event.event.value
      const { order_id, order_status, version } = yield* present(
        `the order of ${kindOf(event)}`,
        event.event.value.order
      )
      const before = known.get(order_id)
      const why = nameOf(OrderCause, "ORDER_CAUSE_", cause)
      yield* expect(
        isTransition(before?.status, cause, order_status),
        `${kindOf(event)}: order ${order_id} cannot go from ${before === undefined ? "nothing" : statusName(before.status)} to ${statusName(order_status)} as ${why}`
      )
      const next = (before?.version ?? 1) + (cause === OrderCause.ORDER_CAUSE_AMENDED ? 1 : 0)
      yield* expect(
        version <= next,
        `${kindOf(event)}: version ${version} of order ${order_id}; at most ${next} can be`
      )
      known.set(order_id, { status: order_status, version })
    }
  })
}

const fills: Case = {
  name: "fills",
  level: "core",
  clause: "docs/contract/orders.md#order-record, docs/contract/exchange.md#matching",
  claim: "no fill is lost: an order's record adds up from its executions, and each trade has its taker and its maker",
  run: Effect.gen(function* () {
    const { record, symbol } = yield* World
    const filled = new Map<string, readonly [qty: bigint, value: bigint, fee: bigint]>()
    const sides = new Map<string, { taker: bigint; maker: bigint }>()
    const traded = new Map<string, bigint>()
    const sidesOf = (key: string) => {
      const found = sides.get(key) ?? { taker: 0n, maker: 0n }
      sides.set(key, found)
      return found
    }
    for (const event of record.events) {
      const payload = event.event
      if (payload?.$case === "execution_created" && payload.value.execution?.symbol === symbol) {
        const { base_fee, exec_price, exec_qty, exec_type, exec_value, is_maker, market_seq, order_id } =
          payload.value.execution
        if (exec_type !== ExecType.EXEC_TYPE_TRADE) continue
        const [qty, value, fee] = filled.get(order_id) ?? [0n, 0n, 0n]
        const now = yield* exact("exec_qty", exec_qty)
        filled.set(order_id, [
          qty + now,
          value + (yield* exact("exec_value", exec_value)),
          fee + (yield* exact("base_fee", base_fee))
        ])
        sidesOf(`${market_seq} at ${exec_price}`)[is_maker ? "maker" : "taker"] += now
      } else if (payload?.$case === "order_changed" && payload.value.order?.symbol === symbol) {
        const { cum_exec_fee, cum_exec_qty, cum_exec_value, order_id } = payload.value.order
        const sum = (filled.get(order_id) ?? [0n, 0n, 0n]).map(Exact.format)
        yield* expectEqual(
          `${kindOf(event)}: filled quantity, value and fee of order ${order_id}, by its executions`,
          [cum_exec_qty, cum_exec_value, cum_exec_fee],
          sum
        )
      } else if (payload?.$case === "trade_printed") {
        for (const { market_seq, price, qty, symbol: market } of payload.value.trades) {
          if (market !== symbol) continue
          const key = `${market_seq} at ${price}`
          traded.set(key, (traded.get(key) ?? 0n) + (yield* exact("qty", qty)))
        }
      }
    }
    for (const [key, { maker, taker }] of sides) {
      const texts = [taker, maker, traded.get(key) ?? 0n].map(Exact.format)
      yield* expectEqual(`fills of market_seq ${key}: taker, maker and tape`, texts, [texts[0], texts[0], texts[0]])
    }
  })
}

const books: Case = {
  name: "book-changes",
  level: "core",
  clause:
    "docs/contract/boundary.md#commands-and-events (BookChanged), docs/contract/boundary.md#sequencer (GetOrderBook), docs/contract/websocket.md#order-book",
  claim:
    "book_seq rises, and prev_book_seq (absent: one less) is that of the previous change; the changes add up to GetOrderBook; a book is never crossed",
  run: Effect.gen(function* () {
    const { ask, opening, record, symbol } = yield* World
    const now = yield* ask.sequencer(SequencerService.getOrderBook, { symbol, depth: 0 })
    yield* record.reach(now.as_of_seq)
    const sides = { bids: new Map<bigint, string>(), asks: new Map<bigint, string>() }
    let last = opening.book_seq
    for (const event of record.events) {
      if (event.event?.$case !== "book_changed" || event.seq > now.as_of_seq) continue
      const { book_seq, prev_book_seq = book_seq - 1, ...changed } = event.event.value
      if (changed.symbol !== symbol) continue
      yield* expect(
        prev_book_seq === last && book_seq > last,
        `${kindOf(event)}: book_seq ${book_seq} came after ${last}`
      )
      last = book_seq
      for (const side of ["bids", "asks"] as const)
        for (const { price, qty } of changed[side]) {
          if (qty === "0") sides[side].delete(yield* exact("price", price))
          else sides[side].set(yield* exact("price", price), qty)
        }
      const bid = [...sides.bids.keys()].reduce((a, b) => (a > b ? a : b), -1n)
      const ask = [...sides.asks.keys()].reduce((a, b) => (a < b ? a : b), bid + 1n)
      yield* expect(bid < ask, `${kindOf(event)}: the book is crossed at ${Exact.format(bid)}`)
    }
    const listed = (side: Side) => {
      const up = (a: bigint, b: bigint) => (a < b ? -1 : 1)
      const levels = [...(side === Side.SIDE_BUY ? sides.bids : sides.asks)].toSorted(([a], [b]) => up(a, b))
      const best = side === Side.SIDE_BUY ? levels.toReversed() : levels
      return best.map(([price, qty]) => ({ price: Exact.format(price), qty }))
    }
    yield* expectEqual("book_seq of GetOrderBook", now.book_seq, last)
    yield* expectEqual("bids of GetOrderBook, by the changes", now.bids, listed(Side.SIDE_BUY))
    yield* expectEqual("asks of GetOrderBook, by the changes", now.asks, listed(Side.SIDE_SELL))
  })
}

const balances: Case = {
  name: "balances",
  level: "core",
  clause: "docs/contract/boundary.md#commands-and-events (BalanceChanged), docs/contract/exchange.md#conservation",
  claim: "a wallet changes exactly by BalanceChanged.amount, and by a fill's result less its fee",
  run: Effect.gen(function* () {
    const { record } = yield* World
    const wallets = new Map<string, bigint>()
    for (const event of record.events) {
      if (event.event?.$case === "sub_account_changed") {
        const opened = event.event.value.sub_account
        if (opened !== undefined && !wallets.has(opened.sub_account_address))
          wallets.set(opened.sub_account_address, 0n)
      }
      if (event.event?.$case !== "balance_changed") continue
      const { amount, balance, fee, realised_pnl, reason } = event.event.value
      const { sub_account_address, wallet_balance } = yield* present(`the balance of ${kindOf(event)}`, balance)
      const before = wallets.get(sub_account_address)
      const after = yield* exact("wallet_balance", wallet_balance)
      const change = yield* exact("amount", amount)
      wallets.set(sub_account_address, after)
      if (before === undefined) continue
      // funding may change the isolated margin, which is not part of the wallet
      const elsewhere = reason === BalanceReason.BALANCE_REASON_FUNDING && after === before
      yield* expect(
        elsewhere || after === before + change,
        `${kindOf(event)}: the wallet went from ${Exact.format(before)} to ${wallet_balance}, the amount is ${amount}`
      )
      if (reason !== BalanceReason.BALANCE_REASON_TRADE || balance?.isolated_margin !== "0") continue
      const result = (yield* exact("realised_pnl", realised_pnl)) - (yield* exact("fee", fee))
      yield* expect(
        change === result,
        `${kindOf(event)}: the amount is ${amount}, the result ${realised_pnl} less the fee ${fee} another`
      )
    }
  })
}

/** Strings of a record that look like numbers. */
const numbersIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return /^[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?$/u.test(value) ? [value] : []
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(numbersIn)
  return []
}

const decimals: Case = {
  name: "decimals",
  level: "core",
  clause: "docs/contract/conventions.md#decimals",
  claim: "every decimal is in its canonical form: 60000, never 60000.0, 6e4, +60000 or -0",
  run: Effect.gen(function* () {
    const { record } = yield* World
    for (const event of record.events) {
      const wrong = numbersIn(event.event?.value).find((text) => !Exact.isCanonical(text))
      if (wrong !== undefined) return yield* broken(`${kindOf(event)} holds the number "${wrong}"`)
    }
  })
}

export const cases: ReadonlyArray<Case> = [inOrder, steps, answers, statuses, fills, books, balances, decimals]
