/** Texts of refusals that depend on the state of the exchange: each names the field, repeats the value and says what is accepted. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, funded, type Session } from "../../verification/harness/RestClient.ts"
import { as, callers } from "../rpc/Callers.ts"
import { basic } from "../../verification/harness/Settings.ts"
import type { Frame } from "../../verification/harness/Socket.ts"

let exchange: Exchange
let user: Session
let maker: Session
/** An open order of the user, and one that waits for its trigger. */
const orders = { open: "", waiting: "" }
const unknown = "01a2278b-29d5-7966-9aae-386fd521b7af"
const foreign = `0x${"7".repeat(64)}`

const own = ({ vault }: Session) => ({ sub_account_address: vault, symbol: "BTC-USDC" })
const create = (of: Session, body: object) =>
  call(exchange, "POST", "/api/v1/order/create", { token: of.token, body: { ...own(of), ...limit, ...body } })
const limit = { side: "Buy", order_type: "Limit", qty: "0.001", price: "58000" }

beforeAll(async () => {
  exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "1000000" } })
  const body = { symbol: "BTC-USDC", price: "60000" }
  assert.strictEqual((await call(exchange, "PUT", "/api/v1/admin/index-price", { headers: basic, body })).status, 200)
  user = await funded(exchange)
  maker = await funded(exchange)
  assert.strictEqual((await create(maker, { side: "Sell", price: "60100" })).status, 200)
  assert.strictEqual((await create(user, { price: "60100" })).status, 200)
  orders.open = (await create(user, { order_link_id: "open" })).body.order_id
  orders.waiting = (await create(user, { trigger: { trigger_price: "70000" } })).body.order_id
})
afterAll(() => exchange?.close())

const market = (trigger_price: string) => ({ market: { trigger_price } })

/** The request, and the text of its refusal; the symbol and the own sub-account are added. */
const refusals: Record<string, readonly [path: string, body: () => object, text: string]> = {
  "an exit of a position on the wrong side": [
    "/position/trading-stop",
    () => ({ take_profit: "50000" }),
    'take_profit: expected another value, got "50000": take_profit must lie above the mark price'
  ],
  "an exit of more than the position": [
    "/position/trading-stop",
    () => ({ take_profit: "90000", tpsl_mode: "Partial", tp_size: "5" }),
    'tp_size: expected another value, got "5": the size is above the position\'s'
  ],
  "an exit of an order on the wrong side": [
    "/order/amend",
    () => ({ order_id: orders.open, tpsl: { take_profit: market("100") } }),
    'tpsl.take_profit.market.trigger_price: expected another value, got "100": take_profit must lie above the order\'s price'
  ],
  "an exit without a position": [
    "/position/trading-stop",
    () => ({ symbol: "ETH-USDC", take_profit: "50000" }),
    'symbol: expected a market in which the sub-account has a position, got "ETH-USDC"'
  ],
  "the leverage that is set": [
    "/position/set-leverage",
    () => ({ leverage: "10" }),
    'leverage: expected another value than the current leverage, got "10"'
  ],
  "an unknown order": [
    "/order/cancel",
    () => ({ order_id: unknown }),
    `order_id: expected an order of this sub-account and market, got "${unknown}"`
  ],
  "an unknown link": [
    "/order/amend",
    () => ({ order_link_id: "none", qty: "1" }),
    'order_link_id: expected an order of this sub-account and market, got "none"'
  ],
  "the names of two orders": [
    "/order/cancel",
    () => ({ order_id: orders.waiting, order_link_id: "open" }),
    'order_link_id: expected another value, got "open": order_id and order_link_id name different orders'
  ],
  "a link that was used": [
    "/order/create",
    () => ({ ...limit, order_link_id: "open" }),
    'order_link_id: expected a value that was not used before, got "open"'
  ],
  "a foreign sub-account": [
    "/order/create",
    () => ({ ...limit, sub_account_address: foreign }),
    `sub_account_address: expected the address of an own sub-account, got "${foreign}"`
  ],
  "a price beyond the band": [
    "/order/amend",
    () => ({ order_id: orders.open, price: "90000" }),
    'price: expected another value, got "90000": the price lies outside the price band; max 63000'
  ],
  "the trigger of an order without one": [
    "/order/amend",
    () => ({ order_id: orders.open, trigger: { trigger_price: "50000" } }),
    "trigger: expected another value, got an object: the order does not wait for a trigger"
  ],
  "another version": [
    "/order/amend",
    () => ({ order_id: orders.open, qty: "0.002", order_iv: 9 }),
    "order_iv: expected 1, the order's version, got 9"
  ]
}

describe("the text of a refusal", () => {
  for (const [name, [path, body, text]] of Object.entries(refusals))
    it(`of ${name} names the field, the given and the accepted value`, async () => {
      const { body: error } = await call(exchange, "POST", `/api/v1${path}`, {
        token: user.token,
        body: { ...own(user), ...body() }
      })
      assert.deepStrictEqual([error.message, error.details.field], [text, text.split(":")[0]])
    })

  it("of a transfer names both sub-accounts", async () => {
    for (const foreigner of ["from_sub_account_address", "to_sub_account_address"]) {
      const { body } = await call(exchange, "POST", "/api/v1/account/transfer", {
        token: user.token,
        body: {
          transfer_id: randomUUID(),
          from_sub_account_address: user.vault,
          to_sub_account_address: user.vault,
          asset: "USDC",
          amount: "5",
          [foreigner]: foreign
        }
      })
      assert.deepStrictEqual(body.details, { reason: "SubAccountNotFound" })
      assert.strictEqual(
        body.message,
        "from_sub_account_address and to_sub_account_address: expected the addresses of own sub-accounts"
      )
    }
  })

  it("is the same over every transport", async () => {
    const payload = { ...own(user), order_id: unknown }
    for (const [name, caller] of Object.entries(callers)) {
      const error = (await caller(exchange, (client) =>
        Effect.flip(client["order.cancel"]({ payload }, as(user)))
      )) as Frame
      assert.strictEqual(error.message, refusals["an unknown order"]![2], name)
      assert.deepStrictEqual(error.details, { reason: "OrderNotFound", field: "order_id" }, name)
    }
  })

  it("names them for each item of a batch", async () => {
    const items = [{ order_id: unknown }, { order_link_id: "none" }].map((item) => ({ ...own(user), ...item }))
    const { body } = await call(exchange, "POST", "/api/v1/order/cancel-batch", {
      token: user.token,
      body: { orders: items }
    })
    assert.deepStrictEqual(
      body.list.map(({ message }: Frame) => message),
      [
        `order_id: expected an order of this sub-account and market, got "${unknown}"`,
        'order_link_id: expected an order of this sub-account and market, got "none"'
      ]
    )
  })
})
