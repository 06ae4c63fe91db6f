/** Notices about orders and forced closes, and warnings on the way to a liquidation. */
import { assert, describe, it } from "vitest"
import type { FeedEvent } from "../../src/client/FeedEvent.ts"
import type { Execution } from "../../src/domain/Execution.ts"
import type { Order } from "../../src/domain/Order.ts"
import type { Position } from "../../src/domain/Position.ts"
import * as Format from "../../page/Format.ts"
import { type Notice, noticeOf, Notices } from "../../page/Notices.ts"
import { RiskWarnings } from "../../page/RiskWarnings.ts"

const digits = {
  price: (_: string, text: string) => Format.grouped(text, 1),
  qty: (_: string, text: string) => Format.grouped(text, 3)
}
const order = {
  order_id: "o1",
  sub_account_address: "0xa",
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Market",
  order_status: "New",
  create_type: "CreateByUser",
  price: "0",
  qty: "0.5",
  avg_price: "0",
  cum_exec_qty: "0",
  reduce_only: false,
  close_on_trigger: false,
  reject_reason: "EcNoError"
} as Order
const limit: Order = { ...order, order_type: "Limit", price: "59000" }
const partly: Order = { ...order, order_status: "PartiallyFilled", cum_exec_qty: "0.083", avg_price: "60012" }
const closing: Order = { ...partly, side: "Sell", reduce_only: true, closed_pnl: "-6.7346" }

const textOf = (changed: Order): string | undefined => noticeOf(changed, digits)?.text
const toneOf = (changed: Order): string | undefined => noticeOf(changed, digits)?.tone

describe("the notice of an order", () => {
  it("has one key while the order changes, and the digits of its market", () => {
    const statuses = [
      partly,
      { ...partly, order_status: "Filled", cum_exec_qty: "0.5", avg_price: "60036.129" } as const
    ]
    assert.deepStrictEqual(
      statuses.map((each) => noticeOf(each, digits)),
      [
        { key: "o1", tone: "good", text: "Bought 0.083 of 0.500 BTC-USDC at 60,012.0" },
        { key: "o1", tone: "good", text: "Bought 0.500 BTC-USDC at 60,036.1" }
      ]
    )
    assert.isUndefined(noticeOf(order, digits))
  })

  it("has the price of a limit order and the trigger of a conditional one", () => {
    assert.strictEqual(textOf(limit), "Open: buy 0.500 BTC-USDC at 59,000.0")
    const trigger = { trigger_by: "MarkPrice", trigger_direction: "Up", trigger_price: "61000" } as const
    const waiting: Order = { ...order, order_status: "Untriggered", trigger, stop_order_type: "Stop" }
    assert.strictEqual(textOf(waiting), "Waiting: buy 0.500 BTC-USDC when mark ≥ 61,000.0")
    // the legs of a position are in its row
    assert.isUndefined(noticeOf({ ...waiting, stop_order_type: "StopLoss" }, digits))
  })

  it("of a partial close has what was not closed, and why", () => {
    const ended: Order = { ...closing, order_status: "PartiallyFilledCanceled", cancel_type: "CancelByTimeInForce" }
    assert.strictEqual(
      textOf(ended),
      "Closed 0.083 of 0.500 BTC-USDC at 60,012.0, PnL -6.73; 0.417 was not closed: the book had no more bids within the price band"
    )
    assert.strictEqual(toneOf(ended), "warn")
    assert.match(
      textOf({ ...ended, reduce_only: false })!,
      /^Sold 0\.083 of 0\.500 .*; 0\.417 was not filled: the book/u
    )
  })

  it("has the exit that filled, the reason of a refusal, and who canceled", () => {
    const exit: Order = { ...closing, order_status: "Filled", cum_exec_qty: "0.5", stop_order_type: "StopLoss" }
    assert.strictEqual(textOf(exit), "Stop loss: Closed 0.500 BTC-USDC at 60,012.0, PnL -6.73")
    const refused: Order = { ...limit, order_status: "Rejected", reject_message: "the price is outside the band" }
    assert.strictEqual(textOf(refused), "Rejected: buy 0.500 BTC-USDC at 59,000.0: the price is outside the band")
    const canceled: Order = { ...limit, order_status: "Canceled", cancel_type: "CancelByUser" }
    assert.strictEqual(textOf(canceled), "Canceled: buy 0.500 BTC-USDC at 59,000.0")
    assert.match(textOf({ ...canceled, cancel_type: "CancelByDcp" })!, /: the connection was lost/u)
    assert.deepStrictEqual([toneOf(canceled), toneOf({ ...canceled, cancel_type: "CancelByDcp" })], ["plain", "warn"])
  })

  it("of a trigger that was deactivated has its order; that of an exit is not shown", () => {
    const trigger: Order = { ...limit, order_status: "Deactivated", cancel_type: "CancelByUser" }
    assert.strictEqual(textOf(trigger), "Canceled: buy 0.500 BTC-USDC at 59,000.0")
    assert.isUndefined(textOf({ ...trigger, stop_order_type: "StopLoss" }))
  })

  it("of an expired order has the part that was filled", () => {
    assert.strictEqual(textOf({ ...limit, order_status: "Expired" }), "Expired: buy 0.500 BTC-USDC at 59,000.0")
    assert.strictEqual(
      textOf({ ...partly, order_status: "Expired" }),
      "Bought 0.083 of 0.500 BTC-USDC at 60,012.0; 0.417 was not filled: it expired"
    )
  })
})

