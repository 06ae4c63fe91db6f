import { assert, describe, it } from "@effect/vitest"
import * as Accounts from "../../../src/backend/engine/accounts/Accounts.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { reads } from "../../../src/backend/EngineReads.ts"
import type { MarketPosition } from "../../../src/backend/engine/state/State.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import type { GetOpenOrdersRequest, GetOpenOrdersResponse } from "../../../src/proto/gateway/v1/sequencer.ts"
import { Side } from "../../../src/proto/gateway/v1/types.ts"
import { Bench, BTC, BUY, executions, orderId, orders, positions, SELL, trader } from "../Bench.ts"

const alice = trader("alice")
const bob = trader("bob")

const opened = (): Bench => {
  const bench = new Bench()
  bench.tick()
  bench.index(BTC, "60000")
  bench.open(alice, "100000")
  bench.open(bob, "100000")
  return bench
}

describe("the settlements of a market", () => {
  it("are read by pages of 1,000, newest first, each once", () => {
    const bench = opened()
    const { fundings } = bench.state.marketOf.get(BTC)!
    const times = Array.from({ length: 2_500 }, (_, i) => 1_000 + i)
    for (const funding_time_ms of times)
      fundings.push({ symbol: BTC, funding_rate: "0", mark_price: "1", funding_index: "0", funding_time_ms })
    const pages: Array<ReadonlyArray<number>> = []
    let page_token = ""
    do {
      const page = Reads.fundingRates(bench.state, { symbol: BTC, start_ms: 1_001, end_ms: 0, page_token })!
      pages.push(page.rates.map(({ funding_time_ms }) => funding_time_ms))
      page_token = page.next_page_token
    } while (page_token !== "")
    assert.deepStrictEqual(
      pages.map(({ length }) => length),
      [1_000, 1_000, 499]
    )
    assert.deepStrictEqual(pages.flat(), times.slice(1).toReversed())
  })
})

describe("a position that reverses", () => {
  it("closes, then opens, and splits the fee between both", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.1" })
    bench.place(bob, { side: BUY, qty: "0.3", price: "60100" })
    const step = bench.place(alice, { side: SELL, qty: "0.3", price: "60100" })
    assert.deepInclude(executions(step, alice)[0], {
      base_fee: "9.9165",
      closed_size: "0.1",
      closed_entry_value: "6000",
      closed_open_fee: "3.3",
      realised_pnl: "10"
    })
    // 10 − 3.3 − 9.9165 / 3
    assert.strictEqual(orders(step, alice).at(-1)!.closed_pnl, "3.3945")
    assert.deepInclude(positions(step, alice)[0], {
      side: Side.SIDE_SELL,
      size: "0.2",
      entry_value: "12020",
      avg_price: "60100",
      // the part that opened the new position: 9.9165 × 2 / 3
      cur_realised_pnl: "-6.611",
      cum_realised_pnl: "-3.2165",
      // buying 0.2 at p with the taker fee: 12020 − 6.611 = 0.2 p × 1.00055, down to the tick
      break_even_price: "60033.9"
    })
  })
})

