/** The engine against a naive model of the contract, over short seeded sessions. Longer: `node verification/oracle/main.ts`. */
import { assert, describe, it } from "@effect/vitest"
import { rootOfService, subAccountAddress, userIdOf } from "../../src/domain/Address.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { FAULTS, locate } from "../../verification/oracle/Faults.ts"
import { BTC, ETH, SHIPPED } from "../../verification/oracle/MarketTable.ts"
import { explain, noCounts, Pair, run } from "../../verification/oracle/Oracle.ts"
import type { Body, Side } from "../../verification/oracle/Requests.ts"
import { RULES } from "../../verification/oracle/Rules.ts"

const SEEDS = 200
const COMMANDS = 70

describe("oracle", () => {
  it("finds no difference between the engine and the model", { timeout: 300_000 }, () => {
    const counts = noCounts()
    for (let seed = 1; seed <= SEEDS; seed++) {
      const difference = run(seed, COMMANDS, counts)
      if (difference !== undefined) assert.fail(explain(difference))
    }
    // sessions in which nothing happens would prove nothing
    assert.isAbove(counts.fills, 500)
    for (const kind of ["liquidations", "deleveraged", "triggered", "funding"] as const)
      assert.isAbove(counts[kind], 10, kind)
    const { never } = counts.coverage
    assert.isBelow(never.size, RULES.size / 5, `not reached: ${[...never].join(", ")}`)
  })

  it("agrees on a step whose fills close a position and open the next one", () => {
    for (const mode of ["Full", "Partial"] as const) {
      const options = { poolBase: "1000000", faucetLimit: "5000", openOrdersMax: 1000, simulatedIndex: false }
      const pair = new Pair({ markets: [BTC, ETH], ...options })
      const by = (name: string, body: Body) => {
        const root = rootOfService(name)
        const request = { at: 1767225600000, user: userIdOf(root), account: subAccountAddress(root, 0), body }
        assert.strictEqual(pair.apply(request, true), undefined)
        assert.strictEqual(pair.outcome.refused, undefined)
      }
      const order = (name: string, symbol: string, side: Side, qty: string, price: string, more: object = {}) =>
        by(name, { kind: "place", symbol, side, type: "Limit", qty, price, ...more })
      const opened = (name: string, amount: string) => {
        const root = rootOfService(name)
        by(name, { kind: "createSubAccount", root, address: subAccountAddress(root, 0) })
        by(name, { kind: "deposit", id: name, amount, source: "rail" })
      }
      const trade = (name: string, symbol: string, side: Side, qty: string, price: string) => {
        order("maker", symbol, side === "Buy" ? "Sell" : "Buy", qty, price)
        order(name, symbol, side, qty, price)
      }
      const exits = (stop: string) => ({ mode, stopLoss: { by: "IndexPrice", price: stop } }) as const
      opened("maker", "1000000")
      opened("holder", "100000")
      trade("holder", BTC.symbol, "Buy", "0.01", "60000")
      by("holder", { kind: "tradingStop", symbol: BTC.symbol, tpsl: exits("50000") })
      order("holder", BTC.symbol, "Buy", "0.01", "59995", { tpsl: exits("51000") })
      order("holder", BTC.symbol, "Buy", "0.01", "59990", { tpsl: exits("52000") })
      order("holder", BTC.symbol, "Sell", "0.02", "60000")
      // liquidated in this order, each by the loss of its ETH
      const addressOf = (name: string) => subAccountAddress(rootOfService(name), 0)
      const losers = ["one", "two", "three", "four"].sort((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1))
      for (const [i, loser] of losers.entries()) {
        opened(loser, "400")
        trade(loser, ETH.symbol, "Buy", "1", "3000")
        trade(loser, BTC.symbol, i === 0 || i === 3 ? "Buy" : "Sell", "0.01", "59999")
      }
      by("maker", { kind: "index", symbol: ETH.symbol, price: "2622" })
      const fills = pair.model.lines.filter((line) => /^exec .* maker .* at (?:59995|59990|60000) /u.test(line))
      assert.deepStrictEqual(
        fills.map((line) => / (Buy|Sell) /u.exec(line)![1]),
        ["Buy", "Sell", "Sell", "Buy"]
      )
      const holding = pair.model.accounts.find(({ address }) => address === addressOf("holder"))!.holdings[0]!
      assert.deepStrictEqual(
        pair.model.orders
          .filter((order) => order.holding === holding && order.trigger !== undefined)
          .map(({ trigger }) => String(trigger!.price)),
        ["52000"]
      )
    }
  })

  it("has faults to plant that fit the source of now", () => {
    assert.isAtLeast(FAULTS.length, 30)
    for (const fault of FAULTS) assert.notStrictEqual(locate(fault).right, fault.wrong)
  })

  it("reads the contract's table of markets as the engine does", () => {
    const of = (symbol: string) => shippedMarkets.find((market) => market.symbol === symbol)!
    for (const { tiers, ...row } of SHIPPED) {
      assert.deepInclude(of(row.symbol), row)
      assert.deepStrictEqual(
        of(row.symbol).risk_tiers.map((tier) => [
          tier.risk_limit_value,
          tier.initial_margin_rate,
          tier.maintenance_margin_rate
        ]),
        tiers.map(([limit, initial, maintenance]) => [limit, initial, maintenance])
      )
    }
  })
})
