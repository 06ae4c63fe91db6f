/** The rules of integrations/ccxt/README.md on a complete exchange: sub-accounts, histories, outcomes, and lost connections. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Account, type Any, exchangeOf } from "../../verification/ccxt/Ccxt.ts"
import { SYMBOL } from "../../verification/ccxt/Session.ts"
import type { Exchange } from "../../verification/harness/Exchange.ts"
import { describeCcxt, openStage, type Stage } from "./Fixture.ts"

const SLOW = { timeout: 60_000 }
const MINUTE_MS = 60_000

describeCcxt("the rules of the exchange of CCXT", () => {
  let stage: Stage
  let ccxt: Any
  let TradingGateway: Any
  let gateway: Exchange
  let account: Account
  /** On the first sub-account. */
  let exchange: Any
  let other: Any
  let second: string
  let price: number
  beforeAll(async () => {
    stage = await openStage()
    ;({ account, ccxt, exchange, gateway, other, price, second, TradingGateway } = stage)
    await exchange.transfer("USDC", 10_000, account.sub_account_address, second)
  }, 90_000)
  afterAll(() => stage?.close())

  /** An exchange object of the same caller, with markets. */
  const another = async (): Promise<Any> => {
    const one = exchangeOf(TradingGateway, gateway.url, account)
    await one.loadMarkets()
    return one
  }
  const rest = (at: number, params: object = {}) => exchange.createOrder(SYMBOL, "limit", "buy", 0.001, at, params)
  /** Buys from the other account. */
  const fill = async (params: object = {}): Promise<Any> => {
    await other.createOrder(SYMBOL, "limit", "sell", 0.001, price)
    return rest(price, params)
  }
  const classOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "success",
      (error: Error) => error.constructor.name
    )

  it("sends no more requests than the gateway allows", () => {
    const { api, rateLimit } = exchange
    const perMinute = (cost: number) => MINUTE_MS / (rateLimit * cost)
    assert.isBelow(perMinute(api.public.get["market/tickers"]), 60)
    assert.isBelow(perMinute(api.private.post["order/create"]), 600)
    const { algorithm, maxWeight, windowSize } = exchange.throttler.config
    assert.deepStrictEqual([algorithm, windowSize, Math.floor(maxWeight)], ["rollingWindow", MINUTE_MS, 594])
  })

  describe("histories", () => {
    it("has all open orders, over all pages", SLOW, async () => {
      for (let batch = 0; batch < 3; batch++) {
        const orders = Array.from({ length: 20 }, (_, i) => ({
          symbol: SYMBOL,
          type: "limit",
          side: "buy",
          amount: 0.001,
          price: 45_000 - batch * 20 - i
        }))
        await exchange.createOrders(orders)
      }
      try {
        assert.lengthOf(await exchange.fetchOpenOrders(SYMBOL), 60)
        assert.lengthOf(await exchange.fetchOrders(SYMBOL, undefined, 55), 55)
      } finally {
        await exchange.cancelAllOrders(SYMBOL)
      }
    })

    it("begins with the oldest rows of `since`, so that a loop over it misses none", SLOW, async () => {
      const start = (await exchange.fetchTime()) as number
      const ids: Array<string> = []
      for (let i = 0; i < 12; i++) ids.push((await fill()).id)
      const read = async (method: string): Promise<ReadonlyArray<Any>> => {
        const rows: Array<Any> = []
        for (let since = start; ;) {
          const page = (await exchange[method](SYMBOL, since, 5)) as ReadonlyArray<Any>
          if (page.length === 0) return rows
          rows.push(...page)
          since = page.at(-1).timestamp + 1
        }
      }
      assert.deepStrictEqual(
        (await read("fetchMyTrades")).map((trade) => trade.order),
        ids
      )
      for (const method of ["fetchOrders", "fetchClosedOrders"])
        assert.deepStrictEqual(
          (await read(method)).map((order) => order.id),
          ids
        )
    })

    it("has candles from `since` on, at most as many as a request may have", async () => {
      const one = await another()
      // a candle a minute, newest first, as the gateway has them
      one.publicGetMarketKline = async ({ end_time, limit = 200, start_time }: Any) => {
        const end = Math.min(end_time ?? Infinity, 3_000 * MINUTE_MS)
        const count = Math.min(limit, (end - start_time) / MINUTE_MS)
        return { list: Array.from({ length: count }, (_, i) => ({ start_time: end - (i + 1) * MINUTE_MS })) }
      }
      const since = 1_000 * MINUTE_MS
      for (const [limit, count] of [
        [undefined, 200],
        [10, 10],
        [1_500, 1_000]
      ]) {
        const candles = await one.fetchOHLCV(SYMBOL, "1m", since, limit)
        assert.deepStrictEqual([candles[0][0], candles.length], [since, count])
      }
    })

    it("has whole months of candles from `since` on", async () => {
      const one = await another()
      const starts = Array.from({ length: 240 }, (_, i) => Date.UTC(2010, i))
      one.publicGetMarketKline = async ({ end_time, limit, start_time }: Any) => {
        const kept = starts.filter((start) => start >= start_time && start < end_time)
        return {
          list: kept
            .toReversed()
            .slice(0, limit)
            .map((start) => ({ start_time: start }))
        }
      }
      for (const [since, first] of [
        [Date.UTC(2010, 0), 0],
        [Date.UTC(2010, 0, 31), 1],
        [Date.UTC(2012, 0, 1, 0, 0, 1), 25]
      ] as const) {
        const candles = await one.fetchOHLCV(SYMBOL, "1M", since, 120)
        assert.deepStrictEqual(
          candles.map(([start]: Any) => start),
          starts.slice(first, first + 120)
        )
      }
    })

    it("ends movements of money at `until`", SLOW, async () => {
      const moved = async (method: string, params: object) =>
        (await exchange[method](undefined, undefined, undefined, params)).map(({ id }: Any) => id)
      for (const method of ["fetchDeposits", "fetchTransfers"]) {
        const [row] = await exchange[method]()
        assert.deepStrictEqual(await moved(method, { until: row.timestamp - 1 }), [], method)
        assert.deepStrictEqual(await moved(method, { until: row.timestamp }), [row.id], method)
      }
    })

    it("refuses an interval of open interest that the gateway lacks", async () => {
      for (const timeframe of ["5m", "1h", "1d"])
        assert.strictEqual(await classOf(exchange.fetchOpenInterestHistory(SYMBOL, timeframe)), "success")
      for (const timeframe of ["15m", "30m", "4h"])
        assert.throws(
          await exchange.fetchOpenInterestHistory(SYMBOL, timeframe).catch((error: Error) => () => {
            throw error
          }),
          ccxt.BadRequest,
          "timeframe must be 5m, 1h or 1d"
        )
    })
  })

  it("keeps sub-accounts apart", SLOW, async () => {
    const on = { sub_account_address: second }
    const start = (await exchange.fetchTime()) as number
    const watcher = await another()
    const watched = ["watchOrders", "watchMyTrades"].flatMap((method) =>
      [{}, on].map((params) => watcher[method](SYMBOL, undefined, undefined, params))
    )
    const positions = [{}, on].map((params) => watcher.watchPositions([SYMBOL], undefined, undefined, params))
    // subscribed: the connection carries it
    await watcher.watchBalance()
    try {
      const bought = await fill()
      await other.createOrder(SYMBOL, "limit", "buy", 0.002, price)
      const sold = await exchange.createOrder(SYMBOL, "limit", "sell", 0.002, price, on)
      const resting = await rest(45_000, on)
      const idsOf = (rows: ReadonlyArray<Any>) => [...new Set(rows.map((row) => row.order ?? row.id))]
      const [orders, ordersOn, trades, tradesOn] = await Promise.all(watched)
      assert.deepStrictEqual([orders, trades].map(idsOf), [[bought.id], [bought.id]])
      assert.deepStrictEqual([ordersOn, tradesOn].map(idsOf), [[sold.id], [sold.id]])
      const sides = async (lists: ReadonlyArray<Any>) => lists.map((list) => list.map(({ side }: Any) => side))
      assert.deepStrictEqual(await sides(await Promise.all(positions)), [["long"], ["short"]])
      assert.deepStrictEqual(
        await sides([await exchange.fetchPositions([SYMBOL]), await exchange.fetchPositions([SYMBOL], on)]),
        [["long"], ["short"]]
      )
      assert.deepStrictEqual(idsOf(await exchange.fetchOpenOrders(SYMBOL)), [])
      assert.deepStrictEqual(idsOf(await exchange.fetchOpenOrders(SYMBOL, undefined, undefined, on)), [resting.id])
      for (const method of ["fetchOrders", "fetchMyTrades"]) {
        assert.deepStrictEqual(idsOf(await exchange[method](SYMBOL, start)), [bought.id], method)
        assert.include(idsOf(await exchange[method](SYMBOL, start, undefined, on)), sold.id, method)
      }
      await other.createOrder(SYMBOL, "limit", "sell", 0.002, price)
      await exchange.closePosition(SYMBOL, undefined, on)
      assert.deepStrictEqual(await exchange.fetchPositions([SYMBOL], on), [])
    } finally {
      await exchange.cancelAllOrders(SYMBOL, on)
      await watcher.close()
    }
  })

  it("measures the clock before a dead-man's switch that is the first call", SLOW, async () => {
    const one = exchangeOf(TradingGateway, gateway.url, account)
    // a machine whose clock is an hour ahead
    one.milliseconds = () => Date.now() + 60 * MINUTE_MS
    const { time_window } = await one.cancelAllOrdersAfter(60_000)
    assert.strictEqual(Number(time_window), 60)
    await one.cancelAllOrdersAfter(0)
  })

  it("refuses a limit price of an exit, which is a market order", async () => {
    for (const leg of [
      { triggerPrice: 40_000, price: 39_000 },
      { triggerPrice: 40_000, type: "limit" }
    ])
      for (const name of ["stopLoss", "takeProfit"])
        assert.strictEqual(await classOf(rest(45_000, { [name]: leg })), "NotSupported")
  })

  it("gives each watcher of positions the updates of its markets", SLOW, async () => {
    const one = await another()
    const [first, second] = ["ETH/USDC:USDC", SYMBOL].map((symbol) => one.watchPositions([symbol]))
    const all = one.watchPositions([])
    try {
      // subscribed: the connection carries it
      await one.watchBalance()
      const orders = [SYMBOL, "ETH/USDC:USDC"].map((symbol) => ({ symbol, amount: symbol === SYMBOL ? 0.001 : 0.01 }))
      for (const { amount, symbol } of orders) {
        const at = Number(exchange.priceToPrecision(symbol, (await exchange.fetchTicker(symbol)).markPrice))
        await other.createOrder(symbol, "limit", "sell", amount, at)
        await exchange.createOrder(symbol, "limit", "buy", amount, at)
      }
      const symbols = async (watched: Promise<ReadonlyArray<Any>>) => (await watched).map(({ symbol }) => symbol)
      assert.deepStrictEqual(new Set(await symbols(first)), new Set(["ETH/USDC:USDC"]))
      assert.deepStrictEqual(new Set(await symbols(second)), new Set([SYMBOL]))
      assert.include(await symbols(all), SYMBOL)
    } finally {
      for (const symbol of [SYMBOL, "ETH/USDC:USDC"]) await exchange.closePosition(symbol).catch(() => {})
      await one.close()
    }
  })

  describe("outcomes", () => {
    it("has an error class for an unknown outcome, and others where nothing was sequenced", () => {
      const errorOf = (method: string, status: number, reason?: string): string => {
        try {
          exchange.handleErrors(
            status,
            "",
            "",
            method,
            {},
            "",
            reason && { code: "X", message: "no", details: { reason } }
          )
          return "none"
        } catch (error) {
          return (error as Error).constructor.name
        }
      }
      assert.deepStrictEqual(
        [
          errorOf("POST", 500, "InternalError"),
          errorOf("POST", 502),
          errorOf("POST", 504),
          errorOf("POST", 503),
          errorOf("POST", 503, "DatabaseUnavailable"),
          errorOf("POST", 503, "DeadlineExceeded")
        ],
        Array.from({ length: 6 }, () => "RequestTimeout")
      )
      assert.deepStrictEqual(
        ["BackendUnavailable", "BackendLagging", "Overloaded", "ShuttingDown"].map((reason) =>
          errorOf("POST", 503, reason)
        ),
        ["ExchangeNotAvailable", "ExchangeNotAvailable", "OnMaintenance", "OnMaintenance"]
      )
      assert.deepStrictEqual(
        [errorOf("GET", 500, "InternalError"), errorOf("GET", 502), errorOf("POST", 409, "NotIsolated")],
        ["ExchangeNotAvailable", "ExchangeNotAvailable", "InvalidOrder"]
      )
    })

    it("has a status for each order of a batch whose outcome is known", SLOW, async () => {
      const one = await another()
      const item = (code: string, reason: string) => ({ code, message: "no", order_link_id: "a", details: { reason } })
      const list = [
        item("SERVICE_UNAVAILABLE", "DeadlineExceeded"),
        item("INTERNAL", "InternalError"),
        item("SERVICE_UNAVAILABLE", "Overloaded"),
        item("BAD_REQUEST", "InsufficientBalance")
      ]
      one.privatePostOrderCreateBatch = async () => ({ list })
      const order = { symbol: SYMBOL, type: "limit", side: "buy", amount: 0.001, price: 45_000 }
      const orders = await one.createOrders(list.map(() => order))
      assert.deepStrictEqual(
        orders.map(({ status }: Any) => status),
        [undefined, undefined, "rejected", "rejected"]
      )
    })

    it("has the final status of an order that cannot be canceled any more", SLOW, async () => {
      const { id } = await fill()
      const open = await rest(45_000)
      const unknown = "00000000-0000-7000-8000-000000000000"
      const orders = await exchange.cancelOrders([id, open.id, unknown], SYMBOL)
      assert.deepStrictEqual(
        orders.map((order: Any) => [order.id, order.status]),
        [
          [id, "closed"],
          [open.id, undefined],
          [unknown, undefined]
        ]
      )
    })

    it("places an order once though the response to its first attempt is lost", SLOW, async () => {
      const one = await another()
      await one.subAccount()
      one.options.maxRetriesOnFailure = 1
      const fetch = one.fetch.bind(one)
      let lost = 0
      one.fetch = async (...args: ReadonlyArray<unknown>) => {
        const response = await fetch(...args)
        if (/create(?:-batch)?$/u.test(String(args[0])) && lost++ % 2 === 0) throw new ccxt.NetworkError("lost")
        return response
      }
      try {
        const placed = await one.createOrder(SYMBOL, "limit", "buy", 0.001, 44_000)
        const batch = [{ symbol: SYMBOL, type: "limit", side: "buy", amount: 0.001, price: 44_001 }]
        const [batched] = await one.createOrders(batch)
        assert.notStrictEqual(batched.status, "rejected")
        const open = (await one.fetchOpenOrders(SYMBOL)).map(({ id }: Any) => id)
        assert.deepStrictEqual([placed.id, batched.id].toSorted(), open.toSorted())
        // a reference of the caller may be that of an earlier order
        const own = one.createOrder(SYMBOL, "limit", "buy", 0.001, 44_002, { clientOrderId: "own" })
        assert.strictEqual(await classOf(own), "DuplicateOrderId")
      } finally {
        await exchange.cancelAllOrders(SYMBOL)
      }
    })
  })

  describe("lost connections", () => {
    it("keeps a book current though the connection before it closes late", { timeout: 20_000 }, async () => {
      const one = await another()
      try {
        await one.watchOrderBook(SYMBOL)
        const before = one.clients[one.urlOf(false)]
        // a half-open connection: its pings time out, and its close takes long
        const rejected = classOf(one.watchOrderBook(SYMBOL))
        // the connection carries it
        await one.watchTicker(SYMBOL)
        before.onError(new ccxt.RequestTimeout("no pong"))
        assert.strictEqual(await rejected, "RequestTimeout")
        await one.watchOrderBook(SYMBOL)
        const closed = new Promise((resolve) => before.connection.once("close", resolve))
        before.connection.terminate()
        await closed
        const changed = one.watchOrderBook(SYMBOL)
        await rest(44_500)
        assert.deepInclude((await changed).bids, [44_500, 0.001])
      } finally {
        await exchange.cancelAllOrders(SYMBOL)
        await one.close()
      }
    })

    it("delivers no trade again after a reconnect", { timeout: 20_000 }, async () => {
      const one = await another()
      try {
        await fill()
        const known = new Set((await one.watchTrades(SYMBOL)).map(({ id }: Any) => id))
        const lost = classOf(one.watchTrades(SYMBOL))
        // the connection carries it
        await one.watchTicker(SYMBOL)
        one.clients[one.urlOf(false)].connection.terminate()
        assert.strictEqual(await lost, "NetworkError")
        const next = one.watchTrades(SYMBOL)
        await one.watchTicker(SYMBOL)
        await fill()
        const trades = (await next) as ReadonlyArray<Any>
        assert.deepStrictEqual(
          trades.map(({ id }) => known.has(id)),
          [false]
        )
      } finally {
        await one.close()
      }
    })

    it("reports once that fills of an absence are lost", { timeout: 20_000 }, async () => {
      const one = await another()
      try {
        const lost = classOf(one.watchMyTrades(SYMBOL))
        const late = classOf(one.watchMyTrades())
        await one.watchBalance()
        const client = one.clients[one.urlOf(true)]
        // a position that the gateway does not know
        const data = { type: "update", stream_id: "gone", seq: 5, list: [] }
        one.handleMessage(client, { op: "event", topic: "execution", data })
        client.connection.terminate()
        assert.deepStrictEqual(await Promise.all([lost, late]), ["NetworkError", "NetworkError"])
        const messageOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: Error) => error.message)
        assert.include(await messageOf(one.watchMyTrades(SYMBOL)), "fetchMyTrades")
        const next = one.watchMyTrades(SYMBOL)
        const { id } = await fill()
        assert.deepStrictEqual(
          (await next).map(({ order }: Any) => order),
          [id]
        )
        // this one did not wait when they were lost
        assert.include(await messageOf(one.watchMyTrades()), "fetchMyTrades")
      } finally {
        await one.close()
      }
    })

    it("watches on after an error without a topic", { timeout: 20_000 }, async () => {
      const one = await another()
      try {
        const refused = classOf(one.watchOrders(SYMBOL))
        await one.watchBalance()
        const client = one.clients[one.urlOf(true)]
        await client.send({ op: "no such operation" })
        assert.strictEqual(await refused, "BadRequest")
        const next = one.watchOrders(SYMBOL)
        const { id } = await rest(44_600)
        assert.include(
          (await next).map((order: Any) => order.id),
          id
        )
      } finally {
        await exchange.cancelAllOrders(SYMBOL)
        await one.close()
      }
    })
  })

  it("has no funding payments among the caller's trades", { timeout: 20_000 }, async () => {
    const one = await another()
    try {
      const next = one.watchMyTrades(SYMBOL)
      const { info } = await one.watchBalance()
      const record = {
        exec_id: "f1",
        exec_type: "Funding",
        symbol: "BTC-USDC",
        sub_account_address: info.list[0].sub_account_address,
        side: "Buy",
        exec_qty: "1",
        exec_price: "60000",
        exec_time: 1
      }
      const data = { type: "update", stream_id: "x", seq: 5, list: [record] }
      one.handleMessage(one.clients[one.urlOf(true)], { op: "event", topic: "execution", data })
      const { id } = await fill()
      assert.deepStrictEqual(
        (await next).map(({ order }: Any) => order),
        [id]
      )
    } finally {
      await one.close()
    }
  })
})
