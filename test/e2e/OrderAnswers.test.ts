/** Responses to commands on one order, over REST, /rpc and the typed client, with the embedded exchange. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Client } from "../../src/client/index.ts"
import { as, callers } from "../rpc/Callers.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, funded, type Session } from "../../verification/harness/RestClient.ts"
import type { Frame } from "../../verification/harness/Socket.ts"

let exchange: Exchange
let user: Session
let maker: Session
beforeAll(async () => {
  exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "1000000" } })
  const body = { symbol: "BTC-USDC", price: "60000" }
  assert.strictEqual((await call(exchange, "PUT", "/api/v1/admin/index-price", { headers: basic, body })).status, 200)
  user = await funded(exchange)
  maker = await funded(exchange)
  // as far from the index as the bids at 58000: a sample of the basis moves neither the mark nor the band
  assert.strictEqual((await create(maker, { side: "Sell", qty: "0.1", price: "62000" })).status, 200)
})
afterAll(() => exchange?.close())

const post = (path: string, of: Session, body: object) =>
  call(exchange, "POST", `/api/v1${path}`, {
    token: of.token,
    body: { sub_account_address: of.vault, symbol: "BTC-USDC", ...body }
  })
const limit = { side: "Buy", order_type: "Limit", qty: "0.001", price: "58000" } as const
const create = (of: Session, body: object = {}) => post("/order/create", of, { ...limit, ...body })
const idOf = async (body: object = {}): Promise<string> => (await create(user, body)).body.order_id
const orderOf = async (order_id: string): Promise<Frame> =>
  (await call(exchange, "GET", `/api/v1/order/history?order_id=${order_id}`, { token: user.token })).body.list[0]

/** An amend that is refused when it is processed: the order, the change, and the response. */
const refusals: Record<
  string,
  {
    readonly order: object
    readonly change: object
    readonly status: number
    readonly details: object
    readonly reject_reason: string
  }
> = {
  "more than the balance covers": {
    order: {},
    change: { qty: "90" },
    status: 400,
    details: { reason: "InsufficientBalance" },
    reject_reason: "EcInsufficientBalance"
  },
  "a post-only order to a price that crosses": {
    order: { post_only: true },
    change: { price: "62000" },
    status: 409,
    details: { reason: "PostOnlyWouldTake", field: "price" },
    reject_reason: "EcPostOnlyWillTakeLiquidity"
  },
  "a trigger that is met": {
    order: { trigger: { trigger_price: "70000", trigger_by: "IndexPrice" } },
    change: { trigger: { trigger_price: "60000" } },
    status: 409,
    details: { reason: "TriggerAlreadyMet", field: "trigger.trigger_price" },
    reject_reason: "EcTriggerAlreadyMet"
  },
  "a price beyond the band": {
    order: {},
    change: { price: "66000" },
    status: 400,
    details: { reason: "OutOfRange", field: "price", max: "63000" },
    reject_reason: "EcReachRiskPriceLimit"
  }
}

describe("an amend that is refused when it is processed", () => {
  for (const [name, { change, details, order, reject_reason, status }] of Object.entries(refusals))
    it(`Amendment 6: ${name}: the response is ${status} with the reason, and the order reports the same`, async () => {
      const order_id = await idOf(order)
      const answer = await post("/order/amend", user, { order_id, ...change })
      assert.deepStrictEqual([answer.status, answer.body.details], [status, details])
      const { reject_message, version, ...record } = await orderOf(order_id)
      assert.deepStrictEqual([record["reject_reason"], version], [reject_reason, 1])
      assert.include(answer.body.message, reject_message)
      await post("/order/cancel", user, { order_id })
    })

  it("Amendment 6: a quantity that is filled already, and another version", async () => {
    const order_id = await idOf({ qty: "0.01", price: "59000" })
    await create(maker, { side: "Sell", qty: "0.004", price: "59000" })
    const answer = await post("/order/amend", user, { order_id, qty: "0.003" })
    assert.deepStrictEqual(
      [answer.status, answer.body.details],
      [400, { reason: "InvalidQty", field: "qty", cum_exec_qty: "0.004" }]
    )
    assert.strictEqual(
      answer.body.message,
      'qty: expected another value, got "0.003": qty 0.003 must exceed 0.004, which is filled already'
    )
    const other = await post("/order/amend", user, { order_id, qty: "0.02", order_iv: 7 })
    const mismatch = { reason: "OrderVersionMismatch", version: 1, field: "order_iv" }
    assert.deepStrictEqual([other.status, other.body.details], [409, mismatch])
    await post("/order/cancel", user, { order_id })
  })

  it("Amendment 6: has the same response over every transport", async () => {
    const order_id = await idOf({ post_only: true })
    const payload = { sub_account_address: user.vault, symbol: "BTC-USDC", order_id, price: "62000" }
    const viaRest = await post("/order/amend", user, { order_id, price: "62000" })
    for (const [name, caller] of Object.entries(callers)) {
      const error = (await caller(exchange, (client) =>
        Effect.flip(client["order.amend"]({ payload }, as(user)))
      )) as Frame
      assert.deepStrictEqual([error.code, error.details], ["CONFLICT", viaRest.body.details], name)
    }
    const viaClient = await Effect.runPromise(
      Client.make({ baseUrl: exchange.url, credential: { type: "token", token: user.token } }).pipe(
        Effect.flatMap((client) => Effect.flip(client.order.amend({ payload }))),
        Effect.scoped,
        Effect.provide(FetchHttpClient.layer)
      )
    )
    assert.deepInclude(viaClient as Frame, { code: "CONFLICT", details: viaRest.body.details })
  })
})

