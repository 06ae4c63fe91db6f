import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import * as Ids from "../../../src/backend/engine/state/Ids.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import { type CommandStatus, OrderCause } from "../../../src/proto/gateway/v1/sequencer.ts"
import {
  CancelType,
  MarginMode,
  type Order,
  OrderStatus,
  RejectReason,
  Side,
  SmpType,
  TimeInForce
} from "../../../src/proto/gateway/v1/types.ts"
import { vectors } from "../../vectors.ts"
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
  type PlaceOptions,
  positions,
  SELL,
  statusOf,
  type Trader,
  trader
} from "../Bench.ts"

const ETH = "ETH-USDC"
const { TIME_IN_FORCE_FOK: FOK, TIME_IN_FORCE_IOC: IOC } = TimeInForce
const alice = trader("alice")
const bob = trader("bob")
const carol = trader("carol")

/** A bench with the BTC index fixed at 60000 and well-funded traders. */
const opened = (funds: Partial<Record<"alice" | "bob" | "carol", string>> = {}): Bench => {
  const bench = new Bench()
  bench.tick()
  bench.index(BTC, "60000")
  bench.open(alice, funds.alice ?? "100000")
  bench.open(bob, funds.bob ?? "100000")
  bench.open(carol, funds.carol ?? "100000")
  return bench
}

const last = (step: Engine.Step, who: Trader): Order => orders(step, who).at(-1)!

const brief = (order: Order) => [order.order_status, order.cancel_type, order.reject_reason]

const {
  ORDER_STATUS_NEW: NEW,
  ORDER_STATUS_PARTIALLY_FILLED: PARTIAL,
  ORDER_STATUS_FILLED: FILLED,
  ORDER_STATUS_CANCELED: CANCELED,
  ORDER_STATUS_PARTIALLY_FILLED_CANCELED: PARTIAL_CANCELED,
  ORDER_STATUS_CANCEL_REQUESTED: REQUESTED,
  ORDER_STATUS_REJECTED: REJECTED
} = OrderStatus
const NO_ERROR = RejectReason.REJECT_REASON_EC_NO_ERROR

describe("refusals before the acknowledgement", () => {
  const status = (options: Partial<PlaceOptions>, who = alice): CommandStatus =>
    statusOf(opened().place(who, { side: BUY, qty: "0.1", price: "60000", ...options }))

  it.each<[string, Partial<PlaceOptions>, number, string, Record<string, string>]>([
    ["a price off the tick", { price: "60000.05" }, 3, "NotMultipleOfTick", { field: "price", step: "0.1" }],
    [
      "a price above the market's",
      { price: "1000000.1" },
      3,
      "OutOfRange",
      { field: "price", min: "0.1", max: "1000000" }
    ],
    ["a price of 0", { price: "0" }, 3, "OutOfRange", { field: "price", min: "0.1", max: "1000000" }],
    ["a qty off the step", { qty: "0.0015" }, 3, "NotMultipleOfStep", { field: "qty", step: "0.001" }],
    ["a qty above the largest", { qty: "100.001" }, 3, "OutOfRange", { field: "qty", min: "0.001", max: "100" }],
    ["a qty of 0", { qty: "0" }, 3, "OutOfRange", { field: "qty", min: "0.001", max: "100" }],
    [
      "a qty of 0 that only reduces",
      { qty: "0", reduce_only: true },
      3,
      "OutOfRange",
      { field: "qty", min: "0.001", max: "100" }
    ],
    ["a number in another notation", { qty: "1e2" }, 3, "InvalidDecimal", { field: "qty" }],
    ["a negative qty", { qty: "-1" }, 3, "InvalidDecimal", { field: "qty" }],
    ["19 decimal places", { price: "60000.0000000000000000001" }, 3, "TooManyDecimals", { field: "price" }],
    ["too small a value", { qty: "0.001", price: "4999.9" }, 3, "OutOfRange", { field: "qty", min: "5" }],
    ["post-only that may not rest", { post_only: true, tif: IOC }, 3, "InvalidField", { field: "post_only" }],
    ["an order_link_id with a blank", { link: "a b" }, 3, "InvalidField", { field: "order_link_id" }],
    ["an unknown market", { symbol: "btc-usdc" }, 5, "SymbolNotFound", {}],
    ["an unknown side", { side: Side.UNRECOGNIZED }, 3, "InvalidField", { field: "side" }]
  ])("%s", (_, options, code, reason, metadata) => {
    assert.deepInclude(status(options), { code, reason, metadata })
  })

  it("a market order above its own largest quantity, and one of another time in force", () => {
    const bench = opened()
    assert.deepInclude(statusOf(bench.place(alice, { side: BUY, qty: "30.001" })), {
      reason: "OutOfRange",
      metadata: { field: "qty", min: "0.001", max: "30" }
    })
    assert.deepInclude(statusOf(bench.place(alice, { side: BUY, qty: "1", tif: TimeInForce.TIME_IN_FORCE_GTC })), {
      reason: "InvalidField",
      metadata: { field: "time_in_force" }
    })
  })

  it("a market order of too small a value at the mark, whatever the last price is", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.001", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.001" })
    const outcome = (mark: string) => {
      bench.index(BTC, mark)
      return bench.place(carol, { side: BUY, qty: "0.001" })
    }
    assert.deepInclude(statusOf(outcome("4999.9")), { reason: "OutOfRange", metadata: { field: "qty", min: "5" } })
    ackOf(outcome("5000"))
  })

  it("an order in a market that is closed", () => {
    const markets = shippedMarkets.map((market) =>
      market.symbol === BTC ? { ...market, status: "Closed" as const } : market
    )
    const bench = new Bench({ markets })
    bench.open(alice, "100000")
    assert.deepInclude(statusOf(bench.place(alice, { side: BUY, qty: "0.1", price: "60000" })), {
      reason: "InvalidField",
      metadata: { field: "symbol" }
    })
    ackOf(bench.place(alice, { symbol: ETH, side: BUY, qty: "0.1", price: "3000" }))
  })

  it("a foreign, unknown or frozen sub-account", () => {
    const bench = opened()
    const stranger = { ...alice, address: bob.address }
    assert.strictEqual(statusOf(bench.place(stranger, { side: BUY, qty: "1" })).reason, "SubAccountNotFound")
    const open = orderId(bench.place(alice, { side: BUY, qty: "1", price: "59000" }))
    bench.send(alice, { $case: "set_sub_account", value: { frozen: true } })
    assert.deepInclude(statusOf(bench.place(alice, { side: BUY, qty: "1" })), { code: 9, reason: "SubAccountFrozen" })
    assert.strictEqual(statusOf(bench.amend(alice, { id: open }, { qty: "2" })).reason, "SubAccountFrozen")
    ackOf(bench.cancel(alice, { id: open }))
  })

  it("a used order_link_id, also of a rejected order, reports the first order", () => {
    const bench = opened({ alice: "10" })
    const first = bench.place(alice, { side: BUY, qty: "1", price: "60000", link: "x" })
    assert.strictEqual(last(first, alice).order_status, REJECTED)
    assert.deepInclude(statusOf(bench.place(alice, { side: BUY, qty: "1", price: "60000", link: "x" })), {
      code: 6,
      reason: "DuplicateOrderLinkId",
      metadata: { order_id: orderId(first) }
    })
    // the id is unique per sub-account
    ackOf(bench.place(bob, { side: BUY, qty: "1", price: "60000", link: "x" }))
  })

  it("an unknown or foreign order, or one of another market", () => {
    const bench = opened()
    const id = orderId(bench.place(alice, { side: BUY, qty: "1", price: "59000", link: "x" }))
    const forged = `${id.slice(0, 12)}${id[12] === "0" ? "1" : "0"}${id.slice(13)}`
    for (const step of [
      () => bench.cancel(alice, { id: forged }),
      () => bench.cancel(alice, { id: "nonsense" }),
      () => bench.cancel(alice, {}),
      () => bench.cancel(alice, { link: "y" }),
      () => bench.cancel(bob, { id }),
      () => bench.cancel(bob, { link: "x" }),
      () => bench.cancel(alice, { id }, "ETH-USDC")
    ])
      assert.deepInclude(statusOf(step()), { code: 5, reason: "OrderNotFound" })
    assert.strictEqual(statusOf(bench.cancel(alice, { id, link: "y" })).reason, "InvalidField")
    bench.cancel(alice, { id })
    assert.strictEqual(statusOf(bench.cancel(bob, { id })).reason, "OrderNotFound")
    assert.deepInclude(statusOf(bench.amend(alice, { link: "x" }, { qty: "2" })), {
      reason: "OrderAlreadyClosed",
      metadata: { order_status: "Canceled" }
    })
  })

  it("an id with the number and place of an open order that was never issued", () => {
    const bench = opened()
    const id = orderId(bench.place(alice, { side: BUY, qty: "1", price: "59000" }))
    const { createdMs, number, slot } = bench.state.orders.all()[0]!
    const print = (at: number) => Ids.print(bench.state.orderSeed, at, number, slot)
    assert.strictEqual(print(createdMs), id)
    const other = print(createdMs + 1)
    assert.deepInclude(statusOf(bench.cancel(alice, { id: other })), { code: 5, reason: "OrderNotFound" })
    assert.isUndefined(Reads.order(bench.state, { order_id: other }))
    ackOf(bench.cancel(alice, { id }))
  })
})

