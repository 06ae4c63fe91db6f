/**
 * Policy: rewards of referrers. One fiber follows the executions of the history, each once, and adds a tenth of every
 * taker fee to the referrer's reward of that day (UTC). The reward can be claimed after the day.
 *
 * Rewards are a function of the executions and the referrals, so a restart or another gateway resumes where this one
 * stopped. After a rebuild of the read model, whose rows have other ids, pending rewards are counted again. The reward of
 * a day that is over is final.
 * Source: docs/contract/exchange.md#referrals.
 */
import { Context, Effect, Layer } from "effect"
import * as Decimal from "../../domain/Decimal.ts"
import { referralShare, rewardIdOf } from "../../domain/Reward.ts"
import { streamIdOf } from "../../domain/Projection.ts"
import { DAY_MS, iso } from "../../domain/Time.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import { History, type HistoryUnavailable, type PastExecution } from "../History.ts"
import * as Daemon from "../operations/Daemon.ts"
import { ReferralStore } from "./ReferralStore.ts"
import { isOtherStream, type NewReward, type Outpaced, RewardStore } from "./RewardStore.ts"

/** Executions per step. */
const STEP_ROWS = 1_000
/** Pause after the last execution was looked at. */
const PAUSE = "5 seconds"
const SOURCE = "referral" as const
const ASSET = "USDC"

export class ReferralFees extends Context.Service<
  ReferralFees,
  {
    /** Counts the executions in the history. */
    readonly count: Effect.Effect<void, AccountsUnavailable | HistoryUnavailable | Outpaced>
  }
>()("gateway/services/ReferralFees") {
  static readonly layer: Layer.Layer<ReferralFees, never, History | ReferralStore | RewardStore> = Layer.effect(
    ReferralFees,
    Effect.gen(function* () {
      const history = yield* History
      const referrals = yield* ReferralStore
      const rewards = yield* RewardStore

      /** The rewards earned by some executions. Those of days that end by `through` are final. */
      const earned = Effect.fnUntraced(function* (rows: ReadonlyArray<PastExecution>, through: number) {
        const paying = rows.flatMap(({ user_id, execution }) => {
          const share = referralShare(execution)
          return share === 0n ? [] : [{ user_id, share, at: Number(execution.exec_time) }]
        })
        const referrers = yield* referrals.referrers([...new Set(paying.map(({ user_id }) => user_id))])
        const sums = new Map<string, { readonly reward: Omit<NewReward, "amount">; amount: bigint }>()
        for (const { user_id, share, at } of paying) {
          const referrer = referrers.get(user_id)
          if (referrer === undefined || at < referrer.since) continue
          const day = at - (at % DAY_MS)
          if (day + DAY_MS <= through) continue
          const source_id = iso(day).slice(0, 10)
          const reward_id = rewardIdOf("referral", referrer.referrer_id, source_id)
          const known = sums.get(reward_id)
          if (known !== undefined) known.amount += share
          else {
            const reward = {
              reward_id,
              user_id: referrer.referrer_id,
              kind: SOURCE,
              asset: ASSET,
              source_id,
              // the time of its first fee: the referrer's account is older, but may be newer than the start of the
              // day
              created_time: at,
              due_time: day + DAY_MS
            }
            sums.set(reward_id, { reward, amount: share })
          }
        }
        return [...sums.values()].map(({ reward, amount }) => ({ ...reward, amount: Decimal.format(amount) }))
      })

      const count = Effect.gen(function* () {
        for (;;) {
          const from = yield* rewards.counted(SOURCE)
          // of one moment: the rows are of the stream of the position, and include every execution up to it
          const read = yield* history.moment(
            Effect.gen(function* () {
              const position = yield* history.position
              if (position === undefined) return undefined
              const stream = streamIdOf(position)
              const after = isOtherStream(from, { stream }) ? 0 : from.to
              return { after, stream, ts_ms: position.ts_ms, rows: yield* history.executionsAfter(after, STEP_ROWS) }
            })
          )
          if (read === undefined) return
          const { after, rows, stream, ts_ms } = read
          const last = rows.at(-1)
          const full = rows.length === STEP_ROWS
          const through = full ? Number(last!.execution.exec_time) : ts_ms
          const to = { to: last?.id ?? after, through: Math.max(from.through, through), stream }
          // without executions the position is written once a day, not with every price
          const dayOver = Math.floor(to.through / DAY_MS) > Math.floor(from.through / DAY_MS)
          if (last !== undefined || dayOver || stream !== from.stream)
            yield* rewards.accrue(SOURCE, from, to, yield* earned(rows, from.through))
          if (!full) return
          yield* Effect.yieldNow
        }
      })
      yield* count.pipe(
        Effect.catchTags({
          Outpaced: () => Effect.void,
          AccountsUnavailable: (error) => Effect.logWarning("referral fees not counted", error),
          HistoryUnavailable: (error) => Effect.logWarning("referral fees not counted", error)
        }),
        Effect.andThen(Effect.sleep(PAUSE)),
        Daemon.repeat("referral fees")
      )
      return ReferralFees.of({ count })
    })
  )
}
