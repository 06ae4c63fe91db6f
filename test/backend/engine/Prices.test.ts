import { assert, describe, it } from "@effect/vitest"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import * as Prices from "../../../src/backend/engine/referee/Prices.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import * as Grid from "../../../src/domain/Grid.ts"
import { vectors } from "../../vectors.ts"
import { ackOf, Bench, BTC, BUY, SELL, statusOf, trader } from "../Bench.ts"

interface MathVectors {
  readonly index_price: {
    readonly bases: Readonly<Record<string, readonly [base: string, tick: string]>>
    readonly cases: Array<{ readonly symbol: string; readonly n: number; readonly index: string }>
  }
  readonly mark: Array<{
    readonly name: string
    readonly symbol: string
    readonly input: {
      readonly index: string
      readonly rate: string
      readonly time_left_ms: number
      readonly basis: Array<string>
      readonly two_sided: boolean
      readonly last: string
    }
    readonly output: { readonly p1: string; readonly p2: string; readonly mark: string }
  }>
}

const math = vectors("exchange-math.json") as MathVectors
const { format, parse } = Decimal

describe("prices, to the digit of the vectors", () => {
  it.each(math.index_price.cases)("index of $symbol at $n", ({ symbol, n, index }) => {
    const [base, tick] = math.index_price.bases[symbol]!
    assert.strictEqual(format(Prices.simulatedIndex(parse(base), parse(tick), n)), index)
  })

  it.each(math.mark)("mark: $name", ({ symbol, input, output }) => {
    const market = shippedMarkets.find((market) => market.symbol === symbol)!
    const grid = Grid.fromText(market.tick_size)
    const { p1, p2, ticks } = Prices.markOf(grid, {
      index: parse(input.index),
      rate: parse(input.rate),
      timeLeftMs: input.time_left_ms,
      intervalMs: 480 * 60_000,
      basisSum: input.basis.reduce((sum, value) => sum + parse(value), 0n),
      basisCount: input.basis.length,
      twoSided: input.two_sided,
      last: parse(input.last)
    })
    assert.deepStrictEqual({ p1: format(p1), p2: format(p2), mark: Grid.text(grid, ticks) }, output)
  })

  it.each([
    { to: "56999.9", mark: "57000" },
    { to: "57000.1", mark: "57000.1" },
    { to: "62999.9", mark: "62999.9" },
    { to: "63000.1", mark: "63000" }
  ])("hold the mark within 5 % of the index: book and last trade at $to", ({ to, mark }) => {
    const index = parse("60000")
    const grid = Grid.fromText("0.1")
    const { ticks } = Prices.markOf(grid, {
      index,
      rate: 0n,
      timeLeftMs: 0,
      intervalMs: 480 * 60_000,
      basisSum: parse(to) - index,
      basisCount: 1,
      twoSided: true,
      last: parse(to)
    })
    assert.strictEqual(Grid.text(grid, ticks), mark)
  })
})

describe("prices in the engine", () => {
  const of = (bench: Bench) => Reads.prices(bench.state, [BTC])[0]!

  it("follow the simulation, with one sample per second", () => {
    const bench = new Bench({ indexSource: "simulated" })
    const step = bench.tick(0)
    const sampled = step.events[0]!.event!
    assert.isTrue(sampled.$case === "prices_sampled" && sampled.value.prices.length === 4)
    assert.deepInclude(of(bench), { index_price: "60061.8", mark_price: "60061.8", open_interest: "0" })
    assert.strictEqual(of(bench).next_funding_time_ms, 1767254400000)
    assert.strictEqual(bench.tick(999).events.length, 0)
    assert.strictEqual(of(bench).index_price, "60061.8")
    assert.strictEqual(bench.tick(1).events.length, 1)
    assert.strictEqual(of(bench).index_price, "60065.1")
  })

  it("are overridden by SetIndexPrice and released again", () => {
    const bench = new Bench({ indexSource: "simulated" })
    bench.tick(0)
    const held = ackOf(bench.index(BTC, "50000")).result!
    assert.isTrue(held.$case === "prices" && held.value.mark_price === "50000")
    bench.tick(1000)
    assert.strictEqual(of(bench).index_price, "50000")
    bench.index(BTC)
    assert.notStrictEqual(of(bench).index_price, "50000")
    assert.strictEqual(statusOf(bench.index("XRP-USDC", "1")).reason, "SymbolNotFound")
    assert.strictEqual(statusOf(bench.index(BTC, "0")).reason, "OutOfRange")
  })

  it("move the mark by the mean basis of the last 150 seconds, and only in a Tick", () => {
    const bench = new Bench()
    const [alice, bob] = [trader("alice"), trader("bob")]
    bench.tick(0)
    bench.open(alice, "100000")
    bench.open(bob, "100000")
    bench.place(alice, { side: BUY, qty: "0.1", price: "60005" })
    bench.place(bob, { side: SELL, qty: "0.1", price: "60015" })
    assert.strictEqual(of(bench).mark_price, "60000")
    // no trade yet: last = P2 = 60000 + mean of (10), and P1 = 60000 keeps the median at P2
    bench.tick()
    assert.strictEqual(of(bench).mark_price, "60010")
    bench.place(bob, { side: SELL, qty: "0.1", price: "60005" })
    assert.deepInclude(of(bench), { mark_price: "60010", last_price: "60005", open_interest: "0.1" })
    // one-sided: P2 is the index
    bench.tick(100)
    assert.strictEqual(of(bench).mark_price, "60000")
    bench.place(alice, { side: BUY, qty: "0.1", price: "60005" })
    // samples 10, then (from the book of the completed second) 10: the last trade at 60005 is the median
    bench.tick()
    assert.strictEqual(of(bench).mark_price, "60005")
    for (let i = 0; i < 200; i++) bench.tick()
    assert.strictEqual(bench.state.markets[0]!.basis.length, 150)
    assert.strictEqual(
      bench.state.markets[0]!.basisSum,
      bench.state.markets[0]!.basis.reduce((sum, { value }) => sum + value, 0n)
    )
  })
})
