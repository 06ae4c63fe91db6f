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
import { streamIdOf } from "../../domain/Projection.ts"
import type { Accounts, AccountsUnavailable } from "../identity/Accounts.ts"
import type { BanList } from "../identity/BanList.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import * as Daemon from "../operations/Daemon.ts"
import type { TradingStatistics } from "../read-model/TradingStatistics.ts"
import * as CompetitionEntries from "./CompetitionEntries.ts"
import { eligibleSum } from "./CompetitionEntries.ts"
import * as CompetitionSettlement from "./CompetitionSettlement.ts"
import { type CompetitionRecord, CompetitionStore } from "./CompetitionStore.ts"
import type { Outpaced, RewardStore } from "./RewardStore.ts"

/** Executions per step. */
const STEP_ROWS = 1_000
/** Pause after everything is counted; the maximum staleness of a score. */
const PAUSE = "5 seconds"
/** Attempts of a change that another gateway preempted. */
const TRIES_MAX = 5

export type ScoringFailure = AccountsUnavailable | HistoryUnavailable | Outpaced

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
      const store = yield* CompetitionStore
      const history = yield* History
      const { changed, scored } = yield* CompetitionEntries.make
      const settle = yield* CompetitionSettlement.make
      // counting, evaluating and settling change the same sums
      const alone = Semaphore.makeUnsafe(1).withPermits(1)

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
        const { after, before } = yield* changed(competition, rows)
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

      const countOne = Effect.fnUntraced(function* (competition: CompetitionRecord, now: number) {
        let through: number | undefined
        while ((through = yield* alone(step(competition))) === undefined) yield* Effect.yieldNow
        const { end_time_ms } = competition
        if (now >= end_time_ms + FINALIZED_AFTER_MS && through >= end_time_ms) yield* alone(settle(competition, now))
      })

      const count = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // one that fails does not keep the others from being counted
        const [, [failure]] = yield* Effect.partition(yield* store.running(now), (each) => countOne(each, now))
        if (failure !== undefined) return yield* Effect.fail(failure)
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
        Daemon.repeat("competitions")
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