const position = {
  symbol: "BTC-USDC",
  sub_account_address: "0xa",
  side: "Buy",
  size: "0.5",
  avg_price: "60036.12",
  mark_price: "60000",
  liq_price: "59429.7",
  position_status: "Normal",
  liquidation_fee: "0",
  seq: 1
} as Position
const flat: Position = { ...position, side: "", size: "0", avg_price: "0", liq_price: "" }

type Kind = "execution" | "order" | "position"
type RecordOf = { execution: Partial<Execution>; order: Order; position: Position }
const message = <K extends Kind>(kind: K, record: RecordOf[K], type = "update"): FeedEvent =>
  ({ kind, topic: kind, server_ts_ms: 0, data: { type, list: [record] } }) as unknown as FeedEvent

const created = {
  forced: "CreateByLiq",
  takeover: "CreateByTakeOverPassThrough",
  adl: "CreateByAdlPassThrough"
} as const
const fill = (create_type: string, exec_qty: string, exec_value: string, exec_type = "Trade") =>
  message("execution", {
    sub_account_address: "0xa",
    symbol: "BTC-USDC",
    create_type,
    exec_qty,
    exec_value,
    exec_type
  } as Partial<Execution>)
const liquidation = (order_id: string, closed_pnl: string): FeedEvent =>
  message("order", { ...closing, order_id, create_type: created.forced, order_status: "Filled", closed_pnl })

/** The notices of a sequence of events; one with the key of another replaces it. */
const after = (events: ReadonlyArray<FeedEvent>): ReadonlyArray<Notice> => {
  const notices = new Notices(digits)
  const shown = new Map<string, Notice>()
  for (const event of events) for (const notice of notices.of(event)) shown.set(notice.key, notice)
  return [...shown.values()]
}
/** The order of events of a liquidation in two fills. */
const story: ReadonlyArray<FeedEvent> = [
  message("order", { ...limit, order_id: "o2", order_status: "Canceled", cancel_type: "CancelAllBeforeLiq" }),
  message("position", { ...position, position_status: "Liq", seq: 26 }),
  fill(created.forced, "0.2", "11990"),
  liquidation("o3", "-9.5"),
  message("position", { ...position, position_status: "Liq", size: "0.3", seq: 30 }),
  fill(created.forced, "0.3", "17970"),
  liquidation("o3", "-52.611"),
  message("position", { ...flat, seq: 42 }),
  message("position", { ...flat, liquidation_fee: "149.90979", seq: 44 })
]

