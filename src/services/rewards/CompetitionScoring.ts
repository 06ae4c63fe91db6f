/**
 * Policy: scores running competitions, and settles those that are over.
 *
 * One fiber follows the executions of the history. For each user with new executions the affected day is read again,
 * so a score is a function of the records alone. Repeated counting changes nothing, and work left by a crash or
 * another gateway is resumed. After a rebuild of the read model, whose rows have other ids, everything is counted again.
 * A competition is finalized an hour after its end, and not before all its records are counted: multipliers are fixed and
 * the prize is granted as rewards.
 * Source: docs/contract/rest-user.md#competitions, docs/contract/exchange.md#competition-scoring.
 */
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { FINALIZED_AFTER_MS } from "../../domain/Competition.ts"
import * as Decimal from "../../domain/Decimal.ts"
import { rewardIdOf } from "../../domain/Reward.ts"
import { daysOf, ineligible, prizeShare, roiUnits, scoreOf } from "../../domain/Scoring.ts"
import { streamIdOf } from "../../domain/Projection.ts"
import { DAY_MS } from "../../domain/Time.ts"
import { Accounts, type AccountsUnavailable } from "../identity/Accounts.ts"
import { BanList } from "../identity/BanList.ts"
import { type CompetitionRecord, CompetitionStore, type DayUnits, type Entry } from "./CompetitionStore.ts"
import { History, type HistoryUnavailable, type PastExecution } from "../History.ts"
import { type DayFigures, TradingStatistics } from "../read-model/TradingStatistics.ts"
import { type NewReward, type Outpaced, RewardStore } from "./RewardStore.ts"

/** Executions per step. */
const STEP_ROWS = 1_000
/** Users per read of a day. */
const USERS_READ = 64
/** Entries per step of a settlement. */
const STEP_ENTRIES = 500
/** Pause after everything is counted; the maximum staleness of a score. */
const PAUSE = "5 seconds"
/** Attempts of a change that another gateway preempted. */
const TRIES_MAX = 5
/** Multiplier of a wallet without activation. */
const MULTIPLIER_BPS = 10_000

export type ScoringFailure = AccountsUnavailable | HistoryUnavailable | Outpaced

/** Units of a day under the metric of the competition. */
const unitsOf = ({ scoring }: CompetitionRecord, figures: DayFigures): Decimal.Scaled => {
  switch (scoring.metric) {
    case "volume":
      return Decimal.parse(figures.volume)
    case "realized_pnl":
      return Decimal.max(0n, Decimal.parse(figures.closed_pnl))
    case "roi":
      return roiUnits(Decimal.parse(figures.closed_pnl), Decimal.parse(figures.equity!))
  }
}

const eligibleSum = (entries: Iterable<Entry>): Decimal.Scaled => {
  let sum = 0n
  for (const { ineligible_reason, score } of entries) {
    if (ineligible_reason === undefined) sum += Decimal.parse(score)
  }
  return sum
}

export class CompetitionScoring extends Context.Service<
  CompetitionScoring,
  {
    /** Counts the executions in the history, and settles the competitions that are due. */
    readonly count: Effect.Effect<void, ScoringFailure>
    /** Evaluates a user's entries again; entries of banned users are excluded. */
    readonly judge: (user_id: string) => Effect.Effect<void, ScoringFailure>
  }
