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
import { Clock, Context, Effect, FiberMap, Layer, Schedule, Semaphore } from "effect"
import { SECOND_MS } from "../../domain/Time.ts"
import { type Switch, WINDOW_S_DEFAULT } from "../../domain/DeadMansSwitchWindow.ts"
import { type Caller, mayAccess } from "../../domain/User.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"
import { Ids } from "../operations/Ids.ts"
import { Lifecycle } from "../operations/Lifecycle.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import { Presence } from "../operations/Presence.ts"
import { Sequencer, type SubmitError } from "../Sequencer.ts"
import { type ResolveFailure, SubAccounts } from "../identity/SubAccounts.ts"
import { DeadMansSwitchStore, type StoredAbsence } from "./DeadMansSwitchStore.ts"

/** Back-off: 100 ms, doubled, up to 2 s. */
const backOff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** Absence after which it is stored, in ms: users who reconnect at once cause no writes. Less than the shortest window. */
const STORE_MS = SECOND_MS
/** Time after a start in which no continued window ends, in ms. */
export const RESTART_MS = 3 * SECOND_MS

/** A period without a private connection of a user. Times are monotonic, so that no step of the wall clock cancels orders. */
class Absence {
  began_ms: number
  /** No window ends before: the gateway started in this absence. */
  notBefore_ms = 0
  /** Later starts of windows, by sub-account: their settings changed during the absence. */
  readonly later = new Map<string, number>()
  /** Sub-accounts whose orders were canceled. */
  readonly done = new Set<string>()
  /** Sub-accounts whose window the store does not have as it is. */
  readonly unsaved = new Set<string>()
  /** Starts of windows as the store had them last, monotonic and in Unix ms, by sub-account. */
  readonly stored = new Map<string, { readonly start_ms: number; readonly began_ms: number }>()
  /** Whether the store has to be read first. */
  isUnread: boolean
  /** Whether the store holds this absence, and whether it may hold one of this user. */
  isStored = false
  mayBeStored: boolean
  /** One write at a time. */
  readonly alone = Semaphore.makeUnsafe(1)

  constructor(began_ms: number, isFromStart: boolean) {
    this.began_ms = began_ms
    this.isUnread = this.mayBeStored = isFromStart
  }
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

      const cancelAll = Effect.fnUntraced(function* (user_id: string, sub_account_address: string, command_id: string) {
        const cancel_type = "CancelByDcp" as const
        const command = {
          command_id,
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
          // a deleted sub-account, without orders
          Effect.catchTag("CommandRefused", () => Effect.undefined)
        )
        yield* Effect.logInfo("dead-man's switch: orders canceled").pipe(
          Effect.annotateLogs({ sub_account_address, orders: ack?.orders.length ?? 0 })
        )
      })

      const wallOf = (monotonic_ms: number) =>
        Math.round(clock.currentTimeMillisUnsafe() - (monotonicMillis(clock) - monotonic_ms))
      /** A stored time on the monotonic clock; never in the future, whatever the wall clock was set to. */
      const monotonicOf = (wall_ms: number) =>
        monotonicMillis(clock) - Math.max(0, clock.currentTimeMillisUnsafe() - wall_ms)