describe("rejections by the pre-trade checks", () => {
  const rejected = (bench: Bench, who: Trader, options: PlaceOptions): RejectReason => {
    const step = bench.place(who, options)
    ackOf(step)
    assert.deepStrictEqual(kinds(step), ["order_changed"])
    const order = last(step, who)
    assert.strictEqual(order.order_status, REJECTED)
    assert.strictEqual(order.leaves_qty, "0")
    assert.isString(order.reject_message)
    return order.reject_reason
  }

  it("margin, to the last unit", () => {
    // 0.5 at 60000, L 10: 3000 + 16.5
    const bench = opened({ alice: "3016.499999999999999999", bob: "3016.5" })
    const order = { side: BUY, qty: "0.5", price: "60000" }
    assert.strictEqual(rejected(bench, alice, order), RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE)
    const accepted = bench.place(bob, order)
    assert.deepStrictEqual(kinds(accepted, bob), ["order_changed", "balance_changed"])
    assert.deepInclude(balances(accepted, bob)[0], { order_margin: "3016.5", available_balance: "0" })
  })

  it("price band, both sides, limits included", () => {
    const bench = opened()
    const band = RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT
    assert.strictEqual(rejected(bench, alice, { side: BUY, qty: "0.1", price: "63000.1" }), band)
    assert.strictEqual(rejected(bench, alice, { side: SELL, qty: "0.1", price: "56999.9" }), band)
    for (const [side, price] of [
      [SELL, "57000"],
      [BUY, "63000"]
    ] as const) {
      assert.strictEqual(last(bench.place(alice, { side, qty: "0.1", price }), alice).order_status, NEW)
      bench.cancelAll(alice)
    }
    // the passive side is free
    assert.strictEqual(last(bench.place(bob, { side: SELL, qty: "0.1", price: "99000" }), bob).order_status, NEW)
  })

  it("post-only that would take, also at the same price", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60010" })
    const post = { side: BUY, qty: "0.1", post_only: true }
    assert.strictEqual(
      rejected(bench, alice, { ...post, price: "60010" }),
      RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY
    )
    assert.strictEqual(last(bench.place(alice, { ...post, price: "60009.9" }), alice).order_status, NEW)
    assert.strictEqual(
      rejected(bench, bob, { ...post, side: SELL, price: "60009.9" }),
      RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY
    )
  })

  it("reduce-only without a position, or on its side", () => {
    const bench = opened()
    const reduce = { side: BUY, qty: "0.1", price: "60000", reduce_only: true }
    assert.strictEqual(rejected(bench, alice, reduce), RejectReason.REJECT_REASON_EC_REDUCE_ONLY_NO_POSITION)
    assert.strictEqual(
      rejected(bench, alice, { side: BUY, qty: "0", reduce_only: true, close_on_trigger: true }),
      RejectReason.REJECT_REASON_EC_REDUCE_ONLY_NO_POSITION
    )
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.1" })
    assert.strictEqual(rejected(bench, alice, reduce), RejectReason.REJECT_REASON_EC_REDUCE_ONLY_SAME_SIDE)
    // a position on the side of the order has nothing that it could close
    const whole = bench.place(alice, { side: BUY, qty: "0", reduce_only: true, close_on_trigger: true })
    assert.deepInclude(last(whole, alice), {
      reject_reason: RejectReason.REJECT_REASON_EC_REDUCE_ONLY_SAME_SIDE,
      qty: "0"
    })
  })

  it("more than 500 open orders; orders that cannot rest do not count", () => {
    const bench = opened({ alice: "100000000" })
    const small = { side: BUY, qty: "0.001", price: "50000" }
    for (let i = 0; i < 500; i++) bench.place(alice, small)
    assert.strictEqual(rejected(bench, alice, small), RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM)
    assert.strictEqual(last(bench.place(alice, { ...small, tif: IOC }), alice).order_status, CANCELED)
    assert.strictEqual(ackOf(bench.cancelAll(alice)).orders.length, 500)
    assert.strictEqual(last(bench.place(alice, small), alice).order_status, NEW)
  })

  it("an exposure beyond the last risk limit", () => {
    const bench = opened({ alice: "1000000000" })
    const wall = (qty: string) => ({ side: BUY, qty, price: "50000" })
    for (let i = 0; i < 10; i++) assert.strictEqual(last(bench.place(alice, wall("100")), alice).order_status, NEW)
    const margin = () => Reads.account(bench.state, alice.address)!.balances[0]!.order_margin
    const before = margin()
    assert.strictEqual(rejected(bench, alice, wall("0.001")), RejectReason.REJECT_REASON_EC_REACH_RISK_LIMIT)
    assert.strictEqual(margin(), before, "it reserves nothing")
  })

  it("lets an account beyond the risk limit reduce", () => {
    const bench = opened({ alice: "1000000000", bob: "1000000000" })
    for (let i = 0; i < 8; i++) {
      bench.place(bob, { side: SELL, qty: "100", price: "60000" })
      bench.place(alice, { side: BUY, qty: "100", price: "60000" })
    }
    bench.index(BTC, "63000")
    assert.strictEqual(
      rejected(bench, alice, { side: BUY, qty: "0.001", price: "63000" }),
      RejectReason.REJECT_REASON_EC_REACH_RISK_LIMIT
    )
    assert.strictEqual(last(bench.place(alice, { side: SELL, qty: "1", price: "64000" }), alice).order_status, NEW)
  })

  it("lets an account without free margin close, and cancel", () => {
    const bench = opened({ alice: "650" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.1" })
    bench.index(BTC, "59000")
    assert.strictEqual(Reads.account(bench.state, alice.address)!.balances[0]!.available_balance, "0")
    bench.place(bob, { side: BUY, qty: "1", price: "59000" })
    assert.strictEqual(
      rejected(bench, alice, { side: BUY, qty: "0.001", price: "59000" }),
      RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE
    )
    assert.strictEqual(last(bench.place(alice, { side: SELL, qty: "0.1" }), alice).order_status, FILLED)
  })
})

describe("times in force", () => {
  it("IOC fills what it can; without a fill it has a reject reason and no balance event", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    const some = bench.place(alice, { side: BUY, qty: "0.3", price: "60000", tif: IOC })
    assert.deepStrictEqual(brief(last(some, alice)), [
      PARTIAL_CANCELED,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      NO_ERROR
    ])
    // the margin of the canceled remainder is released, and a balance event shows it
    assert.strictEqual(balances(some, alice).at(-1)!.order_margin, "0")
    const none = bench.place(alice, { side: BUY, qty: "0.3" })
    assert.deepStrictEqual(kinds(none), ["order_changed", "order_changed"])
    assert.deepStrictEqual(brief(last(none, alice)), [
      CANCELED,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      RejectReason.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL
    ])
  })

  it("a market order stops at the protective price", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "63000" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "63000.1" })
    const step = bench.place(alice, { side: BUY, qty: "0.2" })
    assert.deepStrictEqual(
      executions(step, alice).map(({ exec_price, exec_qty }) => [exec_price, exec_qty]),
      [["63000", "0.1"]]
    )
    assert.strictEqual(last(step, alice).order_status, PARTIAL_CANCELED)
  })

  it("FOK fills whole across levels, or not at all", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(carol, { side: SELL, qty: "0.1", price: "60001" })
    const short = bench.place(alice, { side: BUY, qty: "0.201", price: "60001", tif: FOK })
    assert.deepStrictEqual(kinds(short), ["order_changed", "order_changed"])
    assert.deepStrictEqual(brief(last(short, alice)), [
      CANCELED,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      RejectReason.REJECT_REASON_EC_NO_ENOUGH_QTY_TO_FILL
    ])
    const whole = bench.place(alice, { side: BUY, qty: "0.2", price: "60001", tif: FOK })
    assert.strictEqual(executions(whole, alice).length, 2)
    assert.strictEqual(last(whole, alice).order_status, FILLED)
    assert.strictEqual(last(whole, alice).avg_price, "60000.5")
  })
})