describe("reads", () => {
  const traded = () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.3", price: "60000" })
    const id = orderId(bench.place(alice, { side: BUY, qty: "0.5", price: "60000", link: "x" }))
    return { bench, id }
  }

  it("limit the book to a depth, best first", () => {
    const bench = opened()
    for (const price of ["59000", "58000", "59500"]) bench.place(alice, { side: BUY, qty: "0.1", price })
    bench.place(bob, { side: SELL, qty: "0.1", price: "61000" })
    assert.deepStrictEqual(Reads.orderBook(bench.state, BTC, 2), {
      bids: [
        { price: "59500", qty: "0.1" },
        { price: "59000", qty: "0.1" }
      ],
      asks: [{ price: "61000", qty: "0.1" }],
      book_seq: 4,
      mts: bench.now,
      as_of_seq: bench.state.seq
    })
    assert.strictEqual(Reads.orderBook(bench.state, "XRP-USDC", 2), undefined)
  })

  it("find open orders by id, by link and by filter", () => {
    const { bench, id } = traded()
    assert.strictEqual(Reads.order(bench.state, { order_id: id })!.leaves_qty, "0.2")
    assert.strictEqual(
      Reads.order(bench.state, { order_id: "", sub_account_address: alice.address, order_link_id: "x" })!.order_id,
      id
    )
    assert.strictEqual(Reads.order(bench.state, { order_id: id, sub_account_address: bob.address }), undefined)
    assert.strictEqual(Reads.openOrders(bench.state).length, 1)
    assert.deepStrictEqual(
      Reads.openOrders(bench.state, { sub_account_address: alice.address }).map(({ order_id }) => order_id),
      [id]
    )
    assert.strictEqual(Reads.openOrders(bench.state, { sub_account_address: bob.address }).length, 0)
    assert.strictEqual(Reads.openOrders(bench.state, { sub_account_address: trader("nobody").address }).length, 0)
    assert.strictEqual(Reads.openOrders(bench.state, { symbol: "ETH-USDC" }).length, 0)
  })

  it("list the open orders after that of a page token, and all for a token of no order id of this exchange", () => {
    const bench = opened()
    const ids = ["59000", "58000"].map((price) => orderId(bench.place(alice, { side: BUY, qty: "0.1", price })))
    const { getOpenOrders } = reads(bench.state).sequencer
    const page = (page_token: string) => {
      const request: GetOpenOrdersRequest = { page_token }
      return (getOpenOrders!(request as never) as GetOpenOrdersResponse).orders.map(({ order_id }) => order_id)
    }
    assert.deepStrictEqual([page(""), page("no id"), page(ids[0]!), page(ids[1]!)], [ids, ids, [ids[1]!], []])
  })

  it("return a flat record for a given market, without a change of the state", () => {
    const { bench } = traded()
    assert.strictEqual(Reads.positions(bench.state, { user_id: alice.user_id }).length, 1)
    const flat = Reads.positions(bench.state, { user_id: alice.user_id, symbol: "ETH-USDC" })
    assert.deepInclude(flat[0], { size: "0", side: Side.SIDE_UNSPECIFIED, leverage: "10", avg_price: "0" })
    assert.strictEqual(bench.state.accountOf.get(alice.address)!.holdings.length, 1)
    assert.deepStrictEqual(Reads.positions(bench.state, { user_id: "nobody" }), [])
  })

  it("sum the portfolio", () => {
    const { bench } = traded()
    bench.index(BTC, "61000")
    const { positions, summary, vault_balances } = Reads.portfolio(bench.state, alice.user_id)
    assert.deepInclude(positions[0], { size: "0.3", price: "60000", margin: "1830", symbol: BTC })
    assert.deepStrictEqual(vault_balances, [{ asset: "USDC", balance: "99990.1", sub_account_address: alice.address }])
    assert.deepInclude(summary, {
      collateral_notional: "99990.1",
      total_balance: "100290.1",
      unrealized_pnl_total: "300",
      maintenance_margin_required: "183",
      // 1830 + 12000 × (0.1 + 0.00055)
      total_margin_used: "3036.6",
      total_available_balance: "97253.5",
      total_positions: 1,
      total_vaults: 1
    })
  })

  it("preview a leverage", () => {
    const { bench } = traded()
    const preview = (leverage: string) => Reads.previewMargin(bench.state, alice.address, BTC, Decimal.parse(leverage))!
    assert.deepStrictEqual(preview("10"), { required: "3006.6", available: "99990.1", ok: true })
    assert.strictEqual(preview("20").required, "1506.6")
    assert.strictEqual(preview("100").required, "606.6")
    // a loss above the balance: nothing is available for another market
    const poor = new Bench()
    poor.tick()
    poor.index(BTC, "60000")
    poor.open(alice, "700")
    poor.open(bob, "100000")
    poor.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    poor.place(alice, { side: BUY, qty: "0.1" })
    poor.index(BTC, "53700")
    const other = Reads.previewMargin(poor.state, alice.address, "ETH-USDC", Decimal.parse("10"))!
    assert.deepStrictEqual(other, { required: "0", available: "0", ok: true })
  })

  it("return prices with the time of the last step, and the tiers with their deductions", () => {
    const bench = opened()
    bench.tick()
    bench.deposit(alice, "1")
    assert.strictEqual(Reads.prices(bench.state, [BTC])[0]!.ts_ms, bench.now)
    // 2 million x (0.02 - 0.01), and 10 million x (0.05 - 0.02) more
    assert.deepStrictEqual(
      Reads.riskTiers(bench.state, BTC).map(({ max_leverage, mm_deduction, tier }) => [
        tier,
        mm_deduction,
        max_leverage
      ]),
      [
        [1, "0", "50"],
        [2, "20000", "25"],
        [3, "320000", "10"]
      ]
    )
  })

  it("return fees and prices", () => {
    const { bench } = traded()
    assert.deepStrictEqual(Reads.feeRates(bench.state, BTC), [
      { symbol: BTC, maker_fee_rate: "0.0002", taker_fee_rate: "0.00055" }
    ])
    assert.deepInclude(Reads.prices(bench.state, [BTC, "XRP-USDC"])[0], {
      mark_price: "60000",
      last_price: "60000",
      open_interest: "0.3"
    })
    assert.strictEqual(Reads.prices(bench.state).length, 4)
    assert.strictEqual(Reads.headSeq(bench.state), bench.state.seq)
  })
})

describe("the order of positions by address", () => {
  it("is that of the text, whatever order they come in", () => {
    const of = (address: string) => ({ account: { address } }) as MarketPosition
    const sorted = ["0xa", "0xb", "0xc", "0xd"]
    for (const order of [sorted, sorted.toReversed(), ["0xc", "0xa", "0xd", "0xb"]])
      assert.deepStrictEqual(
        order
          .map(of)
          .sort(Accounts.byAddress)
          .map(({ account }) => account.address),
        sorted
      )
    assert.deepStrictEqual(
      [
        ["0xa", "0xb"],
        ["0xb", "0xa"],
        ["0xa", "0xa"]
      ].map(([a, b]) => Math.sign(Accounts.byAddress(of(a!), of(b!)))),
      [-1, 1, 0]
    )
  })
})