      /** Writes the store until it succeeds. A write that has begun ends before the next one of the absence begins. */
      const writing = (absence: Absence, write: Effect.Effect<void, AccountsUnavailable>) =>
        absence.alone
          .withPermits(1)(Effect.uninterruptible(write))
          .pipe(Effect.tapError(logged("absence not stored")), Effect.retry(backOff), Effect.orDie)
      /** Stores an absence and the windows that have changed. */
      const save = (user_id: string, absence: Absence) =>
        writing(
          absence,
          Effect.gen(function* () {
            // connections that end with the gateway are no evidence of absence
            if (lifecycle.isStopping() && !absence.isStored) return
            absence.mayBeStored = true
            if (!absence.isStored) yield* store.absent(user_id, wallOf(absence.began_ms))
            absence.isStored = true
            if (absence.unsaved.size === 0) return
            for (const sub_account_address of absence.unsaved) {
              absence.unsaved.delete(sub_account_address)
              const start_ms = absence.later.get(sub_account_address) ?? absence.began_ms
              const known = absence.stored.get(sub_account_address)
              // a start that is known is not converted again, because the wall clock may have been set
              const began_ms = known?.start_ms === start_ms ? known.began_ms : wallOf(start_ms)
              const canceled = absence.done.has(sub_account_address)
              absence.stored.set(sub_account_address, { start_ms, began_ms })
              yield* store
                .window(user_id, { sub_account_address, began_ms, canceled })
                .pipe(Effect.tapError(() => Effect.sync(() => absence.unsaved.add(sub_account_address))))
            }
            // a window that another gateway began meanwhile was not overwritten
            const stored = yield* store.absence(user_id)
            if (stored !== undefined) mergeWindows(absence, stored, (address) => !absence.unsaved.has(address))
          })
        )
      const forget = (user_id: string, absence: Absence) => writing(absence, store.present(user_id))
      /** Continues an absence that was stored before this gateway started. */
      const restore = Effect.fnUntraced(function* (user_id: string, absence: Absence) {
        const stored = yield* store
          .absence(user_id)
          .pipe(Effect.tapError(logged("absence not read")), Effect.retry(backOff), Effect.orDie)
        absence.isUnread = false
        if (stored === undefined) return
        absence.isStored = true
        absence.began_ms = monotonicOf(stored.began_ms)
        absence.notBefore_ms = monotonicMillis(clock) + RESTART_MS
        // a setting that has changed meanwhile counts
        mergeWindows(absence, stored, (address) => !absence.later.has(address))
      })
      /** Takes over the windows that other gateways have begun, and the cancels that they have sent. */
      const mergeWindows = (
        absence: Absence,
        { windows }: StoredAbsence,
        isOpen: (address: string) => boolean
      ): void => {
        for (const { began_ms, canceled, sub_account_address: address } of windows) {
          if (!isOpen(address)) continue
          if (absence.stored.get(address)?.began_ms !== began_ms) {
            const start_ms = Math.max(absence.began_ms, monotonicOf(began_ms))
            absence.stored.set(address, { start_ms, began_ms })
            absence.later.set(address, start_ms)
            absence.done.delete(address)
          }
          if (canceled) absence.done.add(address)
        }
      }
      /** The settings and windows that other gateways may have changed; those that are not read stay as they are known. */
      const refresh = Effect.fnUntraced(function* (user_id: string, absence: Absence, known: ReadonlyArray<Switch>) {
        const settings = yield* Effect.orElseSucceed(store.of(user_id), () => known)
        // until this absence is stored, the store may have an earlier one, with its cancels
        if (!absence.isStored) return settings
        const stored = yield* Effect.orElseSucceed(store.absence(user_id), () => undefined)
        if (stored !== undefined) mergeWindows(absence, stored, (address) => !absence.unsaved.has(address))
        return settings
      })

      /** The enabled window that ends next; undefined if no orders are left to cancel. */
      const nextOf = (absence: Absence, settings: ReadonlyArray<Switch>) =>
        settings
          .filter(({ enabled, sub_account_address }) => enabled && !absence.done.has(sub_account_address))
          .map(({ sub_account_address: address, time_window }) => ({
            address,
            at_ms: Math.max(
              absence.notBefore_ms,
              (absence.later.get(address) ?? absence.began_ms) + time_window * SECOND_MS
            )
          }))
          .sort((a, b) => a.at_ms - b.at_ms)[0]

