import { assert, describe, it } from "@effect/vitest"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import * as Accounts from "../../../src/backend/engine/accounts/Accounts.ts"
import * as Funding from "../../../src/backend/engine/referee/Funding.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import * as FundingRate from "../../../src/domain/FundingRate.ts"
import * as Grid from "../../../src/domain/Grid.ts"
import { BalanceReason, ExecType, Side } from "../../../src/proto/gateway/v1/types.ts"
import { vectors } from "../../vectors.ts"
import { balances, Bench, BTC, BUY, executions, kinds, positions, SELL, START, type Trader, trader } from "../Bench.ts"

type Levels = ReadonlyArray<readonly [price: string, qty: string]>
interface MathVectors {
  readonly funding: ReadonlyArray<{
    readonly name: string
    readonly input: { readonly premiums: Array<string>; readonly mark: string; readonly sizes: Array<string> }
    readonly output: {
      readonly average: string
      readonly rate: string
      readonly credits: Array<string>
      readonly sum: string
    }
  }>
  readonly premium: ReadonlyArray<{
    readonly name: string
    readonly input: { readonly bids: Levels; readonly asks: Levels; readonly index: string }
    readonly output: { readonly premium: string }
  }>
}

const math = vectors("exchange-math.json") as MathVectors
const { format, parse } = Decimal
const depth = (levels: Levels) => levels.map(([price, qty]) => [parse(price), parse(qty)] as const)
const HOURS = 3_600_000

describe("funding, to the digit of the vectors", () => {
  it.each(math.premium)("premium: $name", ({ input, output }) => {
    assert.strictEqual(
      format(Funding.premiumOf(depth(input.bids), depth(input.asks), parse(input.index))),
      output.premium
    )
  })

  it.each(math.funding)("payments: $name", ({ input, output }) => {
    const weighted = input.premiums.reduce((sum, premium, i) => sum + BigInt(i + 1) * parse(premium), 0n)
    const average = Funding.averageOf(weighted, input.premiums.length)
    const rate = FundingRate.rateOf(average, parse("0.005"))
    const credits = input.sizes.map((text) => {
      const size = parse(text)
      return -Funding.payment(size, Decimal.mul(Decimal.abs(size), parse(input.mark), "up"), rate)
    })
    assert.deepStrictEqual(
      {
        average: format(average),
        rate: format(rate),
        credits: credits.map(format),
        sum: format(credits.reduce((sum, credit) => sum + credit, 0n))
      },
      output
    )
  })
})

describe("the impact price of a premium", () => {
  const premium = (...bids: Levels) => format(Funding.premiumOf(depth(bids), [], parse("100")))

  it("takes a side that holds exactly 10000, on its last level too", () => {
    assert.strictEqual(premium(["200", "50"]), "1")
    assert.strictEqual(premium(["200", "25"], ["125", "40"]), "0.538461538461538461")
    assert.strictEqual(premium(["200", "49.99"]), "0")
  })
})

