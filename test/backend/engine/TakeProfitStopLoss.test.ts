import { assert, describe, it } from "@effect/vitest"
import type { Step } from "../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import {
  CancelType,
  type Order,
  OrderStatus,
  RejectReason,
  Side,
  StopOrderType,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../../src/proto/gateway/v1/types.ts"
import {
  ackOf,
  Bench,
  BTC,
  BUY,
  executions,
  type Exits,
  orderId,
  orders,
  positions,
  SELL,
  statusOf,
  type Trader,
  trader
} from "../Bench.ts"
import { recomputeTotals, replays } from "../Invariants.ts"

const ETH = "ETH-USDC"
const INDEX = TriggerBy.TRIGGER_BY_INDEX_PRICE
const MARK = TriggerBy.TRIGGER_BY_MARK_PRICE
const PARTIAL = TpslMode.TPSL_MODE_PARTIAL
const { TRIGGER_DIRECTION_DOWN: DOWN, TRIGGER_DIRECTION_UP: UP } = TriggerDirection
const S = OrderStatus
const T = StopOrderType

const setup = () => {
  const bench = new Bench()
  const [v, m, x] = [trader("v1"), trader("m"), trader("x")]
  bench.tick()
  bench.tick(1)
  bench.open(v, "100000")
  bench.open(m, "1000000")
  bench.open(x, "100000")
  bench.index(BTC, "60000")
  const exits = (who: Trader = v): Array<Order> =>
    Reads.openOrders(bench.state, { sub_account_address: who.address }).filter(
      ({ stop_order_type }) =>
        stop_order_type !== T.STOP_ORDER_TYPE_UNSPECIFIED && stop_order_type !== T.STOP_ORDER_TYPE_STOP
    )
  const sizes = () => exits().map(({ qty }) => qty)
  const size = () => Reads.positions(bench.state, { symbol: BTC, sub_account_address: v.address })[0]!.size
  const counter = (side: Side) => (side === BUY ? SELL : BUY)
  /** M trades with V at a price; V is the maker. */
  const fill = (qty: string, price: string, side: Side = BUY) => bench.place(m, { side: counter(side), qty, price })
  /** A position of V without exits. */
  const open = (side: Side, qty: string, price = "60000") => {
    bench.place(m, { side: counter(side), qty, price })
    return bench.place(v, { side, qty, price })
  }
  /** Liquidates accounts with such BTC positions of 0.01 in one step, in this order: their ETH loses what they own. */
  const liquidate = (counterparty: Trader, sides: ReadonlyArray<Side>) => {
    const losers = sides
      .map((_, i) => trader(`loser-${i}`))
      .sort((one, other) => (one.address < other.address ? -1 : 1))
    for (const [i, side] of sides.entries()) {
      const loser = losers[i]!
      bench.open(loser, "400")
      for (const order of [
        { symbol: ETH, side: BUY, qty: "1", price: "3000" },
        { side, qty: "0.01", price: "59999" }
      ]) {
        bench.place(counterparty, { ...order, side: counter(order.side) })
        bench.place(loser, order)
      }
    }
    return bench.index(ETH, "2622")
  }
  const check = () => {
    recomputeTotals(bench.state)
    replays(bench)
  }
  return { bench, v, m, x, exits, sizes, size, fill, open, liquidate, check }
}

