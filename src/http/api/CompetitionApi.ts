/**
 * /user/competitions. Source: specification, Competition placement; docs/contract/rest-user.md#competitions,
 * docs/contract/exchange.md#competition-scoring.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Competition, Placement } from "../../domain/Competition.ts"
import { CompetitionStatus } from "../../domain/Enumerations.ts"
import { field } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { NextPageCursor, page } from "../../domain/Page.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { AnySymbol, Cursor, limit, paging } from "./Fields.ts"
import { errors } from "./OperationErrors.ts"
import { BearerOrApiKey } from "./Security.ts"

const competitionsQuery = {
  status: Schema.optionalKey(CompetitionStatus),
  symbol: Schema.optionalKey(AnySymbol),
  ...paging
}
const leaderboardQuery = {
  limit: Schema.optionalKey(limit(100, 20)),
  cursor: Schema.optionalKey(Cursor)
}
const params = { competition_id: field(Uuid, "Competition id") }

export const exampleCompetition = {
  id: "018f3f1e-5d5b-4a00-8000-000000000009",
  slug: "winter",
  title: "Winter",
  description_md: "Trade **BTC-USDC** all winter.",
  start_time_ms: 1767225600000,
  end_time_ms: 1767484800000,
  prize_usdc: 10000,
  status: "active",
  symbol: "BTC-USDC",
  scoring: {
    metric: "volume",
    start_weight_bps: 10000,
    end_weight_bps: 5000,
    max_daily_contribution_bps: 3500,
    min_active_days: 2,
    min_daily_activity_units: 500,
    consistency_max_bonus_bps: 2000,
    consistency_target_days: 5,
    use_consistency_multiplier: true
  }
}
const placement = {
  active_days: 3,
  eligible: true,
  metric_value: "6000",
  projected_xp: "1000000",
  score: "4256",
  sub_account_address: "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be",
  rank: 1
}

export class CompetitionApi extends HttpApiGroup.make("competition")
  .add(
    HttpApiEndpoint.get("competitions", "/", {
      query: competitionsQuery,
      success: page(Competition),
      error: errors("SymbolNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getCompetitions",
        summary: "Competitions",
        description: "The latest start first; drafts are left out.",
        access: "read",
        response: { list: [exampleCompetition], next_page_cursor: "" }
      })
    ),
    HttpApiEndpoint.get("competition", "/:competition_id", {
      params,
      success: Competition,
      error: errors("CompetitionNotFound")
    }).annotateMerge(
      docs({
        id: "getCompetition",
        summary: "One competition",
        description: "By its id; a draft too.",
        access: "read",
        response: exampleCompetition
      })
    ),
    HttpApiEndpoint.get("placement", "/:competition_id/placement", {
      params,
      success: Schema.Struct({
        competition: field(Competition, "The competition"),
        data: field(Schema.Array(Placement), "Rows")
      }).annotate({
        identifier: "CompetitionPlacement"
      }),
      error: errors("CompetitionNotFound")
    }).annotateMerge(
      docs({
        id: "getPlacement",
        summary: "Your placement",
        description:
          "One entry for each own sub-account that has traded in it, by score descending; `[]` before the first trade. Scores follow a fill within seconds.",
        access: "read",
        response: { competition: exampleCompetition, data: [placement] }
      })
    ),
    HttpApiEndpoint.get("leaderboard", "/:competition_id/leaderboard", {
      params,
      query: leaderboardQuery,
      success: Schema.Struct({
        competition: field(Competition, "The competition"),
        data: field(Schema.Array(Placement), "Rows"),
        next_page_cursor: NextPageCursor
      }).annotate({ identifier: "Leaderboard" }),
      error: errors("CompetitionNotFound", "InvalidCursor")
    }).annotateMerge(
      docs({
        id: "getLeaderboard",
        summary: "Leaderboard",
        description: "Eligible entries of everybody, by rank.",
        access: "read",
        response: { competition: exampleCompetition, data: [placement], next_page_cursor: "" }
      })
    )
  )
  .prefix("/api/v1/user/competitions")
  .middleware(BearerOrApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Competitions", description: "Competitions and their rankings" })) {}
