/**
 * Policy: actions of administrators are recorded before they have an effect.
 *
 * An action has two entries: `requested`, with the state before, durable before the effect begins; and the outcome,
 * durable before the response if the store allows. So there is no effect without a record. If the process or the
 * store fails between the two, the action has no recorded outcome and may have happened. Both entries are also
 * logged.
 * Source: docs/contract/rest-user.md.
 */
import { Cause, Clock, Context, Effect, Exit, Layer } from "effect"
import type { Administrator } from "../../domain/Administrator.ts"
import { type AuditEntry, auditKeyOf, type AuditKey, type AuditPhase } from "../../domain/Audit.ts"
import { LIMIT_DEFAULT } from "../../domain/Page.ts"
import { printable } from "../../domain/InputText.ts"
import type { AccountsUnavailable } from "./Accounts.ts"
import { AuditStore } from "./AuditStore.ts"
import { Cursors } from "../operations/Cursors.ts"
import { Ids } from "../operations/Ids.ts"
import { type Page, startsAfter } from "../operations/Paging.ts"
import type { DomainError } from "../DomainError.ts"

type Facts = Readonly<Record<string, unknown>>

/** An action and its administrator. */
export interface Action {
  readonly administrator: Administrator
  readonly request_id: string
  readonly client_ip: string
  /** operationId. */
  readonly action: string
  readonly target: string
  /** The request, without secrets. */
  readonly request?: Facts
}

/** The steps of an action. */
export interface Steps<A, E, E2 = never> {
  /** Reads the state before; runs before the first entry is written. */
  readonly before?: Effect.Effect<Facts, E2>
  readonly effect: Effect.Effect<A, E>
  readonly after: (result: A) => Facts
}

export interface AuditRequest {
  readonly actor?: string
  readonly action?: string
  readonly start_time?: number
  readonly end_time?: number
  readonly limit?: number
  readonly cursor?: string
}

const printKey = ({ audit_id, part, time }: AuditKey): string => `${time}.${part}.${audit_id}`
const parseKey = (text: string | undefined): AuditKey | undefined => {
  if (text === undefined) return undefined
  const [time, part, audit_id] = text.split(".")
  return { time: Number(time), part: part === "0" ? 0 : 1, audit_id: audit_id! }
}

/** Tags of errors after which nothing changed. */
const refusals = new Set(["Refused", "CommandRefused"])
const reasonOf = (error: unknown): { readonly phase: AuditPhase; readonly reason: string } => {
  const { _tag = "unknown", reason } = error as { readonly _tag?: string; readonly reason?: string }
  return refusals.has(_tag) ? { phase: "refused", reason: reason ?? _tag } : { phase: "failed", reason: _tag }
}

export class AuditTrail extends Context.Service<
  AuditTrail,
  {
    /** Runs an effect between its two entries. The effect does not start if the first entry cannot be written. */
    readonly record: <A, E, E2 = never>(
      action: Action,
      steps: Steps<A, E, E2>
    ) => Effect.Effect<A, E | E2 | AccountsUnavailable>
    /** Newest first. */
    readonly list: (
      request: AuditRequest
    ) => Effect.Effect<Page<AuditEntry>, DomainError<"InvalidCursor" | "OutOfRange"> | AccountsUnavailable>
  }
>()("gateway/services/AuditTrail") {
  static readonly layer: Layer.Layer<AuditTrail, never, AuditStore | Cursors | Ids> = Layer.effect(
    AuditTrail,
    Effect.gen(function* () {
      const cursors = yield* Cursors
      const ids = yield* Ids
      const store = yield* AuditStore

      const append = (entry: AuditEntry) =>
        Effect.andThen(
          store.append(entry),
          Effect.annotateLogs(Effect.logInfo("administrator action"), {
            audit_id: entry.audit_id,
            phase: entry.phase,
            actor: entry.actor,
            role: entry.role,
            action: entry.action,
            target: printable(entry.target),
            request_id: entry.request_id,
            client_ip: entry.client_ip,
            ...(entry.reason !== undefined && { reason: entry.reason })
          })
        )

      return AuditTrail.of({
        record: ({ administrator, ...action }, { after, before, effect }) =>
          Effect.uninterruptibleMask((restore) =>
            Effect.gen(function* () {
              const state = before === undefined ? undefined : yield* restore(before)
              const entry = {
                ...action,
                audit_id: yield* ids.uuid,
                actor: administrator.username,
                role: administrator.role,
                ...(state !== undefined && { before: state })
              }
              yield* append({ ...entry, time: yield* Clock.currentTimeMillis, phase: "requested" })
              const exit = yield* Effect.exit(restore(effect))
              const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
              const outcome = Exit.isSuccess(exit)
                ? { phase: "done" as const, after: after(exit.value) }
                : reasonOf(failure)
              // the effect is final, even if this entry fails
              yield* append({ ...entry, time: yield* Clock.currentTimeMillis, ...outcome }).pipe(
                Effect.catch((error) =>
                  Effect.annotateLogs(Effect.logError("the outcome of an action was not recorded", error), {
                    audit_id: entry.audit_id,
                    request_id: entry.request_id
                  })
                )
              )
              return yield* exit
            })
          ),
        list: Effect.fnUntraced(function* ({ action, actor, cursor, end_time, limit = LIMIT_DEFAULT, start_time }) {
          const end = end_time ?? (yield* Clock.currentTimeMillis)
          if (start_time !== undefined && start_time > end) return yield* Effect.fail(startsAfter(end))
          const of = { endpoint: "admin/audit", filters: [actor, action, start_time, end_time] }
          const after = parseKey(yield* cursors.read(of, cursor))
          const found = yield* store.list({ action, actor, start_time, end_time, after, limit: limit + 1 })
          return cursors.page(of, found, limit, (entry) => printKey(auditKeyOf(entry)))
        })
      })
    })
  )
}
