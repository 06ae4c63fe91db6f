/**
 * Port: the settings of the dead-man's switch, one per sub-account.
 *
 * Guarantee: a setting is durable when `set` succeeds, and the last one applies on all gateways that share the store.
 * Source: docs/contract/orders.md#dead-mans-switch, docs/contract/boundary.md#ownership.
 */
import { Context, type Effect } from "effect"
import type { Switch } from "../../domain/DeadMansSwitchWindow.ts"
import type { AccountsUnavailable } from "../identity/Accounts.ts"

export class DeadMansSwitchStore extends Context.Service<
  DeadMansSwitchStore,
  {
    /** Settings of a user, ordered by address; sub-accounts never set are omitted. */
    readonly of: (user_id: string) => Effect.Effect<ReadonlyArray<Switch>, AccountsUnavailable>
    readonly set: (user_id: string, setting: Switch) => Effect.Effect<void, AccountsUnavailable>
    /** Users with at least one enabled switch. */
    readonly users: Effect.Effect<ReadonlyArray<string>, AccountsUnavailable>
  }
>()("gateway/services/DeadMansSwitchStore") {}