describe("Amendment 2: exits of a Market order", () => {
  const refused = [
    ["Buy, take_profit below", BUY, { tp: "59000", sl: "58000" }, "take_profit"],
    ["Buy, take_profit at the reference", BUY, { tp: "60000" }, "take_profit"],
    ["Buy, stop_loss above", BUY, { tp: "62000", sl: "61000" }, "stop_loss"],
    ["Buy, stop_loss at the reference", BUY, { sl: "60000" }, "stop_loss"],
    ["Sell, take_profit at the reference", SELL, { tp: "60000" }, "take_profit"],
    ["Sell, take_profit above", SELL, { tp: "61000", sl: "62000" }, "take_profit"],
    ["Sell, stop_loss below", SELL, { tp: "58000", sl: "59000" }, "stop_loss"],
    ["Sell, stop_loss at the reference", SELL, { sl: "60000" }, "stop_loss"]
  ] as const
  for (const [name, side, tpsl, leg] of refused)
    it(`${name}: the order is Rejected and its message names the leg`, () => {
      const { bench, v, m, exits, check } = setup()
      bench.place(m, { side: side === BUY ? SELL : BUY, qty: "1", price: "60000" })
      const step = bench.place(v, { side, qty: "0.1", tpsl: { ...tpsl, by: INDEX } })
      const [order, ...more] = orders(step, v)
      assert.deepInclude(order, {
        order_status: S.ORDER_STATUS_REJECTED,
        reject_reason: RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET,
        leaves_qty: "0"
      })
      assert.match(order!.reject_message!, new RegExp(`^${leg} .*(above|below) the index price 60000$`, "u"))
      assert.deepStrictEqual([more.length, executions(step).length, exits().length], [0, 0, 0])
      check()
    })

  it("each leg is checked against its own reference", () => {
    const { bench, v, m, exits } = setup()
    // the last price is 58,000, index and mark are 60,000
    bench.place(m, { side: BUY, qty: "0.01", price: "58000" })
    bench.place(trader("x"), { side: SELL, qty: "0.01", price: "58000" })
    bench.place(m, { side: SELL, qty: "1", price: "60000" })
    const place = (by: TriggerBy, tpsl: Exits) =>
      orders(bench.place(v, { side: BUY, qty: "0.1", tpsl: { ...tpsl, by } }), v)
    const last = place(TriggerBy.TRIGGER_BY_LAST_PRICE, { tp: "59000", sl: "57000" })
    assert.notStrictEqual(last[0]!.order_status, S.ORDER_STATUS_REJECTED)
    assert.strictEqual(
      exits().length,
      0,
      "the fill at 60,000 met the take_profit of 59,000, and it closed the position"
    )
    for (const by of [INDEX, MARK])
      assert.strictEqual(place(by, { tp: "59000", sl: "57000" })[0]!.order_status, S.ORDER_STATUS_REJECTED)
    assert.strictEqual(place(INDEX, { tp: "61000", sl: "59000" })[0]!.order_status, S.ORDER_STATUS_NEW)
    assert.strictEqual(exits().length, 2)
  })

  it("those of a Limit order are checked against its price alone", () => {
    const { bench, v, fill, exits } = setup()
    const step = bench.place(v, {
      side: BUY,
      qty: "0.1",
      price: "58000",
      tpsl: { tp: "59000", sl: "57000", by: INDEX }
    })
    assert.strictEqual(orders(step, v)[0]!.order_status, S.ORDER_STATUS_NEW)
    bench.index(BTC, "58000")
    fill("0.1", "58000")
    assert.strictEqual(exits().length, 2)
  })

  it("a conditional Market order is checked when it triggers", () => {
    const { bench, v, m } = setup()
    bench.place(m, { side: SELL, qty: "1", price: "61000" })
    const tpsl = { tp: "60900", by: INDEX }
    const placed = bench.place(v, { side: BUY, qty: "0.1", trigger: "61000", by: INDEX, tpsl })
    assert.strictEqual(orders(placed, v)[0]!.order_status, S.ORDER_STATUS_UNTRIGGERED)
    const hit = orders(bench.index(BTC, "61000"), v)
    assert.deepStrictEqual(
      hit.map(({ order_status, reject_reason }) => [order_status, reject_reason]),
      [
        [S.ORDER_STATUS_TRIGGERED, RejectReason.REJECT_REASON_EC_NO_ERROR],
        [S.ORDER_STATUS_REJECTED, RejectReason.REJECT_REASON_EC_TRIGGER_ALREADY_MET]
      ]
    )
  })
})

