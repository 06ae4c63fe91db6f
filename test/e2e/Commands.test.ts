/** Commands other than plain orders, over real sockets: batches, leverage and margin, take profit and stop loss, withdrawals, the dead-man's switch. */
import { randomUUID } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { type Answer, call, create, funded, type Session } from "../../verification/harness/RestClient.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"

let exchange: Exchange
beforeAll(async () => {
  exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "1000000" } })
  const body = { symbol: "BTC-USDC", price: "60000" }
  assert.strictEqual((await call(exchange, "PUT", "/api/v1/admin/index-price", { headers: basic, body })).status, 200)
})
afterAll(() => exchange?.close())

const post = (path: string, of: Session, body: object) =>
  call(exchange, "POST", `/api/v1${path}`, {
    token: of.token,
    body: { sub_account_address: of.vault, symbol: "BTC-USDC", ...body }
  })
const get = async (path: string, of: Session): Promise<Frame> =>
  (await call(exchange, "GET", `/api/v1${path}`, { token: of.token })).body
const refusal = ({ body, status }: Answer) => [status, body.details?.reason]
const limit = { symbol: "BTC-USDC", side: "Buy", order_type: "Limit", qty: "0.001", price: "58000" }
/** Buys 0.1 at 60000 from another user. No sell order rests, even for a moment: the middle of a book of both sides would move the mark. */
const long = async (user: Session) => {
  const seller = await funded(exchange)
  await post("/order/create", user, { ...limit, side: "Buy", qty: "0.1", price: "60000" })
  await post("/order/create", seller, { ...limit, side: "Sell", qty: "0.1", price: "60000" })
  const { list } = await eventually(
    "a position",
    () => get("/position/list", user),
    (body) => body.list.length === 1
  )
  assert.strictEqual(list[0].size, "0.1")
}

describe("a batch", () => {
  it("is sequenced in the order of the request, and returns the result of each order", async () => {
    const user = await funded(exchange)
    const orders = Array.from({ length: 20 }, (_, i) => ({
      sub_account_address: user.vault,
      ...limit,
      order_link_id: i === 9 ? "batch-0" : `batch-${i}`
    }))
    const { body, status } = await post("/order/create-batch", user, { orders })
    assert.strictEqual(status, 200, JSON.stringify(body))
    const ids = body.list.map(({ order_id }: Frame) => order_id)
    assert.deepInclude(body.list[9], {
      code: "CONFLICT",
      order_link_id: "batch-0",
      details: { reason: "DuplicateOrderLinkId", order_id: ids[0], field: "order_link_id" }
    })
    const { list } = await get("/order/realtime?limit=50", user)
    assert.lengthOf(list, 19)
    // newest first, by id where they share the millisecond
    assert.deepStrictEqual(
      list.map(({ order_link_id }: Frame) => order_link_id).toReversed(),
      orders.map(({ order_link_id }) => order_link_id).filter((_, i) => i !== 9)
    )
    const name = { sub_account_address: user.vault, symbol: "BTC-USDC" }
    const canceled = await post("/order/cancel-batch", user, {
      orders: [
        { ...name, order_link_id: "batch-3" },
        { ...name, order_link_id: "nothing" },
        { ...name, order_id: ids[4] }
      ]
    })
    assert.deepStrictEqual(
      canceled.body.list.map(({ code, details }: Frame) => [code, details?.reason]),
      [
        ["OK", undefined],
        ["NOT_FOUND", "OrderNotFound"],
        ["OK", undefined]
      ]
    )
    assert.lengthOf((await get("/order/realtime?limit=50", user)).list, 17)
  })

  it("counts completely in the rate limit, or not at all", async () => {
    const strict = await startExchange({ env: { RATE_LIMIT_MODE: "enforce", RATE_TOKEN: "8", RATE_PUBLIC: "1000" } })
    try {
      const user = await funded(strict) // 2 requests
      const orders = Array.from({ length: 20 }, () => ({ sub_account_address: user.vault, ...limit }))
      const ask = (count: number) =>
        call(strict, "POST", "/api/v1/order/create-batch", {
          token: user.token,
          body: { orders: orders.slice(0, count) }
        })
      const first = await ask(20)
      assert.deepStrictEqual([first.status, first.headers.get("ratelimit-remaining")], [200, "2"])
      const second = await ask(20)
      assert.deepStrictEqual([second.status, second.body.code], [429, "RateLimitExceeded"])
      assert.isNotNull(second.headers.get("retry-after"))
      assert.strictEqual((await ask(5)).status, 200)
    } finally {
      await strict.close()
    }
  })
})

