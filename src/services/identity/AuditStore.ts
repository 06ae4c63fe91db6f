/**
 * Port: the append-only audit trail.
 *
 * Guarantee: an entry is durable when `append` succeeds, and every later `list` on any gateway that shares the store
 * includes it.
 */
import { Context, type Effect } from "effect"
import type { AuditEntry, AuditKey } from "../../domain/Audit.ts"
import type { AccountsUnavailable } from "./Accounts.ts"

export interface AuditQuery {
  readonly actor: string | undefined
  readonly action: string | undefined
  /** Inclusive, Unix ms. */
  readonly start_time: number | undefined
  /** Exclusive, Unix ms. */
  readonly end_time: number | undefined
  /** Entries after this key, in the order of the list. */
  readonly after: AuditKey | undefined
  readonly limit: number
}

export class AuditStore extends Context.Service<
  AuditStore,
  {
    readonly append: (entry: AuditEntry) => Effect.Effect<void, AccountsUnavailable>
    /** Newest first. */
    readonly list: (query: AuditQuery) => Effect.Effect<ReadonlyArray<AuditEntry>, AccountsUnavailable>
  }
>()("gateway/services/AuditStore") {}