describe("Amendment 3: attachment of exits", () => {
  it("a fill that only reduces attaches no exits and consumes none", () => {
    const { bench, v, fill, exits, sizes, size, open, check } = setup()
    open(SELL, "0.3")
    bench.place(v, { side: BUY, qty: "0.5", price: "60000", tpsl: { tp: "62000", sl: "59000" } })
    fill("0.2", "60000")
    assert.deepStrictEqual([size(), exits().length], ["0.1", 0])
    fill("0.1", "60000")
    assert.deepStrictEqual([size(), exits().length], ["0", 0])
    // the first fill that opens
    const third = fill("0.2", "60000")
    assert.deepStrictEqual([size(), sizes()], ["0.2", ["0.2", "0.2"]])
    assert.strictEqual(positions(third, v).at(-1)!.stop_loss, "59000")
    check()
  })

  it("a Partial leg covers the lots that its order opened, however the fills are split", () => {
    const splits = [["0.5"], ["0.3", "0.2"], ["0.1", "0.4"], ["0.2", "0.1", "0.2"], ["0.1", "0.1", "0.1", "0.1", "0.1"]]
    for (const split of splits) {
      const { bench, v, fill, sizes, size, open, check } = setup()
      open(SELL, "0.3")
      bench.place(v, { side: BUY, qty: "0.5", price: "60000", tpsl: { tp: "62000", sl: "59000", mode: PARTIAL } })
      for (const qty of split) fill(qty, "60000")
      assert.deepStrictEqual([size(), sizes()], ["0.2", ["0.2", "0.2"]], split.join(" + "))
      check()
    }
  })

  it("a taker that first reduces and then opens attaches exits to the opened lots", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, PARTIAL]) {
      const { bench, v, m, sizes, open, check } = setup()
      open(SELL, "0.3")
      for (const qty of ["0.1", "0.2", "0.15"]) bench.place(m, { side: SELL, qty, price: "60000" })
      bench.place(v, { side: BUY, qty: "0.45", tpsl: { tp: "62000", sl: "59000", mode, by: INDEX } })
      assert.deepStrictEqual(sizes(), ["0.15", "0.15"])
      check()
    }
  })

  it("a further fill of an order changes the size of its exits only: one that is amended or canceled stays so", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, PARTIAL]) {
      const { bench, v, fill, exits, check } = setup()
      bench.place(v, { side: BUY, qty: "0.5", price: "60000", tpsl: { tp: "62000", sl: "59000", mode, by: INDEX } })
      fill("0.1", "60000")
      const [takeProfit, stopLoss] = exits()
      ackOf(bench.amend(v, { id: takeProfit!.order_id }, { trigger: "63000" }))
      bench.cancel(v, { id: stopLoss!.order_id })
      const step = fill("0.2", "60000")
      assert.deepStrictEqual(
        exits().map(({ order_id, qty, trigger }) => [order_id, qty, trigger!.trigger_price]),
        [[takeProfit!.order_id, "0.3", "63000"]]
      )
      assert.deepStrictEqual(
        orders(step, v).map(({ order_status }) => order_status),
        [S.ORDER_STATUS_PARTIALLY_FILLED, S.ORDER_STATUS_UNTRIGGERED]
      )
      check()
    }
  })

  it("an order attaches its exits in a step that also ends the position of another account", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, PARTIAL]) {
      const { bench, v, m, x, exits, sizes, open, check } = setup()
      open(BUY, "0.1")
      bench.place(m, { side: BUY, qty: "0.1", price: "60000" })
      bench.place(x, { side: SELL, qty: "0.1", price: "60000" })
      bench.place(v, { side: BUY, qty: "0.1", price: "59999", tpsl: { sl: "59000", mode, by: INDEX } })
      bench.place(x, { side: BUY, qty: "0.1", price: "59998" })
      const step = bench.place(m, { side: SELL, qty: "0.2", price: "59998" })
      assert.strictEqual(positions(step, x).at(-1)!.size, "0")
      assert.deepStrictEqual(sizes(), [mode === PARTIAL ? "0.1" : "0.2"])
      assert.strictEqual(exits()[0]!.parent_order_id, orders(step, v)[0]!.order_id)
      check()
    }
  })

  it("exits that an amend changes from the whole position to a part cover the lots that their order opened", () => {
    const { bench, v, fill, sizes, open, check } = setup()
    open(BUY, "0.2")
    const tpsl = { sl: "59000", by: INDEX }
    const id = orderId(bench.place(v, { side: BUY, qty: "0.3", price: "60000", tpsl }))
    fill("0.1", "60000")
    assert.deepStrictEqual(sizes(), ["0.3"])
    ackOf(bench.amend(v, { id }, { tpsl: { ...tpsl, mode: PARTIAL } }))
    assert.deepStrictEqual(sizes(), ["0.1"])
    fill("0.2", "60000")
    assert.deepStrictEqual(sizes(), ["0.3"])
    check()
  })

  it("an amend of exits keeps what it does not name, and changes the mode or a reference alone", () => {
    const { bench, v } = setup()
    const FULL = TpslMode.TPSL_MODE_FULL
    const tpsl = { tp: "62000", sl: "59000", mode: PARTIAL, by: INDEX }
    const id = orderId(bench.place(v, { side: BUY, qty: "0.3", price: "60000", tpsl }))
    const amended = (change: Exits) => {
      const step = bench.amend(v, { id }, { tpsl: change })
      const { mode, stop_loss, take_profit } = orders(step, v)[0]!.tpsl!
      const legs = [take_profit, stop_loss].map((leg) => leg && [leg.trigger_price, leg.trigger_by])
      return [ackOf(step).version, mode, ...legs]
    }
    assert.deepStrictEqual(amended({ sl: "58000", by: INDEX }), [2, PARTIAL, ["62000", INDEX], ["58000", INDEX]])
    assert.deepStrictEqual(amended({ sl: "58000", by: MARK }), [3, PARTIAL, ["62000", INDEX], ["58000", MARK]])
    assert.deepStrictEqual(amended({ mode: FULL }), [4, FULL, ["62000", INDEX], ["58000", MARK]])
    assert.deepStrictEqual(amended({ tp: "0.00" }), [5, FULL, undefined, ["58000", MARK]])
    // equal values change nothing
    for (const equal of [{ sl: "58000.0", by: MARK, mode: FULL }, { sl: "58000" }]) {
      const same = bench.amend(v, { id }, { tpsl: equal })
      assert.deepStrictEqual([same.events, ackOf(same).version], [[], 5])
    }
    assert.deepStrictEqual(amended({ tp: "63000", sl: "57000" }), [
      6,
      FULL,
      ["63000", TriggerBy.TRIGGER_BY_LAST_PRICE],
      ["57000", MARK]
    ])
  })

  it("exits start from 0 with the next position that the same order opens", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, PARTIAL]) {
      const { bench, v, m, fill, sizes, size, check } = setup()
      bench.place(v, { side: BUY, qty: "0.5", price: "60000", tpsl: { sl: "59000", mode, by: INDEX } })
      fill("0.2", "60000")
      assert.deepStrictEqual(sizes(), ["0.2"])
      // another order of V closes the position, and another opens the next one
      bench.place(m, { side: BUY, qty: "0.2", price: "60010" })
      bench.place(v, { side: SELL, qty: "0.2", price: "60010" })
      assert.deepStrictEqual([size(), sizes()], ["0", []])
      bench.place(m, { side: SELL, qty: "0.1", price: "59990" })
      assert.deepStrictEqual([size(), sizes()], ["0.1", ["0.1"]])
      fill("0.2", "60000")
      assert.deepStrictEqual([size(), sizes()], ["0.3", ["0.3"]])
      check()
    }
  })

  it("exits end with their position, also where a later fill of the step opens the next one on the same side", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, PARTIAL]) {
      const { bench, v, m, exits, size, open, liquidate, check } = setup()
      open(BUY, "0.01")
      bench.stop(v, { tp: "70000", sl: "50000", by: INDEX, mode })
      const before = exits().map(({ order_id }) => order_id)
      assert.strictEqual(before.length, 2)
      const own = { side: BUY, qty: "0.02", price: "59990", tpsl: { sl: "51000", by: INDEX, mode } } as const
      bench.place(v, own)
      bench.place(v, { side: SELL, qty: "0.01", price: "60000" })
      // a short buys the whole position, then a long sells the next one
      const step = liquidate(m, [SELL, BUY])
      assert.deepStrictEqual(
        executions(step, v).map(({ side }) => side),
        [SELL, BUY]
      )
      assert.strictEqual(size(), "0.01")
      const ended = orders(step, v).filter(({ order_status }) => order_status === S.ORDER_STATUS_DEACTIVATED)
      assert.deepStrictEqual(
        ended.map(({ cancel_type, order_id }) => [cancel_type, order_id]),
        before.map((id) => [CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR, id])
      )
      assert.deepStrictEqual(
        exits().map(({ qty, trigger }) => [qty, trigger!.trigger_price]),
        [["0.01", "51000"]],
        "those of the next position"
      )
      check()
    }
  })

  it("an order whose position has ended in the step attaches nothing to the next one", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, PARTIAL]) {
      const { bench, v, m, exits, size, liquidate, check } = setup()
      bench.place(v, { side: BUY, qty: "0.01", price: "59995", tpsl: { sl: "50000", by: INDEX, mode } })
      bench.place(v, { side: BUY, qty: "0.01", price: "59990" })
      bench.place(v, { side: SELL, qty: "0.01", price: "60000" })
      const step = liquidate(m, [BUY, SELL, BUY])
      assert.deepStrictEqual(
        executions(step, v).map(({ side }) => side),
        [BUY, SELL, BUY]
      )
      assert.deepStrictEqual([size(), exits()], ["0.01", []])
      check()
    }
  })

  it("a price beyond the order's own legs is refused as at its creation, also after a fill has attached them", () => {
    const { bench, v, m, fill, sizes, check } = setup()
    bench.place(m, { side: SELL, qty: "1", price: "60500" })
    const legs = { tp: "60400", sl: "58000", by: INDEX }
    const id = orderId(bench.place(v, { side: BUY, qty: "0.3", price: "59000", tpsl: legs }))
    const other = { side: BUY, qty: "0.1", trigger: "61000", by: INDEX, price: "59000", tpsl: legs } as const
    const waiting = orderId(bench.place(v, other))
    const refusal = (id: string, change: object) => {
      const { code, metadata, reason } = statusOf(bench.amend(v, { id }, change))
      return [code, reason, metadata["field"]]
    }
    const gain = [3, "OutOfRange", "tpsl.take_profit.market.trigger_price"]
    const loss = [3, "OutOfRange", "tpsl.stop_loss.market.trigger_price"]
    for (const one of [id, waiting]) {
      assert.deepStrictEqual(refusal(one, { price: "60500" }), gain)
      assert.deepStrictEqual(refusal(one, { price: "60400" }), gain)
      assert.deepStrictEqual(refusal(one, { price: "58000", qty: "0.4" }), loss)
      ackOf(bench.amend(v, { id: one }, { price: "59100" }))
    }
    fill("0.1", "59100")
    assert.deepStrictEqual(sizes(), ["0.1", "0.1"])
    assert.deepStrictEqual(refusal(id, { price: "60500" }), gain)
    assert.deepStrictEqual(sizes(), ["0.1", "0.1"])
    // a request with both moves both
    const step = bench.amend(v, { id }, { price: "60500", tpsl: { tp: "61000", by: INDEX } })
    assert.deepStrictEqual(
      executions(step, v).map(({ exec_price }) => exec_price),
      ["60500"]
    )
    assert.deepStrictEqual(sizes(), ["0.3", "0.3"])
    check()
  })

  it("exits that an amend adds cover the lots that the order has opened", () => {
    for (const mode of [TpslMode.TPSL_MODE_FULL, PARTIAL]) {
      const { bench, v, fill, sizes, exits, check } = setup()
      const id = orderId(bench.place(v, { side: BUY, qty: "0.5", price: "60000" }))
      fill("0.2", "60000")
      ackOf(bench.amend(v, { id }, { tpsl: { sl: "59000", mode } }))
      assert.deepStrictEqual(sizes(), ["0.2"])
      fill("0.1", "60000")
      assert.deepStrictEqual(sizes(), ["0.3"])
      // its exit is canceled, and the lots that it covered do not count for the next one
      bench.cancel(v, { id: exits()[0]!.order_id })
      ackOf(bench.amend(v, { id }, { tpsl: { sl: "58000", mode } }))
      assert.deepStrictEqual(sizes(), [])
      fill("0.1", "60000")
      assert.deepStrictEqual(sizes(), [mode === PARTIAL ? "0.1" : "0.4"])
      check()
    }
  })
})

