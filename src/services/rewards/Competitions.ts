/**
 * Policy: management and display of competitions.
 * Source: docs/contract/rest-user.md#competitions, docs/contract/exchange.md#competition-scoring.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { type Competition, type CompetitionState, type Placement, statusAt } from "../../domain/Competition.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { CompetitionStatus } from "../../domain/Enumerations.ts"
import { LIMIT_DEFAULT } from "../../domain/Page.ts"
import { streamIdOf } from "../../domain/Projection.ts"
import type { Reason } from "../../domain/Reason.ts"
import { DAYS_MAX, projectedXp, type Scoring } from "../../domain/Scoring.ts"
import { DAY_MS } from "../../domain/Time.ts"
import { type Caller, mayAccess } from "../../domain/User.ts"
import { Accounts, type AccountsUnavailable } from "../identity/Accounts.ts"
import {
  type CompetitionKey,
  type CompetitionRecord,
  CompetitionStore,
  type CountedRow,
  type Entry,
  placeOf
} from "./CompetitionStore.ts"
import { Cursors } from "../operations/Cursors.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { Ids } from "../operations/Ids.ts"
import type { Page } from "../operations/Paging.ts"
import { MarketView } from "../markets/MarketView.ts"
import { unknownMarket, unknownOnceLoaded } from "../markets/UnknownMarket.ts"
import { DomainError } from "../DomainError.ts"
import type { Outpaced } from "./RewardStore.ts"

/** Attempts to change a draft that other administrators change at the same time. */
const TRIES_MAX = 5

/** Default page size of a leaderboard. */
export const LEADERBOARD_LIMIT = 20

/** Fields of a competition; in a change, only the changed ones. */
export interface CompetitionFields {
  readonly slug: string
  readonly title: string
  readonly description_md: string
  readonly start_time_ms: number
  readonly end_time_ms: number
  readonly prize_usdc: number
  readonly symbol?: string
  readonly scoring: Scoring
  readonly status?: CompetitionStatus
}

export interface CompetitionsRequest {
  readonly status?: CompetitionStatus
  readonly symbol?: string
  readonly limit?: number
  readonly cursor?: string
}

/** What a service of the competitions fails with beside its reasons. */
type CompetitionsFailure<R extends Reason> = DomainError<R> | AccountsUnavailable | HistoryUnavailable
/** Why the fields of a competition are refused. */
type FieldsReason = "BackendUnavailable" | "InvalidField" | "OutOfRange" | "SlugTaken" | "SymbolNotFound"

const notFound = new DomainError("CompetitionNotFound")
const slugTaken = new DomainError("SlugTaken", { field: "slug" })
const started = new DomainError(
  "CompetitionStarted",
  {},
  "only a draft can change; later only the description and cancellation"
)
const finalized = new DomainError("CompetitionStarted", {}, "it was canceled concurrently, or its prizes are granted")
const clocked = new DomainError(
  "InvalidField",
  { field: "status" },
  "expected draft, scheduled (publishes it) or cancelled; other states follow from the time"
)

const recordOf = (competition: Omit<CompetitionRecord, "revision">, now: number): Competition => ({
  id: competition.id,
  slug: competition.slug,
  title: competition.title,
  description_md: competition.description_md,
  start_time_ms: competition.start_time_ms,
  end_time_ms: competition.end_time_ms,
  prize_usdc: competition.prize_usdc,
  status: statusAt(competition, now),
  ...(competition.symbol === undefined ? {} : { symbol: competition.symbol }),
  scoring: competition.scoring
})

const printKey = ({ id, start_time_ms }: CompetitionKey): string => `${start_time_ms}.${id}`
const parseKey = (text: string): CompetitionKey => {
  const at = text.indexOf(".")
  return { start_time_ms: Number(text.slice(0, at)), id: text.slice(at + 1) }
}

/** The state for a requested status. */
const stateOf = (
  status: CompetitionStatus | undefined,
  before: CompetitionState
): CompetitionState | DomainError<"InvalidField"> => {
  switch (status) {
    case undefined:
      return before
    case "draft":
      return "draft"
    case "scheduled":
    case "active":
      return "published"
    case "cancelled":
      return "cancelled"
    case "ended":
    case "finalized":
      return clocked
  }
}

/** The error of invalid times of a competition. */
const wrongTimes = (
  { end_time_ms, start_time_ms, state }: Pick<CompetitionRecord, "end_time_ms" | "start_time_ms" | "state">,
  now: number
): DomainError<"OutOfRange"> | undefined => {
  const field = "end_time_ms"
  if (end_time_ms <= start_time_ms) {
    return new DomainError("OutOfRange", { field, min: start_time_ms + 1 }, "expected a time after start_time_ms")
  }
  if (end_time_ms - start_time_ms > DAYS_MAX * DAY_MS) {
    return new DomainError(
      "OutOfRange",
      { field, max: start_time_ms + DAYS_MAX * DAY_MS },
      `expected at most ${DAYS_MAX} days after start_time_ms`
    )
  }
  if (state === "published" && end_time_ms <= now) {
    return new DomainError(
      "OutOfRange",
      { field, min: now + 1 },
      "expected a time in the future, to publish the competition"
    )
  }
  return undefined
}

