/**
 * Policy: rewards are listed, and claimed once.
 *
 * The destination of a reward is stored before it is paid. The payment is one command with an id derived from the
 * reward, and only then is the reward marked as claimed. After a crash at any point, a repeated claim pays nothing
 * twice.
 * Source: docs/contract/rest-user.md#rewards, docs/contract/boundary.md#ground-rules,
 * docs/contract/exchange.md#referrals.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { RewardStatus } from "../../domain/Enumerations.ts"
import { LIMIT_DEFAULT } from "../../domain/Page.ts"
import type { Reward } from "../../domain/Reward.ts"
import type { Caller } from "../../domain/User.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import { Cursors } from "../operations/Cursors.ts"
import { type CommandFailure, type CommandReason, submit } from "../CommandReasons.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import { commandIdOf } from "../operations/Ids.ts"
import type { Page } from "../operations/Paging.ts"
import { DomainError } from "../DomainError.ts"
import { type RewardKey, type RewardRecord, RewardStore } from "./RewardStore.ts"
import { CommandRefused, Sequencer } from "../Sequencer.ts"
import { type ResolveFailure, SubAccounts } from "../identity/SubAccounts.ts"

const notFound = new DomainError("RewardNotFound")
const claimed = new DomainError("AlreadyClaimed")
const pending = new DomainError("RewardPending")

type ClaimFailure =
  | DomainError<UnhealthyReason | "AlreadyClaimed" | "RewardNotFound" | "RewardPending">
  | CommandRefused<Exclude<CommandReason<"credit">, "DuplicateRequestId">>
  | Exclude<CommandFailure<"credit">, CommandRefused>
  | ResolveFailure
  | AccountsUnavailable

export interface RewardsRequest {
  readonly status?: RewardStatus
  readonly limit?: number
  readonly cursor?: string
}

const recordOf = (reward: RewardRecord): Reward => ({
  reward_id: reward.reward_id,
  kind: reward.kind,
  asset: reward.asset,
  amount: reward.amount,
  status: reward.status,
  source_id: reward.source_id,
  created_time: reward.created_time,
  ...(reward.claimed_time === undefined ? {} : { claimed_time: reward.claimed_time })
})

const printKey = (key: RewardKey): string => `${key.created_time}.${key.reward_id}`
const parseKey = (text: string): RewardKey => {
  const at = text.indexOf(".")
  return { created_time: Number(text.slice(0, at)), reward_id: text.slice(at + 1) }
}

export class Rewards extends Context.Service<
  Rewards,
  {
    readonly list: (
      caller: Caller,
      request: RewardsRequest
    ) => Effect.Effect<Page<Reward>, DomainError<"InvalidCursor"> | AccountsUnavailable>
    /** Pays a reward to a sub-account of the caller. */
    readonly claim: (
      caller: Caller,
      reward_id: string,
      sub_account_address: string
    ) => Effect.Effect<Reward, ClaimFailure>
  }
>()("gateway/services/Rewards") {
  static readonly layer: Layer.Layer<
    Rewards,
    never,
    Cursors | BackendAvailability | RewardStore | Sequencer | SubAccounts
  > = Layer.effect(
    Rewards,
    Effect.gen(function* () {
      const cursors = yield* Cursors
      const availability = yield* BackendAvailability
      const sequencer = yield* Sequencer
      const store = yield* RewardStore
      const subAccounts = yield* SubAccounts

      return Rewards.of({
        list: Effect.fnUntraced(function* (caller, { status, limit = LIMIT_DEFAULT, cursor }) {
          const list = { endpoint: "user/rewards", filters: [caller.user_id, status] }
          const after = yield* cursors.read(list, cursor)
          const rows = yield* store.list({
            user_id: caller.user_id,
            status,
            limit: limit + 1,
            after: after === undefined ? undefined : parseKey(after)
          })
          const page = cursors.page(list, rows, limit, printKey)
          return { ...page, list: page.list.map(recordOf) }
        }),
        claim: Effect.fnUntraced(function* (caller, reward_id, sub_account_address) {
          const { user_id } = caller
          const reward = yield* store.get(user_id, reward_id)
          if (reward === undefined) return yield* Effect.fail(notFound)
          yield* subAccounts.resolve(caller, sub_account_address)
          if (reward.status === "claimed") return yield* Effect.fail(claimed)
          if (reward.status === "pending") return yield* Effect.fail(pending)
          yield* availability.sequencer
          const paid_to = yield* store.direct(reward_id, sub_account_address)
          const now = yield* Clock.currentTimeMillis
          yield* submit(sequencer, {
            command_id: commandIdOf("credit", user_id, reward_id),
            user_id,
            sub_account_address: paid_to,
            body: { type: "credit", reward_id, asset: reward.asset, amount: reward.amount }
          }).pipe(
            Effect.catchTag("CommandRefused", ({ details, message, reason }): Effect.Effect<never, ClaimFailure> =>
              // paid before, to its earlier destination; otherwise nothing was paid, and another claim may use
              // another destination
              reason === "DuplicateRequestId"
                ? Effect.andThen(store.claim(reward_id, paid_to, now), Effect.fail(claimed))
                : Effect.andThen(
                    store.undirect(reward_id, paid_to),
                    Effect.fail(new CommandRefused({ reason, message, details }))
                  )
            )
          )
          if (!(yield* store.claim(reward_id, paid_to, now))) return yield* Effect.fail(claimed)
          return recordOf({ ...reward, status: "claimed", claimed_time: now })
        })
      })
    })
  )
}
