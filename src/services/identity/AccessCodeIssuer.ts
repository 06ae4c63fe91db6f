/**
 * Policy: access codes of the administrator: created, listed, revoked.
 * Source: docs/contract/rest-access.md#access-codes.
 */
import { Clock, Context, Effect, Layer } from "effect"
import {
  type AccessCode,
  codeOfId,
  hashOfCode,
  type IssuedAccessCode,
  MULTIPLIER_BPS_DEFAULT,
  normalizeCode
} from "../../domain/AccessCode.ts"
import { isUuid } from "../../domain/Identity.ts"
import { LIMIT_DEFAULT } from "../../domain/Page.ts"
import { AccessCodes, type CodeKey } from "./AccessCodes.ts"
import type { AccountsUnavailable } from "./Accounts.ts"
import { Cursors } from "../operations/Cursors.ts"
import { Ids } from "../operations/Ids.ts"
import { DomainError } from "../DomainError.ts"

/** A request for codes. Absent fields have the defaults of docs/contract/rest-access.md#access-codes. */
export interface Issue {
  /** Number of codes to generate; with `codes`, their number. Default 1. */
  readonly count?: number
  /** Given codes in plain text. */
  readonly codes?: ReadonlyArray<string>
  readonly max_uses?: number
  readonly expires_time?: number
  readonly badge?: boolean
  readonly multiplier_bps?: number
  readonly label?: string
}

const printKey = ({ code_id, created_time }: CodeKey): string => `${created_time}.${code_id}`
const parseKey = (text: string | undefined): CodeKey | undefined => {
  if (text === undefined) return undefined
  const at = text.indexOf(".")
  return { created_time: Number(text.slice(0, at)), code_id: text.slice(at + 1) }
}

export class AccessCodeIssuer extends Context.Service<
  AccessCodeIssuer,
  {
    /** Creates codes, all or none, and returns them in plain text. No other response contains the text. */
    readonly issue: (
      request: Issue
    ) => Effect.Effect<
      ReadonlyArray<IssuedAccessCode>,
      DomainError<"CodeExists" | "InvalidField" | "OutOfRange"> | AccountsUnavailable
    >
    /** A page of codes, newest first. */
    readonly list: (query: {
      readonly limit?: number
      readonly cursor?: string
      readonly label?: string
    }) => Effect.Effect<
      { readonly list: ReadonlyArray<AccessCode>; readonly next_page_cursor: string },
      DomainError<"InvalidCursor"> | AccountsUnavailable
    >
    /** The code with an id. */
    readonly get: (
      code_id: string
    ) => Effect.Effect<AccessCode, DomainError<"AccessCodeNotFound"> | AccountsUnavailable>
    /** Revokes the code. Idempotent. */
    readonly revoke: (code_id: string) => Effect.Effect<void, DomainError<"AccessCodeNotFound"> | AccountsUnavailable>
  }
>()("gateway/services/AccessCodeIssuer") {
  static readonly layer: Layer.Layer<AccessCodeIssuer, never, AccessCodes | Cursors | Ids> = Layer.effect(
    AccessCodeIssuer,
    Effect.gen(function* () {
      const store = yield* AccessCodes
      const cursors = yield* Cursors
      const ids = yield* Ids

      const textsOf = ({ codes, count }: Issue): Effect.Effect<ReadonlyArray<string>, DomainError<"InvalidField">> => {
        if (codes === undefined) return Effect.replicateEffect(Effect.map(ids.uuid, codeOfId), count ?? 1)
        return count === undefined || count === codes.length
          ? Effect.succeed(codes.map(normalizeCode))
          : Effect.fail(
              new DomainError("InvalidField", { field: "count" }, "expected the number of codes, or no value")
            )
      }

      return AccessCodeIssuer.of({
        issue: Effect.fnUntraced(function* (request) {
          const created_time = yield* Clock.currentTimeMillis
          const { expires_time } = request
          if (expires_time !== undefined && expires_time <= created_time) {
            return yield* Effect.fail(
              new DomainError(
                "OutOfRange",
                { field: "expires_time", min: created_time + 1 },
                "expected a time in the future"
              )
            )
          }
          const texts = yield* textsOf(request)
          const codes = yield* Effect.forEach(texts, (text) =>
            Effect.map(ids.uuid, (code_id): AccessCode => ({
              code_id,
              code_hash: hashOfCode(text),
              label: request.label ?? "",
              max_uses: request.max_uses ?? 1,
              uses: 0,
              badge: request.badge ?? false,
              multiplier_bps: request.multiplier_bps ?? MULTIPLIER_BPS_DEFAULT,
              ...(expires_time === undefined ? {} : { expires_time }),
              revoked: false,
              created_time
            }))
          )
          yield* Effect.catchTag(store.create(codes), "CodeExists", ({ index }) =>
            Effect.fail(new DomainError("CodeExists", { field: `codes.${index}` }))
          )
          return codes.map((code, i) => ({ ...code, code: texts[i]! }))
        }),
        list: Effect.fnUntraced(function* ({ cursor, label, limit = LIMIT_DEFAULT }) {
          const of = { endpoint: "access-codes", filters: [label] }
          const after = parseKey(yield* cursors.read(of, cursor))
          return cursors.page(of, yield* store.list({ label, after, limit: limit + 1 }), limit, printKey)
        }),
        get: (code_id) =>
          Effect.flatMap(isUuid(code_id) ? store.get(code_id) : Effect.undefined, (code) =>
            code === undefined ? Effect.fail(new DomainError("AccessCodeNotFound")) : Effect.succeed(code)
          ),
        revoke: (code_id) =>
          Effect.flatMap(isUuid(code_id) ? store.revoke(code_id) : Effect.succeed(false), (found) =>
            found ? Effect.void : Effect.fail(new DomainError("AccessCodeNotFound"))
          )
      })
    })
  )
}