export class Competitions extends Context.Service<
  Competitions,
  {
    readonly list: (
      request: CompetitionsRequest
    ) => Effect.Effect<Page<Competition>, DomainError<"InvalidCursor" | "SymbolNotFound"> | AccountsUnavailable>
    /** Includes drafts. */
    readonly get: (id: string) => Effect.Effect<Competition, DomainError<"CompetitionNotFound"> | AccountsUnavailable>
    /** The caller's sub-accounts with trades, by descending score. */
    readonly placement: (
      caller: Caller,
      id: string
    ) => Effect.Effect<
      { readonly competition: Competition; readonly data: ReadonlyArray<Placement> },
      DomainError<"CompetitionNotFound"> | AccountsUnavailable
    >
    /** Eligible entries by rank. */
    readonly leaderboard: (
      id: string,
      request: { readonly limit?: number; readonly cursor?: string }
    ) => Effect.Effect<
      {
        readonly competition: Competition
        readonly data: ReadonlyArray<Placement>
        readonly next_page_cursor: string
      },
      DomainError<"CompetitionNotFound" | "InvalidCursor"> | AccountsUnavailable
    >
    readonly create: (fields: CompetitionFields) => Effect.Effect<Competition, CompetitionsFailure<FieldsReason>>
    readonly change: (
      id: string,
      fields: Partial<CompetitionFields>
    ) => Effect.Effect<
      Competition,
      CompetitionsFailure<FieldsReason | "CompetitionNotFound" | "CompetitionStarted"> | Outpaced
    >
  }
