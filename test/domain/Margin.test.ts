import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "fast-check"
import * as Decimal from "../../src/domain/Decimal.ts"
import * as Margin from "../../src/domain/Margin.ts"
import * as OrderRules from "../../src/domain/OrderRules.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import * as Grid from "../../src/domain/Grid.ts"
import { vectors } from "../vectors.ts"

// oxlint-disable-next-line typescript/no-explicit-any -- the vectors are JSON of many shapes
type Case = any
const math = vectors("exchange-math.json") as Readonly<Record<string, ReadonlyArray<Case>>>
const cases = (name: string): Array<Case> => [...math[name]!]
const n = Decimal.parse
const signed = (text: string) => (text.startsWith("-") ? -n(text.slice(1)) : n(text))
const f = Decimal.format

const markets = new Map(
  shippedMarkets.map((market) => [
    market.symbol,
    {
      rules: OrderRules.make(market),
      tiers: Margin.tiersOf(
        market.risk_tiers.map((tier) => ({
          limit: n(tier.risk_limit_value),
          initialRate: n(tier.initial_margin_rate),
          maintenanceRate: n(tier.maintenance_margin_rate)
        }))
      ),
      limits: { tick: n(market.tick_size), min: n(market.min_price), max: n(market.max_price) },
      maker: n(market.maker_fee_rate),
      taker: n(market.taker_fee_rate)
    }
  ])
)

type Level = { qty: string; price: string }
const openOrders = (orders: { buys?: Array<Level>; sells?: Array<Level> } | undefined): Margin.OpenOrders => {
  const sum = (side: Array<Level> = []) =>
    side.reduce(
      ([size, value], { qty, price }) => [size + n(qty), value + Decimal.mul(n(qty), n(price), "up")] as const,
      [0n, 0n] as readonly [bigint, bigint]
    )
  const [buySize, buyValue] = sum(orders?.buys)
  const [sellSize, sellValue] = sum(orders?.sells)
  return { buySize, buyValue, sellSize, sellValue }
}

interface PositionInput {
  symbol: string
  mode: "Cross" | "Isolated"
  size: string
  entry_value: string
  mark: string
  leverage: string
  isolated_margin?: string
}

const figuresOf = (position: PositionInput, orders: Margin.OpenOrders) => {
  const { tiers, taker } = markets.get(position.symbol)!
  const size = signed(position.size)
  return Margin.figures(tiers, taker, {
    position: size,
    entryValue: n(position.entry_value),
    value: Decimal.mul(Decimal.abs(size), n(position.mark), "up"),
    leverage: n(position.leverage),
    orders
  })
}