describe("exits of an order that is amended", () => {
  for (const [name, mode] of [
    ["Full", TpslMode.TPSL_MODE_FULL],
    ["Partial", PARTIAL]
  ] as const)
    it(`stay where its legs stay equal, and follow another price or another reference, in mode ${name}`, () => {
      const { bench, v, fill, exits, check } = setup()
      const tpsl = { tp: "62000", sl: "59000", mode, by: INDEX }
      const id = orderId(bench.place(v, { side: BUY, qty: "0.5", price: "60000", tpsl }))
      fill("0.2", "60000")
      const legs = () => exits().map(({ order_id }) => order_id)
      const triggers = () => exits().map(({ trigger }) => [trigger!.trigger_price, trigger!.trigger_by])
      const before = legs()
      ackOf(bench.amend(v, { id }, { qty: "0.6", tpsl }))
      assert.deepStrictEqual(legs(), before)
      ackOf(bench.amend(v, { id }, { tpsl: { sl: "59000", by: MARK } }))
      assert.deepStrictEqual(triggers(), [
        ["62000", INDEX],
        ["59000", MARK]
      ])
      ackOf(bench.amend(v, { id }, { tpsl: { tp: "62001", by: INDEX } }))
      assert.deepStrictEqual(triggers(), [
        ["62001", INDEX],
        ["59000", MARK]
      ])
      check()
    })
})