>()("gateway/services/Competitions") {
  static readonly layer: Layer.Layer<
    Competitions,
    never,
    Accounts | CompetitionStore | Cursors | History | Ids | MarketView
  > = Layer.effect(
    Competitions,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const cursors = yield* Cursors
      const history = yield* History
      const ids = yield* Ids
      const markets = yield* MarketView
      const store = yield* CompetitionStore

      const find = Effect.fnUntraced(function* (id: string) {
        return (yield* store.get(id)) ?? (yield* Effect.fail(notFound))
      })

      /** Placements of entries; `rankOf` is called for entries with a rank. */
      const placements = Effect.fnUntraced(function* (
        id: string,
        entries: ReadonlyArray<Entry>,
        rankOf: (place: string, at: number) => Effect.Effect<number, AccountsUnavailable>
      ) {
        const total = Decimal.parse((yield* store.tally(id)).eligible_total)
        const multipliers = new Map<string, number>()
        const multiplierOf = Effect.fnUntraced(function* ({ multiplier_bps, user_id }: Entry) {
          const known = multiplier_bps ?? multipliers.get(user_id)
          if (known !== undefined) return known
          const found = (yield* accounts.user(user_id))?.multiplier_bps ?? 10_000
          multipliers.set(user_id, found)
          return found
        })
        const data: Array<Placement> = []
        for (const [at, entry] of entries.entries()) {
          const { active_days, ineligible_reason, metric_value, score, sub_account_address } = entry
          const shown = { active_days, metric_value, score, sub_account_address }
          const place = placeOf(entry)
          if (place === undefined) {
            data.push({ ...shown, eligible: false, projected_xp: "0", ineligible_reason: ineligible_reason! })
            continue
          }
          const xp = projectedXp(Decimal.parse(score), total, yield* multiplierOf(entry))
          data.push({ ...shown, eligible: true, projected_xp: xp.toString(), rank: yield* rankOf(place, at) })
        }
        return data
      })

      /** Validates a competition, and returns the row from which its records are counted once it is published. */
      const checked = Effect.fnUntraced(function* (competition: Omit<CompetitionRecord, "revision">, now: number) {
        const wrong = wrongTimes(competition, now)
        if (wrong !== undefined) return yield* Effect.fail(wrong)
        const unknown = unknownMarket(markets, competition.symbol)
        if (unknown !== undefined) return yield* Effect.fail(unknown)
        const { at, value: last } = yield* history.momentAndPosition(history.lastExecution)
        const counted: CountedRow = {
          // no existing record can count for a later start
          counted_to: competition.start_time_ms > (at?.ts_ms ?? 0) ? last : 0,
          stream: at && streamIdOf(at)
        }
        return counted
      })

      /** Fails with Outpaced if another administrator changes the draft at the same time. */
      const changed = Effect.fnUntraced(function* (id: string, { status, ...fields }: Partial<CompetitionFields>) {
        const before = yield* find(id)
        const now = yield* Clock.currentTimeMillis
        const state = status === statusAt(before, now) ? before.state : stateOf(status, before.state)
        if (state instanceof DomainError) return yield* Effect.fail(state)
        const after: CompetitionRecord = { ...before, ...fields, state }
        const isDraft = before.state === "draft"
        if (!isDraft) {
          const same = (Object.keys(fields) as Array<keyof typeof fields>).every(
            (key) => key === "description_md" || JSON.stringify(fields[key]) === JSON.stringify(before[key])
          )
          if (!same || (state !== before.state && state !== "cancelled")) return yield* Effect.fail(started)
          if (state !== before.state && before.finalized_time !== undefined) return yield* Effect.fail(finalized)
        }
        yield* store.update(after, before.state, isDraft ? yield* checked(after, now) : undefined).pipe(
          Effect.catchTags({
            SlugTaken: () => Effect.fail(slugTaken),
            Outpaced: (outpaced) => {
              // another administrator changed the draft, which is read again
              if (isDraft) return Effect.fail(outpaced)
              // its state changed concurrently, or its prizes are being granted
              return Effect.fail(before.state === "published" ? finalized : started)
            }
          })
        )
        return recordOf(after, now)
      })

      return Competitions.of({
        list: Effect.fnUntraced(function* ({ cursor, limit = LIMIT_DEFAULT, status, symbol }) {
          const unknown = unknownOnceLoaded(markets, symbol)
          if (unknown !== undefined) return yield* Effect.fail(unknown)
          const list = { endpoint: "user/competitions", filters: [status, symbol] }
          const after = yield* cursors.read(list, cursor)
          const now = yield* Clock.currentTimeMillis
          const rows = yield* store.list({
            status,
            symbol,
            now,
            limit: limit + 1,
            after: after === undefined ? undefined : parseKey(after)
          })
          const page = cursors.page(list, rows, limit, printKey)
          return { ...page, list: page.list.map((competition) => recordOf(competition, now)) }
        }),
        get: Effect.fnUntraced(function* (id) {
          return recordOf(yield* find(id), yield* Clock.currentTimeMillis)
        }),
        placement: Effect.fnUntraced(function* (caller, id) {
          const competition = recordOf(yield* find(id), yield* Clock.currentTimeMillis)
          const own = (yield* store.entriesOf(id, caller.user_id))
            .filter(({ sub_account_address }) => mayAccess(caller, sub_account_address))
            .sort(
              (a, b) =>
                Decimal.compare(Decimal.parse(b.score), Decimal.parse(a.score)) ||
                ((placeOf(a) ?? "") < (placeOf(b) ?? "") ? -1 : 1)
            )
          // each rank continues from the previous one, so together they are one scan at most
          let rank = 1
          let from: string | undefined
          const data = yield* placements(id, own, (place) =>
            Effect.map(store.ahead(id, place, from), (between) => {
              from = place
              return (rank += between)
            })
          )
          return { competition, data }
        }),
        leaderboard: Effect.fnUntraced(function* (id, { cursor, limit = LEADERBOARD_LIMIT }) {
          const list = { endpoint: "user/competitions/leaderboard", filters: [id] }
          const after = yield* cursors.read(list, cursor)
          const competition = recordOf(yield* find(id), yield* Clock.currentTimeMillis)
          const rows = yield* store.ranked(id, after, limit + 1)
          const shown = rows.slice(0, limit)
          const first = shown[0]
          const ahead = first === undefined ? 0 : yield* store.ahead(id, placeOf(first)!)
          const data = yield* placements(id, shown, (_, at) => Effect.succeed(ahead + at + 1))
          const next = rows.length > limit ? placeOf(shown.at(-1)!) : undefined
          return { competition, data, next_page_cursor: cursors.print(list, next) }
        }),
        create: Effect.fnUntraced(function* ({ status, symbol, ...fields }) {
          const state = stateOf(status, "draft")
          if (state instanceof DomainError) return yield* Effect.fail(state)
          const now = yield* Clock.currentTimeMillis
          const competition = {
            id: yield* ids.uuid,
            ...fields,
            symbol,
            state,
            created_time: now,
            finalized_time: undefined
          }
          const counted = yield* checked(competition, now)
          yield* store.create(competition, counted).pipe(Effect.catchTag("SlugTaken", () => Effect.fail(slugTaken)))
          return recordOf(competition, now)
        }),
        change: (id, fields) =>
          Effect.retry(changed(id, fields), {
            times: TRIES_MAX - 1,
            while: (error) => error._tag === "Outpaced"
          })
      })
    })
  )
}
