/** Resources of other users appear not to exist: neither their orders nor their used references. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, login, newKeys, type Session } from "../../verification/harness/RestClient.ts"

describe("another user's sub-account", () => {
  let exchange: Exchange
  let owner: Session
  let stranger: Session
  let orderId: string
  const order = {
    symbol: "BTC-USDC",
    side: "Buy",
    order_type: "Limit",
    qty: "0.01",
    price: "59000",
    order_link_id: "mine-1"
  }

  beforeAll(async () => {
    exchange = await startExchange()
    await call(exchange, "PUT", "/api/v1/admin/index-price", {
      headers: basic,
      body: { symbol: "BTC-USDC", price: "60000" }
    })
    owner = await login(exchange, newKeys())
    stranger = await login(exchange, newKeys())
    await call(exchange, "POST", "/api/v1/account/faucet", {
      token: owner.token,
      body: { sub_account_address: owner.vault, asset: "USDC", amount: "10000" }
    })
    const placed = await call(exchange, "POST", "/api/v1/order/create", {
      token: owner.token,
      body: { ...order, sub_account_address: owner.vault }
    })
    assert.strictEqual(placed.status, 200, JSON.stringify(placed.body))
    orderId = placed.body.order_id
  })
  afterAll(() => exchange?.close())

  const asStranger = (method: string, path: string, body?: unknown) =>
    call(exchange, method, `/api/v1${path}`, { token: stranger.token, ...(body === undefined ? {} : { body }) })

  it("is 404 for every command, and reveals no used references", async () => {
    const vault = { sub_account_address: owner.vault, symbol: "BTC-USDC" }
    const commands = [
      ["/order/create", { ...order, ...vault }],
      ["/order/create", { ...order, ...vault, qty: "0.02" }],
      ["/order/amend", { ...vault, order_id: orderId, qty: "0.02" }],
      ["/order/amend", { ...vault, order_link_id: "mine-1", qty: "0.02" }],
      ["/order/cancel", { ...vault, order_id: orderId }],
      ["/order/cancel-all", vault],
      ["/account/faucet", { sub_account_address: owner.vault, asset: "USDC", amount: "1" }]
    ] as const
    for (const [path, body] of commands) {
      const { body: answer, status } = await asStranger("POST", path, body)
      assert.deepStrictEqual([path, status, answer.details?.reason], [path, 404, "SubAccountNotFound"])
      assert.notInclude(JSON.stringify(answer), orderId)
    }
  })

  it("is 404 for every read, and its order ids return nothing", async () => {
    for (const path of [
      "/order/realtime",
      "/order/history",
      "/execution/list",
      "/position/list",
      "/account/balances"
    ]) {
      const { status, body } = await asStranger("GET", `${path}?sub_account_address=${owner.vault}`)
      assert.deepStrictEqual([path, status, body.details?.reason], [path, 404, "SubAccountNotFound"])
    }
    assert.deepStrictEqual((await asStranger("GET", `/order/history?order_id=${orderId}`)).body.list, [])
    const foreign = await asStranger("POST", "/order/cancel", {
      sub_account_address: stranger.vault,
      symbol: "BTC-USDC",
      order_id: orderId
    })
    assert.deepStrictEqual([foreign.status, foreign.body.details.reason], [404, "OrderNotFound"])
  })

  it("is unchanged by all of this", async () => {
    const { body } = await call(exchange, "GET", "/api/v1/order/realtime", { token: owner.token })
    assert.deepStrictEqual(
      body.list.map((open: { order_id: string; qty: string; order_status: string }) => [
        open.order_id,
        open.qty,
        open.order_status
      ]),
      [[orderId, "0.01", "New"]]
    )
  })
})
