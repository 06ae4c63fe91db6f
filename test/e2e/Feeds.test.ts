/**
 * Feeds of a running exchange: docs/contract/stories.md#reconnect-and-resume frame by frame, the public view of a
 * liquidation, and the end of credentials.
 */
import { createHash } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { document } from "../../verification/harness/documents/AsyncApi.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, funded, type Session } from "../../verification/harness/RestClient.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"

const SYMBOL = "BTC-USDC"
const WAIT_MS = 30_000

describe("feeds of a running exchange", () => {
  let exchange: Exchange
  let open: Array<Socket> = []

  beforeAll(async () => {
    exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "1000000" } })
  })
  afterAll(() => exchange?.close())

  const connect = async (path: string): Promise<Socket> => {
    const socket = await Socket.open(exchange, path)
    open.push(socket)
    return socket
  }
  const closeAll = () => {
    for (const socket of open) socket.close()
    open = []
  }
  /** Sends a message and returns the next frame. */
  const ask = (socket: Socket, message: object): Promise<Frame> => {
    socket.send(message)
    return socket.next("reply", () => true)
  }
  const next = (socket: Socket): Promise<Frame> => socket.next("frame", () => true)
  const index = async (price: string) => {
    const { status } = await call(exchange, "PUT", "/api/v1/admin/index-price", {
      headers: basic,
      body: { symbol: SYMBOL, price }
    })
    assert.strictEqual(status, 200)
  }
  const order = async (of: Session, side: string, qty: string, price?: string) => {
    const answer = await call(exchange, "POST", "/api/v1/order/create", {
      token: of.token,
      body: {
        sub_account_address: of.vault,
        symbol: SYMBOL,
        side,
        qty,
        ...(price === undefined ? { order_type: "Market" } : { order_type: "Limit", price })
      }
    })
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.order_id as string
  }
  const get = async (path: string) => (await call(exchange, "GET", `/api/v1${path}`)).body

  it("resume at their position: docs/contract/stories.md#reconnect-and-resume, frame by frame", async () => {
    await index("60000")
    const user = await funded(exchange)
    const maker = await funded(exchange)

    // 1: the deposit was the user's first event
    const feed = await connect("/ws/private")
    const auth = await ask(feed, { op: "auth", bearer: user.token, req_id: "1" })
    const { expires_at_ms, head_seq: head, stream_id } = auth
    assert.deepStrictEqual(auth, {
      op: "auth",
      success: true,
      user_id: user.user_id,
      req_id: "1",
      stream_id,
      head_seq: 1,
      expires_at_ms
    })
    assert.isAbove(expires_at_ms, Date.now())

    // 2: snapshots
    const subscribed = await ask(feed, { op: "subscribe", args: ["order", "execution"], req_id: "2" })
    assert.deepStrictEqual(subscribed, { op: "subscribed", args: ["order", "execution"], req_id: "2" })
    for (const topic of ["order", "execution"]) {
      const snapshot = await next(feed)
      assert.deepStrictEqual(Object.keys(snapshot), ["op", "topic", "server_ts_ms", "data"])
      const { mts, ts } = snapshot.data
      assert.deepStrictEqual(
        [snapshot.op, snapshot.topic, snapshot.data],
        ["event", topic, { type: "snapshot", stream_id, seq: head, ts, mts, list: [] }]
      )
    }

    // 3: an order rests; the balance that it reserves is an event that this connection does not subscribe to
    const order_id = await order(user, "Buy", "0.1", "60000")
    const rested = await next(feed)
    const { list, mts, ts } = rested.data
    assert.strictEqual(rested.topic, "order")
    assert.deepStrictEqual(rested.data, {
      type: "update",
      stream_id,
      seq: head + 1,
      prev_seq: 0,
      ts,
      mts,
      list: [list[0]]
    })
    assert.deepInclude(list[0], { order_id, order_status: "New" })

    // 4: the connection is lost and the order is filled meanwhile; another connection reports the fill
    const witness = await connect("/ws/private")
    await ask(witness, { op: "auth", bearer: user.token })
    await ask(witness, { op: "subscribe", args: ["account_balance"] })
    assert.strictEqual((await next(witness)).data.seq, head + 2)
    feed.close()
    await order(maker, "Sell", "0.1")
    assert.strictEqual((await next(witness)).data.seq, head + 6)
    witness.close()

    // 5: the missed events, then live events
    const back = await connect("/ws/private")
    const again = await ask(back, { op: "auth", bearer: user.token })
    assert.deepStrictEqual([again.stream_id, again.head_seq], [stream_id, head + 6])
    const since = { stream_id, seq: head + 1 }
    assert.deepStrictEqual(await ask(back, { op: "subscribe", args: ["order", "execution"], req_id: "3", since }), {
      op: "subscribed",
      args: ["order", "execution"],
      req_id: "3",
      resume: { recovered: true, stream_id, head_seq: head + 6 }
    })
    const received = [await next(back), await next(back)].map(({ data, topic }) => [topic, data.seq, data.prev_seq])
    assert.deepStrictEqual(received, [
      ["execution", head + 3, 0],
      ["order", head + 4, head + 1]
    ])
    const resting = await order(user, "Buy", "0.001", "59000")
    const live = await next(back)
    assert.deepStrictEqual([live.topic, live.data.seq, live.data.prev_seq], ["order", head + 7, head + 4])

    // 6: another stream
    const other = { stream_id: "another", seq: 1 }
    const lost = await ask(back, { op: "subscribe", args: ["order"], req_id: "4", since: other })
    assert.deepStrictEqual(lost.resume, { recovered: false, stream_id, head_seq: lost.resume.head_seq })
    const snapshot = await next(back)
    assert.deepStrictEqual([snapshot.data.type, snapshot.data.list.length], ["snapshot", 1])

    // 7: one topic of two
    assert.deepStrictEqual(await ask(back, { op: "subscribe", args: ["order", "nope.BTC"], req_id: "5" }), {
      op: "subscribed",
      args: ["order"],
      req_id: "5"
    })
    const frames = [await next(back), await next(back)]
    const { details, message, ...error } = frames.find(({ op }) => op === "error")
    assert.deepStrictEqual(error, { op: "error", code: "BAD_REQUEST", topic: "nope.BTC", req_id: "5" })
    assert.match(message, /^unknown topic: expected .*, got "nope\.BTC"$/u)
    assert.strictEqual(details.reason, "InvalidField")
    const cancel = { sub_account_address: user.vault, symbol: SYMBOL, order_id: resting }
    await call(exchange, "POST", "/api/v1/order/cancel", { token: user.token, body: cancel })
    closeAll()
  })

  it("send a user's position and balance when only the mark price moved", { timeout: 90_000 }, async () => {
    await index("60000")
    const user = await funded(exchange)
    const maker = await funded(exchange)
    await order(maker, "Sell", "0.5", "60000")
    await order(user, "Buy", "0.5", "60000")
    const feed = await connect("/ws/private")
    await ask(feed, { op: "auth", bearer: user.token })
    await ask(feed, { op: "subscribe", args: ["position", "account_balance"] })
    const path = `/api/v1/account/transactions?sub_account_address=${user.vault}`
    const transactions = async () => (await call(exchange, "GET", path, { token: user.token })).body.list
    const filled = "9983.5"
    await feed.event("account_balance", ({ list }) => list[0]?.wallet_balance === filled, WAIT_MS)
    const before = await transactions()
    assert.isNotEmpty(before)

    await index("60100")
    const position = await feed.event("position", ({ list }) => list[0]?.mark_price === "60100", WAIT_MS)
    const balance = await feed.event("account_balance", ({ list }) => list[0]?.reason === "mark", WAIT_MS)
    assert.deepInclude(position.data.list[0], { size: "0.5", unrealised_pnl: "50" })
    assert.deepInclude(balance.data.list[0], { wallet_balance: filled, unrealised_pnl: "50", equity: "10033.5" })
    assert.strictEqual(balance.data.seq, position.data.seq + 1)
    assert.deepStrictEqual(await transactions(), before)
    // closes the position, so that later events do not concern this user
    await order(maker, "Buy", "0.5", "60100")
    await order(user, "Sell", "0.5", "60100")
    closeAll()
  })

  it("show a liquidation publicly: trades, aggregates, fills, the pool: docs/contract/stories.md#liquidation-pool-adl", async () => {
    const user = await funded(exchange)
    const m = await funded(exchange, "100000")
    const x = await funded(exchange)
    await index("60000")
    await order(m, "Sell", "0.5", "60000")
    await order(user, "Buy", "0.5", "60000")
    await index("45000")
    await order(m, "Buy", "1", "45000")
    await order(x, "Sell", "1", "45000")
    await index("41000")
    for (const [qty, price] of [
      ["0.2", "40390"],
      ["0.1", "40100"],
      ["0.5", "39900"]
    ] as const)
      await order(m, "Buy", qty, price)

    const { list: instruments } = await get(`/market/instruments-info?symbol=${SYMBOL}`)
    const { market_addr } = instruments[0]
    const topics = {
      trades: `trade.${SYMBOL}`,
      aggregates: `trade/${market_addr}`,
      liquidations: `all_liquidations.${SYMBOL}`,
      pool: `insurance_pool.${SYMBOL}`,
      alert: `adl_alert.${SYMBOL}`
    }
    const feed = await connect("/ws")
    const args = Object.values(topics)
    assert.deepStrictEqual(await ask(feed, { op: "subscribe", args }), { op: "subscribed", args })
    const first = new Map<string, Frame>()
    for (let i = 0; i < 3; i++) {
      const { data, topic } = await next(feed)
      assert.strictEqual(data.type, "snapshot")
      first.set(topic, data)
    }
    const before = first.get(topics.pool)
    assert.deepInclude(before, { pool_id: `pool-${SYMBOL}`, inventory: [], cash_balance: "1000000" })
    const { ts: _, type: _type, ...alert } = first.get(topics.alert)
    assert.deepStrictEqual(alert, await get(`/market/adl-alert?symbol=${SYMBOL}`))

    await index("40400")
    const liquidations: Array<Frame> = []
    while (liquidations.length < 3) {
      liquidations.push(...(await feed.event(topics.liquidations)).data.list)
    }
    const common = { symbol: SYMBOL, side: "Buy", bust_price: "40033" }
    const seen = liquidations.map(({ seq: _seq, timestamp: _time, ...rest }) => rest)
    assert.deepStrictEqual(seen, [
      { ...common, qty: "0.2", price: "40390", exec_type: "Trade" },
      { ...common, qty: "0.1", price: "40100", exec_type: "Trade" },
      { ...common, qty: "0.2", price: "40033", exec_type: "BustTrade" }
    ])
    const { data: pool } = await feed.event(topics.pool, (data) => data.inventory.length > 0)
    assert.strictEqual(pool.cash_balance, "1000060.44")
    assert.deepInclude(pool.inventory[0], { symbol: SYMBOL, side: "Buy", size: "0.2", avg_price: "40033" })
    closeAll()
  })

  it("aggregate trades by price, under ids that clients can derive", async () => {
    const m = await funded(exchange, "100000")
    const x = await funded(exchange, "100000")
    await index("40400")
    const { list: instruments } = await get(`/market/instruments-info?symbol=${SYMBOL}`)
    const { market_addr } = instruments[0]
    const feed = await connect("/ws/public")
    await ask(feed, { op: "subscribe", args: [`trade/${market_addr}`, `trade.${SYMBOL}`] })
    assert.strictEqual((await next(feed)).topic, `trade.${SYMBOL}`)
    for (const [qty, price] of [
      ["0.01", "40500"],
      ["0.02", "40500"],
      ["0.03", "40600"]
    ] as const)
      await order(m, "Sell", qty, price)
    await order(x, "Buy", "0.06")
    const { data: trades } = await feed.event(`trade.${SYMBOL}`)
    const { data } = await feed.event(`trade/${market_addr}`)
    const { seq, timestamp } = trades.list[0]
    const idOf = (price: string) =>
      createHash("sha256").update([market_addr, price, "Buy", seq, timestamp].join("|")).digest("hex").slice(0, 32)
    assert.deepStrictEqual(
      { ...data, ts: 0 },
      {
        type: "update",
        ts: 0,
        market_addr,
        symbol: SYMBOL,
        list: [
          { id: idOf("40500"), price: "40500", side: "Buy", qty: "0.03", count: 2, seq, timestamp },
          { id: idOf("40600"), price: "40600", side: "Buy", qty: "0.03", count: 1, seq, timestamp }
        ]
      }
    )
    assert.deepStrictEqual(
      trades.list.map(({ agg_id }: Frame) => agg_id),
      [idOf("40500"), idOf("40500"), idOf("40600")]
    )
    closeAll()
  })

  it("are described by the committed document, for every caller and content coding", async () => {
    const url = `${exchange.url}/api-docs/asyncapi.json`
    for (const coding of ["gzip", "identity"]) {
      const answer = await fetch(url, { headers: { "accept-encoding": coding } })
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers.get("content-type")!, /^application\/json/u)
      assert.strictEqual(answer.headers.get("content-encoding"), coding === "gzip" ? "gzip" : null)
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
      assert.deepStrictEqual(await answer.json(), document)
    }
    const etag = (await fetch(url)).headers.get("etag")!
    assert.strictEqual((await fetch(url, { headers: { "if-none-match": etag } })).status, 304)
    const { headers, status } = await fetch(url, { method: "POST" })
    assert.deepStrictEqual([status, headers.get("allow")], [405, "GET, HEAD, OPTIONS"])
  })

  it("close with 4010 when the user logs out, except public ones", async () => {
    const user = await funded(exchange)
    const feed = await connect("/ws/private")
    const market = await connect("/ws/public")
    assert.isTrue((await ask(feed, { op: "auth", bearer: user.token })).success)
    const { body } = await call(exchange, "POST", "/api/v1/authorize/logout", { token: user.token })
    assert.deepStrictEqual(body, { revoked: true })
    assert.strictEqual((await feed.closing()).code, 4010)
    assert.strictEqual((await ask(market, { op: "ping" })).op, "pong")
    const late = await connect("/ws/private")
    const refused = await ask(late, { op: "auth", bearer: user.token })
    assert.deepStrictEqual([refused.success, refused.user_id, refused.code], [false, null, "UNAUTHORIZED"])
    closeAll()
  })
})
