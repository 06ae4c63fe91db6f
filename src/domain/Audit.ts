/** The audit trail of administrator actions. Source: docs/contract/rest-user.md. */
import { Schema } from "effect"
import { Role } from "./Administrator.ts"
import { field } from "./Field.ts"
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
  audit_id: field(Uuid, "The action; its entries share it"),
  time: field(Millis, "Time of the entry"),
  phase: AuditPhase,
  actor: field(Schema.String, "Username of the administrator"),
  role: Role,
  action: field(Schema.String, "Operation, by its operationId", "banWallet"),
  target: field(Schema.String, "Object of the action: a wallet, market, code or competition"),
  request_id: field(Schema.String, "`X-Request-Id` of the request"),
  client_ip: field(Schema.String, "Address that the request came from"),
  request: facts("The request, without secrets"),
  before: facts("The state before"),
  after: facts("The state after; of `done` only"),
  reason: Schema.optionalKey(field(Schema.String, "Reason of a refusal or failure", "SymbolNotFound"))
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
