/** The trail of what administrators do. Source: docs/contract/rest-user.md. */
import { Schema } from "effect"
import { Role } from "./Administrator.ts"
import { Uuid } from "./Identity.ts"
import { Millis } from "./Time.ts"

/** What an action begins with (`requested`), and what came of it. */
export const AuditPhase = Schema.Literals(["requested", "done", "refused", "failed"]).annotate({
  identifier: "AuditPhase",
  description:
    "`requested`: on record before any effect; then `done`, `refused` (nothing changed), or `failed` (the effect is unknown)"
})
export type AuditPhase = typeof AuditPhase.Type

const facts = (description: string) =>
  Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown).annotate({ description }))

export const AuditEntry = Schema.Struct({
  audit_id: Uuid.annotate({ description: "The action; its entries share it" }),
  time: Millis.annotate({ description: "When the entry was made" }),
  phase: AuditPhase,
  actor: Schema.String.annotate({ description: "Username of the administrator" }),
  role: Role,
  action: Schema.String.annotate({ description: "Operation, by its operationId", examples: ["banWallet"] }),
  target: Schema.String.annotate({ description: "What it was done to: a wallet, market, code or competition" }),
  request_id: Schema.String.annotate({ description: "`X-Request-Id` of the request" }),
  client_ip: Schema.String.annotate({ description: "Address that the request came from" }),
  request: facts("What was asked for, secrets left out"),
  before: facts("The state before"),
  after: facts("The state after; of `done` only"),
  reason: Schema.optionalKey(Schema.String.annotate({ description: "Why it was refused or failed" }))
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

/** An entry's place in the trail: of one action the request stands before its outcome. */
export interface AuditKey {
  readonly time: number
  readonly audit_id: string
  readonly part: 0 | 1
}
export const partOf = ({ phase }: AuditEntry): 0 | 1 => (phase === "requested" ? 0 : 1)
export const auditKeyOf = (entry: AuditEntry): AuditKey => ({
  time: entry.time,
  audit_id: entry.audit_id,
  part: partOf(entry)
})