describe("the notice of a forced close", () => {
  it("is one for all its fills, with average price, PnL, fee and canceled orders", () => {
    assert.deepStrictEqual(after(story), [
      {
        key: "forced|0xa|BTC-USDC|26",
        tone: "bad",
        text: "Liquidated: your long of 0.500 BTC-USDC at 59,920.0, PnL -52.61, fee 149.90, 1 open order canceled",
        stays: true
      }
    ])
  })

  it("has the part that the insurance pool took over", () => {
    const taken = [
      ...story.slice(0, 5),
      fill(created.takeover, "0.3", "17640", "BustTrade"),
      message("position", { ...flat, seq: 42 })
    ]
    assert.match(
      after(taken)[0]!.text,
      /0\.500 BTC-USDC at 59,260\.0, .*fee 0\.00, 0\.300 taken over by the insurance/u
    )
  })

  it("is another one for the next liquidation, and none for later changes of the position", () => {
    const next = [
      message("position", { ...position, side: "Sell", size: "0.1", seq: 50 }),
      message("position", { ...position, side: "Sell", size: "0.1", position_status: "Liq", seq: 60 }),
      fill(created.forced, "0.1", "6000"),
      message("position", { ...flat, seq: 61 })
    ]
    assert.deepStrictEqual(
      after([...story, ...next]).map(({ key, text }) => [key, text.split(" of ")[0]]),
      [
        ["forced|0xa|BTC-USDC|26", "Liquidated: your long"],
        ["forced|0xa|BTC-USDC|60", "Liquidated: your short"]
      ]
    )
  })

  it("distinguishes deleveraging, which has no fee and can leave a rest", () => {
    const events = [
      message("position", { ...position, position_status: "Adl", seq: 5 }),
      fill(created.adl, "0.2", "12100", "AdlTrade"),
      message("position", { ...position, size: "0.3", seq: 6 })
    ]
    assert.deepStrictEqual(
      after(events).map(({ text }) => text),
      ["Auto-deleveraged: your long of 0.200 BTC-USDC at 60,500.0, 0.300 remains open"]
    )
  })

  it("does not come from a snapshot", () => {
    const snapshots = [message("order", partly, "snapshot"), message("position", position, "snapshot")]
    assert.deepStrictEqual(after(snapshots), [])
  })
})

describe("the notice of a partial close", () => {
  const ended: Order = { ...closing, order_status: "PartiallyFilledCanceled", cancel_type: "CancelByTimeInForce" }

  it("has what remains of the position", () => {
    const events = [
      message("position", { ...position, size: "0.5" }, "snapshot"),
      message("order", closing),
      message("position", { ...position, size: "0.417" }),
      message("order", ended)
    ]
    const notices = after(events)
    assert.strictEqual(notices.length, 1)
    assert.match(notices[0]!.text, /0\.417 was not closed: the book .* band\. Your long of 0\.417 remains open$/u)
  })

  it("has no rest where the position was closed otherwise", () => {
    const events = [message("position", flat), message("order", ended)]
    assert.match(after(events)[0]!.text, /within the price band$/u)
  })
})

describe("warnings on the way to a liquidation", () => {
  /** Text of the warning, or how many no longer apply, at each mark. */
  const at = (warnings: RiskWarnings, mark: string, held = [position]) => {
    const { begun, over } = warnings.of(held, () => mark)
    return begun[0]?.text ?? over.length
  }

  it("appear once at 80 % and once at 95 %, and again only after the mark came back", () => {
    const warnings = new RiskWarnings(digits)
    const marks = ["60000", "59552", "59550", "59540", "59460", "59459", "59540", "59459"]
    const texts = marks.map((mark) => at(warnings, mark))
    assert.deepStrictEqual(
      texts.map((text) => (typeof text === "string" ? /is (\d+) %/u.exec(text)![1] : text)),
      [0, 0, "80", 0, "95", 0, 0, "95"]
    )
    assert.strictEqual(
      texts[2],
      "Your long of 0.500 BTC-USDC is 80 % of the way to its liquidation at 59,429.7: the mark is 59,550.0"
    )
    assert.strictEqual(at(warnings, "60000"), 1)
    assert.include(String(at(warnings, "59550")), "80 %")
  })

  it("are red from 95 % on, and end with their position or its liquidation", () => {
    const tones = ["59550", "59459"].map((mark) => new RiskWarnings(digits).of([position], () => mark).begun[0]!.tone)
    assert.deepStrictEqual(tones, ["warn", "bad"])
    for (const held of [[], [{ ...position, position_status: "Liq" } as const]]) {
      const warnings = new RiskWarnings(digits)
      warnings.of([position], () => "59550")
      assert.deepStrictEqual(
        warnings.of(held, () => "59000"),
        { begun: [], over: ["risk|0xa|BTC-USDC"] }
      )
    }
  })
})
