/**
 * Policy: banned users, in memory, so that a request needs no database read.
 *
 * A ban is effective at once on this gateway, and on others as `CredentialChanges.ts` says. Credentials issued before a
 * ban was lifted remain refused.
 * Source: docs/contract/rest-user.md#bans.
 */
import { Context, Effect, Layer } from "effect"
import type { AccountsUnavailable } from "./Accounts.ts"
import { type Ban, BanStore } from "./BanStore.ts"
import { Grants } from "./Grants.ts"
import { InvalidationBus } from "../operations/InvalidationBus.ts"

export class BanList extends Context.Service<
  BanList,
  {
    readonly isBanned: (user_id: string) => boolean
    /**
     * Time of a user's last ban or its lifting, Unix ms; 0 if there was none. Credentials issued up to that time are
     * refused.
     */
    readonly refusedThrough: (user_id: string) => number
    /** The current or lifted ban of a wallet, also one that another gateway has just set. */
    readonly stored: (root_address: string) => Effect.Effect<Ban | undefined, AccountsUnavailable>
    /** Sets or lifts a ban, and ends all credentials of the user on this gateway. */
    readonly put: (ban: Ban) => Effect.Effect<void, AccountsUnavailable>
    /** Applies a change that was read from the store. */
    readonly apply: (ban: Ban) => void
  }
>()("gateway/services/BanList") {
  static readonly layer: Layer.Layer<BanList, never, BanStore | Grants> = Layer.effect(
    BanList,
    Effect.gen(function* () {
      const store = yield* BanStore
      const grants = yield* Grants
      const invalidations = yield* InvalidationBus
      const bans = new Map<string, Ban>()

      const apply = (ban: Ban) => {
        const known = bans.get(ban.user_id)
        // an outdated read, or one that was applied already
        if (known !== undefined && known.changed_time >= ban.changed_time) return
        bans.set(ban.user_id, ban)
        // a lifted ban was set before, perhaps unseen here; older credentials remain refused
        grants.endUser(ban.user_id, "banned")
      }

      return BanList.of({
        isBanned: (user_id) => bans.get(user_id)?.banned ?? false,
        refusedThrough: (user_id) => bans.get(user_id)?.changed_time ?? 0,
        stored: store.get,
        put: Effect.fnUntraced(function* (change) {
          const ban = yield* store.put(change)
          apply(ban)
          yield* invalidations.publish({ type: "ban", user_id: ban.user_id })
        }, Effect.uninterruptible),
        apply
      })
    })
  )
}
