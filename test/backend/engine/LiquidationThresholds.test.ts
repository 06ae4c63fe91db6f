/**
 * Liquidation with thresholds against a check of every account: random worlds of many accounts, Cross and Isolated, in
 * four markets and all their risk tiers, whose prices move randomly and crash.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import type { PriceThresholdIndex } from "../../../src/backend/engine/state/PriceThresholdIndex.ts"
import type { Slices } from "../../../src/backend/engine/state/Slices.ts"
import type { MarketPosition, MarketState } from "../../../src/backend/engine/state/State.ts"
import { MarginMode } from "../../../src/proto/gateway/v1/types.ts"
import { Bench, BUY, SELL, trader } from "../Bench.ts"
import { assertNoneBelowMaintenance, pick, random } from "../Invariants.ts"

const WORLDS = Number(process.env["WORLDS"] ?? 4)
const TRADERS = 24
const COMMANDS = 600

/** The same inputs for every engine; results do not influence them. */
const world = (
  seed: number
): { readonly inputs: ReadonlyArray<Engine.Input>; readonly config: Engine.EngineConfig } => {
  const next = random(seed)
  const bench = new Bench({ poolBaseEquity: next() < 0.5 ? "1000000" : "1000" })
  const { markets } = bench.state
  // most have little, some reach the last tiers
  const traders = Array.from({ length: TRADERS }, (_, i) => ({
    ...trader(`t${i}`),
    wallet: pick(next, [3000, 3000, 30_000, 500_000, 20_000_000])
  }))
  const prices = markets.map(({ market }) => Number(market.index_base))
  bench.tick()
  for (const who of traders) {
    bench.open(who, String(who.wallet))
    for (const { market } of markets) {
      const isolated = next() < 0.35 ? MarginMode.MARGIN_MODE_ISOLATED : MarginMode.MARGIN_MODE_CROSS
      const leverage = pick(next, ["2", "10", "20", "20"])
      bench.send(who, { $case: "set_margin_mode", value: { symbol: market.symbol, margin_mode: isolated, leverage } })
    }
  }
  for (let i = 0; i < COMMANDS; i++) {
    const { index, market, rules } = pick(next, markets) as MarketState
    const price = (spread: number) => {
      const ticks = Math.max(1, Math.round((prices[index]! * (1 + (next() - 0.5) * spread)) / Number(market.tick_size)))
      return (ticks * Number(market.tick_size)).toFixed(rules.price.places)
    }
    const kind = next()
    if (kind < 0.6) {
      const who = pick(next, traders)
      const value = who.wallet * (0.05 + next() * 6)
      const lots = Math.max(1, Math.round(value / prices[index]! / Number(market.qty_step)))
      const qty = (lots * Number(market.qty_step)).toFixed(rules.qty.places)
      bench.place(who, { symbol: market.symbol, side: next() < 0.5 ? BUY : SELL, qty, price: price(0.004) })
    } else if (kind < 0.63)
      bench.send(pick(next, traders), {
        $case: "withdraw_funds",
        value: { withdrawal_id: `w${i}`, asset: "USDC", amount: pick(next, ["10", "500"]), destination: "0x0" }
      })
    else if (kind < 0.66)
      bench.send(pick(next, traders), {
        $case: "add_margin",
        value: { symbol: market.symbol, margin: pick(next, ["10", "-10", "200"]) }
      })
    else if (kind < 0.75) bench.tick(Math.floor(next() * 1500))
    else {
      prices[index]! *= next() < 0.15 ? 1 + (next() - 0.5) * 0.12 : 1 + (next() - 0.5) * 0.01
      bench.index(market.symbol, price(0))
    }
  }
  // the last input settles funding, which affects every position
  bench.tick(8 * 3_600_000)
  return { inputs: bench.inputs, config: bench.state.config }
}

type Change = (watch: PriceThresholdIndex<MarketPosition>) => PriceThresholdIndex<MarketPosition>

/** Counts the checks of positions. */
const run = ({ config, inputs }: ReturnType<typeof world>, change: Change) => {
  let checks = 0
  const fresh = Engine.initial(config)
  const watch = change(fresh.liquidationRanges)
  const take = function* (market: MarketState) {
    const taken = yield* watch.takeDue(market)
    checks += taken.length
    return taken
  }
  const state: Engine.State = { ...fresh, liquidationRanges: { ...watch, takeDue: take } }
  const steps = inputs.map((input) => {
    const step = Engine.apply(state, input)
    assertNoneBelowMaintenance(state)
    return step
  })
  return { steps, checks, hash: Engine.hash(state) }
}

const slicesOf = function* <A>(value: A): Slices<A> {
  return value
}

const checkAll: Change = (watch) => ({ ...watch, takeDue: ({ holders }) => slicesOf([...holders]) })

/** Thresholds that are a little too wide. */
const tooWide: Change = (watch) => ({
  ...watch,
  watch: (holding, low, high) => {
    const { markTicks } = holding.market
    watch.watch(holding, markTicks - (markTicks - low) * 1.05, markTicks + (high - markTicks) * 1.05)
  }
})

describe("accounts within their thresholds are not checked", () => {
  it(
    `and ${WORLDS} worlds behave exactly as when every account is checked`,
    { timeout: 60_000 + WORLDS * 10_000 },
    () => {
      let [liquidated, few, all] = [0, 0, 0]
      for (let seed = 1; seed <= WORLDS; seed++) {
        const played = world(seed)
        const full = run(played, checkAll)
        const bounded = run(played, (watch) => watch)
        assert.deepStrictEqual(bounded.steps, full.steps, `seed ${seed}`)
        assert.strictEqual(bounded.hash, full.hash, `seed ${seed}`)
        liquidated += full.steps.flatMap(({ events }) =>
          events.filter(({ event }) => event?.$case === "liquidation_started")
        ).length
        few += bounded.checks
        all += full.checks
      }
      assert.isAbove(liquidated, 3 * WORLDS)
      assert.isBelow(few, all / 2)
    }
  )

  it("a threshold that is 5 % too wide is detected", { timeout: 60_000 }, () => {
    const found = [1, 2, 3, 4].some((seed) => {
      const played = world(seed)
      try {
        run(played, tooWide)
        return false
      } catch (error) {
        assert.match((error as Error).message, /maintenance margin|expected false to be true/)
        return true
      }
    })
    assert.isTrue(found)
  })
})
