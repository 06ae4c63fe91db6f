/**
 * Policy: the dead-man's switch. When a user has had no private connection for the window of a sub-account, the
 * orders of the sub-account are canceled. Take-profit and stop-loss orders stay, because they protect a position.
 *
 * Each absence cancels the orders of a sub-account once; orders placed during the absence stay. A change of the setting
 * restarts the window of its sub-account. A cancel is retried until it is acknowledged, the setting changes or the user reconnects.
 *
 * Absences are stored, so a restart of the gateway continues their windows. One that ends while no gateway runs, or right
 * after a start, ends {@link RESTART_MS} after the start, so that clients can reconnect. Users who were connected until the
 * gateway ended are absent from its start on.
 * Source: docs/contract/orders.md#dead-mans-switch, docs/contract/rest-trading.md#order-endpoints.
 */
import { Clock, Context, Effect, FiberMap, Layer } from "effect"
import { SECOND_MS } from "../../domain/Time.ts"
import { type Switch, WINDOW_S_DEFAULT } from "../../domain/DeadMansSwitchWindow.ts"
import { type Caller, mayAccess } from "../../domain/User.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { Ids } from "../operations/Ids.ts"
import { insist } from "../operations/Insist.ts"
import { Lifecycle } from "../operations/Lifecycle.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import { Presence } from "../operations/Presence.ts"
import { cancelOfAll, Sequencer } from "../Sequencer.ts"
import { type ResolveFailure, SubAccounts } from "../identity/SubAccounts.ts"
import * as AbsenceRecords from "./AbsenceRecords.ts"
import { DeadMansSwitchStore } from "./DeadMansSwitchStore.ts"

/** Absence after which it is stored, in ms: users who reconnect at once cause no writes. Less than the shortest window. */
const STORE_MS = SECOND_MS
/** Time after a start in which no continued window ends, in ms. */
export const RESTART_MS = 3 * SECOND_MS

export class DeadMansSwitch extends Context.Service<
  DeadMansSwitch,
  {
    /** Settings of the accessible sub-accounts; those never set and those of deleted ones are omitted. */
    readonly list: (caller: Caller) => Effect.Effect<ReadonlyArray<Switch>, AccountsUnavailable | HistoryUnavailable>
    readonly set: (
      caller: Caller,
      setting: { readonly sub_account_address: string; readonly enabled: boolean; readonly time_window?: number }
    ) => Effect.Effect<Switch, ResolveFailure | AccountsUnavailable>
  }
