/** The order form without a browser: what is wrong with a draft, in which field, and the request of a sound one. */
import { assert, describe, it } from "vitest"
import * as Decimal from "../../src/domain/Decimal.ts"
import type { Instrument, Ticker } from "../../src/domain/Market.ts"
import { bodyOf, checkDraft, type Draft, type DraftContext, emptyDraft, largestOf } from "../../page/OrderDraft.ts"
import { exitPrice, pnlAt, roeAt } from "../../page/ExitPrice.ts"

const n = Decimal.parse

const instrument: Instrument = {
  symbol: "BTC-USDC",
  market_addr: `0x${"b".repeat(64)}`,
  base_asset: "BTC",
  quote_asset: "USDC",
  settle_asset: "USDC",
  status: "Trading",
  launch_time: 0,
  funding_interval_minutes: 480,
  price_filter: { tick_size: "0.1", min_price: "0.1", max_price: "1000000" },
  lot_size_filter: {
    qty_step: "0.001",
    min_order_qty: "0.001",
    max_order_qty: "100",
    max_mkt_order_qty: "30",
    min_notional_value: "5"
  },
  leverage_filter: { min_leverage: "1", max_leverage: "50", leverage_step: "0.01" },
  price_band: "0.05",
  max_open_orders: 500,
  max_conditional_orders: 20,
  maker_fee_rate: "0.0002",
  taker_fee_rate: "0.00055",
  funding_cap: "0.005"
}
const ticker: Ticker = {
  symbol: "BTC-USDC",
  last_price: "60005",
  mark_price: "60000",
  index_price: "59990",
  prev_price_24h: "60000",
  high_price_24h: "60000",
  low_price_24h: "60000",
  price_24h_pcnt: "0",
  volume_24h: "0",
  turnover_24h: "0",
  open_interest: "0",
  open_interest_value: "0",
  funding_rate: "0",
  next_funding_time: "2026-01-01T08:00:00.000Z",
  next_funding_time_ms: 0,
  ts: 0
}
const context: DraftContext = {
  instrument,
  tiers: [{ limit: n("2000000"), initialRate: n("0.02"), maintenanceRate: n("0.01"), deduction: 0n }],
  bids: [["59990", "1"]],
  asks: [
    ["60010", "0.5"],
    ["60020", "1"],
    ["64000", "9"]
  ],
  ticker,
  account: {
    available: n("10000"),
    wallet: n("10000"),
    positions: [],
    orders: [],
    leverage: n("10"),
    mode: "Cross",
    mark: n("60000")
  }
}
const limit: Draft = { ...emptyDraft, price: "60000", size: "0.1" }
const market: Draft = { ...emptyDraft, tab: "Market", size: "0.1" }
const conditional: Draft = { ...emptyDraft, tab: "Conditional", trigger: "61000", size: "0.1" }
const faultOf = (draft: Draft, at = context) => checkDraft(draft, at)?.fault
const to = { sub_account_address: "0xa", symbol: "BTC-USDC", now_ms: 1_000 }
const sent = (draft: Draft) => bodyOf(draft, checkDraft(draft, context)!.order!, to)

