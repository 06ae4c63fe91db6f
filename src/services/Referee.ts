/**
 * Port: the referee, which keeps accounts and judges risk. Only reads; all may be repeated.
 * Source: docs/contract/boundary.md#referee.
 */
import { Context, type Effect, Schema } from "effect"
import type { BalanceState } from "../domain/Account.ts"
import type { AdlAlert, InsurancePool } from "../domain/InsurancePool.ts"
import type { FeeRate, Prices, RiskTier } from "../domain/Market.ts"
import type { Portfolio } from "../domain/Portfolio.ts"
import type { PositionState } from "../domain/Position.ts"

/** Whether a leverage can be afforded: what position and orders of the market would bind, and what may be bound. */
export interface MarginPreview {
  readonly required: string
  readonly available: string
  readonly ok: boolean
}

/** The referee does not answer, or answered what the contract does not allow. */
export class RefereeUnavailable extends Schema.TaggedError<RefereeUnavailable>()("RefereeUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export class Referee extends Context.Service<
  Referee,
  {
    /** Balances and open positions of a sub-account. */
    readonly account: (sub_account_address: string) => Effect.Effect<
      {
        readonly balances: ReadonlyArray<BalanceState>
        readonly positions: ReadonlyArray<PositionState>
        readonly as_of_seq: number
      },
      RefereeUnavailable
    >
    /** Open positions of a user; with a symbol one record a sub-account, flat or not. */
    readonly positions: (query: {
      readonly user_id: string
      readonly sub_account_address: string | undefined
      readonly symbol: string | undefined
    }) => Effect.Effect<
      { readonly positions: ReadonlyArray<PositionState>; readonly as_of_seq: number },
      RefereeUnavailable
    >
    readonly portfolio: (
      user_id: string
    ) => Effect.Effect<{ readonly portfolio: Portfolio; readonly as_of_seq: number }, RefereeUnavailable>
    /** Prices of the named markets; none named: all. */
    readonly prices: (symbols: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Prices>, RefereeUnavailable>
    readonly riskTiers: Effect.Effect<ReadonlyArray<RiskTier>, RefereeUnavailable>
    /** What a leverage would ask for, if it were set now; it changes nothing. */
    readonly previewMargin: (query: {
      readonly sub_account_address: string
      readonly symbol: string
      readonly leverage: string
    }) => Effect.Effect<MarginPreview, RefereeUnavailable>
    /** The insurance pool of a market as it stands. */
    readonly pool: (symbol: string) => Effect.Effect<InsurancePool, RefereeUnavailable>
    readonly adlAlert: (symbol: string) => Effect.Effect<AdlAlert, RefereeUnavailable>
    readonly feeRates: (user_id: string) => Effect.Effect<ReadonlyArray<FeeRate>, RefereeUnavailable>
  }
>()("gateway/services/Referee") {}
