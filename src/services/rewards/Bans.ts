/**
 * Policy: bans of wallets.
 *
 * A ban is first recorded, every credential of the user is refused and its sockets are closed. Then its keys are
 * revoked, its orders canceled and its entries in running competitions excluded. After a failure in between, the same
 * call completes the ban. Orders are canceled and entries evaluated a second time, when no request that any gateway
 * accepted earlier can still be in progress, and none counts fills without the ban.
 * Source: docs/contract/rest-user.md#bans.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { userIdOf } from "../../domain/Address.ts"
import { Accounts, type AccountsUnavailable } from "../identity/Accounts.ts"
import { ApiKeys } from "../identity/ApiKeys.ts"
import { BanList } from "../identity/BanList.ts"
import { LEASE_MS } from "../identity/CredentialLease.ts"
import { Grants } from "../identity/Grants.ts"
import type { HistoryUnavailable } from "../History.ts"
import { Ids } from "../operations/Ids.ts"
import { DomainError } from "../DomainError.ts"
import { CompetitionScoring, type ScoringFailure } from "./CompetitionScoring.ts"
import {
  cancelOfAll,
  type CommandRefused,
  type ReadError,
  Sequencer,
  SequencerFault,
  type SubmitError
} from "../Sequencer.ts"

export type BansFailure =
  | DomainError<"WalletNotFound">
  | AccountsUnavailable
  | HistoryUnavailable
  | ScoringFailure
  | Exclude<SubmitError, CommandRefused>
  | ReadError

/**
 * Time within which an accepted command may still be sequenced. Source: docs/contract/boundary.md#sequencer, #errors.
 */
const IN_FLIGHT = "5 seconds"
/**
 * Time after which a banned user's last order is sequenced: the leases of other gateways have ended, and their commands
 * too.
 */
export const LAST_ORDER_AFTER = Duration.sum(Duration.millis(LEASE_MS), Duration.fromInputUnsafe(IN_FLIGHT))

/** Repetitions of what fails then, as while the backend or the database is away: for an hour. */
const REPEAT = { schedule: Schedule.spaced("10 seconds"), times: 360 }

const unknownWallet = new DomainError("WalletNotFound")

export class Bans extends Context.Service<
  Bans,
  {
    readonly ban: (root_address: string, reason: string) => Effect.Effect<void, BansFailure>
    /** Lifts a ban. Revoked credentials remain revoked. */
    readonly lift: (root_address: string) => Effect.Effect<void, BansFailure>
  }
>()("gateway/services/Bans") {
  static readonly layer: Layer.Layer<
    Bans,
    never,
    Accounts | ApiKeys | BanList | Grants | Ids | CompetitionScoring | Sequencer
  > = Layer.effect(
    Bans,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const apiKeys = yield* ApiKeys
      const bans = yield* BanList
      const grants = yield* Grants
      const ids = yield* Ids
      const scores = yield* CompetitionScoring
      const sequencer = yield* Sequencer
      const scope = yield* Effect.scope

      const userOf = Effect.fnUntraced(function* (root_address: string) {
        const user = yield* accounts.user(userIdOf(root_address))
        return user ?? (yield* Effect.fail(unknownWallet))
      })

      const revokeKeys = Effect.fnUntraced(function* (user_id: string) {
        for (const { api_key_id } of yield* apiKeys.list(user_id)) {
          yield* apiKeys.revoke(user_id, api_key_id).pipe(
            // revoked concurrently
            Effect.catchTag("ApiKeyRefused", () => Effect.void)
          )
        }
      })

      const cancelOrders = Effect.fnUntraced(function* (user_id: string) {
        for (const { deleted, sub_account_address } of yield* sequencer.subAccounts(user_id)) {
          if (deleted) continue
          yield* sequencer
            .submit({
              command_id: yield* ids.uuid,
              user_id,
              sub_account_address,
              body: cancelOfAll("CancelByAdmin")
            })
            .pipe(
              Effect.catchTag("CommandRefused", (refused) =>
                // deleted concurrently; a cancellation of all orders can be refused for no other reason
                refused.reason === "SubAccountNotFound"
                  ? Effect.void
                  : Effect.fail(new SequencerFault({ cause: new Error(refused.reason) }))
              )
            )
        }
      })

      /** Repeats, once every gateway has the change, what one of them may have undone before. */
      const repeatLater = (user_id: string) => {
        const orders = Effect.suspend(() => (bans.isBanned(user_id) ? cancelOrders(user_id) : Effect.void))
        const reported = <E>(work: Effect.Effect<void, E>, failure: string) =>
          work.pipe(
            Effect.tapError((error) => Effect.logWarning(failure, error)),
            Effect.retry(REPEAT),
            Effect.catchCause((cause) => Effect.logError(`${failure}: given up`, cause))
          )
        return Effect.all(
          [
            reported(orders, "orders of a banned user not canceled again"),
            reported(scores.judge(user_id), "scores not evaluated after a ban")
          ],
          { concurrency: 2 }
        ).pipe(Effect.delay(LAST_ORDER_AFTER), Effect.forkIn(scope))
      }

      return Bans.of({
        ban: Effect.fnUntraced(function* (root_address, reason) {
          const { user_id } = yield* userOf(root_address)
          const changed_time = yield* Clock.currentTimeMillis
          yield* bans.put({ root_address, user_id, banned: true, reason, changed_time })
          // keys and orders in creation are created by now, and are ended with the others
          yield* grants.settled(user_id)
          yield* revokeKeys(user_id)
          yield* cancelOrders(user_id)
          yield* repeatLater(user_id)
          yield* scores.judge(user_id)
        }),
        lift: Effect.fnUntraced(function* (root_address) {
          const { user_id } = yield* userOf(root_address)
          const known = yield* bans.stored(root_address)
          if (known?.banned !== true) return
          // a key that another gateway created while the ban was set
          yield* revokeKeys(user_id)
          yield* bans.put({ ...known, banned: false, changed_time: yield* Clock.currentTimeMillis })
          yield* repeatLater(user_id)
          yield* scores.judge(user_id)
        })
      })
    })
  )
}