describe("exits of a whole position", () => {
  it("have the position's size, and change with it", () => {
    const { bench, v, m, sizes, exits, open, check } = setup()
    open(BUY, "0.1")
    ackOf(bench.stop(v, { tp: "62000", sl: "59000", by: INDEX }))
    assert.deepStrictEqual(sizes(), ["0.1", "0.1"])
    const grown = open(BUY, "0.2")
    assert.deepStrictEqual(
      orders(grown, v)
        .filter(({ stop_order_type }) => stop_order_type !== T.STOP_ORDER_TYPE_UNSPECIFIED)
        .map(({ leaves_qty, order_status, qty, version }) => [qty, leaves_qty, order_status, version]),
      [
        ["0.3", "0.3", S.ORDER_STATUS_UNTRIGGERED, 1],
        ["0.3", "0.3", S.ORDER_STATUS_UNTRIGGERED, 1]
      ]
    )
    open(SELL, "0.05")
    assert.deepStrictEqual(sizes(), ["0.25", "0.25"])
    const { order_id: id } = exits()[0]!
    assert.strictEqual(
      orders(bench.amend(v, { id }, { qty: "0.2" }), v)[0]!.reject_reason,
      RejectReason.REJECT_REASON_EC_INVALID_QTY
    )
    bench.place(m, { side: BUY, qty: "1", price: "59000" })
    const hit = bench.index(BTC, "59000")
    assert.strictEqual(executions(hit, v)[0]!.exec_qty, "0.25")
    assert.strictEqual(sizes().length, 0)
    check()
  })
})

