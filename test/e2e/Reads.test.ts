/**
 * Reads of trading data from a running exchange: the figures of docs/contract/stories.md#login-to-closed-pnl, and walks
 * through their pages.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, funded, listAll, type Session } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import type { Frame } from "../../verification/harness/Socket.ts"

const pick = (record: Frame, ...keys: ReadonlyArray<string>) =>
  Object.fromEntries(keys.map((key) => [key, record[key]]))

describe("reads of trading data", () => {
  let exchange: Exchange
  let user: Session
  let maker: Session

  const get = async (path: string, token = user.token) => {
    const { body, headers, status } = await call(exchange, "GET", `/api/v1${path}`, { token })
    return { body, headers, status }
  }
  const trade = async (session: Session, fields: Record<string, unknown>) => {
    const { body, status } = await call(exchange, "POST", "/api/v1/order/create", {
      token: session.token,
      body: { sub_account_address: session.vault, symbol: "BTC-USDC", order_type: "Limit", ...fields }
    })
    assert.strictEqual(status, 200, JSON.stringify(body))
    return body.order_id as string
  }
  const executions = (session: Session, count: number) =>
    eventually(
      "executions",
      () => get("/execution/list", session.token),
      ({ body }) => body.list?.length === count
    )
  let closing: string

  beforeAll(async () => {
    exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "1000000" } })
    await call(exchange, "PUT", "/api/v1/admin/index-price", {
      headers: basic,
      body: { symbol: "BTC-USDC", price: "60000" }
    })
    user = await funded(exchange)
    maker = await funded(exchange, "100000")
    await trade(maker, { side: "Sell", qty: "0.2", price: "60000" })
    await trade(user, { side: "Buy", qty: "0.2", price: "60000" })
    await trade(maker, { side: "Buy", qty: "0.2", price: "61000" })
    closing = await trade(user, { side: "Sell", order_type: "Market", qty: "0.2", reduce_only: true })
    await executions(user, 2)
  })
  afterAll(() => exchange?.close())

  it("closed PnL of the closing order, with exact numbers", async () => {
    const { body } = await get("/position/closed-pnl?symbol=BTC-USDC")
    assert.strictEqual(body.list.length, 1)
    assert.deepStrictEqual(
      pick(
        body.list[0],
        "order_id",
        "side",
        "closed_size",
        "closed_pnl",
        "open_fee",
        "close_fee",
        "avg_entry_price",
        "avg_exit_price",
        "fill_count",
        "leverage"
      ),
      {
        order_id: closing,
        side: "Sell",
        closed_size: "0.2",
        closed_pnl: "186.69",
        open_fee: "6.6",
        close_fee: "6.71",
        avg_entry_price: "60000",
        avg_exit_price: "61000",
        fill_count: 1,
        leverage: "10"
      }
    )
    const theirs = await get("/position/closed-pnl", maker.token)
    assert.deepStrictEqual(pick(theirs.body.list[0], "side", "closed_pnl"), { side: "Buy", closed_pnl: "-204.84" })
  })

  it("transactions with consistent balances, page by page, up to the wallet balance", async () => {
    const path = "/api/v1/account/transactions"
    const rows = await listAll(exchange, path, user.token)
    assert.deepStrictEqual(
      rows.map(({ type, amount, balance_after }) => [type, amount, balance_after]),
      [
        ["fee", "-6.71", "10186.69"],
        ["realized_pnl", "200", "10193.4"],
        ["fee", "-6.6", "9993.4"],
        ["deposit", "10000", "10000"]
      ]
    )
    const wallet = await get("/account/balances")
    assert.strictEqual(wallet.body.list[0].wallet_balance, rows[0].balance_after)
    const walked: Array<string> = []
    for (let cursor = ""; ;) {
      const { body } = await get(`/account/transactions?limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`)
      walked.push(body.list[0].id)
      cursor = body.next_page_cursor
      if (cursor === "") break
    }
    assert.deepStrictEqual(
      walked,
      rows.map(({ id }) => id)
    )
    const fees = await get("/account/transactions?type=fee")
    assert.strictEqual(fees.body.list.length, 2)
    const executed = await get("/execution/list")
    assert.strictEqual(fees.body.list[0].exec_id, executed.body.list[0].exec_id)
    assert.strictEqual(fees.body.list[0].symbol, "BTC-USDC")
  })

  it("statistics that agree with the transactions", async () => {
    for (const period of ["1d", "7d", "30d", "all"]) {
      const { body } = await get(`/account/statistics?period=${period}`)
      assert.deepStrictEqual(
        pick(
          body,
          "volume",
          "maker_volume",
          "taker_volume",
          "trade_count",
          "fees_paid",
          "funding_paid",
          "realised_pnl",
          "win_count",
          "loss_count",
          "max_drawdown",
          "period"
        ),
        {
          volume: "24200",
          maker_volume: "0",
          taker_volume: "24200",
          trade_count: 2,
          fees_paid: "13.31",
          funding_paid: "0",
          realised_pnl: "200",
          win_count: 1,
          loss_count: 0,
          max_drawdown: "6.6",
          period
        }
      )
      assert.isAtMost(body.from_ms, body.to_ms)
    }
    const loser = await get("/account/statistics", maker.token)
    assert.deepStrictEqual(pick(loser.body, "maker_volume", "loss_count", "max_drawdown"), {
      maker_volume: "24200",
      loss_count: 1,
      max_drawdown: "204.84"
    })
  })

  it("deposits, fee rates, and no other user's sub-account", async () => {
    const deposits = await get("/account/deposits")
    assert.deepStrictEqual(pick(deposits.body.list[0], "amount", "source", "status", "sub_account_address"), {
      amount: "10000",
      source: "faucet",
      status: "completed",
      sub_account_address: user.vault
    })
    assert.deepStrictEqual((await get("/account/withdrawals")).body, { list: [], next_page_cursor: "" })
    const rates = await get("/account/fee-rate?symbol=BTC-USDC")
    assert.deepStrictEqual(rates.body.list, [
      { symbol: "BTC-USDC", maker_fee_rate: "0.0002", taker_fee_rate: "0.00055" }
    ])
    for (const path of [
      "/position/closed-pnl",
      "/account/transactions",
      "/account/funding",
      "/account/deposits",
      "/account/withdrawals",
      "/account/statistics",
      "/trade/executions"
    ]) {
      const foreign = await get(`${path}?sub_account_address=${maker.vault}`)
      assert.strictEqual(foreign.status, 404, path)
      assert.strictEqual(foreign.body.details.reason, "SubAccountNotFound")
    }
  })

  it("executions by offset, with the deprecation header", async () => {
    const first = await get("/trade/executions?per_page=1")
    assert.deepStrictEqual(pick(first.body, "page", "per_page", "total", "total_pages"), {
      page: 1,
      per_page: 1,
      total: 2,
      total_pages: 2
    })
    assert.strictEqual(first.headers.get("deprecation"), "@1767225600")
    const second = await get("/trade/executions?per_page=1&page=2&symbol=BTC-USDC")
    assert.strictEqual(second.body.list[0].exec_price, "60000")
    assert.deepStrictEqual((await get("/trade/executions?page=3")).body.list, [])
    const deep = await get("/trade/executions?page=2000&per_page=100")
    assert.deepStrictEqual([deep.status, deep.body.details.reason], [400, "OutOfRange"])
  })

  it("the public market data", async () => {
    const tiers = await get("/market/risk-limit?symbol=BTC-USDC")
    assert.deepStrictEqual(tiers.body.list[1], {
      symbol: "BTC-USDC",
      tier: 2,
      risk_limit_value: "10000000",
      initial_margin_rate: "0.04",
      maintenance_margin_rate: "0.02",
      mm_deduction: "20000",
      max_leverage: "25"
    })
    assert.strictEqual(tiers.headers.get("cache-control"), "max-age=5")
    for (const kind of ["mark", "index"]) {
      const candles = await eventually(
        `${kind} candles`,
        () => get(`/market/${kind}-price-kline?symbol=BTC-USDC&interval=W&limit=1`),
        ({ body }) => body.list.length === 1
      )
      assert.hasAllKeys(candles.body.list[0], ["start_time", "end_time", "open", "high", "low", "close", "confirm"])
      assert.strictEqual(new Date(candles.body.list[0].start_time).getUTCDay(), 1)
      assert.strictEqual(candles.body.list[0].close, "60000")
    }
    const interest = await get("/market/open-interest?symbol=BTC-USDC&interval=5")
    assert.strictEqual(interest.body.list[0].timestamp % 300_000, 0)
    const pool = await get("/market/insurance-pool?symbol=BTC-USDC")
    assert.deepStrictEqual(pick(pool.body, "pool_id", "equity", "inventory", "adl_mode"), {
      pool_id: "pool-BTC-USDC",
      equity: "1000000",
      inventory: [],
      adl_mode: "Inactive"
    })
    const states = await get("/market/insurance-pool/history?symbol=BTC-USDC&limit=1")
    assert.strictEqual(states.body.list[0].base_equity, "1000000")
    const alert = await get("/market/adl-alert?symbol=BTC-USDC")
    assert.hasAllKeys(alert.body, [
      "pool_id",
      "pool_group_id",
      "symbol",
      "adl_mode",
      "adl_trigger_reason",
      "latest_pnl_ratio",
      "equity",
      "updated_time"
    ])
    assert.deepStrictEqual((await get("/market/adl-alert/history")).body, { list: [] })
    assert.deepStrictEqual((await get("/market/funding/history?symbol=BTC-USDC")).body, {
      list: [],
      next_page_cursor: ""
    })
    const unknown = await get("/market/insurance-pool?symbol=NO-PE")
    assert.deepStrictEqual([unknown.status, unknown.body.details.reason], [404, "SymbolNotFound"])
    const ticker = (await get("/market/tickers?symbol=BTC-USDC")).body.list[0]
    assert.deepStrictEqual(
      pick(ticker, "last_price", "high_price_24h", "low_price_24h", "volume_24h", "turnover_24h", "index_price"),
      {
        last_price: "61000",
        high_price_24h: "61000",
        low_price_24h: "60000",
        volume_24h: "0.4",
        turnover_24h: "24200",
        index_price: "60000"
      }
    )
  })
})