>()("gateway/services/CompetitionScoring") {
  static readonly layer: Layer.Layer<
    CompetitionScoring,
    never,
    Accounts | BanList | CompetitionStore | History | TradingStatistics | RewardStore
  > = Layer.effect(
    CompetitionScoring,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const bans = yield* BanList
      const store = yield* CompetitionStore
      const history = yield* History
      const statistics = yield* TradingStatistics
      const rewards = yield* RewardStore
      // counting, evaluating and settling change the same sums
      const alone = Semaphore.makeUnsafe(1).withPermits(1)

      /** An entry with its score and eligibility. */
      const scored = (
        competition: CompetitionRecord,
        { sub_account_address, user_id, days }: Pick<Entry, "sub_account_address" | "user_id" | "days">
      ): Entry => {
        const units = new Map(days.map(({ day, units: text }) => [day, Decimal.parse(text)] as const))
        const length = daysOf(competition.start_time_ms, competition.end_time_ms)
        const { active_days, metric_value, score } = scoreOf(competition.scoring, units, length)
        return {
          sub_account_address,
          user_id,
          days,
          last_time: days.reduce((last, day) => Math.max(last, day.last_time), 0),
          active_days,
          metric_value: Decimal.format(metric_value),
          score: Decimal.format(score),
          ineligible_reason: bans.isBanned(user_id) ? "excluded" : ineligible(competition.scoring, active_days),
          multiplier_bps: undefined
        }
      }

      /** Figures of the users of some executions, on the days of these executions. */
      const figuresOf = Effect.fnUntraced(function* (
        { end_time_ms, scoring, start_time_ms, symbol }: CompetitionRecord,
        rows: ReadonlyArray<PastExecution>
      ) {
        const traders = new Map<number, Set<string>>()
        for (const { execution, user_id } of rows) {
          const at = Number(execution.exec_time)
          if (at < start_time_ms || at >= end_time_ms) continue
          if (symbol !== undefined && execution.symbol !== symbol) continue
          const day = Math.floor((at - start_time_ms) / DAY_MS)
          const users = traders.get(day)
          if (users === undefined) traders.set(day, new Set([user_id]))
          else users.add(user_id)
        }
        const found: Array<DayFigures> = []
        for (const [day, users] of traders) {
          const start = start_time_ms + day * DAY_MS
          const end = Math.min(start + DAY_MS, end_time_ms)
          const all = [...users]
          for (let at = 0; at < all.length; at += USERS_READ) {
            const user_ids = all.slice(at, at + USERS_READ)
            const query = { user_ids, symbol, start, end, equity: scoring.metric === "roi" }
            for (const one of yield* statistics.days(query)) found.push({ ...one, day })
          }
        }
        return found
      })

      /** Entries before and after some days were read again. */
      const changed = Effect.fnUntraced(function* (competition: CompetitionRecord, figures: ReadonlyArray<DayFigures>) {
        const addresses = [...new Set(figures.map(({ sub_account_address }) => sub_account_address))]
        const before = new Map(
          (yield* store.entries(competition.id, addresses)).map((entry) => [entry.sub_account_address, entry] as const)
        )
        const days = new Map<string, { readonly user_id: string; readonly days: Map<number, DayUnits> }>()
        for (const one of figures) {
          const { day, last_fill: last_time, sub_account_address: address, user_id } = one
          const entry = days.get(address) ?? {
            user_id,
            days: new Map(before.get(address)?.days.map((known) => [known.day, known] as const))
          }
          days.set(address, entry)
          const units = unitsOf(competition, one)
          if (units > 0n) entry.days.set(day, { day, units: Decimal.format(units), last_time })
          else entry.days.delete(day)
        }
        const after = [...days].map(([sub_account_address, entry]) =>
          scored(competition, {
            sub_account_address,
            user_id: entry.user_id,
            days: [...entry.days.values()]
          })
        )
        return { before: [...before.values()], after }
      })

      /** Counts one step. Returns the time up to which everything is counted, `undefined` if rows remain. */
      const step = Effect.fnUntraced(function* (competition: CompetitionRecord) {
        const tally = yield* store.tally(competition.id)
        if (tally.settling) return competition.end_time_ms
        // of one moment: the rows are of the stream of the position, and include every execution up to it
        const { at: position, value: rows } = yield* history.momentAndPosition(
          history.executionsAfter(tally.counted_to, STEP_ROWS)
        )
        if (position === undefined) return 0
        const stream = streamIdOf(position)
        if (tally.stream !== stream) {
          yield* store.startOver(competition.id, tally.revision, stream)
          return undefined
        }
        const last = rows.at(-1)
        if (last === undefined) return position.ts_ms
        const { after, before } = yield* changed(competition, yield* figuresOf(competition, rows))
        const total = Decimal.parse(tally.eligible_total) - eligibleSum(before) + eligibleSum(after)
        yield* store.advance(
          competition.id,
          { ...tally, revision: tally.revision + 1, counted_to: last.id, eligible_total: Decimal.format(total) },
          after
        )
        const reached = Number(last.execution.exec_time)
        if (reached >= competition.end_time_ms) return reached
        return rows.length < STEP_ROWS ? position.ts_ms : undefined
      })

      /** Fixes the multipliers and grants the prize. May be interrupted and repeated anywhere with the same result. */
      const settle = Effect.fnUntraced(function* (competition: CompetitionRecord, now: number) {
        const { id, prize_usdc } = competition
        const prize = BigInt(prize_usdc) * Decimal.ONE
        // from here on it cannot be canceled: grants are final
        if (!(yield* store.settle(id))) return
        let after = ""
        for (;;) {
          const tally = yield* store.tally(id)
          const entries = yield* store.walk(id, after, STEP_ENTRIES)
          const total = Decimal.parse(tally.eligible_total)
          const granted: Array<NewReward> = []
          const fixed: Array<Entry> = []
          for (const entry of entries) {
            const user = yield* accounts.user(entry.user_id)
            fixed.push({ ...entry, multiplier_bps: user?.multiplier_bps ?? MULTIPLIER_BPS })
            if (entry.ineligible_reason !== undefined) continue
            const amount = prizeShare(prize, Decimal.parse(entry.score), total)
            if (amount === 0n) continue
            granted.push({
              reward_id: rewardIdOf("competition", entry.sub_account_address, id),
              user_id: entry.user_id,
              kind: "competition",
              asset: "USDC",
              amount: Decimal.format(amount),
              source_id: id,
              created_time: now,
              due_time: now
            })
          }
          yield* store.advance(id, { ...tally, revision: tally.revision + 1 }, fixed)
          yield* rewards.grant(granted)
          if (entries.length < STEP_ENTRIES) break
          after = entries.at(-1)!.sub_account_address
          yield* Effect.yieldNow
        }
        yield* store.finalize(id, now)
      })

      const countOne = Effect.fnUntraced(function* (competition: CompetitionRecord, now: number) {
        let through: number | undefined
        while ((through = yield* alone(step(competition))) === undefined) yield* Effect.yieldNow
        const { end_time_ms } = competition
        if (now >= end_time_ms + FINALIZED_AFTER_MS && through >= end_time_ms) yield* alone(settle(competition, now))
      })

      const count = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        for (const competition of yield* store.running(now)) yield* countOne(competition, now)
      })

      const judgeIn = Effect.fnUntraced(function* (competition: CompetitionRecord, user_id: string) {
        // read before the entries: a change of them that follows is noticed by its revision
        const tally = yield* store.tally(competition.id)
        if (tally.settling) return
        const before = yield* store.entriesOf(competition.id, user_id)
        if (before.length === 0) return
        const after = before.map((entry) => scored(competition, entry))
        const total = Decimal.parse(tally.eligible_total) - eligibleSum(before) + eligibleSum(after)
        yield* store.advance(
          competition.id,
          { ...tally, revision: tally.revision + 1, eligible_total: Decimal.format(total) },
          after
        )
      })

      yield* count.pipe(
        Effect.catchTags({
          // another gateway is ahead and does the work
          Outpaced: () => Effect.void,
          AccountsUnavailable: (error) => Effect.logWarning("competitions not counted", error),
          HistoryUnavailable: (error) => Effect.logWarning("competitions not counted", error)
        }),
        Effect.andThen(Effect.sleep(PAUSE)),
        Effect.forever,
        Effect.forkScoped
      )
      return CompetitionScoring.of({
        count,
        judge: Effect.fnUntraced(function* (user_id) {
          for (const competition of yield* store.running(yield* Clock.currentTimeMillis)) {
            yield* alone(judgeIn(competition, user_id)).pipe(
              Effect.retry({ times: TRIES_MAX, while: (error) => error._tag === "Outpaced" })
            )
          }
        })
      })
    })
  )
}
