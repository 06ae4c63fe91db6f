/**
 * Port: competitions and their entries.
 *
 * Guarantee: slugs are unique. Entries and the position up to which they are counted change in one transaction, and
 * only if the caller has seen the last change. So every record counts once over all gateways that share the store.
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
  /** Number of changes of its tally, and of its draft. */
  readonly revision: number
}

/** Progress of the counting of a competition. */
export interface Tally {
  /** The one of the competition. */
  readonly revision: number
  /** Id of the last counted row of the history, in `stream`. */
  readonly counted_to: number
  /** Identity of the stream from which the rows were written; absent before the first event. */
  readonly stream: string | undefined
  /** Sum of the scores of eligible entries, decimal text. */
  readonly eligible_total: string
  /** Whether the prize is being granted, by these scores: they no longer change. */
  readonly settling: boolean
}

/** A row of the history up to which records are counted. */
export type CountedRow = Pick<Tally, "counted_to" | "stream">

/** The units of one day. */
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
  /** Ascending by day; days without units are omitted. */
  readonly days: ReadonlyArray<DayUnits>
  /** Time of the last contribution, Unix ms. */
  readonly last_time: number
  readonly active_days: number
  readonly metric_value: string
  readonly score: string
  readonly ineligible_reason: IneligibleReason | undefined
  /** Multiplier of the activation; fixed when the competition is finalized. */
  readonly multiplier_bps: number | undefined
}

/** Digits that suffice for every score. */
const SCORE_DIGITS = 60
const SCORE_TOP = 10n ** BigInt(SCORE_DIGITS)

/** Sort key of eligible entries by rank: score, then earlier last contribution, then address. `undefined`: no rank. */
export const placeOf = (entry: Entry): string | undefined => {
  if (entry.ineligible_reason !== undefined) return undefined
  const behind = (SCORE_TOP - Decimal.parse(entry.score)).toString().padStart(SCORE_DIGITS + 1, "0")
  return `${behind}.${String(entry.last_time).padStart(16, "0")}.${entry.sub_account_address}`
}

/** Sort key of a competition: the latest start first. */
export interface CompetitionKey {
  readonly start_time_ms: number
  readonly id: string
}

type Result<A, E = never> = Effect.Effect<A, E | AccountsUnavailable>

export class CompetitionStore extends Context.Service<
  CompetitionStore,
  {
    /** Rows up to `counted` do not belong to the competition. */
    readonly create: (competition: Omit<CompetitionRecord, "revision">, counted: CountedRow) => Result<void, SlugTaken>
    /**
     * Writes all fields except id, creation and finalization, if its state is `was`. The state cannot change once its
     * settlement has begun. A draft is written with `counted`, if it has the revision, and gets the next one.
     */
    readonly update: (
      competition: CompetitionRecord,
      was: CompetitionState,
      counted?: CountedRow
    ) => Result<void, SlugTaken | Outpaced>
    readonly get: (id: string) => Result<CompetitionRecord | undefined>
    /** All except drafts, latest start first. */
    readonly list: (query: {
      readonly status: CompetitionStatus | undefined
      readonly symbol: string | undefined
      readonly now: number
      readonly limit: number
      readonly after: CompetitionKey | undefined
    }) => Result<ReadonlyArray<CompetitionRecord>>
    /** Published competitions that have started and are not finalized. */
    readonly running: (now: number) => Result<ReadonlyArray<CompetitionRecord>>

    readonly tally: (id: string) => Result<Tally>
    readonly entries: (id: string, addresses: ReadonlyArray<string>) => Result<ReadonlyArray<Entry>>
    readonly entriesOf: (id: string, user_id: string) => Result<ReadonlyArray<Entry>>
    /** Entries ordered by address, after an address. */
    readonly walk: (id: string, after: string, limit: number) => Result<ReadonlyArray<Entry>>
    /** Entries with a rank, in order of rank, after a place. */
    readonly ranked: (id: string, after: string | undefined, limit: number) => Result<ReadonlyArray<Entry>>
    /** Number of entries before a place: all, or those from another place on. The cost is linear in the result. */
    readonly ahead: (id: string, place: string, from?: string) => Result<number>
    /** Writes entries and their resulting tally, except `settling`, if its revision is the next one. */
    readonly advance: (id: string, tally: Tally, entries: ReadonlyArray<Entry>) => Result<void, Outpaced>
    /** Deletes all entries, to count again from the first row of a stream, if the tally has `revision`. */
    readonly startOver: (id: string, revision: number, stream: string) => Result<void, Outpaced>
    /**
     * Starts or resumes the settlement of a published competition; `false` if it was canceled before. The start is a
     * change of the tally.
     */
    readonly settle: (id: string) => Result<boolean>
    readonly finalize: (id: string, finalized_time: number) => Result<void>
  }
>()("gateway/services/CompetitionStore") {}
