/**
 * Policy: snapshots of a user's private topics, joined to the numbering of the user stream.
 *
 * Guarantee: a snapshot includes every event up to its `seq`. It may include a few later ones, which is harmless
 * because events carry whole records. A replay is complete or absent. It is read once the history holds what was
 * shown to the user, and is unavailable if that takes longer than a second.
 * Source: docs/contract/websocket.md#resume.
 */
import { Context, Duration, Effect, Layer, Schema } from "effect"
import type { Balance } from "../../domain/Account.ts"
import type { OrderStatus } from "../../domain/Enumerations.ts"
import type { Order } from "../../domain/Order.ts"
import type { RowKey, Rows } from "../../domain/Page.ts"
import type { Position } from "../../domain/Position.ts"
import type { PrivateTopic } from "../../domain/Topic.ts"
import { BackendHealth, type LinkState } from "../operations/BackendHealth.ts"
import { History, HistoryUnavailable, type UserEvent } from "../History.ts"
import { type Shown, WrittenHistory } from "./WrittenHistory.ts"
import * as LastRecords from "./LastRecords.ts"
import type { Failure, Records } from "./LastRecords.ts"
import { UserStreams } from "./UserStreams.ts"

/** A dependency of the snapshot does not respond, or is behind the data that the gateway has already sent. */
export class SnapshotUnavailable extends Schema.TaggedError<SnapshotUnavailable>()("SnapshotUnavailable", {
  reason: Schema.Literals(["BackendUnavailable", "BackendLagging"]),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Snapshot {
  readonly stream_id: string
  readonly seq: number
  readonly list: ReadonlyArray<Order | Position | Balance>
}

/** Rows per read. */
const PAGE = 500
/** Attempts to read a list between two events. */
const READS_MAX = 3
/** Longest wait for the events of a resumed position that another gateway, or the last process, has shown. */
const SHOWN_WAIT = Duration.seconds(1)
/** Most events in a replay; beyond that, clients start from snapshots. */
export const REPLAY_MAX = 20_000

const OPEN: ReadonlyArray<OrderStatus> = ["New", "PartiallyFilled", "Untriggered", "CancelRequested"]

export class UserSnapshots extends Context.Service<
  UserSnapshots,
  {
    /** The records of a topic: open orders, open positions or all balances; none for executions. */
    readonly take: (
      user_id: string,
      topic: PrivateTopic,
      sub_accounts: ReadonlySet<string> | undefined
    ) => Effect.Effect<Snapshot, SnapshotUnavailable>
    /**
     * All events of the user after a position, oldest first; `undefined` if the position belongs to another stream,
     * was never reached, is no longer retained, or has more than {@link REPLAY_MAX} events after it. Fails while this
     * gateway catches up and has not reached it.
     */
    readonly replay: (
      user_id: string,
      since: { readonly stream_id: string; readonly seq: number }
    ) => Effect.Effect<ReadonlyArray<UserEvent> | undefined, SnapshotUnavailable>
  }
>()("gateway/services/UserSnapshots") {
  static readonly layer = Layer.effect(
    UserSnapshots,
    Effect.gen(function* () {
      const history = yield* History
      const records = yield* LastRecords.make
      const streams = yield* UserStreams
      const written = yield* WrittenHistory
      const health = yield* BackendHealth

      /** Waits until the history holds what was shown to a user. */
      const holdsShown = (user_id: string): Effect.Effect<void, HistoryUnavailable> =>
        Effect.flatMap(written.user(user_id), (held) => (held ? Effect.void : new HistoryUnavailable({})))
      /** Waits until this gateway has shown an event of a user; false: not within {@link SHOWN_WAIT}. */
      const shown = (user_id: string, seq: number): Effect.Effect<boolean> =>
        Effect.callback<void>((resume) => {
          const done = () => streams.head(user_id) >= seq
          if (done()) return resume(Effect.void)
          const leave = streams.follow(user_id, () => {
            if (!done()) return
            leave()
            resume(Effect.void)
          })
          return Effect.sync(leave)
        }).pipe(
          Effect.timeoutOption(SHOWN_WAIT),
          Effect.map(() => streams.head(user_id) >= seq)
        )

      /** Rows of a read that contains all that was shown before it. */
      const complete = <A extends { readonly isComplete: boolean }, E>(read: Effect.Effect<A, E>) =>
        Effect.filterOrFail(
          read,
          ({ isComplete }) => isComplete,
          () => new HistoryUnavailable({})
        )

      const openOrders = Effect.fnUntraced(function* (
        user_id: string,
        sub_accounts: ReadonlyArray<string> | undefined
      ): Effect.fn.Return<ReadonlyArray<Order>, HistoryUnavailable> {
        const rows: Array<Order> = []
        let after: RowKey | undefined = undefined
        do {
          const page: Shown<Rows<Order>> = yield* complete(
            written.openOrders({
              user_id,
              sub_accounts,
              symbol: undefined,
              start_time: undefined,
              end_time: undefined,
              limit: PAGE,
              after,
              order_id: undefined,
              order_link_id: undefined,
              statuses: OPEN
            })
          )
          rows.push(...page.rows.rows)
          after = page.rows.next
        } while (after !== undefined)
        return rows
      })

      const orders = Effect.fnUntraced(function* (user_id: string, sub_accounts: ReadonlySet<string> | undefined) {
        const named = sub_accounts === undefined ? undefined : [...sub_accounts]
        for (let reads = 1; ; reads++) {
          const seq = streams.head(user_id)
          const stream_id = streams.streamId()
          const list = yield* openOrders(user_id, named)
          // without a concurrent event, the list is exactly that of this position
          if ((streams.head(user_id) === seq && streams.streamId() === stream_id) || reads === READS_MAX) {
            return { stream_id, seq, list }
          }
        }
      })

      const balances = Effect.fnUntraced(function* (user_id: string) {
        const owned = (yield* history.subAccounts(user_id)).filter(({ deleted }) => !deleted)
        return yield* records.balances(
          user_id,
          owned.map(({ sub_account_address }) => sub_account_address)
        )
      })

      /** The last records of a topic; they include every event up to `seq`. */
      const lastRecords = Effect.fnUntraced(function* (
        user_id: string,
        topic: "position" | "account_balance",
        sub_accounts: ReadonlySet<string> | undefined
      ): Effect.fn.Return<Snapshot, Failure> {
        const seq = streams.head(user_id)
        const stream_id = streams.streamId()
        const read: Effect.Effect<Records<Position | Balance>, Failure> = topic === "position"
          ? records.open(user_id)
          : balances(user_id)
        const { records: all } = yield* complete(read)
        const list = all.filter(
          ({ sub_account_address }) => sub_accounts === undefined || sub_accounts.has(sub_account_address)
        )
        return { stream_id, seq, list }
      })

      /** Why nothing can be read that needs a backend; undefined: it is well. */
      const faultOf = (link: LinkState): SnapshotUnavailable | undefined => {
        if (!link.unhealthy) return undefined
        const isLate = link.connected && link.fault !== "stalled"
        return new SnapshotUnavailable({ reason: isLate ? "BackendLagging" : "BackendUnavailable" })
      }
      const unavailable = <A>(read: Effect.Effect<A, Failure>): Effect.Effect<A, SnapshotUnavailable> =>
        Effect.mapError(
          read,
          (cause) =>
            new SnapshotUnavailable({
              reason: cause._tag === "RecordsBehind" ? "BackendLagging" : "BackendUnavailable",
              cause
            })
        )

      return UserSnapshots.of({
        take: (user_id, topic, sub_accounts) =>
          Effect.suspend(() => {
            const needsReferee = topic === "position" || topic === "account_balance"
            const fault = faultOf(needsReferee ? health.referee() : health.sequencer())
            if (fault !== undefined) return fault
            if (topic === "execution") {
              return Effect.succeed({ stream_id: streams.streamId(), seq: streams.head(user_id), list: [] })
            }
            return unavailable(
              topic === "order" ? orders(user_id, sub_accounts) : lastRecords(user_id, topic, sub_accounts)
            )
          }),
        replay: Effect.fnUntraced(function* (user_id, since) {
          const isOther = () => since.stream_id !== streams.streamId()
          /** What was not reached here: a gateway that still catches up may reach it, so it cannot be refused for good. */
          const unreached = Effect.suspend(() => faultOf(health.sequencer()) ?? Effect.undefined)
          if (isOther()) return streams.streamId() === "" ? yield* unreached : undefined
          // another gateway, or the last process of this one, may have shown events that will arrive here
          if (since.seq > streams.head(user_id) && !(yield* shown(user_id, since.seq)))
            return isOther() ? undefined : yield* unreached
          if (isOther()) return undefined
          const head = streams.head(user_id)
          // the numbers have no gaps
          if (head - since.seq > REPLAY_MAX) return undefined
          const events: Array<UserEvent> = []
          yield* unavailable(holdsShown(user_id))
          let after = since.seq
          while (after < head) {
            const page = yield* unavailable(history.userEvents(user_id, after, PAGE))
            if (page[0]?.seq !== after + 1) return undefined
            events.push(...page)
            after = page.at(-1)!.seq
          }
          return isOther() ? undefined : events
        })
      })
    })
  )
}