describe("the reference of an order in a response", () => {
  it("Amendment 8: is in every create, amend and cancel as order_link_id, empty if the order has none", async () => {
    for (const order_link_id of [undefined, `l-${Date.now()}`]) {
      const created = (await create(user, { order_link_id })).body
      const expected = { order_id: created.order_id, order_link_id: order_link_id ?? "" }
      assert.deepStrictEqual(created, expected)
      const { order_id } = created
      assert.deepStrictEqual((await post("/order/amend", user, { order_id, qty: "0.002" })).body, expected)
      assert.deepStrictEqual((await post("/order/cancel", user, { order_id })).body, expected)
    }
  })

  it("Amendment 8: is in batches and cancel-all", async () => {
    const order_link_id = `b-${Date.now()}`
    const order = { sub_account_address: user.vault, symbol: "BTC-USDC", ...limit }
    const batch = (path: string, orders: ReadonlyArray<object>) =>
      call(exchange, "POST", `/api/v1/order/${path}`, { token: user.token, body: { orders } })
    const created = await batch("create-batch", [order, { ...order, order_link_id }, { ...order, qty: "0.0001" }])
    const links = ({ list }: Frame) => list.map((one: Frame) => one.order_link_id)
    assert.deepStrictEqual(links(created.body), ["", order_link_id, ""])
    const name = { sub_account_address: user.vault, symbol: "BTC-USDC" }
    const [first] = created.body.list
    const canceled = await batch("cancel-batch", [
      { ...name, order_id: first.order_id },
      { ...name, order_id: first.order_id },
      { ...name, order_link_id: "nothing" }
    ])
    assert.deepStrictEqual(links(canceled.body), ["", "", "nothing"])
    await create(user)
    const all = await post("/order/cancel-all", user, {})
    assert.sameMembers(links(all.body).slice(-2), [order_link_id, ""])
  })

  it("Amendment 8: is in /rpc and the typed client", async () => {
    const payload = { sub_account_address: user.vault, symbol: "BTC-USDC", ...limit }
    for (const caller of Object.values(callers)) {
      const ref = await caller(exchange, (client) => client["order.create"]({ payload }, as(user)))
      assert.strictEqual(ref.order_link_id, "")
    }
    await post("/order/cancel-all", user, {})
  })
})

describe("a refusal", () => {
  it("states what is wrong with a number: the sign, the type, the form", async () => {
    const messages = async (body: object) => {
      const { body: answer, status } = await create(user, body)
      return [status, answer.details?.reason, answer.details?.field, answer.message]
    }
    const said = async (body: object, reason: string, field: string, message: string) =>
      assert.deepStrictEqual(await messages(body), [400, reason, field, message])
    const form =
      'expected a decimal number as text, with at most 18 decimal places, such as "60000.1", and not negative'
    await said({ qty: "-1" }, "InvalidDecimal", "qty", `qty: ${form}, got "-1"`)
    await said({ qty: 1 }, "InvalidDecimal", "qty", `qty: ${form}, got 1`)
    await said({ price: "1e3" }, "InvalidDecimal", "price", `price: ${form}, got "1e3"`)
    const trigger = "trigger.trigger_price"
    await said({ trigger: { trigger_price: "-5" } }, "InvalidDecimal", trigger, `${trigger}: ${form}, got "-5"`)
    const time = "expire_time: expected Unix time in milliseconds as a number, such as 1767225600000"
    const gtt = { time_in_force: "GTT" }
    await said({ ...gtt, expire_time: "tomorrow" }, "InvalidField", "expire_time", `${time}, got "tomorrow"`)
    await said({ ...gtt, expire_time: "1767225600000" }, "InvalidField", "expire_time", `${time}, got "1767225600000"`)
    await said({ post_only: "yes" }, "InvalidField", "post_only", 'post_only: expected true or false, got "yes"')
    await said({ trigger: [] }, "InvalidField", "trigger", "trigger: expected an object, got a list of 0")
    const long = "9".repeat(67)
    await said({ expire_time: long }, "InvalidField", "expire_time", `${time}, got "${"9".repeat(66)}…"`)
  })

  it("of a used transfer_id, withdrawal_id or deposit names that id, not command_id", async () => {
    const second = (await call(exchange, "POST", "/api/v1/user/sub-accounts", { token: user.token, body: {} })).body
    const transfer_id = randomUUID()
    const move = (amount: string) =>
      call(exchange, "POST", "/api/v1/account/transfer", {
        token: user.token,
        body: {
          transfer_id,
          from_sub_account_address: user.vault,
          to_sub_account_address: second.sub_account_address,
          asset: "USDC",
          amount
        }
      })
    assert.strictEqual((await move("1")).status, 200)
    const { body, status } = await move("2")
    assert.deepStrictEqual([status, body.details], [409, { reason: "DuplicateRequestId", field: "transfer_id" }])
    const accepted = "expected an id that was not used before with other content"
    assert.strictEqual(body.message, `transfer_id: ${accepted}, got "${transfer_id}"`)
    const withdrawal_id = randomUUID()
    const withdraw = (amount: string) =>
      call(exchange, "POST", "/api/v1/account/withdrawals", {
        token: user.token,
        body: { withdrawal_id, sub_account_address: user.vault, asset: "USDC", amount, destination: user.vault }
      })
    await withdraw("1")
    const other = await withdraw("2")
    assert.deepStrictEqual(
      [other.status, other.body.details, other.body.message],
      [
        409,
        { reason: "DuplicateRequestId", field: "withdrawal_id" },
        `withdrawal_id: ${accepted}, got "${withdrawal_id}"`
      ]
    )
  })
})