describe("an exit that is amended", () => {
  it("is announced with its position in the same step, as the position's exits name its price", () => {
    const { bench, v, exits, open, check } = setup()
    open(BUY, "0.1")
    ackOf(bench.stop(v, { tp: "62000", sl: "59000", by: INDEX }))
    assert.deepStrictEqual(
      exits().map(({ trigger }) => trigger!.trigger_price),
      ["62000", "59000"]
    )
    const step = bench.amend(v, { id: exits()[0]!.order_id }, { trigger: "63000" })
    const [position] = positions(step, v)
    assert.deepStrictEqual([position?.take_profit, position?.stop_loss], ["63000", "59000"])
    check()
  })

  it("closes the amended part of the position, where it has the mode Partial", () => {
    const { bench, v, m, exits, size, open, check } = setup()
    open(BUY, "0.1")
    ackOf(bench.stop(v, { sl: "59000", mode: PARTIAL, by: INDEX }, { sl: "0.04" }))
    const step = bench.amend(v, { id: exits()[0]!.order_id }, { qty: "0.03" })
    assert.deepInclude(orders(step, v)[0], { qty: "0.03", leaves_qty: "0.03", version: 2 })
    bench.place(m, { side: BUY, qty: "1", price: "59000" })
    bench.index(BTC, "59000")
    assert.strictEqual(size(), "0.07")
    check()
  })

  it("closes no more than the position, where a Partial one is amended above it", () => {
    const { bench, v, m, exits, size, open, check } = setup()
    open(BUY, "0.1")
    ackOf(bench.stop(v, { sl: "59000", mode: PARTIAL, by: INDEX }, { sl: "0.04" }))
    ackOf(bench.amend(v, { id: exits()[0]!.order_id }, { qty: "5" }))
    bench.place(m, { side: BUY, qty: "1", price: "59000" })
    bench.index(BTC, "59000")
    assert.strictEqual(size(), "0")
    check()
  })
})

