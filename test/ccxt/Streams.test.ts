/** The caller's own streams of integrations/ccxt on a complete exchange: after a gap, in a liquidation, and with several watchers. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Any, exchangeOf } from "../../verification/ccxt/Ccxt.ts"
import { SYMBOL } from "../../verification/ccxt/Session.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { describeCcxt, openStage, type Stage } from "./Fixture.ts"

const SLOW = { timeout: 90_000 }

describeCcxt("the own streams of the exchange of CCXT", () => {
  let stage: Stage
  let exchange: Any
  let other: Any
  let price: number
  beforeAll(async () => {
    stage = await openStage()
    ;({ exchange, other, price } = stage)
  }, 90_000)
  afterAll(() => stage?.close())

  /** Runs with an exchange object of the same caller, with markets. */
  const withAnother = async (options: object, run: (one: Any) => Promise<void>): Promise<void> => {
    const one = exchangeOf(stage.TradingGateway, stage.gateway.url, stage.account)
    Object.assign(one, options)
    await one.loadMarkets()
    try {
      await run(one)
    } finally {
      await exchange.cancelAllOrders(SYMBOL)
      await one.close()
    }
  }
  /** Cuts the connection of private streams, whose position the gateway then does not know any more. */
  const cut = async (one: Any, topic: string): Promise<void> => {
    const lost = one.watchBalance().catch(() => "lost")
    const client = one.clients[one.urlOf(true)]
    const data = { type: "update", stream_id: "gone", seq: 5, ts: Date.now(), mts: Date.now(), list: [] }
    one.handleMessage(client, { op: "event", topic, data })
    client.connection.terminate()
    assert.strictEqual(await lost, "lost")
  }
  const rest = (at: number) => exchange.createOrder(SYMBOL, "limit", "buy", 0.001, at)
  /** Watches until the records satisfy a condition; `seen` has the newest of each id. */
  const watchUntil = async (
    watch: () => Promise<ReadonlyArray<Any>>,
    isDone: (seen: Map<string, Any>) => boolean,
    idOf: (record: Any) => string = ({ id }) => id
  ): Promise<Map<string, Any>> => {
    const seen = new Map<string, Any>()
    while (!isDone(seen)) for (const record of await watch()) seen.set(idOf(record), record)
    return seen
  }

  describe("after a gap", () => {
    for (const newUpdates of [true, false]) {
      it(`has the final status of each order, ${newUpdates ? "as updates" : "in the list"}`, SLOW, async () => {
        await withAnother({ newUpdates }, async (one) => {
          const [kept, canceled, filled] = await Promise.all([rest(45_000), rest(45_001), rest(price)])
          const watch = () => one.watchOrders(SYMBOL)
          await watchUntil(watch, (seen) => [kept, canceled, filled].every(({ id }) => seen.has(id)))
          await cut(one, "order")
          await exchange.cancelOrder(canceled.id, SYMBOL)
          await other.createOrder(SYMBOL, "limit", "sell", 0.001, price)
          const brief = await rest(45_002)
          await exchange.cancelOrder(brief.id, SYMBOL)
          const statuses = (seen: Map<string, Any>) =>
            [kept, canceled, filled, brief].map(({ id }) => seen.get(id)?.status)
          const after = await watchUntil(
            watch,
            (seen) => !statuses(seen).slice(1).includes("open") && seen.has(brief.id)
          )
          assert.deepStrictEqual(statuses(after), ["open", "canceled", "closed", "canceled"])
        })
      })
    }

    it("has a position that was closed in between", SLOW, async () => {
      await withAnother({}, async (one) => {
        await other.createOrder(SYMBOL, "limit", "sell", 0.002, price)
        await exchange.createOrder(SYMBOL, "limit", "buy", 0.002, price)
        const watch = () => one.watchPositions([SYMBOL])
        const sizeOf = (seen: Map<string, Any>) => seen.get(SYMBOL)?.contracts
        await watchUntil(
          watch,
          (seen) => sizeOf(seen) > 0,
          ({ symbol }) => symbol
        )
        await cut(one, "position")
        await other.createOrder(SYMBOL, "limit", "buy", 1, price)
        await exchange.closePosition(SYMBOL)
        await other.cancelAllOrders(SYMBOL)
        await watchUntil(
          watch,
          (seen) => sizeOf(seen) === 0,
          ({ symbol }) => symbol
        )
      })
    })

    it("reads no more orders of a gap than it keeps", SLOW, async () => {
      await withAnother({}, async (one) => {
        const resting = await rest(45_001)
        const watch = () => one.watchOrders(SYMBOL)
        await watchUntil(watch, (seen) => seen.has(resting.id))
        const [row] = (await one.privateGetOrderRealtime({ order_id: resting.id })).list
        let read = 0
        // a history without an end
        one.privateGetOrderHistory = async ({ limit }: Any) => {
          const list = Array.from({ length: limit }, () => ({
            ...row,
            order_id: `missed ${++read}`,
            order_status: "Canceled"
          }))
          return { list, next_page_cursor: "more" }
        }
        await cut(one, "order")
        const after = await watchUntil(watch, (seen) => seen.size > 500)
        assert.strictEqual(after.get("missed 1").status, "canceled")
        assert.strictEqual(read, 1_000)
      })
    })

    it("reads the lost orders again where that failed", SLOW, async () => {
      await withAnother({}, async (one) => {
        const canceled = await rest(45_001)
        const watch = () => one.watchOrders(SYMBOL)
        await watchUntil(watch, (seen) => seen.has(canceled.id))
        await cut(one, "order")
        await exchange.cancelOrder(canceled.id, SYMBOL)
        const { fetch } = one
        let failures = 0
        one.fetch = (...args: ReadonlyArray<unknown>) => {
          if (!String(args[0]).includes("order/history") || failures > 0) return fetch.apply(one, args)
          failures++
          throw new Error("no network")
        }
        let errors = 0
        const retried = () =>
          watch().catch(() => {
            errors++
            return []
          })
        await watchUntil(retried, (seen) => seen.get(canceled.id)?.status === "canceled")
        assert.deepStrictEqual([failures, errors], [1, 1])
      })
    })
  })

  it("has the trades of a liquidation, over REST as in the stream", SLOW, async () => {
    const on = { sub_account_address: stage.second }
    await exchange.transfer("USDC", 1_000, stage.account.sub_account_address, stage.second)
    const move = (to: number) =>
      fetch(`${stage.gateway.url}/api/v1/admin/index-price`, {
        method: "PUT",
        headers: { ...basic, "content-type": "application/json" },
        body: JSON.stringify({ symbol: "BTC-USDC", price: String(to) })
      })
    await withAnother({}, async (one) => {
      try {
        const watch = () => one.watchMyTrades(SYMBOL, undefined, undefined, on)
        const first = watch()
        await one.watchBalance()
        await other.createOrder(SYMBOL, "limit", "sell", 0.1, price)
        const { id } = await exchange.createOrder(SYMBOL, "limit", "buy", 0.1, price, on)
        assert.strictEqual((await first)[0].order, id)
        const taken = watch()
        // the loss is nearly the wallet, and the book has no bid
        await move(price * 0.836)
        const [bust] = await taken
        assert.deepInclude(bust, { side: "sell", amount: 0.1, takerOrMaker: "taker", symbol: SYMBOL })
        assert.deepInclude(bust.fee, { cost: 0, currency: "USDC" })
        assert.strictEqual(bust.info.exec_type, "BustTrade")
        assert.isAbove(bust.price, price * 0.82)
        const trades = await exchange.fetchMyTrades(SYMBOL, undefined, undefined, on)
        assert.deepStrictEqual(
          trades.map((trade: Any) => trade.id),
          [trades[0].id, bust.id]
        )
        assert.deepStrictEqual(trades[1], bust)
        assert.deepStrictEqual(await exchange.fetchOrderTrades(bust.order, SYMBOL, undefined, undefined, on), [bust])
      } finally {
        await move(price)
      }
    })
  })

  it("has as many trades as asked for, without funding payments among them", SLOW, async () => {
    await withAnother({}, async (one) => {
      const of = (exec_type: string, i: number) => ({
        exec_id: `${i}`,
        exec_type,
        symbol: "BTC-USDC",
        side: "Buy",
        exec_time: i
      })
      const rows = ["Funding", "AdlTrade", "Funding", "BustTrade", "Trade", "Trade"].map((kind, i) => of(kind, 10 - i))
      one.privateGetExecutionList = async ({ cursor = 0, limit }: Any) => {
        const end = cursor + limit
        return { list: rows.slice(cursor, end), next_page_cursor: end < rows.length ? end : "" }
      }
      const kinds = async (since?: number, limit?: number) =>
        (await one.fetchMyTrades(SYMBOL, since, limit)).map(({ info }: Any) => info.exec_type)
      assert.deepStrictEqual(await kinds(), ["Trade", "Trade", "BustTrade", "AdlTrade"])
      assert.deepStrictEqual(await kinds(undefined, 2), ["BustTrade", "AdlTrade"])
      assert.deepStrictEqual(await kinds(1, 3), ["Trade", "Trade", "BustTrade"])
    })
  })
})
