/** Batches of orders over HTTP. Source: docs/contract/rest-trading.md#batches. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { CommandRefused } from "../../src/services/Sequencer.ts"
import { type Doubles, gateway, orderId, rate, v1 } from "./Fixture.ts"

const CREATE = "/api/v1/order/create-batch"
const CANCEL = "/api/v1/order/cancel-batch"
const order = {
  sub_account_address: v1,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000"
}
const times = (count: number, of: object = order) => ({ orders: Array.from({ length: count }, () => of) })

const ask = async (path: string, body: unknown, doubles: Doubles = {}) => {
  const { dispose, fetch } = gateway(doubles)
  const response = await fetch("POST", path, { body })
  const answer = await response.json()
  await dispose()
  return { status: response.status, answer }
}

describe("a batch", () => {
  it("returns 200 with a result for each order, in the order of the request, equal to that of a request of its own", async () => {
    const { status, answer } = await ask(CREATE, {
      orders: [order, { ...order, qty: "0.0001", order_link_id: "b-2" }, { ...order, symbol: "NO-USDC" }]
    })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(answer.list[0], { code: "OK", message: "", order_id: orderId, order_link_id: "" })
    assert.deepInclude(answer.list[1], {
      code: "BAD_REQUEST",
      order_link_id: "b-2",
      details: { reason: "NotMultipleOfStep", field: "qty", step: "0.001", nearest: ["0.001"] }
    })
    assert.deepInclude(answer.list[2], {
      code: "NOT_FOUND",
      details: { reason: "SymbolNotFound", field: "symbol" }
    })
    assert.lengthOf(answer.list, 3)
  })

  it("Amendment 8: each result holds order_link_id, also of an order without one and of a refused one", async () => {
    const { answer } = await ask(CREATE, {
      orders: [order, { ...order, symbol: "NO-USDC" }, { ...order, qty: "0.0001", order_link_id: "b-2" }]
    })
    const links = (list: ReadonlyArray<{ order_link_id?: string }>) => list.map(({ order_link_id }) => order_link_id)
    assert.deepStrictEqual(links(answer.list), ["", "", "b-2"])
    const name = { sub_account_address: v1, symbol: "BTC-USDC" }
    const canceled = await ask(CANCEL, { orders: [{ ...name, order_id: orderId }, name] })
    assert.deepStrictEqual(links(canceled.answer.list), ["", ""])
  })

  it("returns the first order of a used reference", async () => {
    const { answer } = await ask(CREATE, times(1, { ...order, order_link_id: "b-1" }), {
      sequencer: {
        submit: () =>
          Effect.fail(
            new CommandRefused({ reason: "DuplicateOrderLinkId", message: "", details: { order_id: orderId } })
          )
      }
    })
    assert.deepInclude(answer.list[0], {
      code: "CONFLICT",
      order_link_id: "b-1",
      details: { reason: "DuplicateOrderLinkId", order_id: orderId, field: "order_link_id" }
    })
  })

  it("cancels by either name", async () => {
    const name = { sub_account_address: v1, symbol: "BTC-USDC" }
    const { status, answer } = await ask(CANCEL, {
      orders: [{ ...name, order_id: orderId }, { ...name, order_link_id: "b-1" }, name]
    })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(
      answer.list.map(({ code }: { code: string }) => code),
      ["OK", "OK", "BAD_REQUEST"]
    )
    assert.deepStrictEqual(answer.list[2].details, { reason: "MissingField", field: "order_id" })
  })

  it("holds 1 to 20 orders, each of the right shape", async () => {
    assert.strictEqual((await ask(CREATE, times(20))).status, 200)
    for (const body of [times(0), times(21), {}]) assert.strictEqual((await ask(CREATE, body)).status, 400)
    const { answer, status } = await ask(CREATE, { orders: [order, { ...order, qty: 1 }] })
    assert.strictEqual(status, 400)
    assert.deepInclude(answer.details, { reason: "InvalidDecimal", field: "orders.1.qty" })
  })

  it("reports the rate after all its requests", async () => {
    const { dispose, fetch } = gateway({
      limiter: { takeAll: (_slots, more) => Effect.succeed({ ...rate(true), remaining: more === undefined ? 40 : 37 }) }
    })
    const remaining = async (count: number) =>
      (await fetch("POST", CREATE, { body: times(count) })).headers.get("ratelimit-remaining")
    assert.deepStrictEqual([await remaining(5), await remaining(16)], ["40", "37"])
    await dispose()
  })

  it("draws on the bucket of cancels only where it cancels", async () => {
    const buckets: Array<string> = []
    const { dispose, fetch } = gateway({
      limiter: {
        takeAll: (slots) => {
          buckets.push(...slots.map(({ bucket }) => bucket))
          return Effect.undefined
        }
      }
    })
    const name = { sub_account_address: v1, symbol: "BTC-USDC", order_id: orderId }
    await fetch("POST", CANCEL, { body: times(6, name) })
    assert.deepStrictEqual(buckets.splice(0), ["token-cancels", "user-cancels", "token-cancels", "user-cancels"])
    await fetch("POST", CREATE, { body: times(6) })
    assert.deepStrictEqual(buckets, ["token", "user", "token", "user"])
    await dispose()
  })

  it("counts as one request per 5 orders, and changes nothing where these are too many", async () => {
    for (const [count, more] of [
      [1, undefined],
      [5, undefined],
      [6, 1],
      [20, 3]
    ] as const) {
      let counted: number | undefined
      let submitted = 0
      const { status } = await ask(CREATE, times(count), {
        limiter: {
          takeAll: (_slots, taken) => {
            // the access check has counted one
            if (taken === undefined) return Effect.undefined
            counted = taken
            return Effect.succeed(rate(false))
          }
        },
        sequencer: {
          submit: () => {
            submitted++
            return Effect.die("submitted")
          }
        }
      })
      assert.strictEqual(counted, more, `${count} orders`)
      if (more !== undefined) assert.deepStrictEqual([status, submitted], [429, 0])
    }
  })
})
