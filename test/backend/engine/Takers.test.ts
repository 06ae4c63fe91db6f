import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { TAKERS_USER } from "../../../src/backend/engine/referee/Takers.ts"
import { SIM_TAKERS_ROOT, subAccountAddress } from "../../../src/domain/Address.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import { Bench, BTC, BUY, config, SELL, trader } from "../Bench.ts"

const live = () => new Bench({ simMaker: true, simTakers: true, indexSource: "simulated" })

describe("the simulated takers", () => {
  it("trade in every market within ten seconds, and move the open interest", () => {
    const bench = live()
    const market = bench.state.marketOf.get(BTC)!
    const last = new Map(bench.state.markets.map(({ market: { symbol } }) => [symbol, bench.now]))
    const sides = new Set<number>()
    const interest = new Set<number>()
    let trades = 0
    for (let i = 0; i < 400; i++) {
      const printed = bench
        .tick()
        .events.flatMap(({ event }) => (event?.$case === "trade_printed" ? event.value.trades : []))
      for (const { price, side, symbol } of printed) {
        const { indexPrice } = bench.state.marketOf.get(symbol)!
        const bps = (Decimal.abs(Decimal.parse(price) - indexPrice) * 10_000n) / indexPrice
        assert.isAtMost(Number(bps), 50, "outside the maker's levels")
        last.set(symbol, bench.now)
        sides.add(side)
        trades++
      }
      for (const [symbol, at] of last) assert.isAtMost(bench.now - at, 10_000, symbol)
      interest.add(market.openLots)
    }
    assert.deepStrictEqual([...sides].sort(), [BUY, SELL])
    assert.isAbove(interest.size, 50)
    // bounds: about 0.28 orders a second and market, positions by style, one deposit for each account, nothing rests
    assert.isBelow(trades, 4 * 400 * 0.5)
    for (const position of Reads.positions(bench.state, { user_id: TAKERS_USER }))
      assert.isAtMost(Number(position.position_value), 310_000)
    assert.strictEqual(Decimal.format(bench.state.deposits), String(10_000_000 + 4 * 1_000_000))
    assert.strictEqual(bench.state.orders.size(), 4 * 20)
  })

  it("keep each position within the limit of its style", { timeout: 120_000 }, () => {
    const bench = live()
    const limits = new Map(
      [5_000, 25_000, 100_000, 300_000].map((limit, index) => [subAccountAddress(SIM_TAKERS_ROOT, index), limit])
    )
    let nearest = 0
    for (let i = 0; i < 2_000; i++) {
      bench.tick()
      for (const { position_value, sub_account_address } of Reads.positions(bench.state, { user_id: TAKERS_USER })) {
        const share = Number(position_value) / limits.get(sub_account_address)!
        // a position at its limit moves with the price
        assert.isAtMost(share, 1.02, sub_account_address)
        nearest = Math.max(nearest, share)
      }
    }
    assert.isAbove(nearest, 0.9, "no position comes near its limit")
  })

  it("move the mark and the premium through the maker's position, and trade with users", () => {
    const bench = live()
    const user = trader("alice")
    const market = bench.state.marketOf.get(BTC)!
    bench.tick()
    bench.open(user, "100000")
    bench.place(user, { side: BUY, qty: "1.8" })
    for (let i = 0; i < 61; i++) bench.tick()
    // the maker is short 108,000: its quotes are 7 bps higher
    assert.isAbove(Number(market.premiumSum), 0)
    assert.isAbove(Number(market.basisSum), 0)
    // an order of the user at a better price than the maker's fills
    const best = Number(Reads.orderBook(bench.state, BTC, 1)!.bids[0]!.price)
    bench.place(user, { side: BUY, qty: "0.001", price: (best + 1).toFixed(1) })
    for (let i = 0; i < 60; i++) bench.tick()
    const [position] = Reads.positions(bench.state, { user_id: user.user_id })
    assert.strictEqual(position!.size, "1.801")
  })

  it("draw the same orders in each version, because a journal has their Ticks only", () => {
    const bench = live()
    const orders = new Map<string, string>()
    for (let second = 0; second < 15; second++)
      for (const { event } of bench.tick().events) {
        if (event?.$case !== "order_changed" || event.value.order!.user_id !== TAKERS_USER) continue
        const { order_id, side, symbol } = event.value.order!
        orders.set(order_id, `${second} ${side === BUY ? "buys" : "sells"} ${symbol}`)
      }
    assert.deepStrictEqual(
      [...orders.values()],
      [
        "0 sells SOL-USDC",
        "0 buys DOGE-USDC",
        "3 sells BTC-USDC",
        "3 buys ETH-USDC",
        "3 sells SOL-USDC",
        "4 buys DOGE-USDC",
        "5 buys SOL-USDC",
        "7 buys BTC-USDC",
        "7 buys ETH-USDC",
        "9 buys ETH-USDC",
        "9 buys SOL-USDC",
        "10 sells BTC-USDC",
        "12 sells DOGE-USDC",
        "13 sells BTC-USDC",
        "13 buys DOGE-USDC"
      ]
    )
  })

  it("follow from the journal, and are off without the maker", () => {
    const bench = live()
    for (let i = 0; i < 60; i++) bench.tick()
    const again = Engine.initial(config({ simMaker: true, simTakers: true, indexSource: "simulated" }))
    for (const input of bench.journal) Engine.apply(again, input)
    assert.strictEqual(Engine.hash(again), Engine.hash(bench.state))

    const alone = new Bench({ simMaker: false, simTakers: true, indexSource: "simulated" })
    for (let i = 0; i < 60; i++) alone.tick()
    assert.strictEqual(alone.state.orderNumber, 0)
  })
})
