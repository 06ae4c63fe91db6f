/** The margin preview: that it is what the exchange then asks. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Balance } from "../../src/domain/Account.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import type { Instrument, RiskTier } from "../../src/domain/Market.ts"
import type { Order } from "../../src/domain/Order.ts"
import type { Position } from "../../src/domain/Position.ts"
import { preview, priceWithin, protectivePrice, tiersOf } from "../../page/OrderPreview.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, create, funded } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"

const n = Decimal.parse
const SYMBOL = "BTC-USDC"

describe("a price within levels", () => {
  const levels = [
    ["60000", "0.5"],
    ["60010", "1"]
  ] as const

  it("is the average, to the tick against the taker", () => {
    assert.strictEqual(priceWithin(levels, n("0.5"), "Buy", n("0.1")), n("60000"))
    assert.strictEqual(priceWithin(levels, n("0.7"), "Buy", n("0.1")), n("60002.9"))
    assert.strictEqual(priceWithin(levels, n("0.7"), "Sell", n("0.1")), n("60002.8"))
  })
  it("is none where the levels do not hold so much", () => {
    assert.isUndefined(priceWithin(levels, n("1.6"), "Buy", n("0.1")))
    assert.isUndefined(priceWithin(levels, 0n, "Buy", n("0.1")))
  })
})

describe("the preview of an order", { timeout: 120_000 }, () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange()
  }, 120_000)
  afterAll(() => exchange?.close(), 60_000)

  const listOf = async <A>(path: string, token: string): Promise<ReadonlyArray<A>> =>
    (await call(exchange, "GET", `/api/v1${path}`, { token })).body.list

  /** What the account is, in the words of the preview. */
  const standingOf = async (token: string) => {
    const [balance] = await listOf<Balance>("/account/balances", token)
    const [ticker] = await listOf<{ readonly mark_price: string }>(`/market/tickers?symbol=${SYMBOL}`, token)
    const [here] = await listOf<Position>(`/position/list?symbol=${SYMBOL}`, token)
    return {
      available: n(balance!.available_balance),
      wallet: n(balance!.wallet_balance),
      positions: await listOf<Position>("/position/list", token),
      orders: await listOf<Order>("/order/realtime", token),
      leverage: n(here!.leverage),
      mark: n(ticker!.mark_price)
    }
  }
  const marketOf = async (token: string) => {
    const [instrument] = await listOf<Instrument>(`/market/instruments-info?symbol=${SYMBOL}`, token)
    return {
      instrument: instrument!,
      tiers: tiersOf(await listOf<RiskTier>(`/market/risk-limit?symbol=${SYMBOL}`, token))
    }
  }

  it("is the margin that the exchange then binds, and the price at which it then liquidates", async () => {
    const [alice, bob] = [await funded(exchange, "2000"), await funded(exchange, "2000")]
    const { instrument, tiers } = await marketOf(alice.token)
    const asked = (side: "Buy" | "Sell", price: string, qty: string) =>
      ({ side, price: n(price), bound: n(price), qty: n(qty), reduceOnly: false }) as const
    const open = async (link: string) =>
      eventually(
        `the order ${link}`,
        () => listOf<Order>("/order/realtime", alice.token),
        (orders) => orders.some(({ order_link_id }) => order_link_id === link)
      )

    // flat: all of it opens
    const first = preview(instrument, tiers, await standingOf(alice.token), asked("Buy", "59000.1", "0.1"))
    await create(exchange, alice, "first", { qty: "0.1", price: "59000.1" })
    await open("first")
    const [bound] = await listOf<Balance>("/account/balances", alice.token)
    assert.strictEqual(Decimal.format(first.margin), bound!.order_margin)
    assert.strictEqual(Decimal.format(first.availableAfter), bound!.available_balance)
    assert.isTrue(first.isAffordable)

    // filled: the position as it was foreseen, but that a maker pays less than the taker's fee of the preview
    await create(exchange, bob, "sells", { side: "Sell", qty: "0.1", price: "59000.1" })
    const [position] = await eventually(
      "the position",
      () => listOf<Position>("/position/list", alice.token),
      (positions) => positions.length === 1
    )
    const spared = Decimal.mul(first.value, n("0.00055") - n("0.0002"), "up")
    const differs = Decimal.abs(first.liquidation! - n(position!.liq_price))
    assert.isAtMost(Number(differs), Number(Decimal.div(spared * 2n, n("0.1"), "up")))

    // long: a sale beyond it opens only what is more
    const standing = await standingOf(alice.token)
    const second = preview(instrument, tiers, standing, asked("Sell", "61000.3", "0.25"))
    await create(exchange, alice, "second", { side: "Sell", qty: "0.25", price: "61000.3" })
    await open("second")
    const [after] = await listOf<Balance>("/account/balances", alice.token)
    assert.strictEqual(Decimal.format(second.margin), after!.order_margin)
  })

  it("says when it is too much, and asks nothing of an order that only reduces", async () => {
    const carol = await funded(exchange, "100")
    const { instrument, tiers } = await marketOf(carol.token)
    const standing = await standingOf(carol.token)
    const order = { side: "Buy", price: n("60000"), bound: n("60000"), qty: n("1"), reduceOnly: false } as const
    assert.isFalse(preview(instrument, tiers, standing, order).isAffordable)
    assert.strictEqual(preview(instrument, tiers, standing, { ...order, reduceOnly: true }).margin, 0n)
    assert.strictEqual(protectivePrice(instrument, n("60000"), "Buy"), n("63000"))
    assert.strictEqual(protectivePrice(instrument, n("60000.1"), "Sell"), n("57000.1"))
  })
})
