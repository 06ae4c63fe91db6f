/**
 * Competitions, their status over time, and the placement of a sub-account.
 * Source: docs/contract/rest-user.md#competitions.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal } from "./Decimal.ts"
import { CompetitionStatus, IneligibleReason } from "./Enumerations.ts"
import { Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { Scoring } from "./Scoring.ts"
import { HOUR_MS, Millis } from "./Time.ts"

/** Time between the end of a competition and its settlement; records that arrive in between still count. */
export const FINALIZED_AFTER_MS = HOUR_MS

export const Competition = Schema.Struct({
  id: Uuid,
  slug: Schema.String.annotate({ description: "Name in addresses of pages, unique", examples: ["winter"] }),
  title: Schema.String,
  description_md: Schema.String.annotate({ description: "Markdown" }),
  start_time_ms: Millis,
  end_time_ms: Millis,
  prize_usdc: Schema.Int.annotate({ description: "Whole USDC that eligible entries share by score" }),
  status: CompetitionStatus,
  symbol: Schema.optionalKey(MarketSymbol.annotate({ description: "The one market that counts; absent: all" })),
  scoring: Scoring
}).annotate({ identifier: "Competition" })
export type Competition = typeof Competition.Type

export const Placement = Schema.Struct({
  active_days: Schema.Int,
  eligible: Schema.Boolean,
  metric_value: Decimal.annotate({ description: "Units of the metric over all days" }),
  projected_xp: Schema.String.annotate({
    description: "Share of 1,000,000 by score, times the activation's multiplier; whole digits"
  }),
  score: Decimal,
  sub_account_address: Address,
  ineligible_reason: Schema.optionalKey(IneligibleReason),
  rank: Schema.optionalKey(Schema.Int.annotate({ description: "From 1; only eligible entries have one" }))
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
