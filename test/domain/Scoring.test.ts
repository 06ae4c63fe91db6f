import { assert, describe, it } from "vitest"
import { statusAt } from "../../src/domain/Competition.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import {
  contributionsOf,
  daysOf,
  ineligible,
  prizeShare,
  projectedXp,
  roiUnits,
  scoreOf,
  weightOf,
  type Weights
} from "../../src/domain/Scoring.ts"
import { DAY_MS } from "../../src/domain/Time.ts"
import { vectors } from "../vectors.ts"

interface Case {
  readonly name: string
  readonly input: {
    readonly scoring: Weights
    readonly entrants: ReadonlyArray<{
      readonly address: string
      readonly units: ReadonlyArray<string>
      readonly multiplier_bps: number
    }>
  }
  readonly output: ReadonlyArray<Record<string, unknown>>
}
const file = vectors("exchange-math.json") as { readonly scoring: ReadonlyArray<Case> }

const dayMap = (units: ReadonlyArray<string>) => new Map(units.map((u, d) => [d, Decimal.parse(u)] as const))
const d = Decimal.parse

/** The whole computation of a vector, in its words. */
const standings = ({ scoring, entrants }: Case["input"]) => {
  const scored = entrants.map((entrant) => {
    const units = dayMap(entrant.units)
    const score = scoreOf(scoring, units, entrant.units.length)
    return { entrant, units, ...score, reason: ineligible(scoring, score.active_days) }
  })
  const eligible = scored.filter(({ reason }) => reason === undefined).sort((a, b) => (b.score > a.score ? 1 : -1))
  const total = eligible.reduce((sum, { score }) => sum + score, 0n)
  return scored.map((one) => {
    const { entrant, units, reason } = one
    const days = entrant.units.length
    const parts = contributionsOf(scoring, units, days)
    return {
      address: entrant.address,
      weights: entrant.units.map((_, i) => Number(weightOf(scoring, i, days))),
      contributions: entrant.units.map((_, i) => Decimal.format(parts.get(i)!.whole)),
      capped: entrant.units.map((_, i) => Decimal.format(parts.get(i)!.capped)),
      active_days: one.active_days,
      metric_value: Decimal.format(one.metric_value),
      score: Decimal.format(one.score),
      eligible: reason === undefined,
      projected_xp: reason === undefined ? projectedXp(one.score, total, entrant.multiplier_bps).toString() : "0",
      ...(reason === undefined ? { rank: eligible.indexOf(one) + 1 } : { ineligible_reason: reason })
    }
  })
}

describe("the scores of the vectors", () => {
  for (const { name, input, output } of file.scoring) {
    it(name, () => {
      assert.deepStrictEqual<unknown>(standings(input), output)
    })
  }
})

const plain: Weights = {
  start_weight_bps: 10_000,
  end_weight_bps: 5_000,
  max_daily_contribution_bps: 3_500,
  min_active_days: 2,
  min_daily_activity_units: 500,
  consistency_max_bonus_bps: 2_000,
  consistency_target_days: 5,
  use_consistency_multiplier: true
}

describe("scoring", () => {
  it("scores the worked example", () => {
    assert.deepStrictEqual(scoreOf(plain, dayMap(["1000", "2000", "3000"]), 3), {
      active_days: 3,
      metric_value: d("6000"),
      score: d("4256")
    })
  })
  it("needs no entry for a day without activity", () => {
    const sparse = new Map([[2, d("3000")]])
    assert.deepStrictEqual(scoreOf(plain, sparse, 3), scoreOf(plain, dayMap(["0", "0", "3000"]), 3))
  })
  it("keeps the multiplier an exact fraction", () => {
    const weights = { ...plain, start_weight_bps: 10_000, max_daily_contribution_bps: 0, consistency_target_days: 3 }
    // 1 + 0.2 × 1/3 = 16/15: rounded to a decimal first, 1.5 would score less than 1.6
    assert.strictEqual(Decimal.format(scoreOf(weights, new Map([[0, d("1500")]]), 3).score), "1600")
  })
  it("truncates what does not fit 18 places", () => {
    const weights = {
      ...plain,
      start_weight_bps: 3_333,
      max_daily_contribution_bps: 0,
      use_consistency_multiplier: false
    }
    assert.strictEqual(Decimal.format(scoreOf(weights, new Map([[0, 1n]]), 1).score), "0")
    assert.strictEqual(Decimal.format(scoreOf(weights, new Map([[0, 7n]]), 1).score), "0.000000000000000002")
  })
  it("does not take a day below the least activity for an active one, but counts its units", () => {
    const { active_days, metric_value } = scoreOf(plain, dayMap(["499.999999999999999999", "500"]), 2)
    assert.strictEqual(active_days, 1)
    assert.strictEqual(Decimal.format(metric_value), "999.999999999999999999")
  })
  it("requires one active day even if the parameter is 0", () => {
    const weights = { ...plain, min_active_days: 0 }
    assert.strictEqual(ineligible(weights, 0), "no_activity")
    assert.isUndefined(ineligible(weights, 1))
    assert.strictEqual(ineligible(plain, 1), "min_active_days")
  })
  it("scales XP by the multiplier after its first truncation", () => {
    // a third of a million is 333333; 1.25 times that is 416666.25
    assert.strictEqual(projectedXp(d("1"), d("3"), 12_500), 416_666n)
    assert.strictEqual(projectedXp(d("1"), 0n, 12_500), 0n)
  })
  it("never shares out more than the prize", () => {
    const scores = [d("1"), d("1"), d("1")]
    const shares = scores.map((score) => prizeShare(d("10000"), score, d("3")))
    assert.strictEqual(Decimal.format(shares[0]!), "3333.333333333333333333")
    assert.isAtMost(Number(shares.reduce((a, b) => a + b, 0n) - d("10000")), 0)
  })
  it("counts roi in basis points of the day's first equity, and nothing below 0", () => {
    assert.strictEqual(Decimal.format(roiUnits(d("50"), d("2000"))), "250")
    assert.strictEqual(roiUnits(d("-50"), d("2000")), 0n)
    assert.strictEqual(roiUnits(d("50"), 0n), 0n)
  })
  it("has one day for a span of up to 24 hours", () => {
    assert.deepStrictEqual(
      [1, DAY_MS, DAY_MS + 1].map((span) => daysOf(0, span)),
      [1, 1, 2]
    )
  })
})

describe("the clock of a competition", () => {
  const published = { state: "published", start_time_ms: 100, end_time_ms: 200, finalized_time: undefined } as const
  it("moves a published one from scheduled to ended", () => {
    const seen = [99, 100, 199, 200, 10 ** 9].map((now) => statusAt(published, now))
    assert.deepStrictEqual(seen, ["scheduled", "active", "active", "ended", "ended"])
  })
  it("is finalized once the placements are frozen; drafts and cancelled ones are unchanged", () => {
    assert.strictEqual(statusAt({ ...published, finalized_time: 300 }, 400), "finalized")
    assert.strictEqual(statusAt({ ...published, state: "draft" }, 150), "draft")
    assert.strictEqual(statusAt({ ...published, state: "cancelled" }, 150), "cancelled")
  })
})
