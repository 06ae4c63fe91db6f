/**
 * Policy: the dead-man's switch. When a user has had no private connection for the window of a sub-account, the
 * orders of the sub-account are canceled. Take-profit and stop-loss orders stay, because they protect a position.
 *
 * Each absence cancels the orders of a sub-account once; orders placed during the absence stay. A restart of the
 * gateway restarts the windows, and a change of the setting restarts that of its sub-account. A cancel is retried
 * until it is acknowledged or the user reconnects.
 * Source: docs/contract/orders.md#dead-mans-switch, docs/contract/rest-trading.md#order-endpoints.
 */
import { Clock, Context, Effect, FiberMap, Layer, Schedule } from "effect"
import { SECOND_MS } from "../../domain/Time.ts"
import { type Switch, WINDOW_S_DEFAULT } from "../../domain/DeadMansSwitchWindow.ts"
import type { Caller } from "../../domain/User.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import { Ids } from "../operations/Ids.ts"
import { Lifecycle } from "../operations/Lifecycle.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import { Presence } from "../operations/Presence.ts"
import { Sequencer, type SubmitError } from "../Sequencer.ts"
import { type ResolveFailure, SubAccounts } from "../identity/SubAccounts.ts"
import { DeadMansSwitchStore } from "./DeadMansSwitchStore.ts"

/** Back-off: 100 ms, doubled, up to 2 s. */
const backOff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** A period without a private connection of a user. Times are monotonic, so that no step of the wall clock cancels orders. */
interface Absence {
  readonly began_ms: number
  /** Later starts of windows, by sub-account: their settings changed during the absence. */
  readonly later: Map<string, number>
  /** Sub-accounts whose orders were canceled. */
  readonly done: Set<string>
}

export class DeadMansSwitch extends Context.Service<
  DeadMansSwitch,
  {
    /** Settings of the accessible sub-accounts; those never set are omitted. */
    readonly list: (caller: Caller) => Effect.Effect<ReadonlyArray<Switch>, AccountsUnavailable>
    readonly set: (
      caller: Caller,
      setting: { readonly sub_account_address: string; readonly enabled: boolean; readonly time_window?: number }
    ) => Effect.Effect<Switch, ResolveFailure | AccountsUnavailable>
  }
>()("gateway/services/DeadMansSwitch") {
  static readonly layer: Layer.Layer<
    DeadMansSwitch,
    never,
    Ids | Lifecycle | Presence | Sequencer | SubAccounts | DeadMansSwitchStore
  > = Layer.effect(
    DeadMansSwitch,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const ids = yield* Ids
      const lifecycle = yield* Lifecycle
      const presence = yield* Presence
      const sequencer = yield* Sequencer
      const store = yield* DeadMansSwitchStore
      const subAccounts = yield* SubAccounts

      const absences = new Map<string, Absence>()
      const countdowns = yield* FiberMap.make<string>()
      const run = yield* FiberMap.runtime(countdowns)<never>()

      const logged = (what: string) => (error: AccountsUnavailable | SubmitError) =>
        Effect.logWarning(`dead-man's switch: ${what}`, error)

      const cancelAll = Effect.fnUntraced(function* (user_id: string, sub_account_address: string) {
        const cancel_type = "CancelByDcp" as const
        const command = {
          command_id: yield* ids.uuid,
          user_id,
          sub_account_address,
          body: {
            type: "cancel_all" as const,
            cancel_all: {
              symbol: undefined,
              side: undefined,
              order_filter: "All" as const,
              reduce_only: undefined,
              cancel_type
            }
          }
        }
        const ack = yield* sequencer.submit(command).pipe(
          Effect.tapError(logged(`orders of ${sub_account_address} not canceled`)),
          // a refused command means a deleted sub-account, without orders; retry all other errors
          Effect.retry({ while: (error) => error._tag !== "CommandRefused", schedule: backOff }),
          Effect.catch(() => Effect.undefined)
        )
        yield* Effect.logInfo("dead-man's switch: orders canceled").pipe(
          Effect.annotateLogs({ sub_account_address, orders: ack?.orders.length ?? 0 })
        )
      })

      /** Waits for each window, the shortest first, until no orders are left to cancel. */
      const countdown = Effect.fnUntraced(function* (user_id: string, absence: Absence) {
        const settings = yield* store
          .of(user_id)
          .pipe(Effect.tapError(logged("settings not read")), Effect.retry(backOff), Effect.orDie)
        const enabled = settings.filter((setting) => setting.enabled)
        if (enabled.length === 0) return void absences.delete(user_id)
        const due = enabled
          .filter(({ sub_account_address }) => !absence.done.has(sub_account_address))
          .map(({ sub_account_address: address, time_window }) => ({
            address,
            at_ms: (absence.later.get(address) ?? absence.began_ms) + time_window * SECOND_MS
          }))
          .sort((a, b) => a.at_ms - b.at_ms)
        for (const { address, at_ms } of due) {
          yield* Effect.sleep(Math.max(0, at_ms - monotonicMillis(clock)))
          // a connection to another gateway makes the user present, which ends this countdown
          yield* presence.settled
          // a gateway that is shutting down closes all connections, which is no evidence of absence
          if (lifecycle.isStopping()) return
          yield* cancelAll(user_id, address)
          absence.done.add(address)
        }
      })

      const begin = (user_id: string): Absence => {
        const known = absences.get(user_id)
        if (known !== undefined) return known
        const absence = { began_ms: monotonicMillis(clock), later: new Map(), done: new Set<string>() }
        absences.set(user_id, absence)
        return absence
      }
      const start = (user_id: string): void => void run(user_id, countdown(user_id, begin(user_id)))

      yield* presence.watch((user_id, here) => {
        if (!here) return start(user_id)
        absences.delete(user_id)
        // replacing the countdown interrupts it
        if (FiberMap.hasUnsafe(countdowns, user_id)) run(user_id, Effect.void)
      })
      // after a start no user is connected yet
      yield* store.users.pipe(
        Effect.tapError(logged("settings not read")),
        Effect.retry(backOff),
        Effect.orDie,
        Effect.map((users) => {
          for (const user_id of users) if (!presence.isHere(user_id)) start(user_id)
        }),
        Effect.forkScoped
      )

      return DeadMansSwitch.of({
        list: Effect.fnUntraced(function* (caller) {
          const settings = yield* store.of(caller.user_id)
          return settings.filter(({ sub_account_address }) => caller.bound_to?.has(sub_account_address) ?? true)
        }),
        set: Effect.fnUntraced(function* (caller, { sub_account_address, enabled, time_window }) {
          yield* subAccounts.resolve(caller, sub_account_address)
          const setting = { sub_account_address, enabled, time_window: time_window ?? WINDOW_S_DEFAULT }
          yield* store.set(caller.user_id, setting)
          if (!presence.isHere(caller.user_id)) {
            const absence = begin(caller.user_id)
            absence.done.delete(sub_account_address)
            absence.later.set(sub_account_address, monotonicMillis(clock))
            start(caller.user_id)
          }
          return setting
        })
      })
    })
  )
}
