/** How near a position is to its liquidation, by the newest mark price; and lists that are read page by page. */
import { assert, describe, it } from "vitest"
import * as Decimal from "../../src/domain/Decimal.ts"
import type { Position } from "../../src/domain/Position.ts"
import type { BalanceRecord } from "../../src/ws/api/TopicData.ts"
import { dangerOf, marginRatio, pnlNow, roeNow, wayToLiquidation } from "../../page/PositionRisk.ts"
import { PagedList } from "../../page/Table.ts"

const n = Decimal.parse
// the cross long of docs/contract/exchange.md#margin-examples
const long: Position = {
  symbol: "BTC-USDC",
  sub_account_address: "0xa",
  side: "Buy",
  size: "0.5",
  avg_price: "60000",
  position_value: "30000",
  mark_price: "60000",
  leverage: "10",
  margin_mode: "Cross",
  position_mode: "OneWay",
  position_status: "Normal",
  position_im: "3000",
  position_mm: "300",
  liq_price: "40437.4",
  bust_price: "40033",
  unrealised_pnl: "0",
  cur_realised_pnl: "-16.5",
  cum_realised_pnl: "-16.5",
  liquidation_fee: "0",
  take_profit: "",
  stop_loss: "",
  tpsl_mode: "Full",
  adl_rank_indicator: 5,
  risk_tier: 1,
  break_even_price: "60066",
  created_time: 0,
  updated_time: 0,
  seq: 1
}
const balance = { wallet_balance: "9983.5" } as BalanceRecord
const at = (mark: string) => () => mark

describe("a position at the newest mark price", () => {
  it("has the PnL and the return of that price", () => {
    assert.strictEqual(pnlNow(long, "58000"), n("-1000"))
    assert.strictEqual(roeNow(long, n("-1000")), n("-0.333333333333333334"))
    const short: Position = { ...long, side: "Sell", mark_price: "59000", unrealised_pnl: "500" }
    assert.strictEqual(pnlNow(short, "58000"), n("1000"))
    assert.strictEqual(pnlNow(short, undefined), n("500"))
  })

  it("has the margin ratio of its account, or of its own margin", () => {
    assert.strictEqual(marginRatio(long, [long], balance, at("60000")), Decimal.div(n("300"), n("9983.5"), "up"))
    // equity 183.5 does not cover the margin
    assert.strictEqual(
      marginRatio({ ...long, position_mm: "202" }, [{ ...long, position_mm: "202" }], balance, at("40400")),
      n("1")
    )
    const isolated: Position = { ...long, margin_mode: "Isolated", isolated_margin: "3000", liq_price: "54545.5" }
    assert.strictEqual(marginRatio(isolated, [long, isolated], balance, at("60000")), n("0.1"))
    assert.isUndefined(marginRatio(long, [long], undefined, at("60000")))
  })

  it("has gone a part of the way to its liquidation", () => {
    assert.deepStrictEqual(
      ["61000", "60000", "50218.7", "44349.9", "40437.4", "40000"].map((mark) => wayToLiquidation(long, mark)),
      [0, 0, 50, 80, 100, 100]
    )
    const short: Position = { ...long, side: "Sell", liq_price: "66000" }
    assert.strictEqual(wayToLiquidation(short, "65700"), 95)
    assert.strictEqual(wayToLiquidation({ ...long, liq_price: "" }, "1"), 0)
    // after losses elsewhere the liquidation price is above the entry
    assert.deepStrictEqual(
      ["62000", "60900"].map((mark) => wayToLiquidation({ ...long, liq_price: "61000" }, mark)),
      [0, 100]
    )
  })

  it("is colored by the worse of both", () => {
    assert.strictEqual(dangerOf(n("0.1"), 10), "calm")
    assert.strictEqual(dangerOf(n("0.5"), 10), "watch")
    assert.strictEqual(dangerOf(n("0.1"), 80), "danger")
    assert.strictEqual(dangerOf(undefined, 0), "calm")
  })
})

describe("a list that is read page by page", () => {
  interface Item {
    readonly id: number
  }
  /** A list that grows in front: pages of two, the cursor is the last id of a page. */
  const source = (newest: () => number) => (cursor: string) => {
    const from = cursor === "" ? newest() : Number(cursor) - 1
    const list = [from, from - 1].filter((id) => id > 0).map((id) => ({ id }))
    return Promise.resolve({ list, next_page_cursor: from > 2 ? String(from - 1) : "" })
  }
  const ids = (list: PagedList<Item>) => list.records.value.map(({ id }) => id)

  it("continues at its cursor, and takes newer records in front without reading all again", async () => {
    let newest = 5
    const list = new PagedList<Item>(
      source(() => newest),
      ({ id }) => String(id)
    )
    await list.refresh()
    await list.more()
    assert.deepStrictEqual(ids(list), [5, 4, 3, 2])
    newest = 6
    await list.refresh()
    assert.deepStrictEqual(ids(list), [6, 5, 4, 3, 2])
    await list.more()
    assert.deepStrictEqual(ids(list), [6, 5, 4, 3, 2, 1])
    assert.strictEqual(list.cursor.value, "")
    // too many newer ones: nothing is left out between them and the known ones
    newest = 20
    await list.refresh()
    assert.deepStrictEqual(ids(list), [20, 19])
    await list.more()
    assert.deepStrictEqual(ids(list), [20, 19, 18, 17])
  })

  it("ignores the response of a request before a reset", async () => {
    const list = new PagedList<Item>(
      source(() => 5),
      ({ id }) => String(id)
    )
    const late = list.refresh()
    list.reset()
    await late
    assert.deepStrictEqual(ids(list), [])
  })
})
