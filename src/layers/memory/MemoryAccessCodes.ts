/** Access codes in this process: a double for tests and trials, which forgets everything at its end. */
import { Effect, Layer, Semaphore } from "effect"
import type { AccessCode } from "../../domain/AccessCode.ts"
import {
  AccessCodes,
  CodeExists,
  type CodeKey,
  CodeUnusable,
  faultOf,
  WalletActivated
} from "../../services/identity/AccessCodes.ts"
import { Accounts } from "../../services/identity/Accounts.ts"

/** Newest first. */
const order = (a: CodeKey, b: CodeKey): number =>
  b.created_time - a.created_time || (a.code_id < b.code_id ? 1 : a.code_id > b.code_id ? -1 : 0)

export const layer: Layer.Layer<AccessCodes, never, Accounts> = Layer.effect(
  AccessCodes,
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const codes = new Map<string, AccessCode>()
    const alone = (yield* Semaphore.make(1)).withPermits(1)
    const change = (code: AccessCode, fields: Partial<AccessCode>) =>
      void codes.set(code.code_hash, { ...code, ...fields })

    return AccessCodes.of({
      create: (batch) =>
        Effect.suspend(() => {
          const hashes = new Set(codes.keys())
          for (const [index, { code_hash }] of batch.entries()) {
            if (hashes.has(code_hash)) return Effect.fail(new CodeExists({ index }))
            hashes.add(code_hash)
          }
          for (const code of batch) change(code, {})
          return Effect.void
        }),
      list: ({ after, label, limit }) =>
        Effect.sync(() =>
          [...codes.values()]
            .filter((code) => label === undefined || code.label === label)
            .filter((code) => after === undefined || order(after, code) < 0)
            .toSorted(order)
            .slice(0, limit)
        ),
      revoke: (code_id) =>
        Effect.sync(() => {
          const code = [...codes.values()].find((known) => known.code_id === code_id)
          if (code !== undefined) change(code, { revoked: true })
          return code !== undefined
        }),
      redeem: (code_hash, root_address, now_ms) =>
        alone(
          Effect.gen(function* () {
            const known = (yield* accounts.isWhitelisted(root_address)) || (yield* accounts.activation(root_address))
            if (known) return yield* new WalletActivated()
            const code = codes.get(code_hash)
            const why = faultOf(code, now_ms)
            if (code === undefined || why !== undefined) return yield* new CodeUnusable({ why: why ?? "unknown" })
            const { badge, multiplier_bps } = code
            yield* accounts.activate(root_address, { badge, multiplier_bps })
            change(code, { uses: code.uses + 1 })
            return { badge, multiplier_bps }
          })
        )
    })
  })
)
