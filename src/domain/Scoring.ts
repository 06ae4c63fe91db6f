/**
 * Scoring of competitions: from daily units to score, eligibility and XP. All arithmetic is in integers of 18 places,
 * and every step is truncated toward zero. The multiplier is an exact fraction.
 * Source: docs/contract/exchange.md#competition-scoring.
 */
import { Schema } from "effect"
import { type Scaled, divide, min, mulDiv, ONE } from "./Decimal.ts"
import { CompetitionMetric, type IneligibleReason } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { DAY_MS } from "./Time.ts"

const atMost = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** Longest competition, in days. */
export const DAYS_MAX = 366

export const Scoring = Schema.Struct({
  metric: CompetitionMetric,
  start_weight_bps: measure(atMost(100_000), "Weight of the first day", "basis points"),
  end_weight_bps: measure(atMost(100_000), "Weight of the last day; linear in between", "basis points"),
  max_daily_contribution_bps: measure(
    atMost(10_000),
    "Maximum share of one day in the total; 0: no cap",
    "basis points"
  ),
  min_active_days: measure(atMost(DAYS_MAX), "Active days that a rank needs; at least one", "days"),
  min_daily_activity_units: measure(
    atMost(1_000_000_000_000),
    "Activity that makes a day active",
    "units of the metric"
  ),
  consistency_max_bonus_bps: measure(atMost(100_000), "Bonus at the target of active days", "basis points"),
  consistency_target_days: measure(atMost(DAYS_MAX), "Active days that earn the whole bonus; 0: always", "days"),
  use_consistency_multiplier: field(Schema.Boolean, "Whether active days earn a bonus")
}).annotate({ identifier: "Scoring" })
export type Scoring = typeof Scoring.Type
/** The parameters of the formulas, which do not depend on the metric. */
export type Weights = Omit<Scoring, "metric">

/** XP shared by all eligible entries. */
const XP_TOTAL = 1_000_000n
const BPS = 10_000n

/** Number of days of a time range; the last one may be shorter. */
export const daysOf = (start_time_ms: number, end_time_ms: number): number =>
  Math.ceil((end_time_ms - start_time_ms) / DAY_MS)

/** Weight of day `d` of `days`, in 1/10000. */
export const weightOf = (weights: Weights, d: number, days: number): bigint => {
  const start = BigInt(weights.start_weight_bps)
  return days === 1 ? start : start + ((BigInt(weights.end_weight_bps) - start) * BigInt(d)) / BigInt(days - 1)
}

/** The contribution of each active day, weighted and then capped. `units` holds the days with activity. */
export const contributionsOf = (
  weights: Weights,
  units: ReadonlyMap<number, Scaled>,
  days: number
): ReadonlyMap<number, { readonly whole: Scaled; readonly capped: Scaled }> => {
  const whole = [...units].map(([d, u]) => [d, divide(u * weightOf(weights, d, days), BPS, "toward-zero")] as const)
  const sum = whole.reduce((total, [, c]) => total + c, 0n)
  const cap = divide(sum * BigInt(weights.max_daily_contribution_bps), BPS, "toward-zero")
  return new Map(
    whole.map(([d, c]) => [d, { whole: c, capped: weights.max_daily_contribution_bps === 0 ? c : min(c, cap) }])
  )
}

export interface Score {
  readonly active_days: number
  /** Sum of all units. */
  readonly metric_value: Scaled
  readonly score: Scaled
}

/** The score of one entry. `units` by day, none of them negative. */
export const scoreOf = (weights: Weights, units: ReadonlyMap<number, Scaled>, days: number): Score => {
  const least = BigInt(weights.min_daily_activity_units) * ONE
  let active_days = 0
  let metric_value = 0n
  for (const u of units.values()) {
    metric_value += u
    if (u > 0n && u >= least) active_days++
  }
  let sum = 0n
  for (const { capped } of contributionsOf(weights, units, days).values()) sum += capped
  if (!weights.use_consistency_multiplier) return { active_days, metric_value, score: sum }
  const target = BigInt(weights.consistency_target_days)
  const bonus = BigInt(weights.consistency_max_bonus_bps)
  // 1 + bonus/10000 × min(1, active/target), as one fraction
  const [over, under] =
    target === 0n ? [BPS + bonus, BPS] : [BPS * target + bonus * min(BigInt(active_days), target), BPS * target]
  return { active_days, metric_value, score: divide(sum * over, under, "toward-zero") }
}

/** Why a score has no rank; `undefined` if it has one. */
export const ineligible = (weights: Weights, active_days: number): IneligibleReason | undefined => {
  if (active_days >= Math.max(1, weights.min_active_days)) return undefined
  return active_days === 0 ? "no_activity" : "min_active_days"
}

/** XP of an eligible score. `multiplier_bps` is the multiplier of the wallet's activation. */
export const projectedXp = (score: Scaled, eligibleTotal: Scaled, multiplier_bps: number): bigint =>
  eligibleTotal === 0n ? 0n : (((XP_TOTAL * score) / eligibleTotal) * BigInt(multiplier_bps)) / BPS

/** The share of a prize for a score, truncated at 18 places. The shares never exceed the prize. */
export const prizeShare = (prize: Scaled, score: Scaled, eligibleTotal: Scaled): Scaled =>
  eligibleTotal === 0n ? 0n : mulDiv(prize, score, eligibleTotal, "toward-zero")

/**
 * Daily units of the metric `roi`: basis points of the equity at the start of the day; 0 for a loss or an empty
 * account.
 */
export const roiUnits = (realised: Scaled, equity: Scaled): Scaled =>
  realised <= 0n || equity <= 0n ? 0n : mulDiv(realised, BPS * ONE, equity, "toward-zero")
