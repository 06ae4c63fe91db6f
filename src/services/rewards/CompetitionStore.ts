/**
 * Port: competitions, and the entries that are counted for them.
 *
 * Guarantee: slugs are unique; entries and the place up to which they are counted change in one transaction, and only by
 * who saw the last change, so that every record counts once on all gateways that share the store.
 * Source: docs/contract/rest-user.md#competitions, docs/contract/boundary.md#ownership,
 * docs/contract/exchange.md#competition-scoring.
 */
import { Context, type Effect, Schema } from "effect"
import type { CompetitionState } from "../../domain/Competition.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { CompetitionStatus, IneligibleReason } from "../../domain/Enumerations.ts"
import type { Scoring } from "../../domain/Scoring.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import type { Outpaced } from "./RewardStore.ts"

/** Another competition has this slug. */
export class SlugTaken extends Schema.TaggedError<SlugTaken>()("SlugTaken", {}) {}

export interface CompetitionRecord {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly description_md: string
  /** Unix ms. */
  readonly start_time_ms: number
  readonly end_time_ms: number
  readonly prize_usdc: number
  readonly symbol: string | undefined
  readonly scoring: Scoring
  readonly state: CompetitionState
  readonly created_time: number
  readonly finalized_time: number | undefined
}

/** How far a competition is counted. */
export interface Tally {
  /** Counts the changes. */
  readonly revision: number
  /** Id of the last row of the history that was looked at. */
  readonly counted_to: number
  /** Sum of the scores of eligible entries, decimal text. */
  readonly eligible_total: string
}

/** What one day counts for. */
export interface DayUnits {
  readonly day: number
  /** Decimal text, above 0. */
  readonly units: string
  /** Time of its last contribution, Unix ms. */
  readonly last_time: number
}

export interface Entry {
  readonly sub_account_address: string
  readonly user_id: string
  /** By day, ascending; days that count nothing are left out. */
  readonly days: ReadonlyArray<DayUnits>
  /** Time of the last contribution, Unix ms. */
  readonly last_time: number
  readonly active_days: number
  readonly metric_value: string
  readonly score: string
  readonly ineligible_reason: IneligibleReason | undefined
  /** Of the activation; fixed when the competition is finalized. */
  readonly multiplier_bps: number | undefined
}

/** Digits that every score fits. */
const SCORE_DIGITS = 60
const SCORE_TOP = 10n ** BigInt(SCORE_DIGITS)

/**
 * Text that orders eligible entries by rank: by score, then earlier last contribution, then address. `undefined`: no rank.
 */
export const placeOf = (entry: Entry): string | undefined => {
  if (entry.ineligible_reason !== undefined) return undefined
  const behind = (SCORE_TOP - Decimal.parse(entry.score)).toString().padStart(SCORE_DIGITS + 1, "0")
  return `${behind}.${String(entry.last_time).padStart(16, "0")}.${entry.sub_account_address}`
}

/** Place of a competition in the list: the latest start first. */
export interface CompetitionKey {
  readonly start_time_ms: number
  readonly id: string
}

type Answer<A, E = never> = Effect.Effect<A, E | AccountsUnavailable>

export class CompetitionStore extends Context.Service<
  CompetitionStore,
  {
    /** `counted_to`: rows up to there are none of its records. */
    readonly create: (competition: CompetitionRecord, counted_to: number) => Answer<void, SlugTaken>
    /**
     * Writes everything but id, creation and finalization, as long as its state is `was`. The state stays once its
     * settlement has begun.
     */
    readonly update: (competition: CompetitionRecord, was: CompetitionState) => Answer<void, SlugTaken | Outpaced>
    readonly get: (id: string) => Answer<CompetitionRecord | undefined>
    /** All but drafts, latest start first. */
    readonly list: (query: {
      readonly status: CompetitionStatus | undefined
      readonly symbol: string | undefined
      readonly now: number
      readonly limit: number
      readonly after: CompetitionKey | undefined
    }) => Answer<ReadonlyArray<CompetitionRecord>>
    /** Published ones that have begun and are not finalized. */
    readonly running: (now: number) => Answer<ReadonlyArray<CompetitionRecord>>

    readonly tally: (id: string) => Answer<Tally>
    readonly entries: (id: string, addresses: ReadonlyArray<string>) => Answer<ReadonlyArray<Entry>>
    readonly entriesOf: (id: string, user_id: string) => Answer<ReadonlyArray<Entry>>
    /** Every entry, by address, after one. */
    readonly walk: (id: string, after: string, limit: number) => Answer<ReadonlyArray<Entry>>
    /** Entries with a rank, the first first, after a place. */
    readonly ranked: (id: string, after: string | undefined, limit: number) => Answer<ReadonlyArray<Entry>>
    /** How many entries stand before a place: all, or those from another place on. It looks at each of them. */
    readonly ahead: (id: string, place: string, from?: string) => Answer<number>
    /** Writes entries and the tally that they lead to, if its revision is the next one. */
    readonly advance: (id: string, tally: Tally, entries: ReadonlyArray<Entry>) => Answer<void, Outpaced>
    /** Begins the settlement of a published competition, or goes on with it; `false`: it was canceled before. */
    readonly settle: (id: string) => Answer<boolean>
    readonly finalize: (id: string, finalized_time: number) => Answer<void>
  }
>()("gateway/services/CompetitionStore") {}