describe("margin, to the digit of the vectors", () => {
  it.each(cases("order_margin"))("order margin: $name", ({ symbol, input, output }: Case) => {
    const { tiers, taker } = markets.get(symbol)!
    const size = signed(input.size)
    const orders = openOrders(input)
    const value = Decimal.mul(Decimal.abs(size), n(input.mark), "up")
    const text = ({ dividend, divisor }: Margin.Fraction) => f(Decimal.divide(dividend, divisor, "up"))
    const open = Margin.openingValue(size, orders)
    const exposure = Margin.exposure(value, open)
    const tier = Margin.tierOfExposure(tiers, exposure)
    assert.deepStrictEqual(
      {
        ob: text(Margin.openingBuy(size, orders)),
        os: text(Margin.openingSell(size, orders)),
        exposure: text(exposure),
        tier: tier + 1,
        effective_leverage: f(Margin.effectiveLeverage(n(input.leverage), tiers[tier]!)),
        order_margin: f(Margin.orderMargin(open, n(input.leverage), tiers[tier]!, taker)),
        risk_limit_exceeded: Margin.beyondRiskLimit(tiers, exposure)
      },
      output
    )
  })

  it.each(cases("account"))("account: $name", ({ input, output }: Case) => {
    const positions = input.positions as Array<PositionInput>
    const wallet = n(input.wallet)
    const all = positions.map((position) => ({
      position,
      figures: figuresOf(position, openOrders(input.orders?.[position.symbol]))
    }))
    const cross = all.filter(({ position }) => position.mode === "Cross")
    const sum = (pick: (figures: Margin.Figures) => bigint, rows = cross) =>
      rows.reduce((total, { figures }) => total + pick(figures), 0n)
    const crossEquity = wallet + sum((figures) => figures.unrealisedPnl)
    const account: Margin.AccountFigures = {
      crossEquity,
      initialMargin: sum((figures) => figures.initialMargin),
      maintenanceMargin: sum((figures) => figures.maintenanceMargin),
      orderMargin: sum((figures) => figures.orderMargin, all),
      free: crossEquity - sum((figures) => figures.initialMargin) - sum((figures) => figures.orderMargin, all)
    }
    assert.deepStrictEqual(
      {
        cross_equity: f(account.crossEquity),
        margin_used: f(account.initialMargin),
        maintenance_margin: f(account.maintenanceMargin),
        order_margin: f(account.orderMargin),
        free: f(account.free),
        available_balance: f(Margin.available(account)),
        withdrawable: f(Margin.withdrawable(wallet, account)),
        positions: all.map(({ position, figures }) => {
          const { tiers, limits } = markets.get(position.symbol)!
          const size = signed(position.size)
          const isolated = position.mode === "Isolated" ? n(position.isolated_margin!) : undefined
          const cushion =
            isolated ?? crossEquity - figures.unrealisedPnl - (account.maintenanceMargin - figures.maintenanceMargin)
          const share =
            isolated === undefined
              ? Margin.equityShare(crossEquity, figures.maintenanceMargin, account.maintenanceMargin)
              : { dividend: isolated + figures.unrealisedPnl, divisor: 1n }
          const liq = Margin.liquidationPrice(tiers, limits, size, n(position.entry_value), cushion)
          const bust = Margin.shownBustPrice(limits, size, n(position.mark), share)
          return {
            symbol: position.symbol,
            unrealised_pnl: f(figures.unrealisedPnl),
            position_value: f(figures.value),
            position_im: f(figures.initialMargin),
            position_mm: f(figures.maintenanceMargin),
            risk_tier: figures.tier + 1,
            liq_price: liq === undefined ? "" : f(liq),
            bust_price: bust === undefined ? "" : f(bust),
            liquidatable:
              isolated === undefined
                ? crossEquity < account.maintenanceMargin
                : isolated + figures.unrealisedPnl < figures.maintenanceMargin
          }
        })
      },
      output
    )
  })

  it.each(cases("fills"))("fills: $name", ({ symbol, input, output }: Case) => {
    const market = markets.get(symbol)!
    let entry = Margin.FLAT
    let realised = 0n
    let fees = 0n
    const steps = input.map((fill: Case) => {
      const value = Decimal.mul(n(fill.qty), n(fill.price), "up")
      const fee = Decimal.mul(value, fill.is_maker ? market.maker : market.taker, "up")
      const result = Margin.settle(entry, { size: fill.side === "Buy" ? n(fill.qty) : -n(fill.qty), value, fee })
      entry = result.entry
      realised += result.realised
      fees += fee
      return {
        size: f(entry.position),
        entry_value: f(entry.entryValue),
        avg_price: f(Margin.averagePrice(entry.position, entry.entryValue)),
        realised: f(result.realised),
        fee: f(fee)
      }
    })
    assert.deepStrictEqual({ steps, realised: f(realised), fees: f(fees) }, output)
  })

  it.each(cases("fill_check"))("fill check: $name", ({ input, output }: Case) => {
    const { symbol, side, qty, price, mark, leverage, is_maker } = input.fill
    const market = markets.get(symbol)!
    const held = (input.account.positions as Array<PositionInput>).find((position) => position.symbol === symbol)
    const isolated = (held?.mode ?? input.fill.mode) === "Isolated"
    const value = Decimal.mul(n(qty), n(price), "up")
    const fee = Decimal.mul(value, is_maker ? market.maker : market.taker, "up")
    const entry: Margin.Entry =
      held === undefined
        ? Margin.FLAT
        : {
            position: signed(held.size),
            entryValue: n(held.entry_value),
            openFee: 0n,
            isolatedMargin: isolated ? n(held.isolated_margin!) : 0n
          }
    const lock = isolated ? (open: bigint) => Margin.initialMargin(open, n(leverage), market.tiers[0]!) : undefined
    const result = Margin.settle(entry, { size: side === "Buy" ? n(qty) : -n(qty), value, fee, lock })
    const wallet = n(input.account.wallet) + result.wallet
    const after = result.entry
    const valueAfter = Decimal.mul(Decimal.abs(after.position), n(mark), "up")
    const pnl = after.position === 0n ? 0n : Margin.unrealisedPnl(after.position, after.entryValue, valueAfter)
    const maintenance = after.position === 0n ? 0n : Margin.maintenanceMargin(market.tiers, valueAfter)
    const equity = isolated ? wallet : wallet + pnl
    const crossMaintenance = isolated ? 0n : maintenance
    const allowed =
      equity >= crossMaintenance &&
      (!isolated ||
        ((after.position === 0n || after.isolatedMargin + pnl >= maintenance) &&
          (result.closedSize === 0n || result.released + result.realised - fee >= 0n)))
    assert.deepStrictEqual(
      {
        allowed,
        fee: f(fee),
        wallet_after: f(wallet),
        cross_equity_after: f(equity),
        maintenance_margin_after: f(crossMaintenance),
        ...(isolated ? { isolated_margin_after: f(after.isolatedMargin) } : {})
      },
      output
    )
  })
})

