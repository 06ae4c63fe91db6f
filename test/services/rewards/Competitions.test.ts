import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Instrument } from "../../../src/domain/Market.ts"
import { MarketView } from "../../../src/services/markets/MarketView.ts"
import { Cursors } from "../../../src/services/operations/Cursors.ts"
import { type CompetitionFields, Competitions } from "../../../src/services/rewards/Competitions.ts"
import { instrument, START, symbol } from "../../../verification/harness/Records.ts"
import * as Ids from "../../doubles/Ids.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import { signingKeys } from "../../doubles/Wallets.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"

const fields: CompetitionFields = {
  slug: "winter",
  title: "Winter",
  description_md: "…",
  start_time_ms: START,
  end_time_ms: START + 1,
  prize_usdc: 0,
  symbol,
  scoring: {
    metric: "volume",
    start_weight_bps: 10_000,
    end_weight_bps: 10_000,
    max_daily_contribution_bps: 0,
    min_active_days: 1,
    min_daily_activity_units: 0,
    consistency_max_bonus_bps: 0,
    consistency_target_days: 1,
    use_consistency_multiplier: false
  },
  status: "scheduled"
}

/** A gateway whose markets a test loads. */
const world = () => {
  const markets: Array<Instrument> = []
  const clock = stillClock(START - 1)
  const layer = Competitions.layer.pipe(
    Layer.provide([
      SqliteStores.accounts,
      SqliteStores.competitions,
      SqliteStores.history,
      Cursors.layer.pipe(Layer.provide(signingKeys(1))),
      Ids.layer,
      Layer.mock(MarketView)({
        instrument: (name: string) => markets.find((each) => each.symbol === name),
        instruments: () => markets
      } as never)
    ]),
    Layer.provideMerge(clock.layer)
  )
  return { markets, layer }
}

describe("competitions of a market", () => {
  it.effect("are listed for a market that exists, and for any market before the markets are loaded", () => {
    const { layer, markets } = world()
    return Effect.gen(function* () {
      const { create, list } = yield* Competitions
      const slugs = (of?: string) =>
        Effect.map(list({ ...(of !== undefined && { symbol: of }) }), (page) => page.list.map(({ slug }) => slug))
      assert.deepStrictEqual(yield* slugs("NO-SUCH"), [])
      markets.push(instrument())
      yield* create(fields)
      assert.deepStrictEqual(yield* slugs(), ["winter"])
      assert.deepStrictEqual(yield* slugs(symbol), ["winter"])
      assert.deepInclude(yield* Effect.flip(slugs("NO-SUCH")), {
        reason: "SymbolNotFound",
        details: { field: "symbol" }
      })
    }).pipe(Effect.provide(Layer.fresh(layer)))
  })
})
