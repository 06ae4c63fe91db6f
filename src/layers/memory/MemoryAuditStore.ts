/** The audit trail in this process: a double for tests and trials, which forgets everything at its end. */
import { Effect, Layer } from "effect"
import { type AuditEntry, auditKeyOf, type AuditKey } from "../../domain/Audit.ts"
import { AuditStore } from "../../services/identity/AuditStore.ts"

const compare = (a: AuditKey, b: AuditKey): number =>
  a.time - b.time || (a.audit_id === b.audit_id ? a.part - b.part : a.audit_id < b.audit_id ? -1 : 1)

export const layer: Layer.Layer<AuditStore> = Layer.sync(AuditStore, () => {
  const entries: Array<AuditEntry> = []
  return AuditStore.of({
    append: (entry) => Effect.sync(() => void entries.push(entry)),
    list: ({ action, actor, after, end_time = Infinity, limit, start_time = 0 }) =>
      Effect.sync(() =>
        entries
          .filter((entry) => actor === undefined || entry.actor === actor)
          .filter((entry) => action === undefined || entry.action === action)
          .filter(({ time }) => time >= start_time && time < end_time)
          .filter((entry) => after === undefined || compare(auditKeyOf(entry), after) < 0)
          .toSorted((a, b) => compare(auditKeyOf(b), auditKeyOf(a)))
          .slice(0, limit)
      )
  })
})