>()("gateway/services/DeadMansSwitch") {
  static readonly layer: Layer.Layer<
    DeadMansSwitch,
    never,
    History | Ids | Lifecycle | Presence | Sequencer | SubAccounts | DeadMansSwitchStore
  > = Layer.effect(
    DeadMansSwitch,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const history = yield* History
      const ids = yield* Ids
      const lifecycle = yield* Lifecycle
      const presence = yield* Presence
      const records = yield* AbsenceRecords.make
      const sequencer = yield* Sequencer
      const store = yield* DeadMansSwitchStore
      const subAccounts = yield* SubAccounts

      const absents = new Map<string, AbsenceRecords.Absent>()
      const countdowns = yield* FiberMap.make<string>()
      const run = yield* FiberMap.runtime(countdowns)<never>()

      const cancelAll = Effect.fnUntraced(function* (user_id: string, sub_account_address: string, command_id: string) {
        const command = { command_id, user_id, sub_account_address, body: cancelOfAll("CancelByDcp") }
        const ack = yield* sequencer.submit(command).pipe(
          // a deleted sub-account, without orders
          Effect.catchTag("CommandRefused", () => Effect.undefined)
        )
        yield* Effect.logInfo("dead-man's switch: orders canceled").pipe(
          Effect.annotateLogs({ sub_account_address, orders: ack?.orders.length ?? 0 })
        )
      })

      /** Waits for each window, the shortest first, until no orders are left to cancel. */
      const countdown = Effect.fnUntraced(function* (user_id: string, absent: AbsenceRecords.Absent) {
        const { absence } = absent
        let settings = yield* insist("reading dead-man's switches", store.of(user_id))
        const isAnyEnabled = () => settings.some(({ enabled }) => enabled)
        if (isAnyEnabled()) {
          if (absence.inStore === "unread") yield* records.restore(user_id, absence, RESTART_MS)
          if (!absence.isSaved)
            yield* Effect.forkChild(
              Effect.delay(records.save(user_id, absent), absence.unsaved().length > 0 ? 0 : STORE_MS)
            )
        }
        // a repeated cancel of a window has the id of the first one
        let attempt = { address: "", at_ms: 0, command_id: "" }
        /** Waits for the next window and cancels its orders; false: the countdown is over. */
        const next = Effect.gen(function* () {
          const waited = absence.next(settings)
          if (waited === undefined) return false
          yield* Effect.sleep(Math.max(0, waited.at_ms - monotonicMillis(clock)))
          // a connection to another gateway makes the user present, which ends this countdown
          yield* presence.settled
          // a gateway that is shutting down closes all connections, which is no evidence of absence
          if (lifecycle.isStopping()) return false
          settings = yield* records.refresh(user_id, absence, settings)
          const due = absence.next(settings)
          if (due === undefined || due.at_ms > monotonicMillis(clock)) return true
          if (due.address !== attempt.address || due.at_ms !== attempt.at_ms)
            attempt = { ...due, command_id: yield* ids.uuid }
          yield* cancelAll(user_id, due.address, attempt.command_id)
          absence.cancel(due.address)
          yield* records.save(user_id, absent)
          return true
        })
        // each attempt begins with a fresh read: the setting may have changed since the last one
        while (isAnyEnabled()) if (!(yield* insist("canceling the orders of an absent user", next))) return
        absents.delete(user_id)
        if (absence.inStore !== "none") yield* records.forget(user_id, absent)
      })

      const begin = (user_id: string, inStore: "unread" | "none" = "none") => {
        const known = absents.get(user_id)
        if (known !== undefined) return known
        const absent = AbsenceRecords.absentFrom(monotonicMillis(clock), inStore)
        absents.set(user_id, absent)
        return absent
      }
      const start = (user_id: string, inStore?: "unread"): void =>
        void run(user_id, Effect.annotateLogs(countdown(user_id, begin(user_id, inStore)), { user_id }))

      yield* presence.watch((user_id, here) => {
        if (!here) return start(user_id)
        const absent = absents.get(user_id)
        absents.delete(user_id)
        // replacing the countdown interrupts it
        if (absent !== undefined && absent.absence.inStore !== "none") run(user_id, records.forget(user_id, absent))
        else if (FiberMap.hasUnsafe(countdowns, user_id)) run(user_id, Effect.void)
      })
      // after a start no user is connected yet
      yield* insist("reading the users of dead-man's switches", store.users).pipe(
        Effect.map((users) => {
          for (const user_id of users) {
            if (!presence.isPresent(user_id)) start(user_id, "unread")
            else run(user_id, records.forget(user_id, AbsenceRecords.absentFrom(0, "unread")))
          }
        }),
        Effect.forkScoped
      )

      return DeadMansSwitch.of({
        list: Effect.fnUntraced(function* (caller) {
          const settings = yield* store.of(caller.user_id)
          const states = yield* history.subAccounts(caller.user_id)
          const deleted = new Set(states.flatMap((state) => (state.deleted ? [state.sub_account_address] : [])))
          return settings.filter(
            ({ sub_account_address }) => mayAccess(caller, sub_account_address) && !deleted.has(sub_account_address)
          )
        }),
        set: Effect.fnUntraced(function* (caller, { sub_account_address, enabled, time_window }) {
          yield* subAccounts.resolve(caller, sub_account_address)
          const setting = { sub_account_address, enabled, time_window: time_window ?? WINDOW_S_DEFAULT }
          const stored = Effect.sync(() => {
            if (presence.isPresent(caller.user_id)) return
            begin(caller.user_id).absence.restart(sub_account_address, monotonicMillis(clock))
            start(caller.user_id)
          })
          // a stored switch counts, also if its caller leaves before the response
          yield* Effect.uninterruptible(Effect.andThen(store.set(caller.user_id, setting), stored))
          return setting
        })
      })
    })
  )
}