describe("a draft", () => {
  it("is incomplete without what it needs, and has no fault then", () => {
    for (const draft of [
      { ...limit, price: "" },
      { ...limit, size: "" },
      { ...conditional, trigger: "" }
    ])
      assert.isUndefined(checkDraft(draft, context))
    assert.isUndefined(faultOf(market))
  })

  it("names the field that is wrong", () => {
    const cases: ReadonlyArray<readonly [Partial<Draft>, string, RegExp]> = [
      [{ price: "60000.05" }, "price", /price is not a multiple of the tick 0\.1/u],
      [{ price: "abc" }, "price", /^price must be a number such as 1234\.5, without separators$/u],
      // as the page itself shows prices
      [{ price: "60,000.0" }, "price", /^price must be a number such as 1234\.5, without separators$/u],
      [{ price: "-1" }, "price", /^price must not be negative$/u],
      [{ price: "60000.05", size: "" }, "price", /tick/u],
      [{ price: "63000.1" }, "price", /price band ends at 63000/u],
      [{ size: "0.0001" }, "size", /size is not a multiple of the step 0\.001/u],
      [{ size: "1e3" }, "size", /^size must be a number such as 1234\.5, without separators$/u],
      [{ size: "-1" }, "size", /^size must not be negative$/u],
      [{ sizeIn: "quote", size: "10" }, "size", /^the size for this value must lie between 0\.001 and/u],
      [{ price: "100", size: "0.001" }, "size", /at least 5/u],
      [{ size: "2" }, "size", /not enough available margin/u],
      [{ size: "40" }, "size", /risk limit/u],
      [{ tab: "Conditional", trigger: "60000" }, "trigger", /met already/u],
      [{ tab: "Conditional", trigger: "1.23" }, "trigger", /trigger price is not a multiple/u],
      [{ hasExits: true, take_profit: { text: "59000", unit: "Price" } }, "take_profit", /above the entry/u],
      [{ hasExits: true, stop_loss: { text: "61000", unit: "Price" } }, "stop_loss", /below the entry/u],
      [{ hasExits: true, stop_loss: { text: "x", unit: "PnL" } }, "stop_loss", /^stop-loss must be a number such/u]
    ]
    for (const [part, field, message] of cases) {
      const fault = faultOf({ ...limit, ...part })
      assert.strictEqual(fault?.field, field, JSON.stringify(part))
      assert.match(fault!.message, message)
    }
    assert.match(faultOf(market, { ...context, asks: [] })!.message, /nobody sells/u)
    assert.match(faultOf(market, { ...context, asks: [["64000", "9"]] })!.message, /nothing within the price band/u)
  })

  it("of a Market order shows what it fills within the price band", () => {
    const { order } = checkDraft({ ...market, size: "1" }, context)!
    assert.strictEqual(order!.price, n("60015"))
    const tooLarge = checkDraft({ ...market, size: "2" }, { ...context, account: undefined })!.order!
    assert.deepStrictEqual([tooLarge.qty, tooLarge.fill?.qty], [n("2"), n("1.5")])
  })

  it("takes a value in the quote asset, down to the step", () => {
    assert.strictEqual(checkDraft({ ...limit, sizeIn: "quote", size: "6100" }, context)!.order!.qty, n("0.101"))
    assert.strictEqual(checkDraft({ ...market, sizeIn: "quote", size: "60025" }, context)!.order!.qty, n("1"))
  })

  it("becomes the request of each kind of order", () => {
    assert.deepStrictEqual(sent(limit), {
      sub_account_address: "0xa",
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Limit",
      qty: "0.1",
      price: "60000",
      time_in_force: "GTC"
    })
    assert.deepInclude(sent({ ...limit, timeInForce: "GTT", life_ms: 5_000, postOnly: true }), {
      time_in_force: "GTT",
      expire_time: 6_000,
      post_only: true
    })
    assert.notProperty(sent({ ...limit, timeInForce: "IOC", postOnly: true }), "post_only")
    const plain = sent({ ...market, reduceOnly: true, hasExits: true, stop_loss: { text: "59000", unit: "Price" } })
    assert.deepInclude(plain, { order_type: "Market", reduce_only: true })
    for (const key of ["price", "time_in_force", "tpsl"]) assert.notProperty(plain, key)
    assert.deepStrictEqual(sent(conditional).trigger, {
      trigger_price: "61000",
      trigger_by: "MarkPrice",
      trigger_direction: "Up"
    })
    assert.deepInclude(
      sent({ ...conditional, trigger: "59995", triggerBy: "IndexPrice", places: "Limit", price: "59000" }),
      {
        order_type: "Limit",
        price: "59000",
        trigger: { trigger_price: "59995", trigger_by: "IndexPrice", trigger_direction: "Up" }
      }
    )
  })

  it("gives exits as a price, a return on the margin, or a profit and loss", () => {
    const tpsl = (part: Partial<Draft>) => sent({ ...limit, hasExits: true, exitsBy: "LastPrice", ...part }).tpsl
    assert.deepStrictEqual(
      tpsl({ take_profit: { text: "20", unit: "ROE %" }, stop_loss: { text: "-50", unit: "PnL" } }),
      {
        take_profit: { market: { trigger_price: "61200", trigger_by: "LastPrice" } },
        stop_loss: { market: { trigger_price: "59500", trigger_by: "LastPrice" } }
      }
    )
    assert.deepStrictEqual(tpsl({ side: "Sell", stop_loss: { text: "10", unit: "ROE %" } }), {
      stop_loss: { market: { trigger_price: "60600", trigger_by: "LastPrice" } }
    })
  })

  it("has the largest size once it has a price", () => {
    assert.isUndefined(largestOf({ ...limit, price: "" }, context))
    // 10000 / (60000 × (1/10 + 0.00055))
    assert.strictEqual(largestOf(limit, context), n("1.657"))
  })
})

describe("the price of an exit", () => {
  const basis = { side: "Buy", entry: n("60000"), qty: n("0.3"), leverage: n("7"), tick: n("0.1") } as const

  it("brings at least the profit, and at most the loss, that was given", () => {
    const [profit, loss] = [
      exitPrice("take_profit", n("10"), "PnL", basis),
      exitPrice("stop_loss", n("10"), "PnL", basis)
    ]
    assert.strictEqual(Decimal.format(profit), "60033.4")
    assert.strictEqual(Decimal.format(loss), "59966.7")
    const short = { ...basis, side: "Sell" } as const
    assert.strictEqual(Decimal.format(exitPrice("take_profit", n("10"), "PnL", short)), "59966.6")
    assert.strictEqual(Decimal.format(exitPrice("stop_loss", n("10"), "PnL", short)), "60033.3")
    for (const [side, leg, unit] of [
      ["Buy", "take_profit", "ROE %"],
      ["Sell", "take_profit", "PnL"]
    ] as const)
      assert.isAtLeast(
        Number(pnlAt(exitPrice(leg, n("10"), unit, { ...basis, side }), { ...basis, side })),
        Number(n("10"))
      )
    assert.isAtLeast(Number(roeAt(exitPrice("take_profit", n("10"), "ROE %", basis), basis)), Number(n("0.1")))
  })
})