describe("grid", () => {
  it("reads and prints every count of a step, and nothing between", () => {
    for (const step of ["0.1", "0.25", "0.001", "1", "5", "0.00001", "0.000000000000000001"]) {
      const grid = Grid.fromText(step)
      for (const count of [0, 1, 2, 3, 9, 10, 99, 101, 12345, 600001, 10 ** 9 + 7, 2 ** 50 + 1]) {
        const text = Grid.text(grid, count)
        assert.strictEqual(text, f(BigInt(count) * grid.step))
        assert.strictEqual(Grid.read(grid, text), count, `${count} × ${step}`)
      }
      if (step !== "0.000000000000000001")
        assert.strictEqual(Grid.read(grid, f(grid.step * 7n + grid.step / 2n)), undefined)
    }
    assert.strictEqual(Grid.read(Grid.fromText("0.1"), "60000.10"), 600001)
    assert.strictEqual(Grid.read(Grid.fromText("0.1"), "60000.1000000000000000"), 600001)
    assert.strictEqual(Grid.read(Grid.fromText("0.25"), "4800.3"), undefined)
  })
})

describe("the bounds of margin", () => {
  const { limits, tiers } = markets.get("BTC-USDC")!

  it("a value at the limit of a tier lies in it, and the next one above it", () => {
    for (const [i, tier] of tiers.slice(0, -1).entries()) {
      assert.deepStrictEqual([Margin.tierAt(tiers, tier.limit), Margin.tierAt(tiers, tier.limit + 1n)], [i, i + 1])
    }
    assert.strictEqual(Margin.tierAt(tiers, tiers.at(-1)!.limit + 1n), tiers.length - 1, "beyond all limits")
  })

  it("the share of an opening fee that a reduction takes out is rounded up", () => {
    const entry = { position: 3n, entryValue: 30n, openFee: 10n, isolatedMargin: 0n }
    const opened = Margin.settle(Margin.FLAT, { size: 1n, value: 10n, fee: 1n })
    assert.deepStrictEqual(
      [
        opened.closedSize,
        opened.closedEntryValue,
        opened.closedOpenFee,
        opened.closedFee,
        opened.realised,
        opened.released
      ],
      [0n, 0n, 0n, 0n, 0n, 0n]
    )
    const { closedOpenFee, entry: rest } = Margin.settle(entry, { size: -1n, value: 10n, fee: 0n, lock: undefined })
    assert.deepStrictEqual([closedOpenFee, rest.openFee], [4n, 6n])
  })

  it("a fill through an Isolated position closes it, releases its margin, and locks that of the rest", () => {
    const entry = { position: 3n, entryValue: 30n, openFee: 6n, isolatedMargin: 9n }
    const fill = { size: -5n, value: 60n, fee: 5n, lock: (opened: bigint) => opened / 10n }
    assert.deepStrictEqual(Margin.settle(entry, fill), {
      entry: { position: -2n, entryValue: 24n, openFee: 2n, isolatedMargin: 2n },
      closedSize: 3n,
      closedEntryValue: 30n,
      closedOpenFee: 6n,
      closedFee: 3n,
      realised: 6n,
      released: 9n,
      locked: 2n,
      wallet: 8n
    })
  })

  it("at the liquidation price the equity covers the maintenance margin, and a tick beyond it does not", () => {
    const { ONE } = Decimal
    let shown = 0
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom(1n, -1n),
        // values from the first tier to the last
        FastCheck.bigInt({ min: 1n, max: 2_000_000n }),
        FastCheck.integer({ min: 1, max: 2_000 }),
        FastCheck.integer({ min: 1, max: 500 }),
        (side, lots, dollars, perMille) => {
          const size = lots * (ONE / 1_000n)
          const entryValue = lots * BigInt(dollars) * (ONE / 10n)
          const cushion = (entryValue * BigInt(perMille)) / 1_000n
          const price = Margin.liquidationPrice(tiers, limits, side * size, entryValue, cushion)
          if (price === undefined) return
          shown++
          /** Equity less maintenance margin at a price. */
          const room = (at: bigint) => {
            const value = (size * at) / ONE
            return cushion + side * (value - entryValue) - Margin.maintenanceMargin(tiers, value)
          }
          assert.isTrue(room(price) >= 0n, "the position holds at the price")
          assert.isTrue(room(price - side * limits.tick) < 0n, "and not a tick beyond it")
        }
      ),
      { numRuns: 1_000, seed: 1 }
    )
    assert.isAbove(shown, 300)
  })

  it("a liquidation price at either limit of the market is shown, and none beyond it", () => {
    const ONE = Decimal.ONE
    const short = (value: bigint) => Margin.liquidationPrice(tiers, limits, -ONE, value, 0n)
    // a long whose entry value is all but covered falls at the first tick, which is the lowest price
    assert.strictEqual(Margin.liquidationPrice(tiers, limits, ONE, 2n, 1n), limits.min)
    assert.isUndefined(Margin.liquidationPrice(tiers, limits, ONE, 1n, 1n))
    // of the last tier: (entry value + deduction) over (1 + its rate)
    const last = tiers.at(-1)!
    const atMax = Decimal.divide(limits.max * (ONE + last.maintenanceRate), ONE, "up") - last.deduction
    const oneTier = [{ ...last, deduction: 0n }]
    const max = atMax + last.deduction
    assert.strictEqual(Margin.liquidationPrice(oneTier, limits, -ONE, max, 0n), limits.max)
    assert.isUndefined(Margin.liquidationPrice(oneTier, limits, -ONE, max + 2n * limits.tick, 0n))
    assert.isDefined(short(limits.min * 100n))
  })
})
