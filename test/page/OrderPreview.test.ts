/** The margin preview: that it is what the exchange then asks. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Balance } from "../../src/domain/Account.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import type { Instrument, RiskTier } from "../../src/domain/Market.ts"
import type { Order } from "../../src/domain/Order.ts"
import type { Position } from "../../src/domain/Position.ts"
import { averageOf, fillOf, qtyForValue, slippageOf } from "../../page/BookFill.ts"
import { leveragePreview } from "../../page/LeveragePreview.ts"
import { largestQty } from "../../page/OrderSize.ts"
import { preview, protectivePrice, tiersOf } from "../../page/OrderPreview.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, create, funded } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"

const n = Decimal.parse
const SYMBOL = "BTC-USDC"

describe("what an order takes from the book", () => {
  const levels = [
    ["60000", "0.5"],
    ["60010", "1"]
  ] as const
  const take = (qty: string, side: "Buy" | "Sell" = "Buy", bound?: string) =>
    fillOf(levels, n(qty), side, bound === undefined ? undefined : n(bound))

  it("has the average price, to the tick against the taker, and the slippage from the best price", () => {
    assert.strictEqual(averageOf(take("0.5"), "Buy", n("0.1")), n("60000"))
    assert.strictEqual(averageOf(take("0.7"), "Buy", n("0.1")), n("60002.9"))
    assert.strictEqual(averageOf(take("0.7"), "Sell", n("0.1")), n("60002.8"))
    assert.strictEqual(slippageOf(take("0.5")), 0n)
    // 1.5 cost 90010 instead of 90000
    assert.strictEqual(Decimal.format(slippageOf(take("1.5"))), "0.000111111111111112")
  })
  it("ends with the levels, and at the bound", () => {
    assert.strictEqual(take("1.6").qty, n("1.5"))
    assert.strictEqual(take("1.6", "Buy", "60005").qty, n("0.5"))
    assert.isUndefined(averageOf(take("1", "Buy", "59999"), "Buy", n("0.1")))
  })
  it("is as much as a value buys", () => {
    assert.strictEqual(qtyForValue(levels, n("30000")), n("0.5"))
    assert.strictEqual(qtyForValue(levels, n("36001")), n("0.6"))
    assert.strictEqual(qtyForValue(levels, n("1000000")), n("1.5"))
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
      mode: here!.margin_mode,
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
      ({ side, price: n(price), bound: n(price), qty: n(qty), taken: 0n, reduceOnly: false }) as const
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

    // filled: the position as it was foreseen
    await create(exchange, bob, "sells", { side: "Sell", qty: "0.1", price: "59000.1" })
    const [position] = await eventually(
      "the position",
      () => listOf<Position>("/position/list", alice.token),
      (positions) => positions.length === 1
    )
    assert.strictEqual(Decimal.format(first.liquidation!), position!.liq_price)

    // long: a sale beyond it opens only what is more
    const standing = await standingOf(alice.token)
    const second = preview(instrument, tiers, standing, asked("Sell", "61000.3", "0.25"))
    await create(exchange, alice, "second", { side: "Sell", qty: "0.25", price: "61000.3" })
    await open("second")
    const [after] = await listOf<Balance>("/account/balances", alice.token)
    assert.strictEqual(Decimal.format(second.margin), after!.order_margin)
  })

  it("reports an order that is too large, and requires no margin of an order that only reduces", async () => {
    const carol = await funded(exchange, "100")
    const { instrument, tiers } = await marketOf(carol.token)
    const standing = await standingOf(carol.token)
    const order = {
      side: "Buy",
      price: n("60000"),
      bound: n("60000"),
      qty: n("1"),
      taken: 0n,
      reduceOnly: false
    } as const
    assert.isFalse(preview(instrument, tiers, standing, order).isAffordable)
    assert.strictEqual(preview(instrument, tiers, standing, { ...order, reduceOnly: true }).margin, 0n)
    assert.strictEqual(protectivePrice(instrument, n("60000"), "Buy"), n("63000"))
    assert.strictEqual(protectivePrice(instrument, n("60000.1"), "Sell"), n("57000.1"))
  })

  it("is what the exchange does to an isolated position, and to the leverage", async () => {
    const [dora, maker] = [await funded(exchange, "5000"), await funded(exchange, "50000")]
    const post = (path: string, body: object) =>
      call(exchange, "POST", `/api/v1${path}`, {
        token: dora.token,
        body: { sub_account_address: dora.vault, symbol: SYMBOL, ...body }
      })
    const { instrument, tiers } = await marketOf(dora.token)
    assert.strictEqual(
      (await post("/position/switch-margin-mode", { margin_mode: "Isolated", leverage: "5" })).status,
      200
    )
    const order = {
      side: "Sell",
      price: n("60700"),
      bound: n("60700"),
      qty: n("0.2"),
      taken: 0n,
      reduceOnly: false
    } as const
    const foreseen = preview(instrument, tiers, await standingOf(dora.token), order)
    await create(exchange, dora, "isolated", { side: "Sell", qty: "0.2", price: "60700" })
    await create(exchange, maker, "buys", { side: "Buy", qty: "0.2", price: "60700" })
    const [position] = await eventually(
      "the isolated position",
      () => listOf<Position>("/position/list", dora.token),
      (positions) => positions.length === 1
    )
    assert.strictEqual(Decimal.format(foreseen.liquidation!), position!.liq_price)

    // the other mode is refused, and so is a leverage for which the margin does not suffice; 10 is accepted as foreseen
    const standing = await standingOf(dora.token)
    const at = (leverage: string, mode: "Cross" | "Isolated" = "Isolated") =>
      leveragePreview(instrument, tiers, standing, n(leverage), mode)
    assert.match(at("5", "Cross").refusal!, /Close the position/u)
    assert.strictEqual((await post("/position/switch-margin-mode", { margin_mode: "Cross" })).status, 409)
    assert.match(at("2").refusal!, /does not cover the higher initial margin/u)
    assert.strictEqual((await post("/position/set-leverage", { leverage: "2" })).status, 400)
    const ten = at("10")
    assert.isUndefined(ten.refusal)
    assert.strictEqual(Decimal.format(ten.valueMax), "50000000")
    assert.strictEqual(Decimal.format(at("50").valueMax), "2000000")
    assert.strictEqual((await post("/position/set-leverage", { leverage: "10" })).status, 200)
    const [after] = await listOf<Position>("/position/list", dora.token)
    assert.strictEqual(Decimal.format(ten.positionMargin), after!.position_im)
  })

  it("is affordable up to the largest size, and no step further", async () => {
    const erin = await funded(exchange, "1000")
    const { instrument, tiers } = await marketOf(erin.token)
    const standing = await standingOf(erin.token)
    const order = { side: "Buy", price: n("59000"), bound: n("59000"), reduceOnly: false } as const
    const largest = largestQty(instrument, tiers, standing, order, false)
    const affordable = (qty: bigint) => preview(instrument, tiers, standing, { ...order, qty, taken: 0n }).isAffordable
    assert.deepStrictEqual([affordable(largest), affordable(largest + n("0.001"))], [true, false])
    await create(exchange, erin, "largest", { side: "Buy", qty: Decimal.format(largest), price: "59000" })
    const orders = await eventually(
      "the largest order",
      () => listOf<Order>("/order/realtime", erin.token),
      (list) => list.length === 1
    )
    assert.strictEqual(orders[0]!.order_status, "New")
    // nothing to close
    assert.strictEqual(largestQty(instrument, tiers, standing, { ...order, reduceOnly: true }, false), 0n)
  })
})