describe("a position", () => {
  it("accepts leverage, mode and margin, and returns its new state", async () => {
    const user = await funded(exchange)
    const leverage = (value: string) => post("/position/set-leverage", user, { leverage: value })
    const set = await leverage("20")
    assert.deepStrictEqual([set.status, set.body], [200, { symbol: "BTC-USDC", leverage: "20" }])
    assert.deepStrictEqual(refusal(await leverage("20.00")), [409, "LeverageUnchanged"])
    assert.deepStrictEqual(refusal(await leverage("50.01")), [400, "OutOfRange"])
    assert.deepStrictEqual(refusal(await leverage("1.001")), [400, "NotMultipleOfStep"])
    const mode = (margin_mode: string, more: object = {}) =>
      post("/position/switch-margin-mode", user, { margin_mode, ...more })
    const isolated = await mode("Isolated", { leverage: "10" })
    assert.deepStrictEqual(isolated.body, { symbol: "BTC-USDC", margin_mode: "Isolated", leverage: "10" })
    assert.deepStrictEqual(refusal(await post("/position/add-margin", user, { margin: "1" })), [
      404,
      "PositionNotFound"
    ])
    await create(exchange, user, "open-1")
    assert.deepStrictEqual(refusal(await mode("Cross")), [409, "OpenOrdersExist"])
    await post("/order/cancel", user, { order_link_id: "open-1" })

    await long(user)
    assert.deepStrictEqual(refusal(await mode("Cross")), [409, "PositionExists"])
    const added = await post("/position/add-margin", user, { margin: "100" })
    assert.strictEqual(added.status, 200, JSON.stringify(added.body))
    assert.deepInclude(added.body, { size: "0.1", margin_mode: "Isolated", isolated_margin: "700" })
    const { list } = await get("/position/list", user)
    assert.strictEqual(list[0].seq, added.body.seq)
    const most = await post("/position/add-margin", user, { margin: "-101" })
    assert.deepStrictEqual([...refusal(most), most.body.details.max], [400, "InsufficientBalance", "100"])
    assert.strictEqual((await post("/position/add-margin", user, { margin: "-100" })).body.isolated_margin, "600")
    assert.deepStrictEqual(refusal(await leverage("5")), [400, "InsufficientBalance"])
  })

  it("is cross margin by default", async () => {
    const user = await funded(exchange)
    await long(user)
    assert.deepStrictEqual(refusal(await post("/position/add-margin", user, { margin: "1" })), [409, "NotIsolated"])
  })

  it("accepts take profit and stop loss, and removes them", async () => {
    const user = await funded(exchange)
    const stop = (body: object) => post("/position/trading-stop", user, body)
    assert.deepStrictEqual(refusal(await stop({ stop_loss: "59000" })), [404, "PositionNotFound"])
    await long(user)
    assert.deepStrictEqual(refusal(await stop({ stop_loss: "61000" })), [400, "OutOfRange"])
    const both = await stop({ take_profit: "62000", stop_loss: "59000.0", sl_trigger_by: "MarkPrice" })
    assert.deepStrictEqual(both.body, { symbol: "BTC-USDC", take_profit: "62000", stop_loss: "59000" })
    const legs = async () => (await get("/order/realtime", user)).list.map((order: Frame) => order.stop_order_type)
    assert.sameMembers(await legs(), ["TakeProfit", "StopLoss"])
    const one = await stop({ take_profit: "0" })
    assert.deepStrictEqual(one.body, { symbol: "BTC-USDC", take_profit: "", stop_loss: "59000" })
    assert.sameMembers(await legs(), ["StopLoss"])
    const partial = await stop({ tpsl_mode: "Partial", take_profit: "63000", tp_size: "0.05" })
    assert.strictEqual(partial.status, 200, JSON.stringify(partial.body))
    assert.sameMembers(await legs(), ["StopLoss", "PartialTakeProfit"])
  })
})

