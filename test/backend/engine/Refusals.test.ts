/** Commands that a gateway would not send, because it has checked them: the engine refuses each with its reason, and nothing changes. */
import { assert, describe, it } from "@effect/vitest"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import type { Command, PlaceOrder } from "../../../src/proto/gateway/v1/sequencer.ts"
import {
  MarginMode,
  OrderType,
  Side,
  SmpType,
  TimeInForce,
  type Tpsl,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../../src/proto/gateway/v1/types.ts"
import { Bench, BTC, BUY, orderId, SELL, statusOf, type Trader, trader } from "../Bench.ts"
import { replays } from "../Invariants.ts"

type Sent = NonNullable<Command["command"]>

const CODES: Readonly<Record<number, string>> = {
  3: "INVALID_ARGUMENT",
  5: "NOT_FOUND",
  6: "ALREADY_EXISTS",
  9: "FAILED_PRECONDITION",
  12: "UNIMPLEMENTED"
}
const NO_MARKET = "XYZ-USDC"
const CLOSED = "SOON-USDC"

const [alice, bob, stranger] = [trader("alice"), trader("bob"), trader("stranger")]
/** A second sub-account of alice, and one that she deleted. */
const [second, deleted] = [trader("alice", 1), trader("alice", 2)]

const setup = () => {
  const closed = { ...shippedMarkets[0]!, symbol: CLOSED, status: "PreLaunch" as const }
  const bench = new Bench({ markets: [...shippedMarkets, closed] })
  bench.tick()
  bench.tick(1)
  bench.open(alice, "10000")
  bench.open(second, undefined, 1)
  bench.open(deleted, undefined, 2)
  bench.send(deleted, { $case: "delete_sub_account", value: {} })
  bench.open(bob, "1000000")
  bench.index(BTC, "60000")
  // alice is long of 0.1
  bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
  bench.place(alice, { side: BUY, qty: "0.1", price: "60000" })
  const resting = orderId(bench.place(alice, { side: BUY, qty: "0.01", price: "59000", link: "mine" }))
  const waiting = orderId(
    bench.place(alice, { side: BUY, qty: "0.01", trigger: "61000", by: TriggerBy.TRIGGER_BY_INDEX_PRICE })
  )
  bench.deposit(alice, "5")
  return { bench, resting, waiting }
}
type World = ReturnType<typeof setup>

const leg = (trigger_price: string) => ({ trigger_by: TriggerBy.TRIGGER_BY_LAST_PRICE, trigger_price })
const exits = (take_profit?: string, stop_loss?: string): Tpsl => ({
  mode: TpslMode.TPSL_MODE_FULL,
  take_profit: take_profit === undefined ? undefined : leg(take_profit),
  stop_loss: stop_loss === undefined ? undefined : leg(stop_loss)
})
const place = (change: Partial<PlaceOrder>): Sent => ({
  $case: "place_order",
  value: {
    symbol: BTC,
    side: BUY,
    order_type: OrderType.ORDER_TYPE_LIMIT,
    qty: "0.01",
    price: "59000",
    time_in_force: TimeInForce.TIME_IN_FORCE_GTC,
    post_only: false,
    reduce_only: false,
    close_on_trigger: false,
    order_link_id: undefined,
    expire_time_ms: undefined,
    trigger: undefined,
    tpsl: undefined,
    smp_type: SmpType.SMP_TYPE_UNSPECIFIED,
    ...change
  }
})
const amend =
  (of: "resting" | "waiting", change: object) =>
  (world: World): Sent => ({
    $case: "amend_order",
    value: {
      symbol: BTC,
      order: { order_id: world[of], order_link_id: undefined },
      price: undefined,
      qty: undefined,
      trigger_price: undefined,
      tpsl: undefined,
      expected_version: 0,
      ...change
    }
  })
const cancel =
  (change: object = {}) =>
  ({ resting }: World): Sent => ({
    $case: "cancel_order",
    value: { symbol: BTC, order: { order_id: resting, order_link_id: undefined }, ...change }
  })
const cancelAll = (symbol?: string): Sent => ({
  $case: "cancel_all",
  value: { symbol, side: Side.SIDE_UNSPECIFIED, order_filter: 0, reduce_only: undefined, cancel_type: 0 }
})
const stop = (tpsl: Tpsl | undefined, sizes: object = {}, symbol = BTC): Sent => ({
  $case: "set_trading_stop",
  value: { symbol, tpsl, take_profit_size: undefined, stop_loss_size: undefined, ...sizes }
})
const withEnum = (change: object): Sent => {
  const { $case, value } = cancelAll(BTC) as Extract<Sent, { $case: "cancel_all" }>
  return { $case, value: { ...value, ...change } }
}
const partial = (tpsl: Tpsl): Tpsl => ({ ...tpsl, mode: TpslMode.TPSL_MODE_PARTIAL })
const leverage = (text: string, symbol = BTC): Sent => ({ $case: "set_leverage", value: { symbol, leverage: text } })
const mode = (margin_mode: MarginMode, text?: string, symbol = BTC): Sent => ({
  $case: "set_margin_mode",
  value: { symbol, margin_mode, leverage: text }
})
const margin = (text: string, symbol = BTC): Sent => ({ $case: "add_margin", value: { symbol, margin: text } })
const create = (root_address: string, index?: number): Sent => ({
  $case: "create_sub_account",
  value: { root_address, index }
})
const deposit = (change: object): Sent => ({
  $case: "deposit_funds",
  value: { deposit_id: "new", asset: "USDC", amount: "1", source: "rail", ...change }
})
const withdraw = (change: object): Sent => ({
  $case: "withdraw_funds",
  value: { withdrawal_id: "new", asset: "USDC", amount: "1", destination: "0xab", ...change }
})
const reward = (change: object): Sent => ({
  $case: "credit_reward",
  value: { reward_id: "new", asset: "USDC", amount: "1", ...change }
})
const transfer = (change: object): Sent => ({
  $case: "transfer_funds",
  value: { transfer_id: "new", asset: "USDC", amount: "1", to_sub_account_address: second.address, ...change }
})
const index = (symbol: string, price: string): Sent => ({ $case: "set_index_price", value: { symbol, price } })

/** The status, the reason and the details; the command; its sender, who is alice where none is given. */
type Row = readonly [refusal: string, command: Sent | undefined | ((world: World) => Sent), who?: Trader]

const rows: Readonly<Record<string, Row>> = {
  "no command": ["INVALID_ARGUMENT MissingField field=command", undefined],
  "a command of a later version": [
    "UNIMPLEMENTED InvalidField field=command",
    { $case: "split_position", value: {} } as unknown as Sent
  ],

  "an order in no market": ["NOT_FOUND SymbolNotFound", place({ symbol: NO_MARKET })],
  "an order of no sub-account": ["NOT_FOUND SubAccountNotFound", place({}), stranger],
  "an order of another user's sub-account": [
    "NOT_FOUND SubAccountNotFound",
    place({}),
    { ...alice, user_id: bob.user_id }
  ],
  "an order before the launch": ["INVALID_ARGUMENT InvalidField field=symbol", place({ symbol: CLOSED })],
  "an order without a side": ["INVALID_ARGUMENT InvalidField field=side", place({ side: Side.SIDE_UNSPECIFIED })],
  "an order of an unrecognized side": ["INVALID_ARGUMENT InvalidField field=side", place({ side: Side.UNRECOGNIZED })],
  "an order without a type": [
    "INVALID_ARGUMENT InvalidField field=order_type",
    place({ order_type: OrderType.ORDER_TYPE_UNSPECIFIED })
  ],
  "an order of an unknown time in force": [
    "INVALID_ARGUMENT InvalidField field=time_in_force",
    place({ time_in_force: 77 as TimeInForce })
  ],
  "an order of an unrecognized time in force": [
    "INVALID_ARGUMENT InvalidField field=time_in_force",
    place({ time_in_force: TimeInForce.UNRECOGNIZED })
  ],
  "an order of an unknown self-trade rule": [
    "INVALID_ARGUMENT InvalidField field=smp_type",
    place({ smp_type: 4 as SmpType })
  ],
  "an order with an unknown reference of its trigger": [
    "INVALID_ARGUMENT InvalidField field=trigger.trigger_by",
    place({ trigger: { trigger_by: 4 as TriggerBy, trigger_direction: 0, trigger_price: "61000" } })
  ],
  "an order with an unknown direction of its trigger": [
    "INVALID_ARGUMENT InvalidField field=trigger.trigger_direction",
    place({ trigger: { trigger_by: 0, trigger_direction: 3 as TriggerDirection, trigger_price: "61000" } })
  ],
  "an order with an unrecognized direction of its trigger": [
    "INVALID_ARGUMENT InvalidField field=trigger.trigger_direction",
    place({
      trigger: { trigger_by: 0, trigger_direction: TriggerDirection.UNRECOGNIZED, trigger_price: "61000" }
    })
  ],
  "an order with exits of an unknown mode": [
    "INVALID_ARGUMENT InvalidField field=tpsl.mode",
    place({ tpsl: { ...exits("61000"), mode: 3 as TpslMode } })
  ],
  "an order with an unknown reference of its take-profit": [
    "INVALID_ARGUMENT InvalidField field=tpsl.take_profit.market.trigger_by",
    place({
      tpsl: { ...exits(undefined, "58000"), take_profit: { trigger_by: 9 as TriggerBy, trigger_price: "61000" } }
    })
  ],
  "an amend to exits of an unknown mode": [
    "INVALID_ARGUMENT InvalidField field=tpsl.mode",
    amend("resting", { tpsl: { ...exits("61000"), mode: 3 as TpslMode } })
  ],
  "an amend to an unknown reference of the stop-loss": [
    "INVALID_ARGUMENT InvalidField field=tpsl.stop_loss.market.trigger_by",
    amend("resting", { tpsl: { ...exits("61000"), stop_loss: { trigger_by: 9 as TriggerBy, trigger_price: "58000" } } })
  ],
  "exits of a position of an unknown mode": [
    "INVALID_ARGUMENT InvalidField field=tpsl.mode",
    stop({ ...exits("61000"), mode: 3 as TpslMode })
  ],
  "a cancel of all orders of an unknown side": [
    "INVALID_ARGUMENT InvalidField field=side",
    withEnum({ side: Side.UNRECOGNIZED })
  ],
  "a cancel of all orders of an unknown kind": [
    "INVALID_ARGUMENT InvalidField field=order_filter",
    withEnum({ order_filter: 4 })
  ],
  "a cancel of all orders for an unknown reason": [
    "INVALID_ARGUMENT InvalidField field=cancel_type",
    withEnum({ cancel_type: 99 })
  ],
  "an order with a trigger off the grid": [
    "INVALID_ARGUMENT NotMultipleOfTick field=trigger.trigger_price step=0.1",
    place({
      trigger: {
        trigger_by: TriggerBy.TRIGGER_BY_LAST_PRICE,
        trigger_direction: TriggerDirection.TRIGGER_DIRECTION_UNSPECIFIED,
        trigger_price: "61000.01"
      }
    })
  ],
  "an order with exits without a price": [
    "INVALID_ARGUMENT MissingField field=tpsl.take_profit",
    place({ tpsl: exits() })
  ],
  "an order with a take-profit off the grid": [
    "INVALID_ARGUMENT NotMultipleOfTick field=tpsl.take_profit.market.trigger_price step=0.1",
    place({ tpsl: exits("61000.01", "58000") })
  ],
  "an order with a stop-loss off the grid": [
    "INVALID_ARGUMENT NotMultipleOfTick field=tpsl.stop_loss.market.trigger_price step=0.1",
    place({ tpsl: exits("61000", "58000.01") })
  ],
  "a buy order with a take-profit at its price": [
    "INVALID_ARGUMENT OutOfRange field=tpsl.take_profit.market.trigger_price",
    place({ tpsl: exits("59000") })
  ],
  "a buy order with a stop-loss at its price": [
    "INVALID_ARGUMENT OutOfRange field=tpsl.stop_loss.market.trigger_price",
    place({ tpsl: exits(undefined, "59000") })
  ],
  "a sell order with a take-profit at its price": [
    "INVALID_ARGUMENT OutOfRange field=tpsl.take_profit.market.trigger_price",
    place({ side: SELL, price: "61000", tpsl: exits("61000") })
  ],
  "a sell order with a stop-loss at its price": [
    "INVALID_ARGUMENT OutOfRange field=tpsl.stop_loss.market.trigger_price",
    place({ side: SELL, price: "61000", tpsl: exits(undefined, "61000") })
  ],
  "an order_link_id that is used": [
    "ALREADY_EXISTS DuplicateOrderLinkId order_id=<resting>",
    place({ order_link_id: "mine" })
  ],

  "an amend in no market": ["NOT_FOUND SymbolNotFound", amend("resting", { symbol: NO_MARKET, qty: "0.02" })],
  "an amend by no sub-account": ["NOT_FOUND SubAccountNotFound", amend("resting", { qty: "0.02" }), stranger],
  "an amend of another one's order": ["NOT_FOUND OrderNotFound", amend("resting", { qty: "0.02" }), bob],
  "an amend without a change": ["INVALID_ARGUMENT MissingField field=price", amend("resting", {})],
  "an amend to a price off the grid": [
    "INVALID_ARGUMENT NotMultipleOfTick field=price step=0.1",
    amend("resting", { price: "59000.01" })
  ],
  "an amend to a quantity off the grid": [
    "INVALID_ARGUMENT NotMultipleOfStep field=qty step=0.001",
    amend("resting", { qty: "0.0101" })
  ],
  "an amend below the least notional": [
    "INVALID_ARGUMENT OutOfRange field=qty min=5",
    amend("resting", { qty: "0.001", price: "100" })
  ],
  "an amend to a take-profit off the grid": [
    "INVALID_ARGUMENT NotMultipleOfTick field=tpsl.take_profit.market.trigger_price step=0.1",
    amend("resting", { tpsl: exits("61000.01") })
  ],
  "an amend to a stop-loss off the grid": [
    "INVALID_ARGUMENT NotMultipleOfTick field=tpsl.stop_loss.market.trigger_price step=0.1",
    amend("resting", { tpsl: exits(undefined, "58000.01") })
  ],
  "an amend to a stop-loss above the price": [
    "INVALID_ARGUMENT OutOfRange field=tpsl.stop_loss.market.trigger_price",
    amend("resting", { tpsl: exits(undefined, "59500") })
  ],
  "an amend of a trigger that the order does not have": [
    "INVALID_ARGUMENT InvalidField field=trigger",
    amend("resting", { trigger_price: "61000" })
  ],
  "an amend of a trigger off the grid": [
    "INVALID_ARGUMENT NotMultipleOfTick field=trigger.trigger_price step=0.1",
    amend("waiting", { trigger_price: "61000.01" })
  ],

  "a cancel in no market": ["NOT_FOUND SymbolNotFound", cancel({ symbol: NO_MARKET })],
  "a cancel by no sub-account": ["NOT_FOUND SubAccountNotFound", cancel(), stranger],
  "a cancel of another one's order": ["NOT_FOUND OrderNotFound", cancel(), bob],
  "a cancel without an order": ["NOT_FOUND OrderNotFound", cancel({ order: undefined })],
  "a cancel of an unknown order_link_id": [
    "NOT_FOUND OrderNotFound",
    cancel({ order: { order_id: "", order_link_id: "other" } })
  ],
  "a cancel of all in no market": ["NOT_FOUND SymbolNotFound", cancelAll(NO_MARKET)],
  "a cancel of all by no sub-account": ["NOT_FOUND SubAccountNotFound", cancelAll(), stranger],

  "an exit in no market": ["NOT_FOUND SymbolNotFound", stop(exits("61000"), {}, NO_MARKET)],
  "an exit by no sub-account": ["NOT_FOUND SubAccountNotFound", stop(exits("61000")), stranger],
  "exits without a price": ["INVALID_ARGUMENT MissingField field=take_profit", stop(exits())],
  "exits that are absent": ["INVALID_ARGUMENT MissingField field=take_profit", stop(undefined)],
  "an exit without a position": ["NOT_FOUND PositionNotFound", stop(exits("61000")), second],
  "an exit off the grid": ["INVALID_ARGUMENT NotMultipleOfTick field=take_profit step=0.1", stop(exits("61000.01"))],
  "a stop-loss above the mark price": ["INVALID_ARGUMENT OutOfRange field=stop_loss", stop(exits(undefined, "61000"))],
  "a part that is off the grid": [
    "INVALID_ARGUMENT NotMultipleOfStep field=tp_size step=0.001",
    stop(partial(exits("61000")), { take_profit_size: "0.0101" })
  ],
  "a take-profit for more than the position": [
    "INVALID_ARGUMENT OutOfRange field=tp_size",
    stop(partial(exits("61000")), { take_profit_size: "0.101" })
  ],
  "a stop-loss for more than the position": [
    "INVALID_ARGUMENT OutOfRange field=sl_size",
    stop(partial(exits(undefined, "59000")), { stop_loss_size: "0.101" })
  ],

  "a leverage in no market": ["NOT_FOUND SymbolNotFound", leverage("5", NO_MARKET)],
  "a leverage of no sub-account": ["NOT_FOUND SubAccountNotFound", leverage("5"), stranger],
  "a leverage with three places": ["INVALID_ARGUMENT InvalidField field=leverage", leverage("5.123")],
  "a leverage below 1": ["INVALID_ARGUMENT OutOfRange field=leverage min=1 max=50", leverage("0.99")],
  "a leverage above the market's": ["INVALID_ARGUMENT OutOfRange field=leverage min=1 max=50", leverage("1000")],
  "a margin mode in no market": [
    "NOT_FOUND SymbolNotFound",
    mode(MarginMode.MARGIN_MODE_ISOLATED, undefined, NO_MARKET)
  ],
  "a margin mode of no sub-account": ["NOT_FOUND SubAccountNotFound", mode(MarginMode.MARGIN_MODE_ISOLATED), stranger],
  "no margin mode": ["INVALID_ARGUMENT InvalidField field=margin_mode", mode(MarginMode.MARGIN_MODE_UNSPECIFIED)],
  "a margin mode with a leverage that is no number": [
    "INVALID_ARGUMENT InvalidField field=leverage",
    mode(MarginMode.MARGIN_MODE_ISOLATED, "five"),
    second
  ],
  "a margin mode with a position": ["FAILED_PRECONDITION PositionExists", mode(MarginMode.MARGIN_MODE_ISOLATED)],
  "margin in no market": ["NOT_FOUND SymbolNotFound", margin("1", NO_MARKET)],
  "margin that is no number": ["INVALID_ARGUMENT InvalidDecimal field=margin", margin("1e3")],
  "margin of 0": ["INVALID_ARGUMENT OutOfRange field=margin", margin("0")],
  "margin without a position": ["NOT_FOUND PositionNotFound", margin("1"), second],
  "margin of a position that is not isolated": ["FAILED_PRECONDITION NotIsolated", margin("1")],

  "a sub-account of nobody": [
    "INVALID_ARGUMENT InvalidField field=user_id",
    create(stranger.root),
    { ...stranger, user_id: "" }
  ],
  "a sub-account below no address": ["INVALID_ARGUMENT InvalidField field=root_address", create("0x12"), stranger],
  "a sub-account below another user's address": [
    "INVALID_ARGUMENT InvalidField field=root_address",
    create(bob.root, 0),
    stranger
  ],
  "a sub-account below a second address": [
    "INVALID_ARGUMENT InvalidField field=root_address",
    create(stranger.root),
    alice
  ],
  "a sub-account that was deleted": ["INVALID_ARGUMENT InvalidField field=index", create(alice.root, 2), alice],
  "a sub-account that is not the next one": ["INVALID_ARGUMENT InvalidField field=index", create(alice.root, 4), alice],
  "a freeze of no sub-account": [
    "NOT_FOUND SubAccountNotFound",
    { $case: "set_sub_account", value: { frozen: true } },
    stranger
  ],
  "a deletion of no sub-account": [
    "NOT_FOUND SubAccountNotFound",
    { $case: "delete_sub_account", value: {} },
    stranger
  ],
  "a deletion of the first sub-account": [
    "INVALID_ARGUMENT InvalidField field=sub_account_address",
    { $case: "delete_sub_account", value: {} }
  ],

  "a deposit into no sub-account": ["NOT_FOUND SubAccountNotFound", deposit({}), stranger],
  "a deposit without an id": ["INVALID_ARGUMENT MissingField field=deposit_id", deposit({ deposit_id: "" })],
  "a deposit of another asset": ["INVALID_ARGUMENT InvalidField field=asset", deposit({ asset: "USDT" })],
  "a deposit of 0": ["INVALID_ARGUMENT OutOfRange field=amount", deposit({ amount: "0" })],
  "a deposit of no number": ["INVALID_ARGUMENT InvalidDecimal field=amount", deposit({ amount: "1e3" })],
  "a deposit from nowhere": ["INVALID_ARGUMENT InvalidField field=source", deposit({ source: "gift" })],
  "a faucet beyond its day": [
    "FAILED_PRECONDITION FaucetLimit max=100000 remaining=100000",
    deposit({ source: "faucet", amount: "100000.01" })
  ],
  "a withdrawal of no sub-account": ["NOT_FOUND SubAccountNotFound", withdraw({}), stranger],
  "a withdrawal without an id": ["INVALID_ARGUMENT MissingField field=withdrawal_id", withdraw({ withdrawal_id: "" })],
  "a withdrawal without a destination": [
    "INVALID_ARGUMENT MissingField field=destination",
    withdraw({ destination: "" })
  ],
  "a withdrawal of another asset": ["INVALID_ARGUMENT InvalidField field=asset", withdraw({ asset: "USDT" })],
  "a withdrawal of less than 0": ["INVALID_ARGUMENT InvalidDecimal field=amount", withdraw({ amount: "-1" })],
  "a withdrawal of more than is free": [
    "FAILED_PRECONDITION InsufficientBalance max=9342.3755",
    withdraw({ amount: "10006" })
  ],
  "a reward of no sub-account": ["NOT_FOUND SubAccountNotFound", reward({}), stranger],
  "a reward without an id": ["INVALID_ARGUMENT MissingField field=reward_id", reward({ reward_id: "" })],
  "a reward of no number": ["INVALID_ARGUMENT InvalidDecimal field=amount", reward({ amount: "" })],
  "a transfer from no sub-account": ["NOT_FOUND SubAccountNotFound", transfer({}), stranger],
  "a transfer to no sub-account": [
    "NOT_FOUND SubAccountNotFound",
    transfer({ to_sub_account_address: deleted.address })
  ],
  "a transfer to another user": ["NOT_FOUND SubAccountNotFound", transfer({ to_sub_account_address: bob.address })],
  "a transfer to itself": [
    "INVALID_ARGUMENT InvalidField field=to_sub_account_address",
    transfer({ to_sub_account_address: alice.address })
  ],
  "a transfer without an id": ["INVALID_ARGUMENT MissingField field=transfer_id", transfer({ transfer_id: "" })],
  "a transfer of another asset": ["INVALID_ARGUMENT InvalidField field=asset", transfer({ asset: "USDT" })],
  "a transfer of more than is free": [
    "FAILED_PRECONDITION InsufficientBalance max=9342.3755",
    transfer({ amount: "10006" })
  ],

  "an index price of no market": ["NOT_FOUND SymbolNotFound", index(NO_MARKET, "1")],
  "an index price off the grid": ["INVALID_ARGUMENT NotMultipleOfTick field=price step=0.1", index(BTC, "60000.01")]
}

describe("refused commands", () => {
  const world = setup()
  for (const [name, [refusal, command, who = alice]] of Object.entries(rows))
    it(name, () => {
      const sent = typeof command === "function" ? command(world) : command
      const before = world.bench.state.seq
      const { code, message, metadata, reason } = statusOf(world.bench.send(who, sent as Sent))
      const details = Object.entries(metadata).map(([key, value]) => `${key}=${value}`)
      assert.strictEqual([CODES[code], reason, ...details].join(" ").replace(world.resting, "<resting>"), refusal)
      assert.isAbove(message.length, 5)
      assert.strictEqual(world.bench.state.seq, before)
    })

  it("an expiry lies after its command, and at most 90 days", () => {
    const { bench } = setup()
    const time_in_force = TimeInForce.TIME_IN_FORCE_GTT
    // the command is sequenced 1 ms later
    const refused = (after_ms: number): string | undefined => {
      const expire_time_ms = bench.now + 1 + after_ms
      const { outcome } = bench.send(alice, place({ time_in_force, expire_time_ms })).result!
      return outcome?.$case === "status" ? outcome.value.reason : undefined
    }
    const day = 86_400_000
    assert.deepStrictEqual([-1, 0, 1, 90 * day, 90 * day + 1].map(refused), [
      "OutOfRange",
      "OutOfRange",
      undefined,
      undefined,
      "OutOfRange"
    ])
    assert.deepInclude(statusOf(bench.send(alice, place({ time_in_force }))), { reason: "MissingField" })
    const untimed = place({ expire_time_ms: bench.now + day })
    assert.deepInclude(statusOf(bench.send(alice, untimed)), {
      reason: "InvalidField",
      metadata: { field: "expire_time" }
    })
  })

  it("change nothing: the journal without them gives the same state", () => replays(world.bench))
})
