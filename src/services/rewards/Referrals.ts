/** Policy: the caller's referrer and referrals. Source: docs/contract/rest-user.md#referral. */
import { Clock, Context, Effect, Layer } from "effect"
import { parseReferralCode, type Referral } from "../../domain/Referral.ts"
import type { Caller } from "../../domain/User.ts"
import { Accounts, type AccountsUnavailable } from "../identity/Accounts.ts"
import { ReferralStore } from "./ReferralStore.ts"
import { DomainError } from "../DomainError.ts"

const noCode = new DomainError("ReferralCodeNotFound", { field: "referral_code" })
const malformed = new DomainError(
  "InvalidField",
  { field: "referral_code" },
  "expected 8 characters of 0-9 and A-Z without I, L, O and U"
)
const alreadySet = new DomainError("ReferrerAlreadySet")
const self = new DomainError("SelfReferral", { field: "referral_code" })

export class Referrals extends Context.Service<
  Referrals,
  {
    readonly get: (caller: Caller) => Effect.Effect<Referral, AccountsUnavailable>
    /** Sets the referrer by its code. Idempotent for the same code. */
    readonly refer: (
      caller: Caller,
      referral_code: string
    ) => Effect.Effect<
      Referral,
      DomainError<"InvalidField" | "ReferralCodeNotFound" | "ReferrerAlreadySet" | "SelfReferral"> | AccountsUnavailable
    >
  }
>()("gateway/services/Referrals") {
  static readonly layer: Layer.Layer<Referrals, never, Accounts | ReferralStore> = Layer.effect(
    Referrals,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const store = yield* ReferralStore

      const get = Effect.fnUntraced(function* (caller: Caller) {
        const own = yield* accounts.user(caller.user_id)
        const referrer = yield* store.referrer(caller.user_id)
        const above = referrer === undefined ? undefined : yield* accounts.user(referrer.referrer_id)
        return {
          downline_count: yield* store.downline(caller.user_id),
          referral_code: own?.referral_code ?? "",
          referrer_code: above?.referral_code ?? "",
          referrer_user_id: referrer?.referrer_id ?? ""
        }
      })

      return Referrals.of({
        get,
        refer: Effect.fnUntraced(function* (caller, text) {
          const code = parseReferralCode(text)
          if (code === undefined) return yield* Effect.fail(malformed)
          const above = yield* accounts.userOfCode(code)
          if (above === undefined) return yield* Effect.fail(noCode)
          const referrer = { referrer_id: above.user_id, since: yield* Clock.currentTimeMillis }
          yield* store.refer(caller.user_id, referrer).pipe(
            Effect.catchTags({
              ReferrerSet: ({ referrer_id }) => (referrer_id === above.user_id ? Effect.void : Effect.fail(alreadySet)),
              ReferralLoop: () => Effect.fail(self)
            })
          )
          return yield* get(caller)
        })
      })
    })
  )
}
