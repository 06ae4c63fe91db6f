/**
 * Port: the referee, which keeps accounts and evaluates risk. All calls are reads and may be repeated.
 * Source: docs/contract/boundary.md#referee.
 */
import { Context, type Effect, Schema } from "effect"
import type { BalanceState } from "../domain/Account.ts"
import type { Interval } from "../domain/Enumerations.ts"
import type { AdlAlert, InsurancePool } from "../domain/InsurancePool.ts"
import type { Candle, FeeRate, Prices, RiskTier } from "../domain/Market.ts"
import type { Portfolio } from "../domain/Portfolio.ts"
import type { PositionState } from "../domain/Position.ts"

/**
 * Margin check of a leverage: the margin that position and orders of the market would need, and the available margin.
 */
export interface MarginPreview {
  readonly required: string
  readonly available: string
  readonly ok: boolean
}

/** The referee does not respond. */
export class RefereeUnavailable extends Schema.TaggedError<RefereeUnavailable>()("RefereeUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "BackendUnavailable"
}
/** The referee fails, does not have the call, or its response violates the contract. */
export class RefereeFault extends Schema.TaggedError<RefereeFault>()("RefereeFault", {
  cause: Schema.optionalKey(Schema.Defect())
}) {
  readonly reason = "InternalError"
}
export type RefereeError = RefereeUnavailable | RefereeFault

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
      RefereeError
    >
    /** Open positions of a user; with a symbol one record per sub-account, including flat ones. */
    readonly positions: (query: {
      readonly user_id: string
      readonly sub_account_address: string | undefined
      readonly symbol: string | undefined
    }) => Effect.Effect<{ readonly positions: ReadonlyArray<PositionState>; readonly as_of_seq: number }, RefereeError>
    readonly portfolio: (
      user_id: string
    ) => Effect.Effect<{ readonly portfolio: Portfolio; readonly as_of_seq: number }, RefereeError>
    /** Prices of the given markets; an empty list means all. */
    readonly prices: (symbols: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Prices>, RefereeError>
    readonly riskTiers: Effect.Effect<ReadonlyArray<RiskTier>, RefereeError>
    /** Margin that a leverage would need now; changes nothing. */
    readonly previewMargin: (query: {
      readonly sub_account_address: string
      readonly symbol: string
      readonly leverage: string
    }) => Effect.Effect<MarginPreview, RefereeError>
    /** The current insurance pool of a market. */
    readonly pool: (symbol: string) => Effect.Effect<InsurancePool, RefereeError>
    readonly adlAlert: (symbol: string) => Effect.Effect<AdlAlert, RefereeError>
    /** Closed candles of the index price before the event stream began, newest first, starting in [start, end). */
    readonly indexCandles: (query: {
      readonly symbol: string
      readonly interval: Interval
      readonly start: number
      readonly end: number
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Candle>, RefereeError>
    readonly feeRates: (user_id: string) => Effect.Effect<ReadonlyArray<FeeRate>, RefereeError>
  }
>()("gateway/services/Referee") {}
