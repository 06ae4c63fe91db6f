/**
 * Port: the settings of the dead-man's switch, one per sub-account, and the absences of users.
 *
 * Guarantee: a setting is durable when `set` succeeds, and the last one applies on all gateways that share the store. The same
 * holds for absences, so that a gateway continues their windows after a restart.
 * Source: docs/contract/orders.md#dead-mans-switch, docs/contract/boundary.md#ownership.
 */
import { Context, type Effect } from "effect"
import type { Switch } from "../../domain/DeadMansSwitchWindow.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"

/** A stored absence. Times are Unix ms. */
export interface StoredAbsence {
  readonly began_ms: number
  /** Sub-accounts with a window of their own, because their setting changed, or with canceled orders. */
  readonly windows: ReadonlyArray<{
    readonly sub_account_address: string
    readonly began_ms: number
    readonly canceled: boolean
  }>
}

export class DeadMansSwitchStore extends Context.Service<
  DeadMansSwitchStore,
  {
    /** Settings of a user, ordered by address; sub-accounts never set are omitted. */
    readonly of: (user_id: string) => Effect.Effect<ReadonlyArray<Switch>, AccountsUnavailable>
    readonly set: (user_id: string, setting: Switch) => Effect.Effect<void, AccountsUnavailable>
    /** Users with at least one enabled switch. */
    readonly users: Effect.Effect<ReadonlyArray<string>, AccountsUnavailable>
    /** Stores an absence in place of an earlier one of the user; windows that began in it stay. */
    readonly absent: (user_id: string, began_ms: number) => Effect.Effect<void, AccountsUnavailable>
    /** Ends the absence of a user; no effect without one. */
    readonly present: (user_id: string) => Effect.Effect<void, AccountsUnavailable>
    /** Stores the window of a sub-account in its user's absence. No effect on a later window, unless that one was canceled and this one not. */
    readonly window: (
      user_id: string,
      window: StoredAbsence["windows"][number]
    ) => Effect.Effect<void, AccountsUnavailable>
    /** The absence of a user; `undefined` while none is stored. */
    readonly absence: (user_id: string) => Effect.Effect<StoredAbsence | undefined, AccountsUnavailable>
  }
>()("gateway/services/DeadMansSwitchStore") {}
