import { assert, describe, it } from "@effect/vitest"
import * as OrderRules from "../../src/domain/OrderRules.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import * as OrderForm from "../../src/domain/OrderForm.ts"
import type { OrderRequest } from "../../src/domain/OrderForm.ts"
import { DAY_MS } from "../../src/domain/Time.ts"

const rules = OrderRules.make(shippedMarkets[0]!)
const NOW = 1_767_225_600_000
const limit: OrderRequest = {
  sub_account_address: "0xa",
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000"
}
const { price: _, ...market } = { ...limit, order_type: "Market" } as const
const made = (asked: OrderRequest) => OrderForm.newOrder(rules, asked, () => NOW)
const refused = (asked: OrderRequest) => {
  const violation = made(asked)
  return OrderForm.isViolation(violation) ? [violation.reason, violation.field] : []
}
const exit = (trigger_price: string) => ({ market: { trigger_price } })

describe("the form of a new order", () => {
  it("fills in what triggers, and by which price", () => {
    const order = made({
      ...limit,
      trigger: { trigger_price: "61000" },
      tpsl: { take_profit: exit("62000"), stop_loss: { market: { trigger_price: "59000", trigger_by: "MarkPrice" } } }
    })
    assert.deepInclude(order, {
      trigger: { trigger_price: "61000", trigger_by: "LastPrice", trigger_direction: undefined },
      tpsl: {
        mode: undefined,
        take_profit: { trigger_price: "62000", trigger_by: "LastPrice" },
        stop_loss: { trigger_price: "59000", trigger_by: "MarkPrice" }
      }
    })
  })

  it("binds GTT and expire_time together, 1 second to 90 days ahead", () => {
    const gtt = { ...limit, time_in_force: "GTT" } as const
    assert.deepInclude(made({ ...gtt, expire_time: NOW + 1000 }), { time_in_force: "GTT", expire_time: NOW + 1000 })
    assert.deepInclude(made({ ...gtt, expire_time: NOW + 90 * DAY_MS }), { expire_time: NOW + 90 * DAY_MS })
    assert.deepStrictEqual(refused({ ...gtt, expire_time: NOW + 999 }), ["OutOfRange", "expire_time"])
    assert.deepInclude(made({ ...gtt, expire_time: NOW + 90 * DAY_MS + 1 }), {
      reason: "OutOfRange",
      min: NOW + 1000,
      max: NOW + 90 * DAY_MS
    })
    assert.deepStrictEqual(refused(gtt), ["MissingField", "expire_time"])
    assert.deepStrictEqual(refused({ ...limit, expire_time: NOW + 5000 }), ["InvalidField", "expire_time"])
    assert.deepStrictEqual(refused({ ...limit, time_in_force: "PostOnly", expire_time: NOW + 5000 }), [
      "InvalidField",
      "expire_time"
    ])
    assert.deepStrictEqual(refused({ ...market, time_in_force: "GTT", expire_time: NOW + 5000 }), [
      "InvalidField",
      "time_in_force"
    ])
  })

  it("keeps triggers and exits on the grid, and names the field by its path", () => {
    assert.deepStrictEqual(refused({ ...limit, trigger: { trigger_price: "61000.05" } }), [
      "NotMultipleOfTick",
      "trigger.trigger_price"
    ])
    assert.deepStrictEqual(refused({ ...limit, tpsl: { stop_loss: exit("59000.01") } }), [
      "NotMultipleOfTick",
      "tpsl.stop_loss.market.trigger_price"
    ])
    assert.deepStrictEqual(refused({ ...limit, tpsl: { stop_loss: exit("0") } }), [
      "OutOfRange",
      "tpsl.stop_loss.market.trigger_price"
    ])
    assert.deepStrictEqual(refused({ ...limit, tpsl: { mode: "Partial" } }), ["MissingField", "tpsl.take_profit"])
  })

  it("requires exits of a Limit order on the correct sides of its price, and does not check those of a Market order", () => {
    const profit = ["OutOfRange", "tpsl.take_profit.market.trigger_price"]
    const loss = ["OutOfRange", "tpsl.stop_loss.market.trigger_price"]
    assert.deepStrictEqual(refused({ ...limit, tpsl: { take_profit: exit("60000") } }), profit)
    assert.deepStrictEqual(refused({ ...limit, tpsl: { stop_loss: exit("60000") } }), loss)
    const sell = { ...limit, side: "Sell" } as const
    assert.deepStrictEqual(refused({ ...sell, tpsl: { take_profit: exit("60000.1") } }), profit)
    assert.deepStrictEqual(refused({ ...sell, tpsl: { stop_loss: exit("59999.9") } }), loss)
    assert.deepStrictEqual(refused({ ...sell, tpsl: { take_profit: exit("59999.9"), stop_loss: exit("60000.1") } }), [])
    assert.deepStrictEqual(refused({ ...market, tpsl: { take_profit: exit("1"), stop_loss: exit("900000") } }), [])
  })

  it("accepts 0 for the whole position only in closing orders", () => {
    assert.deepStrictEqual(refused({ ...market, qty: "0" }), ["OutOfRange", "qty"])
    assert.deepStrictEqual(refused({ ...market, qty: "0", reduce_only: true }), ["OutOfRange", "qty"])
    assert.deepStrictEqual(refused({ ...market, qty: "0", reduce_only: true, close_on_trigger: true }), [])
  })
})

describe("the form of an amend", () => {
  const amend = (asked: Partial<OrderForm.AmendRequest>) =>
    OrderForm.amendment(rules, { sub_account_address: "0xa", symbol: "BTC-USDC", order_id: "o", ...asked })

  it("moves a trigger, and removes an exit by a price of 0", () => {
    const stop_loss = { market: { trigger_price: "59000", trigger_by: "MarkPrice" } } as const
    const change = amend({ trigger: { trigger_price: "60500" }, tpsl: { take_profit: exit("0.0"), stop_loss } })
    assert.deepInclude(change, {
      order: { order_id: "o", order_link_id: undefined },
      trigger_price: "60500",
      tpsl: {
        mode: undefined,
        take_profit: { trigger_price: "0.0", trigger_by: undefined },
        stop_loss: stop_loss.market
      },
      order_iv: 0
    })
  })

  it("may repeat the price of a Market order and the quantity of a whole position, which are 0", () => {
    assert.deepInclude(amend({ price: "0", qty: "0" }), { price: "0", qty: "0" })
  })

  it("keeps to the grid", () => {
    assert.deepInclude(amend({ trigger: { trigger_price: "0" } }), { reason: "OutOfRange" })
    assert.deepInclude(amend({ tpsl: { stop_loss: exit("1.23") } }), {
      reason: "NotMultipleOfTick",
      field: "tpsl.stop_loss.market.trigger_price"
    })
    assert.deepInclude(amend({ price: "1.23" }), { reason: "NotMultipleOfTick", field: "price" })
    assert.deepInclude(amend({ qty: "0.0001" }), { reason: "NotMultipleOfStep", field: "qty" })
  })
})
