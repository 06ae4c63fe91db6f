import { assert, describe, it } from "@effect/vitest"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import * as OrderRules from "../../src/domain/OrderRules.ts"

const rules = OrderRules.make(shippedMarkets[0]!)
const order: OrderRules.OrderShape = {
  qty: "0.1",
  price: "60000.10",
  market: false,
  time_in_force: "GTC",
  post_only: false,
  reduce_only: false,
  close_on_trigger: false
}

describe("order rules", () => {
  it("count an order in ticks and lots", () => {
    assert.deepStrictEqual(OrderRules.checkOrder(rules, order), { ticks: 600001, lots: 100 })
    assert.deepStrictEqual(OrderRules.checkOrder(rules, { ...order, qty: "0.100", price: "0.1", reduce_only: true }), {
      ticks: 1,
      lots: 100
    })
  })

  it("ignore the price of a market order, whose notional needs the mark", () => {
    const market = { ...order, market: true, time_in_force: "IOC", price: "nonsense", qty: "0.001" } as const
    assert.deepStrictEqual(OrderRules.checkOrder(rules, market), { ticks: 0, lots: 1 })
    assert.deepStrictEqual(OrderRules.checkOrder(rules, market, 50000), { ticks: 0, lots: 1 })
    assert.deepInclude(OrderRules.checkOrder(rules, market, 49999), { reason: "OutOfRange", field: "qty", min: "5" })
  })

  it("name the missing field", () => {
    assert.deepInclude(OrderRules.checkOrder(rules, { ...order, price: undefined }), {
      reason: "MissingField",
      field: "price"
    })
  })

  it("read a price beyond the safe integers as out of range, not as another price", () => {
    assert.deepInclude(OrderRules.checkPrice(rules, "99999999999999999999"), { reason: "OutOfRange" })
    assert.deepInclude(OrderRules.checkPrice(rules, "99999999999999999999.05"), { reason: "NotMultipleOfTick" })
    assert.deepInclude(OrderRules.checkQty(rules, "99999999999999999999", false, false), { reason: "OutOfRange" })
  })

  it("return the accepted values next to one between two steps", () => {
    const nearest = (found: number | OrderRules.Violation) => (typeof found === "number" ? found : found.nearest)
    assert.deepStrictEqual(nearest(OrderRules.checkPrice(rules, "60000.05")), ["60000", "60000.1"])
    assert.deepStrictEqual(nearest(OrderRules.checkQty(rules, "0.12345", false, false)), ["0.123", "0.124"])
    // beyond a bound there is one
    assert.deepStrictEqual(nearest(OrderRules.checkPrice(rules, "0.05")), ["0.1"])
    assert.deepStrictEqual(nearest(OrderRules.checkPrice(rules, "99999999999999999999.05")), ["1000000"])
    assert.deepStrictEqual(nearest(OrderRules.checkQty(rules, "30.0005", true, false)), ["30"])
  })

  it("recognise a client's order id", () => {
    assert.isTrue(OrderRules.isOrderLinkId("a-1_Z"))
    assert.isFalse(OrderRules.isOrderLinkId(""))
    assert.isFalse(OrderRules.isOrderLinkId("x".repeat(37)))
    assert.isFalse(OrderRules.isOrderLinkId("é"))
  })
})