describe("a withdrawal", () => {
  it("debits the wallet at once, once for its id", async () => {
    const user = await funded(exchange)
    const withdrawal_id = randomUUID()
    const withdraw = (body: object) =>
      post("/account/withdrawals", user, {
        withdrawal_id,
        asset: "USDC",
        amount: "100",
        destination: user.root_address,
        ...body
      })
    const first = await withdraw({})
    assert.strictEqual(first.status, 200, JSON.stringify(first.body))
    assert.deepInclude(first.body, {
      withdrawal_id,
      status: "pending",
      amount: "100",
      destination: user.root_address,
      sub_account_address: user.vault
    })
    assert.deepStrictEqual((await withdraw({ amount: "100.0" })).body, first.body)
    assert.deepStrictEqual(refusal(await withdraw({ amount: "101" })), [409, "DuplicateRequestId"])
    const more = await withdraw({ withdrawal_id: randomUUID(), amount: "9900.01" })
    assert.deepStrictEqual([...refusal(more), more.body.details.max], [400, "InsufficientBalance", "9900"])
    assert.strictEqual((await get("/account/balances", user)).list[0].wallet_balance, "9900")
  })
})

describe("the dead-man's switch", () => {
  const connect = async ({ token }: Session) => {
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", bearer: token })
    await socket.next("auth", (frame) => frame.op === "auth" && frame.success)
    return socket
  }

  it(
    "cancels the orders of a disconnected user, and keeps the position's take profit and stop loss",
    { timeout: 20_000 },
    async () => {
      const user = await funded(exchange)
      await long(user)
      await post("/position/trading-stop", user, { stop_loss: "50000" })
      await create(exchange, user, "gone-1")
      const conditional = {
        ...limit,
        order_type: "Market",
        trigger: { trigger_price: "70000" },
        order_link_id: "gone-2"
      }
      assert.strictEqual((await post("/order/create", user, conditional)).status, 200)

      const socket = await connect(user)
      const set = await post("/order/disconnect-cancel-all", user, { enabled: true, time_window: 3 })
      const entry = { sub_account_address: user.vault, enabled: true, time_window: 3 }
      assert.deepStrictEqual([set.status, set.body], [200, entry])
      assert.deepStrictEqual(await get("/order/disconnect-cancel-all", user), { list: [entry] })
      const open = async () =>
        (await get("/order/realtime", user)).list.map((order: Frame) => order.order_link_id ?? order.stop_order_type)
      socket.close()
      const back = await connect(user)
      await new Promise((resolve) => setTimeout(resolve, 3500))
      assert.lengthOf(await open(), 3)
      back.close()
      await eventually("the orders are canceled", open, (left) => left.length === 1)
      assert.deepStrictEqual(await open(), ["StopLoss"])
      const { list } = await get("/order/history?order_link_id=gone-1", user)
      assert.deepInclude(list[0], { order_status: "Canceled", cancel_type: "CancelByDcp" })
      assert.deepStrictEqual(
        refusal(await post("/order/disconnect-cancel-all", user, { enabled: true, time_window: 2 })),
        [400, "OutOfRange"]
      )
    }
  )
})