describe("Amendment 5: exits of a position", () => {
  const MAX = 20
  const full = (field: string) => ({ reason: "LimitReached", metadata: { field, max: String(MAX) } })
  const partial = (n: number): Exits => ({ tp: String(62_000 + n), sl: String(58_000 + n), mode: PARTIAL, by: INDEX })

  it("twenty pairs are allowed, and one more is refused", () => {
    const { bench, v, exits, open, check } = setup()
    open(BUY, "0.5")
    for (let n = 0; n < MAX; n++) ackOf(bench.stop(v, partial(n), { tp: "0.01", sl: "0.01" }))
    assert.strictEqual(exits().length, 2 * MAX)
    assert.deepInclude(statusOf(bench.stop(v, partial(MAX), { tp: "0.01", sl: "0.01" })), full("take_profit"))
    assert.deepInclude(statusOf(bench.stop(v, { sl: "50000" })), full("stop_loss"))
    assert.deepInclude(
      statusOf(bench.place(v, { side: BUY, qty: "0.01", price: "60000", tpsl: partial(0) })),
      full("tpsl")
    )
    // those of the other direction belong to another position
    const short = {
      side: SELL,
      qty: "0.01",
      price: "70000",
      tpsl: { tp: "50000", sl: "71000", mode: PARTIAL }
    } as const
    ackOf(bench.cancel(v, { id: orderId(bench.place(v, short)) }))
    // without their take-profits the twenty stop-losses are still there
    assert.deepInclude(
      statusOf(bench.stop(v, { tp: "0", sl: "50000", mode: PARTIAL }, { sl: "0.01" })),
      full("stop_loss")
    )
    // one leg counts as a pair, no leg does not
    const [one, other] = exits()
    bench.cancel(v, { id: one!.order_id })
    assert.strictEqual(statusOf(bench.stop(v, partial(0), { tp: "0.01", sl: "0.01" })).reason, "LimitReached")
    bench.cancel(v, { id: other!.order_id })
    // Full exits replace each other, so they count once
    ackOf(bench.stop(v, { sl: "50000" }))
    ackOf(bench.stop(v, { sl: "50001" }))
    assert.strictEqual(statusOf(bench.stop(v, partial(0), { tp: "0.01", sl: "0.01" })).reason, "LimitReached")
    // removing all of a kind and setting another pair fits
    ackOf(bench.stop(v, { tp: "0", sl: "0", mode: PARTIAL }))
    ackOf(bench.stop(v, partial(0), { tp: "0.01", sl: "0.01" }))
    check()
  })

  it("one that is canceled is missing in the position's event of the same step", () => {
    const { bench, v, exits, open, check } = setup()
    open(BUY, "0.5")
    bench.stop(v, { tp: "70000", sl: "50000" })
    const takeProfit = exits().find(({ stop_order_type }) => stop_order_type === T.STOP_ORDER_TYPE_TAKE_PROFIT)!
    const shown = (step: Step) => positions(step, v).map(({ take_profit, stop_loss }) => [take_profit, stop_loss])
    assert.deepStrictEqual(shown(bench.cancel(v, { id: takeProfit.order_id })), [["", "50000"]])
    assert.deepStrictEqual(shown(bench.cancelAll(v)), [["", ""]])
    check()
  })

  it("the pair of the whole position leaves room for nineteen others", () => {
    const { bench, v, exits, open, check } = setup()
    open(BUY, "0.5")
    ackOf(bench.stop(v, { tp: "70000", sl: "50000" }))
    for (let n = 1; n < MAX; n++) ackOf(bench.stop(v, partial(n), { tp: "0.01", sl: "0.01" }))
    assert.strictEqual(exits().length, 2 * MAX)
    assert.deepInclude(statusOf(bench.stop(v, partial(MAX), { tp: "0.01", sl: "0.01" })), full("take_profit"))
    // the record of the position shows the pair of the whole position
    assert.deepInclude(Reads.positions(bench.state, { symbol: BTC, sub_account_address: v.address })[0], {
      take_profit: "70000",
      stop_loss: "50000",
      tpsl_mode: TpslMode.TPSL_MODE_FULL
    })
    check()
  })

  it("open orders with an attached pair count, so that every fill has its exits", () => {
    const { bench, v, fill, exits, check } = setup()
    const place = (n: number, side: Side = BUY) =>
      bench.place(v, {
        side,
        qty: "0.01",
        price: side === BUY ? "60000" : "70000",
        tpsl: side === BUY ? partial(n) : { tp: "50000", sl: "71000", mode: PARTIAL }
      })
    for (let n = 0; n < MAX; n++) ackOf(place(n))
    assert.deepInclude(statusOf(place(MAX)), full("tpsl"))
    // other exits of an order replace its own
    const [own] = Reads.openOrders(bench.state, { sub_account_address: v.address })
    ackOf(bench.amend(v, { id: own!.order_id }, { tpsl: partial(MAX) }))
    const plain = orderId(bench.place(v, { side: BUY, qty: "0.01", price: "59000" }))
    assert.deepInclude(statusOf(bench.amend(v, { id: plain }, { tpsl: { sl: "58000", mode: PARTIAL } })), full("tpsl"))
    // the other direction is another position
    ackOf(place(0, SELL))
    fill("0.005", "60000")
    assert.strictEqual(exits()[0]!.parent_order_id, own!.order_id)
    // those that it has attached too
    ackOf(bench.amend(v, { id: own!.order_id }, { tpsl: partial(MAX + 1) }))
    fill("0.095", "60000")
    assert.strictEqual(exits().length, 20)
    assert.deepInclude(statusOf(place(MAX)), full("tpsl"))
    fill("0.1", "60000")
    assert.strictEqual(exits().length, 2 * MAX)
    bench.cancel(v, { id: exits()[0]!.order_id })
    bench.cancel(v, { id: exits()[0]!.order_id })
    ackOf(bench.amend(v, { id: plain }, { tpsl: { sl: "58000", mode: PARTIAL } }))
    check()
  })

  it("conditional orders with an attached pair count too", () => {
    const { bench, v } = setup()
    const place = (n: number, more: object) =>
      bench.place(v, { side: BUY, qty: "0.01", price: "60000", tpsl: partial(n), ...more })
    for (let n = 0; n < MAX; n++) ackOf(place(n, { trigger: "61000", by: INDEX }))
    assert.deepInclude(statusOf(place(MAX, {})), full("tpsl"))
  })

  it("of a kind can be removed while the others are as many as allowed", () => {
    const { bench, v, exits, open, check } = setup()
    open(BUY, "0.5")
    for (let n = 0; n < MAX; n++) ackOf(bench.stop(v, partial(n), { tp: "0.01", sl: "0.01" }))
    ackOf(bench.stop(v, { tp: "0", mode: PARTIAL }))
    assert.deepStrictEqual(
      new Set(exits().map(({ stop_order_type }) => stop_order_type)),
      new Set([T.STOP_ORDER_TYPE_PARTIAL_STOP_LOSS])
    )
    assert.strictEqual(exits().length, MAX)
    // those that a request removes leave room for the one that it sets
    ackOf(bench.stop(v, { tp: "65000", sl: "0", mode: PARTIAL }, { tp: "0.01" }))
    assert.deepStrictEqual(
      exits().map(({ trigger }) => trigger!.trigger_price),
      ["65000"]
    )
    check()
  })

  it("of a short position lie on the other sides of the mark", () => {
    const { bench, v, exits, open, check } = setup()
    open(SELL, "0.1")
    for (const [legs, field] of [
      [{ tp: "61000" }, "take_profit"],
      [{ tp: "60000" }, "take_profit"],
      [{ sl: "59000" }, "stop_loss"],
      [{ sl: "60000" }, "stop_loss"]
    ] as const)
      assert.deepInclude(statusOf(bench.stop(v, legs)), { reason: "OutOfRange", metadata: { field } })
    ackOf(bench.stop(v, { tp: "59000", sl: "61000", by: INDEX }))
    assert.deepStrictEqual(
      exits().map(({ side, trigger }) => [side, trigger!.trigger_price, trigger!.trigger_direction]),
      [
        [BUY, "59000", DOWN],
        [BUY, "61000", UP]
      ]
    )
    check()
  })

  it("Full exits of many orders count as one pair", () => {
    const { bench, v, fill, exits } = setup()
    for (let n = 0; n < 2 * MAX; n++)
      bench.place(v, { side: BUY, qty: "0.01", price: "60000", tpsl: { sl: "58000", by: INDEX } })
    const { length } = orders(fill("0.4", "60000"), v).filter(
      ({ cancel_type }) => cancel_type === CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR
    )
    assert.strictEqual(exits().length, 1)
    assert.strictEqual(length, 2 * MAX - 1)
  })
})
