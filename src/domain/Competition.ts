/**
 * Competitions, their status over time, and the placement of a sub-account.
 * Source: docs/contract/rest-user.md#competitions.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal } from "./Decimal.ts"
import { CompetitionStatus, IneligibleReason } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { Scoring } from "./Scoring.ts"
import { HOUR_MS, Millis } from "./Time.ts"

/** Time between the end of a competition and its settlement; records that arrive in between still count. */
export const FINALIZED_AFTER_MS = HOUR_MS

export const Competition = Schema.Struct({
  id: field(Uuid, "Permanent id"),
  slug: field(Schema.String, "Name in URLs, unique", "winter"),
  title: field(Schema.String, "Title"),
  description_md: field(Schema.String, "Markdown"),
  start_time_ms: field(Millis, "Start, inclusive"),
  end_time_ms: field(Millis, "End, exclusive"),
  prize_usdc: measure(Schema.Int, "Whole USDC that eligible entries share by score", "USDC"),
  status: CompetitionStatus,
  symbol: Schema.optionalKey(field(MarketSymbol, "Market that counts; absent: all")),
  scoring: field(Scoring, "Scoring of the entries")
}).annotate({ identifier: "Competition" })
export type Competition = typeof Competition.Type

export const Placement = Schema.Struct({
  active_days: measure(Schema.Int, "Days with enough activity", "days"),
  eligible: field(Schema.Boolean, "Whether the entry counts"),
  metric_value: measure(Decimal, "Units of the metric over all days", "units of the metric"),
  projected_xp: measure(
    Schema.String,
    "Share of 1,000,000 by score, times the activation's multiplier; whole digits",
    "points"
  ),
  score: measure(Decimal, "Score", "points"),
  sub_account_address: field(Address, "Sub-account"),
  ineligible_reason: Schema.optionalKey(IneligibleReason),
  rank: Schema.optionalKey(measure(Schema.Int, "Rank, from 1; only eligible entries have one", "position"))
}).annotate({ identifier: "Placement" })
export type Placement = typeof Placement.Type

/** State set by the administrator; the rest of the status follows from the time. */
export type CompetitionState = "draft" | "published" | "cancelled"

/** Status of a competition at a time. `finalized`: placements are frozen and prizes are granted. */
export const statusAt = (
  competition: {
    readonly state: CompetitionState
    readonly start_time_ms: number
    readonly end_time_ms: number
    readonly finalized_time: number | undefined
  },
  now: number
): CompetitionStatus => {
  if (competition.state !== "published") return competition.state
  if (competition.finalized_time !== undefined) return "finalized"
  if (now < competition.start_time_ms) return "scheduled"
  return now < competition.end_time_ms ? "active" : "ended"
}
