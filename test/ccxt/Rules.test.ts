/** The rules of integrations/ccxt/README.md on a complete exchange: sub-accounts, histories, outcomes, and lost connections. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Account, type Any, exchangeOf, hasCcxt, load, openAccount } from "../../verification/ccxt/Ccxt.ts"
import { SYMBOL } from "../../verification/ccxt/Session.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

const SLOW = { timeout: 60_000 }
const MINUTE_MS = 60_000

describe.skipIf(!hasCcxt)("the rules of the exchange of CCXT", () => {
  let ccxt: Any
  let TradingGateway: Any
  let gateway: Exchange
  let account: Account
  /** On the first sub-account. */
  let exchange: Any
  let other: Any
  let price: number
  beforeAll(async () => {
    ;({ ccxt, TradingGateway } = await load())
    gateway = await startExchange()
    account = await openAccount(gateway.url)
    exchange = exchangeOf(TradingGateway, gateway.url, account)
    other = exchangeOf(TradingGateway, gateway.url, account.other)
    await exchange.loadMarkets()
    await other.loadMarkets()
    price = Number(exchange.priceToPrecision(SYMBOL, (await exchange.fetchTicker(SYMBOL)).markPrice))
  }, 90_000)
  afterAll(async () => {
    await exchange?.close()
    await other?.close()
    await gateway?.close()
  })

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
})
