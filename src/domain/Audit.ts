/** The audit trail of administrator actions. Source: docs/contract/rest-user.md. */
import { Schema } from "effect"
import { Role } from "./Administrator.ts"
import { Uuid } from "./Identity.ts"
import { Millis } from "./Time.ts"

/** Phase of an action: `requested`, then its outcome. */
export const AuditPhase = Schema.Literals(["requested", "done", "refused", "failed"]).annotate({
  identifier: "AuditPhase",
  description:
    "`requested`: written before any effect; then `done`, `refused` (nothing changed), or `failed` (the effect is unknown)"
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
  target: Schema.String.annotate({ description: "Object of the action: a wallet, market, code or competition" }),
  request_id: Schema.String.annotate({ description: "`X-Request-Id` of the request" }),
  client_ip: Schema.String.annotate({ description: "Address that the request came from" }),
  request: facts("The request, without secrets"),
  before: facts("The state before"),
  after: facts("The state after; of `done` only"),
  reason: Schema.optionalKey(Schema.String.annotate({ description: "Reason of a refusal or failure" }))
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

/** Sort key of an entry. The request of an action precedes its outcome. */
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