describe("self-trade prevention", () => {
  const SMP = CancelType.CANCEL_TYPE_CANCEL_BY_SMP
  const SELF = RejectReason.REJECT_REASON_EC_BY_SELF_MATCH
  const meet = (smp: SmpType) => {
    const bench = opened()
    const second = trader("alice", 1)
    bench.open(second, "100000", 1)
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(second, { side: SELL, qty: "0.1", price: "60001" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60002" })
    const step = bench.place(alice, { side: BUY, qty: "0.3", price: "60002", smp })
    const ends = orders(step)
      .filter(({ cancel_type }) => cancel_type === SMP)
      .map((order) => [order.sub_account_address === alice.address ? "taker" : "maker", ...brief(order)])
    return {
      ends,
      filled: executions(step, alice)
        .filter((fill) => !fill.is_maker)
        .map((fill) => fill.exec_price),
      step
    }
  }

  it("cancels the taker's remainder by default", () => {
    const { ends, filled, step } = meet(SmpType.SMP_TYPE_UNSPECIFIED)
    assert.deepStrictEqual(ends, [["taker", PARTIAL_CANCELED, SMP, SELF]])
    assert.deepStrictEqual(filled, ["60000"])
    assert.strictEqual(last(step, alice).smp_type, SmpType.SMP_TYPE_CANCEL_TAKER)
  })
  it("cancels the maker and continues after it", () => {
    const { ends, filled } = meet(SmpType.SMP_TYPE_CANCEL_MAKER)
    assert.deepStrictEqual(ends, [["maker", CANCELED, SMP, SELF]])
    assert.deepStrictEqual(filled, ["60000", "60002"])
  })
  it("cancels both", () => {
    const { ends, filled } = meet(SmpType.SMP_TYPE_CANCEL_BOTH)
    assert.deepStrictEqual(ends, [
      ["maker", CANCELED, SMP, SELF],
      ["taker", PARTIAL_CANCELED, SMP, SELF]
    ])
    assert.deepStrictEqual(filled, ["60000"])
  })
  it("lets a FOK pass an order of its own user only where that order is canceled", () => {
    for (const [smp, status, prices] of [
      [SmpType.SMP_TYPE_UNSPECIFIED, CANCELED, []],
      [SmpType.SMP_TYPE_CANCEL_BOTH, CANCELED, []],
      [SmpType.SMP_TYPE_CANCEL_MAKER, FILLED, ["60000", "60002"]]
    ] as const) {
      const bench = opened()
      bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
      bench.place(alice, { side: SELL, qty: "0.1", price: "60001" })
      bench.place(bob, { side: SELL, qty: "0.1", price: "60002" })
      const step = bench.place(alice, { side: BUY, qty: "0.2", price: "60002", tif: FOK, smp })
      const ends = orders(step, alice).filter(({ order_id }) => order_id === orderId(step))
      assert.strictEqual(ends.at(-1)!.order_status, status)
      assert.deepStrictEqual(
        executions(step, alice).map((fill) => fill.exec_price),
        [...prices]
      )
      assert.strictEqual(Reads.openOrders(bench.state).length, status === FILLED ? 0 : 3)
    }
  })
})

describe("amend", () => {
  it("keeps priority only when the price is unchanged and the quantity falls", () => {
    const first = (change: { price?: string; qty?: string }): string => {
      const bench = opened()
      const id = orderId(bench.place(bob, { side: SELL, qty: "0.2", price: "60000" }))
      const second = orderId(bench.place(carol, { side: SELL, qty: "0.2", price: "60000" }))
      bench.amend(bob, { id }, change)
      const step = bench.place(alice, { side: BUY, qty: "0.05" })
      const maker = executions(step).find((fill) => fill.is_maker)!.order_id
      return maker === id ? "kept" : maker === second ? "lost" : "?"
    }
    assert.strictEqual(first({ qty: "0.1" }), "kept")
    assert.strictEqual(first({ qty: "0.1", price: "60000.00" }), "kept")
    assert.strictEqual(first({ qty: "0.3" }), "lost")
    assert.strictEqual(first({ qty: "0.2", price: "60000" }), "kept")
  })

  it("to a smaller quantity shows the level and the released margin in its step", () => {
    const bench = opened()
    const id = orderId(bench.place(alice, { side: BUY, qty: "0.2", price: "59000" }))
    bench.place(bob, { side: BUY, qty: "0.1", price: "59000" })
    const step = bench.amend(alice, { id }, { qty: "0.05" })
    assert.deepStrictEqual(kinds(step), ["order_changed", "balance_changed", "book_changed"])
    assert.strictEqual(balances(step, alice)[0]!.order_margin, "296.6225")
    const book = step.events.at(-1)!.event!
    assert.isTrue(book.$case === "book_changed")
    if (book.$case === "book_changed") assert.deepStrictEqual(book.value.bids, [{ price: "59000", qty: "0.15" }])
  })

  it("to equal values changes nothing: no event, version kept", () => {
    const bench = opened()
    const id = orderId(bench.place(alice, { side: BUY, qty: "0.2", price: "59000" }))
    const step = bench.amend(alice, { id }, { qty: "0.200", price: "59000.0" })
    assert.strictEqual(ackOf(step).version, 1)
    assert.strictEqual(step.events.length, 0)
    assert.strictEqual(statusOf(bench.amend(alice, { id }, {})).reason, "MissingField")
  })

  it("to a crossing price trades as a taker", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    const id = orderId(bench.place(alice, { side: BUY, qty: "0.3", price: "59000" }))
    const step = bench.amend(alice, { id }, { price: "60500" })
    assert.deepStrictEqual(
      orders(step, alice).map(({ order_status, version }) => [order_status, version]),
      [
        [NEW, 2],
        [PARTIAL, 2]
      ]
    )
    assert.deepInclude(executions(step, alice)[0], { is_maker: false, exec_price: "60000", base_fee: "3.3" })
    // the balance of the fill shows the margin of the rest
    assert.strictEqual(balances(step, alice).length, 1)
    assert.deepStrictEqual(Reads.orderBook(bench.state, BTC, 0)!.bids, [{ price: "60500", qty: "0.2" }])
  })

  it("of a partly filled order, without a further fill, shows its new margin", () => {
    const bench = opened()
    const id = orderId(bench.place(alice, { side: BUY, qty: "0.2", price: "59000" }))
    bench.place(bob, { side: SELL, qty: "0.1", price: "59000" })
    const step = bench.amend(alice, { id }, { price: "58000" })
    assert.deepStrictEqual(kinds(step), ["order_changed", "balance_changed", "book_changed"])
    // 0.1 at 58000: 580 and the fee
    assert.strictEqual(balances(step, alice)[0]!.order_margin, "583.19")
  })

  it("leaves the order unchanged when refused: post-only, band, filled quantity, margin", () => {
    const bench = opened({ alice: "4000" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    const id = orderId(bench.place(alice, { side: BUY, qty: "0.2", price: "59000", post_only: true }))
    const refused = (change: { price?: string; qty?: string }, order = id) => {
      const step = bench.amend(alice, { id: order }, change)
      assert.strictEqual(ackOf(step).version, 1)
      assert.deepStrictEqual(kinds(step), ["order_changed"])
      const { event } = step.events[0]!
      assert.isTrue(event?.$case === "order_changed" && event.value.cause === OrderCause.ORDER_CAUSE_AMEND_REFUSED)
      return last(step, alice).reject_reason
    }
    assert.strictEqual(refused({ price: "60000" }), RejectReason.REJECT_REASON_EC_POST_ONLY_WILL_TAKE_LIQUIDITY)
    assert.strictEqual(refused({ price: "64000" }), RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT)
    assert.strictEqual(refused({ qty: "1" }), RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE)
    assert.strictEqual(refused({ qty: "99" }), RejectReason.REJECT_REASON_EC_INSUFFICIENT_BALANCE)
    assert.deepInclude(Reads.order(bench.state, { order_id: id }), { qty: "0.2", price: "59000", version: 1 })
    // the next accepted change clears the reason
    assert.strictEqual(last(bench.amend(alice, { id }, { qty: "0.1" }), alice).reject_reason, NO_ERROR)
    const partly = orderId(bench.place(alice, { side: BUY, qty: "0.2", price: "60000" }))
    assert.strictEqual(refused({ qty: "0.1" }, partly), RejectReason.REJECT_REASON_EC_INVALID_QTY)
  })
})

describe("the fill check", () => {
  /** Alice holds 0.1 long of 60000 with the mark at 53700: equity 66.7, maintenance 53.7. */
  const stretched = (): Bench => {
    const bench = opened({ alice: "700" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.1" })
    return bench
  }
  const AFFORD = CancelType.CANCEL_TYPE_CANCEL_BY_CANNOT_AFFORD_ORDER_COST

  it("cancels the resting order that fails it, and matching continues", () => {
    const bench = stretched()
    const id = orderId(bench.place(alice, { side: BUY, qty: "0.005", price: "57500" }))
    bench.place(carol, { side: BUY, qty: "0.005", price: "57400" })
    bench.index(BTC, "53700")
    const step = bench.place(bob, { side: SELL, qty: "0.005", price: "57400" })
    assert.deepStrictEqual(
      executions(step, bob).map((fill) => fill.exec_price),
      ["57400"]
    )
    assert.deepInclude(orders(step, alice)[0], { order_id: id, order_status: CANCELED, cancel_type: AFFORD })
    // its cancellation is emitted after the fills
    const cancelAt = step.events.findIndex(
      ({ event, user_id }) => event?.$case === "order_changed" && user_id === alice.user_id
    )
    const fillAt = step.events.findLastIndex(({ event }) => event?.$case === "execution_created")
    assert.isAbove(cancelAt, fillAt)
    assert.strictEqual(balances(step, alice)[0]!.order_margin, "0")
  })

  it("cancels a taker that cannot afford its fill", () => {
    const bench = stretched()
    bench.place(bob, { side: BUY, qty: "0.1", price: "51100" })
    bench.index(BTC, "53700")
    const step = bench.place(alice, { side: SELL, qty: "0.1" })
    assert.strictEqual(executions(step).length, 0)
    assert.deepStrictEqual(brief(last(step, alice)), [CANCELED, AFFORD, NO_ERROR])
  })

  it("permits a fill that leaves exactly 0, and not one unit less", () => {
    // buy 0.1 at 60000: fee 3.3; sell at 54000: −600, fee 2.97
    for (const [deposit, filled] of [
      ["606.27", 1],
      ["606.269999999999999999", 0]
    ] as const) {
      const bench = opened({ alice: deposit })
      bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
      bench.place(alice, { side: BUY, qty: "0.1", price: "60000" })
      bench.index(BTC, "56700")
      bench.place(bob, { side: BUY, qty: "0.1", price: "54000" })
      const step = bench.place(alice, { side: SELL, qty: "0.1" })
      assert.strictEqual(executions(step, alice).length, filled)
      if (filled === 1) assert.strictEqual(balances(step, alice)[0]!.wallet_balance, "0")
    }
  })

  it("counts the result and the maintenance margin of the other Cross positions, and nothing of an Isolated one", () => {
    const { MARGIN_MODE_CROSS: CROSS, MARGIN_MODE_ISOLATED: ISOLATED } = MarginMode
    // 606.27 as above; buy 0.1 ETH at 3000: fee 0.165, then its result and 1 % of its value, or its margin of 12
    for (const [margin_mode, mark, deposit, filled] of [
      [CROSS, "2900", "619.335", 1],
      [CROSS, "2900", "619.334999999999999999", 0],
      [CROSS, "3100", "599.535", 1],
      [CROSS, "3100", "599.534999999999999999", 0],
      [ISOLATED, "2990", "618.435", 1],
      [ISOLATED, "3100", "618.434999999999999999", 0]
    ] as const) {
      const bench = opened({ alice: deposit })
      bench.index(ETH, "3000")
      const leverage = "25"
      ackOf(bench.send(alice, { $case: "set_leverage", value: { symbol: BTC, leverage } }))
      ackOf(bench.send(alice, { $case: "set_margin_mode", value: { symbol: ETH, margin_mode, leverage } }))
      for (const [symbol, price] of [
        [ETH, "3000"],
        [BTC, "60000"]
      ] as const) {
        bench.place(bob, { symbol, side: SELL, qty: "0.1", price })
        bench.place(alice, { symbol, side: BUY, qty: "0.1", price })
      }
      bench.index(ETH, mark)
      bench.index(BTC, "56700")
      bench.place(bob, { side: BUY, qty: "0.1", price: "54000" })
      const step = bench.place(alice, { side: SELL, qty: "0.1" })
      assert.strictEqual(executions(step, alice).length, filled, `${margin_mode} ${mark} ${deposit}`)
    }
  })

  it("judges a FOK by the fee that each maker pays as a maker", () => {
    // buy 0.1 at 60000: fee 3.3; sell at 54000 as a maker: −600, fee 1.08
    for (const [deposit, status] of [
      ["604.38", FILLED],
      ["604.379999999999999999", CANCELED]
    ] as const) {
      const bench = opened({ alice: deposit })
      bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
      bench.place(alice, { side: BUY, qty: "0.1", price: "60000" })
      bench.index(BTC, "56700")
      bench.place(alice, { side: SELL, qty: "0.1", price: "54000" })
      const step = bench.place(bob, { side: BUY, qty: "0.1", price: "54000", tif: FOK })
      assert.strictEqual(last(step, bob).order_status, status)
      if (status === FILLED) assert.strictEqual(balances(step, alice)[0]!.wallet_balance, "0")
    }
  })

  it("judges a FOK over two orders of one maker by the position that the first fill leaves", () => {
    const bench = opened()
    bench.place(bob, { side: BUY, qty: "0.1", price: "60000" })
    bench.place(carol, { side: SELL, qty: "0.1", price: "60000" })
    // bob is long 0.1: the first fill closes it, and the reduce-only order has nothing to reduce after that
    bench.place(bob, { side: SELL, qty: "0.1", price: "60001" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60002", reduce_only: true })
    const step = bench.place(alice, { side: BUY, qty: "0.2", price: "60002", tif: FOK })
    assert.deepStrictEqual(executions(step), [])
    assert.deepStrictEqual(brief(last(step, alice)), [
      CANCELED,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      RejectReason.REJECT_REASON_EC_NO_ENOUGH_QTY_TO_FILL
    ])
    const whole = bench.place(alice, { side: BUY, qty: "0.1", price: "60002", tif: FOK })
    assert.deepStrictEqual(brief(last(whole, alice)).slice(0, 1), [FILLED])
  })

  it("judges a FOK of an Isolated position by the risk tier that its own fills lead to", () => {
    // at 59000 below the mark, the first fills lower the exposure to the first tier, where less margin is locked
    const bench = opened({ alice: "42000", bob: "10000000", carol: "10000000" })
    const margin_mode = MarginMode.MARGIN_MODE_ISOLATED
    ackOf(bench.send(alice, { $case: "set_margin_mode", value: { symbol: BTC, margin_mode, leverage: "50" } }))
    bench.place(bob, { side: SELL, qty: "20", price: "59000" })
    bench.place(carol, { side: SELL, qty: "13.8", price: "59000" })
    const step = bench.place(alice, { side: BUY, qty: "33.8", price: "59000", tif: FOK })
    assert.deepStrictEqual(executions(step), [])
    assert.deepStrictEqual(brief(last(step, alice)), [CANCELED, AFFORD, NO_ERROR])
    // the same without all-or-nothing stops at the second maker
    const part = bench.place(alice, { side: BUY, qty: "33.8", price: "59000", tif: IOC })
    assert.strictEqual(last(part, alice).cum_exec_qty, "20")
  })

  it("judges a FOK by the entry value of all its fills", () => {
    // at leverage 50 and a mark of 57200: the first fill leaves 600 − 3.3 − 280, both leave 600 − 6.6 − 560
    const bench = opened({ alice: "600" })
    ackOf(bench.send(alice, { $case: "set_leverage", value: { symbol: BTC, leverage: "50" } }))
    bench.index(BTC, "57200")
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(carol, { side: SELL, qty: "0.1", price: "60000" })
    const step = bench.place(alice, { side: BUY, qty: "0.2", price: "60000", tif: FOK })
    assert.deepStrictEqual(executions(step), [])
    assert.deepStrictEqual(brief(last(step, alice)), [CANCELED, AFFORD, NO_ERROR])
    const part = bench.place(alice, { side: BUY, qty: "0.2", price: "60000", tif: IOC })
    assert.strictEqual(last(part, alice).cum_exec_qty, "0.1")
  })

  it("judges a FOK of an Isolated position by the margin that all its fills lock, each lot in one tier", () => {
    const margin_mode = MarginMode.MARGIN_MODE_ISOLATED
    for (const [mark, leverage, deposit, qty] of [
      // a loss of 560 that the margin of one fill, 600, would not cover together with the maintenance margin
      ["57200", "10", "2000", "0.1"],
      // 1.98 million is in the first tier, with 1 / 50 to lock; the order and its fills counted together are not
      ["60000", "50", "42000", "16.5"]
    ] as const) {
      const bench = opened({ alice: deposit, bob: "10000000", carol: "10000000" })
      ackOf(bench.send(alice, { $case: "set_margin_mode", value: { symbol: BTC, margin_mode, leverage } }))
      bench.index(BTC, mark)
      bench.place(bob, { side: SELL, qty, price: "60000" })
      bench.place(carol, { side: SELL, qty, price: "60000" })
      const step = bench.place(alice, { side: BUY, qty: String(2 * Number(qty)), price: "60000", tif: FOK })
      assert.strictEqual(last(step, alice).order_status, FILLED, mark)
    }
  })

  it("ends a reduce-only FOK beyond its position for the quantity, not for the margin of a fill", () => {
    const bench = stretched()
    bench.place(bob, { side: BUY, qty: "0.2", price: "51100" })
    bench.index(BTC, "53700")
    const outcome = (qty: string) =>
      brief(last(bench.place(alice, { side: SELL, qty, price: "51100", tif: FOK, reduce_only: true }), alice))
    assert.deepStrictEqual(outcome("0.2"), [
      CANCELED,
      CancelType.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE,
      RejectReason.REJECT_REASON_EC_NO_ENOUGH_QTY_TO_FILL
    ])
    assert.deepStrictEqual(outcome("0.1"), [CANCELED, AFFORD, NO_ERROR])
  })

  it("checks FOK as a whole before its first fill", () => {
    const bench = stretched()
    bench.place(bob, { side: BUY, qty: "0.05", price: "53600" })
    bench.place(bob, { side: BUY, qty: "0.05", price: "51100" })
    bench.index(BTC, "53700")
    const step = bench.place(alice, { side: SELL, qty: "0.1", price: "51100", tif: FOK })
    assert.strictEqual(executions(step).length, 0)
    assert.deepStrictEqual(brief(last(step, alice)), [CANCELED, AFFORD, NO_ERROR])
    const part = bench.place(alice, { side: SELL, qty: "0.1", price: "51100", tif: IOC })
    assert.strictEqual(executions(part, alice).length, 1)
  })
})

describe("reduce-only", () => {
  /** Alice long `qty`. */
  const long = (qty: string): Bench => {
    const bench = opened({ alice: "1000000", bob: "1000000" })
    bench.place(bob, { side: SELL, qty, price: "60000" })
    bench.place(alice, { side: BUY, qty })
    return bench
  }
  const REDUCE = CancelType.CANCEL_TYPE_CANCEL_BY_REDUCE_ONLY

  const cases = (vectors("exchange-math.json") as { reduce_only: Array<ReduceCase> }).reduce_only
  interface ReduceCase {
    readonly name: string
    readonly input: { readonly size: string; readonly orders: Array<{ readonly leaves_qty: string }> }
    readonly output: Array<{ readonly leaves_qty: string; readonly canceled: boolean }>
  }

  it.each(cases)("is trimmed as in the vector: $name", ({ input, output }: ReduceCase) => {
    const total = input.orders.reduce((sum, { leaves_qty }) => sum + Number(leaves_qty), 0)
    const bench = long(total.toFixed(3))
    const ids = input.orders.map(({ leaves_qty }) =>
      orderId(bench.place(alice, { side: SELL, qty: leaves_qty, price: "61000", reduce_only: true }))
    )
    const rest = (total - Number(input.size)).toFixed(3)
    bench.place(bob, { side: BUY, qty: rest, price: "60000" })
    const step = bench.place(alice, { side: SELL, qty: rest, price: "60000" })
    ids.forEach((id, i) => {
      const { leaves_qty, canceled } = output[i]!
      const open = Reads.order(bench.state, { order_id: id })
      assert.strictEqual(open?.leaves_qty ?? "0", leaves_qty)
      if (open !== undefined) assert.strictEqual(open.qty, leaves_qty)
      const end = orders(step, alice).find((order) => order.order_id === id && order.order_status === CANCELED)
      assert.strictEqual(end !== undefined, canceled)
      if (canceled) assert.strictEqual(end!.cancel_type, REDUCE)
      // an order that stays as it is has no event
      const changes = orders(step, alice).filter((order) => order.order_id === id)
      assert.strictEqual(changes.length, leaves_qty === input.orders[i]!.leaves_qty ? 0 : 1)
    })
  })

  it("fills up to the position only", () => {
    const bench = long("0.1")
    bench.place(bob, { side: BUY, qty: "0.5", price: "60000" })
    const step = bench.place(alice, { side: SELL, qty: "0.3", price: "60000", reduce_only: true })
    assert.deepInclude(executions(step, alice)[0], { exec_qty: "0.1", closed_size: "0.1" })
    assert.deepStrictEqual(brief(last(step, alice)), [PARTIAL_CANCELED, REDUCE, NO_ERROR])
    assert.strictEqual(positions(step, alice).at(-1)!.size, "0")
  })

  it("rests for at most the position, and reserves no margin", () => {
    const bench = long("0.1")
    const step = bench.place(alice, { side: SELL, qty: "0.3", price: "61000", reduce_only: true })
    assert.deepInclude(last(step, alice), { order_status: NEW, qty: "0.1", leaves_qty: "0.1", version: 1 })
    assert.strictEqual(balances(step, alice).at(-1)!.order_margin, "0")
    assert.deepStrictEqual(Reads.orderBook(bench.state, BTC, 0)!.asks, [{ price: "61000", qty: "0.1" }])
  })

  it("as a maker fills only the rest of a position that the same taker has reduced", () => {
    const bench = long("0.1")
    bench.place(alice, { side: SELL, qty: "0.08", price: "60000" })
    const id = orderId(bench.place(alice, { side: SELL, qty: "0.1", price: "60001", reduce_only: true }))
    const step = bench.place(carol, { side: BUY, qty: "0.18", price: "60001" })
    assert.deepStrictEqual(
      executions(step, alice).map(({ exec_qty, closed_size }) => [exec_qty, closed_size]),
      [
        ["0.08", "0.08"],
        ["0.02", "0.02"]
      ]
    )
    assert.deepStrictEqual(
      brief(orders(step, alice).find((order) => order.order_id === id && order.leaves_qty === "0")!),
      [PARTIAL_CANCELED, REDUCE, NO_ERROR]
    )
    assert.strictEqual(Reads.positions(bench.state, { sub_account_address: alice.address }).length, 0)
  })

  it("ends as a maker where the same taker has reversed its position", () => {
    const bench = long("0.1")
    bench.place(alice, { side: SELL, qty: "0.3", price: "60000" })
    bench.place(alice, { side: SELL, qty: "0.1", price: "60001", reduce_only: true })
    const step = bench.place(carol, { side: BUY, qty: "0.4", price: "60001" })
    assert.deepStrictEqual(
      executions(step, alice).map(({ exec_qty }) => exec_qty),
      ["0.3"]
    )
    assert.deepStrictEqual(brief(last(step, alice)), [CANCELED, REDUCE, NO_ERROR])
    assert.deepInclude(positions(step, alice).at(-1), { side: SELL, size: "0.2" })
  })

  it("leaves the other reduce-only orders that the position still covers, when one is filled", () => {
    const bench = long("0.2")
    const reduce = (price: string) => bench.place(alice, { side: SELL, qty: "0.1", price, reduce_only: true })
    const ids = ["60000", "60001"].map((price) => orderId(reduce(price)))
    for (const qty of ["0.04", "0.06"]) bench.place(bob, { side: BUY, qty, price: "60000" })
    assert.deepInclude(Reads.order(bench.state, { order_id: ids[1]! }), { order_status: NEW, leaves_qty: "0.1" })
    const step = bench.place(bob, { side: BUY, qty: "0.1", price: "60001" })
    assert.deepStrictEqual(brief(last(step, alice)), [FILLED, CancelType.CANCEL_TYPE_UNSPECIFIED, NO_ERROR])
  })

  it("ends when the position reverses", () => {
    const bench = long("0.1")
    bench.place(alice, { side: SELL, qty: "0.1", price: "61000", reduce_only: true })
    bench.place(bob, { side: BUY, qty: "0.3", price: "60000" })
    const step = bench.place(alice, { side: SELL, qty: "0.3", price: "60000" })
    assert.strictEqual(positions(step, alice).at(-1)!.side, SELL)
    assert.deepStrictEqual(brief(last(step, alice)), [CANCELED, REDUCE, NO_ERROR])
  })

  it("of quantity 0 with close_on_trigger closes the whole position", () => {
    const bench = long("0.123")
    bench.place(bob, { side: BUY, qty: "1", price: "60000" })
    const step = bench.place(alice, { side: SELL, qty: "0", reduce_only: true, close_on_trigger: true })
    assert.deepInclude(last(step, alice), { qty: "0.123", order_status: FILLED, close_on_trigger: true })
  })
})

describe("cancel", () => {
  it("emits a user's request and the cancellation; a system cancel only the cancellation", () => {
    const bench = opened()
    bench.place(alice, { side: BUY, qty: "0.1", price: "59000" })
    bench.place(alice, { side: BUY, qty: "0.1", price: "58000" })
    const user = bench.cancelAll(alice, { symbol: BTC })
    assert.deepStrictEqual(
      orders(user).map((order) => [order.price, order.order_status]),
      [
        ["59000", REQUESTED],
        ["59000", CANCELED],
        ["58000", REQUESTED],
        ["58000", CANCELED]
      ]
    )
    // one balance event and one book change for the step
    assert.deepStrictEqual(kinds(user).slice(4), ["balance_changed", "book_changed"])
    bench.place(alice, { side: BUY, qty: "0.1", price: "59000" })
    const admin = bench.cancelAll({ ...alice, address: "" }, { type: CancelType.CANCEL_TYPE_CANCEL_BY_ADMIN })
    assert.deepStrictEqual(
      orders(admin).map((order) => [order.order_status, order.cancel_type]),
      [[CANCELED, CancelType.CANCEL_TYPE_CANCEL_BY_ADMIN]]
    )
  })

  it("cancels resting orders before those that wait for a trigger, each by age", () => {
    const bench = opened()
    const place = (link: string, more: object) =>
      bench.place(alice, { side: BUY, qty: "0.1", price: "59000", link, ...more })
    place("a", { trigger: "70000" })
    place("b", {})
    place("c", { trigger: "70000" })
    place("d", { price: "59100" })
    assert.deepStrictEqual(
      ackOf(bench.cancelAll(alice)).orders.map(({ order_link_id }) => order_link_id),
      ["b", "d", "a", "c"]
    )
  })

  it("cancels only orders that match the filters", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.1" })
    bench.place(alice, { side: BUY, qty: "0.1", price: "59000", link: "buy" })
    bench.place(alice, { side: SELL, qty: "0.1", price: "61000", link: "sell" })
    bench.place(alice, { side: SELL, qty: "0.1", price: "62000", link: "close", reduce_only: true })
    bench.place(alice, { symbol: "ETH-USDC", side: BUY, qty: "1", price: "2000", link: "eth" })
    const links = (step: Engine.Step) => ackOf(step).orders.map((ref) => ref.order_link_id)
    assert.deepStrictEqual(links(bench.cancelAll(alice, { order_filter: 2 })), [])
    assert.deepStrictEqual(links(bench.cancelAll(alice, { side: SELL, reduce_only: false })), ["sell"])
    assert.deepStrictEqual(links(bench.cancelAll(alice, { reduce_only: true })), ["close"])
    bench.place(alice, { side: SELL, qty: "0.1", price: "61000", link: "other" })
    assert.deepStrictEqual(links(bench.cancelAll(alice, { side: SELL })), ["other"])
    assert.deepStrictEqual(links(bench.cancelAll(alice, { symbol: BTC })), ["buy"])
    assert.deepStrictEqual(links(bench.cancelAll(alice)), ["eth"])
    const none = bench.cancelAll(alice)
    assert.strictEqual(ackOf(none).seq, bench.state.seq)
    assert.strictEqual(none.events.length, 0)
  })
})

describe("the record of an order", () => {
  it("has the time of its event, whatever changed it", () => {
    const bench = opened()
    const GTT = TimeInForce.TIME_IN_FORCE_GTT
    const rest = (more: Partial<PlaceOptions> = {}) =>
      orderId(bench.place(alice, { side: BUY, qty: "0.2", price: "59000", ...more }))
    bench.amend(alice, { id: rest() }, { qty: "0.1" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "59000" })
    // more reduce-only lots than the position has, an exit that grows with it, and conditional orders
    rest({ side: SELL, qty: "0.3", price: "61000", reduce_only: true })
    bench.stop(alice, { sl: "58000" })
    rest({ qty: "0.1" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "59000" })
    bench.cancel(alice, { id: rest({ trigger: "70000" }) })
    bench.place(bob, { side: BUY, qty: "0.1", price: "58000" })
    bench.place(carol, { side: SELL, qty: "0.01", price: "58000" })
    bench.cancel(alice, { id: rest({ price: "57000" }) })
    rest({ price: "57000", tif: GTT, expires: bench.now + 1_000 })
    bench.tick(2_000)
    const seen = new Set<OrderStatus>()
    for (const { event, ts_ms } of bench.events) {
      if (event?.$case !== "order_changed") continue
      assert.strictEqual(event.value.order!.updated_time_ms, ts_ms)
      seen.add(event.value.order!.order_status)
    }
    for (const status of [
      NEW,
      FILLED,
      REQUESTED,
      CANCELED,
      OrderStatus.ORDER_STATUS_UNTRIGGERED,
      OrderStatus.ORDER_STATUS_TRIGGERED,
      OrderStatus.ORDER_STATUS_DEACTIVATED,
      OrderStatus.ORDER_STATUS_EXPIRED
    ])
      assert.isTrue(seen.has(status), `status ${status}`)
  })

  it("sums the results of its fills, each less its fees", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.2", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.2" })
    bench.place(bob, { side: BUY, qty: "0.1", price: "60100" })
    bench.place(carol, { side: BUY, qty: "0.1", price: "60200" })
    const step = bench.place(alice, { side: SELL, qty: "0.2", price: "60100" })
    // fees: opened with 6.6, closed with 0.055 % of 6020 and of 6010
    assert.deepStrictEqual(
      orders(step, alice).map(({ closed_pnl, cum_exec_fee, leaves_qty }) => [leaves_qty, closed_pnl, cum_exec_fee]),
      [
        ["0.2", undefined, "0"],
        ["0.1", "13.389", "3.311"],
        ["0", "16.7835", "6.6165"]
      ]
    )
    assert.deepStrictEqual(
      executions(step, alice).map(({ leaves_qty, realised_pnl }) => [leaves_qty, realised_pnl]),
      [
        ["0.1", "20"],
        ["0", "10"]
      ]
    )
  })

  it("has no longer the reason of an amend that was refused before", () => {
    const bench = opened()
    const refused = () => {
      const id = orderId(bench.place(alice, { side: BUY, qty: "0.1", price: "59000" }))
      const step = bench.amend(alice, { id }, { price: "64000" })
      assert.strictEqual(last(step, alice).reject_reason, RejectReason.REJECT_REASON_EC_REACH_RISK_PRICE_LIMIT)
      assert.isString(last(step, alice).reject_message)
      return id
    }
    const reasons = (step: Engine.Step) =>
      orders(step, alice).map(({ reject_message, reject_reason }) => [reject_reason, reject_message])
    refused()
    assert.deepStrictEqual(reasons(bench.place(bob, { side: SELL, qty: "0.1", price: "59000" })), [
      [NO_ERROR, undefined]
    ])
    assert.deepStrictEqual(reasons(bench.cancel(alice, { id: refused() })), [
      [NO_ERROR, undefined],
      [NO_ERROR, undefined]
    ])
  })
})

describe("a step", () => {
  it("emits taker before maker, fills before trades, trades before the book", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(carol, { side: SELL, qty: "0.1", price: "60001" })
    const step = bench.place(alice, { side: BUY, qty: "0.2", price: "60001" })
    const four = ["execution_created", "order_changed", "position_changed", "balance_changed"]
    const who = (address: string | undefined) =>
      address === alice.address ? "alice" : address === bob.address ? "bob" : address === carol.address ? "carol" : ""
    assert.deepStrictEqual(
      step.events.map(({ event, sub_account_address }) => `${who(sub_account_address)} ${event!.$case}`),
      [
        "alice order_changed",
        ...four.map((kind) => `alice ${kind}`),
        ...four.map((kind) => `bob ${kind}`),
        ...four.map((kind) => `alice ${kind}`),
        ...four.map((kind) => `carol ${kind}`),
        " trade_printed",
        " book_changed"
      ]
    )
    const print = step.events.at(-2)!.event!
    assert.isTrue(print.$case === "trade_printed" && print.value.trades.length === 2)
    assert.strictEqual(new Set(step.events.map((event) => event.step)).size, 1)
    assert.strictEqual(ackOf(step).seq, step.events.at(-1)!.seq)
    assert.strictEqual(new Set(executions(step).map((fill) => fill.exec_id)).size, 4)
  })

  it("rejects a decrease of engine time", () => {
    const bench = opened()
    bench.now -= 10_000
    assert.throws(() => bench.step(undefined), RangeError)
  })
})