describe("funding in the engine", () => {
  /** A long of 0.5 against a short at index 60000, and a book around it whose premium is 0.0005. */
  const opened = () => {
    const bench = new Bench()
    const [alice, bob, carol] = [trader("alice"), trader("bob"), trader("carol")]
    bench.tick()
    for (const who of [alice, bob, carol]) bench.open(who, "100000")
    bench.place(bob, { side: SELL, qty: "0.5", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.5", price: "60000" })
    return { bench, alice, bob, carol }
  }

  it("predicts no rate beyond the cap of its market, also before the first sample", () => {
    const [btc, ...others] = shippedMarkets
    const bench = new Bench({ markets: [{ ...btc!, funding_cap: "0.00003" }, ...others] })
    assert.strictEqual(Reads.prices(bench.state, [BTC])[0]!.funding_rate, "0.00003")
  })

  it("samples each completed minute, predicts, and settles at the hour", () => {
    const { bench, alice, bob, carol } = opened()
    const rateOf = () => Reads.prices(bench.state, [BTC])[0]!.funding_rate
    assert.strictEqual(rateOf(), "0.0001")
    bench.place(carol, { side: BUY, qty: "1", price: "60030" })
    bench.place(bob, { side: SELL, qty: "1", price: "60050" })
    bench.tick(58_000)
    assert.strictEqual(bench.state.markets[0]!.premiumCount, 0)
    bench.tick(1000)
    assert.strictEqual(bench.state.markets[0]!.premiumCount, 1)
    assert.strictEqual(format(bench.state.markets[0]!.premiumSum), "0.0005")
    // premium 0.0005: the interest moves it by 0.0004
    assert.strictEqual(rateOf(), "0.0001")
    bench.cancelAll(carol)
    bench.cancelAll(bob)
    // an empty book has premium 0, weighted as the second sample
    bench.tick(60_000)
    assert.strictEqual(bench.state.markets[0]!.premiumCount, 2)
    assert.strictEqual(format(bench.state.markets[0]!.premiumSum), "0.0005")
    bench.place(carol, { side: BUY, qty: "1", price: "60300" })
    bench.tick(60_000)
    // third sample 0.005: average (0.0005 + 3 × 0.005) ÷ 6
    assert.strictEqual(rateOf(), "0.00208333")
    bench.cancelAll(carol)
    const before = bench.state.wallets
    bench.now = START + 8 * HOURS - 1
    bench.tick(0)
    assert.strictEqual(Reads.fundingRates(bench.state, { symbol: BTC, start_ms: 0, end_ms: 0 })!.rates.length, 0)
    const predicted = rateOf()
    const unrealised = (who: Trader) => Reads.portfolio(bench.state, who.user_id).summary!.unrealized_funding_total
    assert.deepStrictEqual([unrealised(alice), unrealised(bob)], ["-31.5", "31.5"], "30000 × 0.00105")
    const epoch = () => Reads.portfolio(bench.state, alice.user_id).positions[0]!.epoch
    const hour = (START + 8 * HOURS) / (8 * HOURS)
    assert.strictEqual(epoch(), hour - 1)
    // a command at the hour comes before its settlement
    bench.cancelAll(alice)
    assert.strictEqual(epoch(), hour - 1)
    const step = bench.tick(0)
    assert.strictEqual(epoch(), hour)
    assert.strictEqual(kinds(step)[0], "funding_settled")
    const [settled] = Reads.fundingRates(bench.state, { symbol: BTC, start_ms: 0, end_ms: 0 })!.rates
    // Σ i P_i stays 0.0155 while samples of an empty book follow: the fourth, and the fifth at the hour itself
    assert.strictEqual(predicted, "0.00105")
    assert.deepStrictEqual(settled, {
      symbol: BTC,
      funding_rate: "0.00053333",
      mark_price: "60000",
      funding_index: "31.9998",
      funding_time_ms: START + 8 * HOURS
    })
    const [paid] = executions(step, alice)
    assert.deepInclude(paid, {
      exec_type: ExecType.EXEC_TYPE_FUNDING,
      order_id: "00000000-0000-0000-0000-000000000000",
      side: Side.SIDE_BUY,
      exec_qty: "0.5",
      exec_price: "60000",
      exec_value: "30000",
      base_fee: "15.9999",
      fee_rate: "0.00053333",
      order_price: "0",
      order_qty: "0",
      leaves_qty: "0",
      is_maker: false,
      leverage: "10"
    })
    const changes = step.events.flatMap(({ event, user_id }) =>
      event?.$case === "balance_changed" && user_id === alice.user_id ? [event.value] : []
    )
    assert.deepStrictEqual(
      changes.map(({ amount, exec_id, reason }) => [reason, amount, exec_id]),
      [[BalanceReason.BALANCE_REASON_FUNDING, "-15.9999", paid!.exec_id]]
    )
    assert.strictEqual(executions(step, bob)[0]!.base_fee, "-15.9999")
    assert.deepStrictEqual(kinds(step, alice), ["execution_created", "position_changed", "balance_changed"])
    assert.deepInclude(positions(step, alice)[0], { cur_realised_pnl: "-32.4999", cum_realised_pnl: "-32.4999" })
    assert.strictEqual(balances(step, alice)[0]!.wallet_balance, "99967.5001")
    assert.strictEqual(bench.state.wallets, before)
    assert.strictEqual(rateOf(), "0.0001")
    assert.strictEqual(bench.state.markets[0]!.premiumCount, 0)
  })

  it("moves the mark with the settled rate as the interval progresses", () => {
    const { bench, alice, bob } = opened()
    const market = bench.state.marketOf.get(BTC)!
    bench.now = START + 8 * HOURS - 1
    bench.tick(1)
    // rate 0.0001, a whole interval left: P1 60006; P2 60000, last 60000
    assert.strictEqual(format(market.fundingRate), "0.0001")
    assert.strictEqual(market.markText, "60000")
    bench.place(bob, { side: SELL, qty: "0.1", price: "60010" })
    bench.place(alice, { side: BUY, qty: "0.1", price: "60010" })
    bench.now = START + 12 * HOURS - 1
    bench.tick(1)
    // half the interval left: P1 60003, P2 60000, last 60010
    assert.strictEqual(market.markText, "60003")
  })

  it("is paid from an Isolated position's own margin", () => {
    const { bench, alice } = opened()
    const holding = bench.state.accountOf.get(alice.address)!.holdings[0]!
    holding.isolated = true
    const wallet = holding.account.wallet
    holding.isolatedMargin = 3000n * Decimal.ONE
    bench.state.wallets += holding.isolatedMargin
    bench.state.deposits += holding.isolatedMargin
    bench.now = START + 8 * HOURS
    bench.tick(0)
    assert.strictEqual(format(holding.isolatedMargin), "2997")
    assert.strictEqual(holding.account.wallet, wallet)
  })

  it("settles an interval that ended between two Ticks once, at its own end", () => {
    const { bench } = opened()
    bench.now = START + 30 * HOURS
    bench.tick(0)
    const { rates } = Reads.fundingRates(bench.state, { symbol: BTC, start_ms: 0, end_ms: 0 })!
    assert.deepStrictEqual(
      rates.map(({ funding_time_ms }) => funding_time_ms),
      [START + 8 * HOURS]
    )
    bench.now = START + 32 * HOURS
    bench.tick(0)
    bench.now = START + 40 * HOURS
    bench.tick(0)
    const all = (range: { start_ms: number; end_ms: number }) =>
      Reads.fundingRates(bench.state, { symbol: BTC, ...range })!.rates.map((rate) => rate.funding_time_ms)
    assert.deepStrictEqual(
      all({ start_ms: 0, end_ms: 0 }),
      [40, 32, 8].map((hour) => START + hour * HOURS)
    )
    assert.deepStrictEqual(all({ start_ms: START + 9 * HOURS, end_ms: START + 33 * HOURS }), [START + 32 * HOURS])
    assert.strictEqual(Reads.fundingRates(bench.state, { symbol: "X-USDC", start_ms: 0, end_ms: 0 }), undefined)
  })

  it("liquidates an account that cannot pay its funding in the step of the settlement, though no mark moves", () => {
    const { bench, alice } = opened()
    const holding = bench.state.accountOf.get(alice.address)!.holdings[0]!
    bench.now = START + 8 * HOURS - 1_000
    bench.tick(0)
    const { maintenanceMargin } = Accounts.figuresOf(holding)
    // an Isolated position with 2 more than it must have, which pays 3
    holding.isolated = true
    holding.isolatedMargin = maintenanceMargin + 2n * Decimal.ONE
    bench.state.wallets += holding.isolatedMargin
    bench.state.deposits += holding.isolatedMargin
    Accounts.invalidateThresholds(bench.state, holding.account)
    // a mark that leaves the position within its margin, so that only the payment makes it due again
    bench.index(BTC, "59999.9")
    const before = bench.tick(998)
    assert.notInclude(kinds(before), "liquidation_started")
    const mark = holding.market.markText
    const step = bench.tick(1)
    assert.strictEqual(holding.market.markText, mark)
    assert.include(kinds(step), "funding_settled")
    assert.include(kinds(step), "liquidation_started")
    assert.strictEqual(holding.lots, 0)
  })

  it("shows the side of the smallest position", () => {
    const bench = new Bench()
    const [long, short] = [trader("long"), trader("short")]
    bench.tick()
    for (const who of [long, short]) bench.open(who, "10000")
    const [market] = bench.state.markets
    const qty = Grid.text(market!.rules.qty, 1)
    bench.place(short, { side: SELL, qty, price: "60000" })
    bench.place(long, { side: BUY, qty, price: "60000" })
    assert.strictEqual(market!.openLots, 1)
    bench.now = START + 8 * HOURS
    const step = bench.tick(0)
    const sides = [long, short].map((who) => executions(step, who).map(({ side }) => side))
    assert.deepStrictEqual(sides, [[Side.SIDE_BUY], [Side.SIDE_SELL]])
  })

  it("pays positions in the order of their addresses, not in that of their opening", () => {
    const bench = new Bench()
    const maker = trader("maker")
    bench.tick()
    bench.open(maker, "1000000")
    const takers = Array.from({ length: 6 }, (_, i) => trader(`taker-${i}`))
    const opened = takers.toSorted((a, b) => (a.address < b.address ? 1 : -1))
    for (const who of opened) {
      bench.open(who, "10000")
      bench.place(maker, { side: SELL, qty: "0.1", price: "60000" })
      bench.place(who, { side: BUY, qty: "0.1", price: "60000" })
    }
    bench.now = START + 8 * HOURS
    const payments = executions(bench.tick(0))
    const paid = payments.map(({ sub_account_address }) => sub_account_address)
    assert.lengthOf(paid, 7)
    assert.strictEqual(new Set(payments.map(({ exec_id }) => exec_id)).size, 7)
    assert.strictEqual(new Set(payments.map(({ market_seq }) => market_seq)).size, 7)
    assert.deepStrictEqual(paid, paid.toSorted())
  })
})