      /** Waits for each window, the shortest first, until no orders are left to cancel. */
      const countdown = Effect.fnUntraced(function* (user_id: string, absence: Absence) {
        let settings = yield* store
          .of(user_id)
          .pipe(Effect.tapError(logged("settings not read")), Effect.retry(backOff), Effect.orDie)
        const isAnyEnabled = () => settings.some(({ enabled }) => enabled)
        if (isAnyEnabled()) {
          if (absence.isUnread) yield* restore(user_id, absence)
          if (!absence.isStored || absence.unsaved.size > 0)
            yield* Effect.forkChild(Effect.delay(save(user_id, absence), absence.unsaved.size > 0 ? 0 : STORE_MS))
        }
        // a repeated cancel of a window has the id of the first one
        let attempt = { address: "", at_ms: 0, command_id: "" }
        /** Waits for the next window and cancels its orders; false: the countdown is over. */
        const next = Effect.gen(function* () {
          const waited = nextOf(absence, settings)
          if (waited === undefined) return false
          yield* Effect.sleep(Math.max(0, waited.at_ms - monotonicMillis(clock)))
          // a connection to another gateway makes the user present, which ends this countdown
          yield* presence.settled
          // a gateway that is shutting down closes all connections, which is no evidence of absence
          if (lifecycle.isStopping()) return false
          settings = yield* refresh(user_id, absence, settings)
          const due = nextOf(absence, settings)
          if (due === undefined || due.at_ms > monotonicMillis(clock)) return true
          if (due.address !== attempt.address || due.at_ms !== attempt.at_ms)
            attempt = { ...due, command_id: yield* ids.uuid }
          yield* cancelAll(user_id, due.address, attempt.command_id)
          absence.done.add(due.address)
          absence.unsaved.add(due.address)
          yield* save(user_id, absence)
          return true
        })
        // each attempt begins with a fresh read: the setting may have changed since the last one
        const nextCanceled = next.pipe(Effect.retry(backOff), Effect.orDie)
        while (isAnyEnabled()) if (!(yield* nextCanceled)) return
        absences.delete(user_id)
        if (absence.mayBeStored) yield* forget(user_id, absence)
      })

      const begin = (user_id: string, isFromStart = false): Absence => {
        const known = absences.get(user_id)
        if (known !== undefined) return known
        const absence = new Absence(monotonicMillis(clock), isFromStart)
        absences.set(user_id, absence)
        return absence
      }
      const start = (user_id: string, isFromStart?: boolean): void =>
        void run(user_id, countdown(user_id, begin(user_id, isFromStart)))

      yield* presence.watch((user_id, here) => {
        if (!here) return start(user_id)
        const absence = absences.get(user_id)
        absences.delete(user_id)
        // replacing the countdown interrupts it
        if (absence?.mayBeStored === true) run(user_id, forget(user_id, absence))
        else if (FiberMap.hasUnsafe(countdowns, user_id)) run(user_id, Effect.void)
      })
      // after a start no user is connected yet
      yield* store.users.pipe(
        Effect.tapError(logged("settings not read")),
        Effect.retry(backOff),
        Effect.orDie,
        Effect.map((users) => {
          for (const user_id of users) {
            if (!presence.isPresent(user_id)) start(user_id, true)
            else run(user_id, forget(user_id, new Absence(0, true)))
          }
        }),
        Effect.forkScoped
      )

      return DeadMansSwitch.of({
        list: Effect.fnUntraced(function* (caller) {
          const settings = yield* store.of(caller.user_id)
          return settings.filter(({ sub_account_address }) => mayAccess(caller, sub_account_address))
        }),
        set: Effect.fnUntraced(function* (caller, { sub_account_address, enabled, time_window }) {
          yield* subAccounts.resolve(caller, sub_account_address)
          const setting = { sub_account_address, enabled, time_window: time_window ?? WINDOW_S_DEFAULT }
          const stored = Effect.sync(() => {
            if (presence.isPresent(caller.user_id)) return
            const absence = begin(caller.user_id)
            absence.done.delete(sub_account_address)
            absence.later.set(sub_account_address, monotonicMillis(clock))
            absence.unsaved.add(sub_account_address)
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
