/**
 * docs/contract/stories.md#login-to-closed-pnl over real sockets with exact numbers: from login to the end of a position.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as Decimal from "../../src/domain/Decimal.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, login, newKeys, type Session } from "../../verification/harness/RestClient.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"
import { frozenClock } from "../../verification/harness/Clocks.ts"
import { vectors } from "../vectors.ts"

const NOW = 1_767_225_600_250
const V1 = "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be"

const without = (record: Frame, ...keys: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)))
const pick = (record: Frame, ...keys: ReadonlyArray<string>) =>
  Object.fromEntries(keys.map((key) => [key, record[key]]))

describe("login to closed PnL", () => {
  let exchange: Exchange
  let token: string
  let maker: Session
  let makerVault: string
  let feed: Socket
  let makerFeed: Socket

  beforeAll(async () => {
    exchange = await startExchange({ clock: frozenClock(NOW), env: { FAUCET_DAILY_LIMIT: "1000000" } })
    const held = await call(exchange, "PUT", "/api/v1/admin/index-price", {
      headers: basic,
      body: { symbol: "BTC-USDC", price: "60000" }
    })
    assert.deepStrictEqual([held.status, held.body], [200, { symbol: "BTC-USDC", price: "60000" }])
    maker = await login(exchange, newKeys(), NOW)
    makerVault = maker.vault
    const funded = await call(exchange, "POST", "/api/v1/account/faucet", {
      token: maker.token,
      body: { sub_account_address: makerVault, asset: "USDC", amount: "100000" }
    })
    assert.strictEqual(funded.status, 200, JSON.stringify(funded.body))
    makerFeed = await privateFeed(maker.token)
  })
  afterAll(async () => {
    feed?.close()
    makerFeed?.close()
    await exchange?.close()
  })

  const privateFeed = async (bearer: string): Promise<Socket> => {
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", bearer, req_id: "1" })
    assert.isTrue((await socket.next("auth", (frame) => frame.op === "auth")).success)
    socket.send({ op: "subscribe", args: ["order", "execution", "position", "account_balance"], req_id: "2" })
    await socket.next("subscribed", (frame) => frame.op === "subscribed")
    return socket
  }
  const post = (path: string, body: unknown, bearer = token) => call(exchange, "POST", path, { token: bearer, body })
  const order = (fields: Record<string, unknown>, bearer = token, vault = V1) =>
    post("/api/v1/order/create", { sub_account_address: vault, symbol: "BTC-USDC", ...fields }, bearer)
  /** The records of the next update of a topic. */
  const update = async (socket: Socket, topic: string, match: (record: Frame) => boolean = () => true) =>
    (await socket.event(topic, (data) => data.type === "update" && data.list.some(match))).data.list[0]

  it("matches the story's numbers", async () => {
    // 1, 2: login, and a second login
    const body = {
      public_key: "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      signature:
        "0x65ba054e367cd4b105b852f8670fe1b07c2579fc974bf25fbaf81d9aab5ab1415090606a1a0482af42e9cdaabb245574b608158d24fd854d34992a6840cd640b",
      timestamp_ms: 1767225600000,
      nonce: "bG9naW4tbm9uY2UtMDAwMQ"
    }
    const first = await call(exchange, "POST", "/api/v1/authorize", { body })
    assert.strictEqual(first.status, 200, JSON.stringify(first.body))
    assert.deepStrictEqual(without(first.body, "token"), {
      user_id: "f4d12921-24f9-5d21-bac3-b037fe010f93",
      expires_at_ms: 1767830400000,
      root_address: "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b"
    })
    token = first.body.token
    const again = await call(exchange, "POST", "/api/v1/authorize", { body })
    assert.strictEqual(again.status, 400)
    assert.deepStrictEqual(pick(again.body, "code", "message"), { code: "BAD_REQUEST", message: "nonce already used" })
    assert.strictEqual(again.body.details.reason, "NonceReused")
    assert.isString(again.body.request_id)

    // 3: a second sub-account
    const alpha = await post("/api/v1/user/sub-accounts", { label: "alpha" })
    assert.strictEqual(alpha.status, 201, JSON.stringify(alpha.body))
    assert.deepStrictEqual(without(alpha.body, "created_time"), {
      sub_account_address: V1,
      index: 1,
      label: "alpha",
      frozen: false
    })
    feed = await privateFeed(token)

    // 4: deposits
    const faucet = await post("/api/v1/account/faucet", { sub_account_address: V1, asset: "USDC", amount: "10000" })
    assert.strictEqual(faucet.status, 200, JSON.stringify(faucet.body))
    assert.deepStrictEqual(pick(faucet.body, "asset", "amount", "status"), {
      asset: "USDC",
      amount: "10000",
      status: "completed"
    })
    assert.strictEqual((await update(feed, "account_balance")).wallet_balance, "10000")

    // 5, 6: the maker's order rests, the taker's order matches
    assert.strictEqual(
      (await order({ side: "Sell", order_type: "Limit", qty: "0.2", price: "60000" }, maker.token, makerVault)).status,
      200
    )
    await update(makerFeed, "order", (record) => record.order_status === "New")
    const created = await order({
      side: "Buy",
      order_type: "Limit",
      qty: "0.5",
      price: "60000.0",
      order_link_id: "a-1"
    })
    assert.strictEqual(created.status, 200, JSON.stringify(created.body))
    assert.strictEqual(created.body.order_link_id, "a-1")

    // 7: the events, in order
    const opened = await update(feed, "order")
    assert.deepStrictEqual(pick(opened, "order_id", "order_status", "price"), {
      order_id: created.body.order_id,
      order_status: "New",
      price: "60000"
    })
    assert.deepStrictEqual(
      pick(await update(feed, "execution"), "exec_qty", "exec_price", "base_fee", "is_maker", "leaves_qty"),
      { exec_qty: "0.2", exec_price: "60000", base_fee: "6.6", is_maker: false, leaves_qty: "0.3" }
    )
    assert.deepStrictEqual(
      pick(
        await update(feed, "order"),
        "order_status",
        "cum_exec_qty",
        "cum_exec_value",
        "leaves_qty",
        "leaves_value",
        "version"
      ),
      {
        order_status: "PartiallyFilled",
        cum_exec_qty: "0.2",
        cum_exec_value: "12000",
        leaves_qty: "0.3",
        leaves_value: "18000",
        version: 1
      }
    )
    assert.strictEqual((await update(feed, "position")).size, "0.2")
    assert.deepStrictEqual(
      pick(await update(feed, "account_balance"), "wallet_balance", "margin_used", "order_margin", "available_balance"),
      { wallet_balance: "9993.4", margin_used: "1200", order_margin: "1809.9", available_balance: "6983.5" }
    )

    // 8, 9: amend, and an amend with an old version
    const amend = (fields: Record<string, unknown>) =>
      post("/api/v1/order/amend", {
        sub_account_address: V1,
        symbol: "BTC-USDC",
        order_id: created.body.order_id,
        ...fields
      })
    const amended = await amend({ qty: "0.3", price: "60000", order_iv: 1 })
    assert.strictEqual(amended.status, 200, JSON.stringify(amended.body))
    assert.deepStrictEqual(pick(await update(feed, "order"), "order_status", "qty", "leaves_qty", "version"), {
      order_status: "PartiallyFilled",
      qty: "0.3",
      leaves_qty: "0.1",
      version: 2
    })
    assert.strictEqual((await update(feed, "account_balance")).available_balance, "8190.1")
    const stale = await amend({ qty: "0.4", order_iv: 1 })
    assert.deepStrictEqual([stale.status, stale.body.code], [409, "CONFLICT"])
    assert.deepStrictEqual(pick(stale.body.details, "reason", "version"), {
      reason: "OrderVersionMismatch",
      version: 2
    })

    // 10, 11: cancel, twice
    const cancel = () =>
      post("/api/v1/order/cancel", { sub_account_address: V1, symbol: "BTC-USDC", order_link_id: "a-1" })
    assert.strictEqual((await cancel()).status, 200)
    assert.strictEqual((await update(feed, "order")).order_status, "CancelRequested")
    assert.deepStrictEqual(pick(await update(feed, "order"), "order_status", "cancel_type", "leaves_qty"), {
      order_status: "PartiallyFilledCanceled",
      cancel_type: "CancelByUser",
      leaves_qty: "0"
    })
    assert.strictEqual((await update(feed, "account_balance")).available_balance, "8793.4")
    const closed = await cancel()
    assert.deepStrictEqual(
      [closed.status, closed.body.details.reason, closed.body.details.order_status],
      [409, "OrderAlreadyClosed", "PartiallyFilledCanceled"]
    )

    // 12: the position
    const positions = await call(exchange, "GET", `/api/v1/position/list?sub_account_address=${V1}`, { token })
    assert.strictEqual(positions.body.list.length, 1)
    assert.deepStrictEqual(
      pick(
        positions.body.list[0],
        "size",
        "side",
        "avg_price",
        "position_im",
        "position_mm",
        "liq_price",
        "bust_price"
      ),
      {
        size: "0.2",
        side: "Buy",
        avg_price: "60000",
        position_im: "1200",
        position_mm: "120",
        liq_price: "10134.4",
        bust_price: "10033"
      }
    )

    // 13: closed at a profit
    await order({ side: "Buy", order_type: "Limit", qty: "0.2", price: "61000" }, maker.token, makerVault)
    await update(makerFeed, "order", (record) => record.order_status === "New" && record.price === "61000")
    const sold = await order({ side: "Sell", order_type: "Market", qty: "0.2", reduce_only: true })
    assert.strictEqual(sold.status, 200, JSON.stringify(sold.body))
    assert.deepStrictEqual(pick(await update(feed, "execution"), "exec_qty", "exec_price", "base_fee", "closed_size"), {
      exec_qty: "0.2",
      exec_price: "61000",
      base_fee: "6.71",
      closed_size: "0.2"
    })
    assert.strictEqual((await update(feed, "position")).size, "0")
    assert.strictEqual((await update(feed, "account_balance")).wallet_balance, "10186.69")
    const theirs = await call(exchange, "GET", "/api/v1/account/balances", { token: maker.token })
    assert.strictEqual(theirs.body.list[0].wallet_balance, "99795.16")

    await update(makerFeed, "position", (record) => record.size === "0")
    const read = async (path: string, bearer = token): Promise<ReadonlyArray<Frame>> => {
      const { body, status } = await call(exchange, "GET", `/api/v1${path}`, { token: bearer })
      assert.strictEqual(status, 200, JSON.stringify(body))
      return body.list
    }
    const [closing] = await read(`/order/history?order_id=${sold.body.order_id}`)
    assert.deepStrictEqual(pick(closing, "order_status", "avg_price"), {
      order_status: "Filled",
      avg_price: "61000"
    })
    const fees = async (bearer: string) => (await read("/execution/list", bearer)).map(({ base_fee }) => base_fee)
    assert.deepStrictEqual(await fees(token), ["6.71", "6.6"])
    assert.deepStrictEqual(await fees(maker.token), ["2.44", "2.4"])
    const [lost] = await read("/position/closed-pnl", maker.token)
    assert.deepStrictEqual(pick(lost, "closed_pnl", "open_fee", "close_fee"), {
      closed_pnl: "-204.84",
      open_fee: "2.4",
      close_fee: "2.44"
    })
    // the balances and fees of both add up to the deposits: 18.15 in fees, 110000 in total
    const paid = ["6.71", "6.6", "2.44", "2.4"].map(Decimal.parse).reduce((sum, fee) => sum + fee)
    assert.strictEqual(Decimal.format(paid), "18.15")
    const held = Decimal.parse("10186.69") + Decimal.parse(theirs.body.list[0].wallet_balance)
    assert.strictEqual(Decimal.format(held + paid), "110000")

    // 14: closed PnL of the position, in one record of the closing order
    const earned = await read(`/position/closed-pnl?sub_account_address=${V1}`)
    assert.strictEqual(earned.length, 1)
    assert.deepStrictEqual(
      pick(
        earned[0],
        "order_id",
        "side",
        "qty",
        "closed_size",
        "avg_entry_price",
        "avg_exit_price",
        "open_fee",
        "close_fee",
        "closed_pnl"
      ),
      {
        order_id: sold.body.order_id,
        side: "Sell",
        qty: "0.2",
        closed_size: "0.2",
        avg_entry_price: "60000",
        avg_exit_price: "61000",
        open_fee: "6.6",
        close_fee: "6.71",
        closed_pnl: "186.69"
      }
    )

    // 15: executions, page by page
    const one = await call(exchange, "GET", "/api/v1/execution/list?limit=1", { token })
    assert.strictEqual(one.body.list.length, 1)
    assert.strictEqual(one.body.list[0].exec_price, "61000")
    assert.notStrictEqual(one.body.next_page_cursor, "")
    const two = await call(exchange, "GET", `/api/v1/execution/list?limit=1&cursor=${one.body.next_page_cursor}`, {
      token
    })
    assert.strictEqual(two.body.list.length, 1)
    assert.strictEqual(two.body.list[0].exec_price, "60000")
    assert.strictEqual(two.body.next_page_cursor, "")
  })

  it("numbers the user's stream without a gap", async () => {
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", bearer: token })
    const auth = await socket.next("auth", (frame) => frame.op === "auth")
    socket.send({ op: "subscribe", args: ["order", "execution", "position", "account_balance"] })
    const snapshot = await socket.event("account_balance")
    assert.strictEqual(snapshot.data.type, "snapshot")
    assert.strictEqual(snapshot.data.seq, auth.head_seq)
    assert.strictEqual(snapshot.data.stream_id, auth.stream_id)
    await call(exchange, "POST", "/api/v1/account/faucet", {
      token,
      body: { sub_account_address: V1, asset: "USDC", amount: "1" }
    })
    const event = await socket.event("account_balance")
    assert.strictEqual(event.data.seq, auth.head_seq + 1)
    assert.isAtMost(event.data.prev_seq, auth.head_seq)
    socket.close()
  })
})

describe("the address vectors", () => {
  it("agree with the story's addresses", () => {
    const { derivation } = vectors("auth.json") as {
      readonly derivation: {
        readonly address_rail: ReadonlyArray<{
          readonly sub_accounts: ReadonlyArray<{ readonly sub_account_address: string }>
        }>
      }
    }
    assert.strictEqual(derivation.address_rail[0]!.sub_accounts[1]!.sub_account_address, V1)
  })
})
