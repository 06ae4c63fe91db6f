/** What every store of the audit trail keeps. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type AuditEntry, auditKeyOf } from "../../src/domain/Audit.ts"
import { type AuditQuery, AuditStore } from "../../src/services/identity/AuditStore.ts"

export const entry = (n: number, fields: Partial<AuditEntry> = {}): AuditEntry => ({
  audit_id: `018f3f1e-5d5b-4a00-8000-${n.toString(16).padStart(12, "0")}`,
  time: n,
  phase: "done",
  actor: "alice",
  role: "operator",
  action: "banWallet",
  target: `0x${n}`,
  request_id: `request-${n}`,
  client_ip: "192.0.2.1",
  request: { reason: 'quotes " and \u0000' },
  before: { banned: false },
  after: { banned: true },
  ...fields
})
const all: AuditQuery = {
  actor: undefined,
  action: undefined,
  start_time: undefined,
  end_time: undefined,
  after: undefined,
  limit: 100
}

export const suite = <E>(name: string, layer: Layer.Layer<AuditStore, E>) =>
  withLayer(layer)(`AuditStore on ${name}`, (it) => {
    it.effect("lists entries newest first, a request behind its outcome, by each filter", () =>
      Effect.gen(function* () {
        const store = yield* AuditStore
        const requested = entry(2, { phase: "requested" })
        const done = entry(2)
        const bob = entry(3, { actor: "bob", phase: "refused", reason: "WalletNotFound" })
        const price = entry(4, { action: "setIndexPrice" })
        for (const each of [price, done, requested, bob, entry(1)]) yield* store.append(each)
        const list = (query: Partial<AuditQuery>) => store.list({ ...all, ...query })
        assert.deepStrictEqual(yield* list({}), [price, bob, done, requested, entry(1)])
        assert.deepStrictEqual(yield* list({ actor: "bob" }), [bob])
        assert.deepStrictEqual(yield* list({ action: "setIndexPrice" }), [price])
        assert.deepStrictEqual(yield* list({ actor: "bob", action: "setIndexPrice" }), [])
        assert.deepStrictEqual(yield* list({ start_time: 2, end_time: 4 }), [bob, done, requested])
        assert.deepStrictEqual(yield* list({ after: auditKeyOf(done), limit: 1 }), [requested])
        assert.deepStrictEqual(yield* list({ after: auditKeyOf(entry(1)) }), [])
      })
    )
  })
