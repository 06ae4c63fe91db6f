/** The model's formulas against the worked numbers of the contract. */
import { assert, describe, it } from "@effect/vitest"
import { Exchange } from "../../verification/oracle/Exchange.ts"
import { f, type Fraction } from "../../verification/oracle/Fraction.ts"
import * as Formulas from "../../verification/oracle/Formulas.ts"
import { SHIPPED } from "../../verification/oracle/MarketTable.ts"
import type { Account, Holding, Market } from "../../verification/oracle/State.ts"
import { vectors } from "../vectors.ts"

interface PositionCase {
  readonly symbol: string
  readonly mode: "Cross" | "Isolated"
  readonly size: string
  readonly entry_value: string
  readonly mark: string
  readonly leverage: string
  readonly isolated_margin?: string
}

interface AccountCase {
  readonly name: string
  readonly input: { readonly wallet: string; readonly positions: ReadonlyArray<PositionCase> }
  readonly output: {
    readonly cross_equity: string
    readonly maintenance_margin: string
    readonly positions: ReadonlyArray<{
      readonly unrealised_pnl: string
      readonly position_mm: string
      readonly liq_price: string
      readonly bust_price: string
    }>
  }
}

interface Vectors {
  readonly index_price: { readonly cases: ReadonlyArray<{ symbol: string; n: number; index: string }> }
  readonly mark: ReadonlyArray<{
    readonly name: string
    readonly symbol: string
    readonly input: {
      readonly index: string
      readonly rate: string
      readonly time_left_ms: number
      readonly basis: ReadonlyArray<string>
      readonly two_sided: boolean
      readonly last: string
    }
    readonly output: { readonly mark: string }
  }>
  readonly account: ReadonlyArray<AccountCase>
  readonly funding: ReadonlyArray<{
    readonly name: string
    readonly input: { readonly premiums: ReadonlyArray<string> }
    readonly output: { readonly rate: string }
  }>
  readonly premium: ReadonlyArray<{
    readonly name: string
    readonly input: Record<"bids" | "asks", ReadonlyArray<readonly [string, string]>> & { readonly index: string }
    readonly output: { readonly premium: string }
  }>
  readonly fills: ReadonlyArray<{
    readonly name: string
    readonly symbol: string
    readonly input: ReadonlyArray<{ side: "Buy" | "Sell"; qty: string; price: string }>
    readonly output: { readonly steps: ReadonlyArray<Record<"size" | "entry_value" | "realised" | "fee", string>> }
  }>
}

const cases = vectors("exchange-math.json") as Vectors

const marketOf = (symbol: string): Market =>
  new Exchange({
    markets: SHIPPED,
    poolBase: "0",
    faucetLimit: "0",
    openOrdersMax: 1,
    simulatedIndex: false
  }).markets.find((market) => market.symbol === symbol)!

const holding = (account: Account, market: Market): Holding => ({ ...market.pool.holding, account, market })

const accountOf = ({ positions, wallet }: AccountCase["input"]): Account => {
  const account: Account = { ...marketOf("BTC-USDC").pool.holding.account, wallet: f(wallet), holdings: [] }
  for (const position of positions) {
    const market = marketOf(position.symbol)
    market.mark = f(position.mark)
    account.holdings.push({
      ...holding(account, market),
      isolated: position.mode === "Isolated",
      margin: f(position.isolated_margin ?? "0"),
      size: f(position.size),
      entry: f(position.entry_value)
    })
  }
  return account
}

describe("the oracle's formulas", () => {
  it("give the index", () => {
    for (const { index, n, symbol } of cases.index_price.cases)
      assert.strictEqual(Formulas.simulatedIndex(marketOf(symbol), n).toString(), index)
  })

  it("give the mark", () => {
    for (const { input, name, output, symbol } of cases.mark) {
      const market = marketOf(symbol)
      market.index = f(input.index)
      market.rate = f(input.rate)
      market.last = f(input.last)
      market.basis = input.basis.map((value, second) => ({ second, value: f(value) }))
      const side: Fraction | undefined = input.two_sided ? market.index : undefined
      const at = 480 * 60_000 - input.time_left_ms
      assert.strictEqual(Formulas.markOf(market, at, side, side).toString(), output.mark, name)
    }
  })

  it("give equity, margins, liquidation and bust prices", () => {
    for (const { input, name, output } of cases.account) {
      const account = accountOf(input)
      assert.strictEqual(Formulas.crossEquity(account).toString(), output.cross_equity, name)
      assert.strictEqual(Formulas.crossMaintenance(account).toString(), output.maintenance_margin, name)
      for (const [i, h] of account.holdings.entries())
        assert.deepInclude(
          output.positions[i]!,
          {
            unrealised_pnl: Formulas.pnlOf(h).toString(),
            position_mm: Formulas.positionMaintenance(h).toString(),
            liq_price: Formulas.shownPrice(h.market, Formulas.liquidationPrice(h)),
            bust_price: Formulas.shownPrice(h.market, Formulas.bustPrice(h))
          },
          name
        )
    }
  })

  it("give funding rates and premiums", () => {
    for (const { input, name, output } of cases.funding)
      assert.strictEqual(Formulas.fundingRate(input.premiums.map(f)).toString(), output.rate, name)
    const side = (levels: ReadonlyArray<readonly [string, string]>) =>
      levels.map(([price, qty]) => [f(price), f(qty)] as const)
    for (const { input, name, output } of cases.premium)
      assert.strictEqual(
        Formulas.premiumOf(side(input.bids), side(input.asks), f(input.index)).toString(),
        output.premium,
        name
      )
  })

  it("settle fills", () => {
    for (const { input, name, output, symbol } of cases.fills) {
      const market = marketOf(symbol)
      const h = holding(market.pool.holding.account, market)
      for (const [i, { price, qty, side }] of input.entries()) {
        const fee = f(price).times(f(qty)).times(market.taker).ceil()
        const after = Formulas.filledBy(h, side, f(price), f(qty), fee, h.leverage)
        h.size = after.size
        h.entry = after.entry
        const { entry_value, fee: charged, realised, size } = output.steps[i]!
        assert.deepStrictEqual(
          [h.size, h.entry, fee, after.realised].map(String),
          [size, entry_value, charged, realised],
          name
        )
      }
    }
  })
})
