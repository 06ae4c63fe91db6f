/**
 * Policy: which users are shut out, known at every request without asking the database.
 *
 * A ban is effective at once here, and on other gateways that share the store within {@link REFRESH}, sooner where they
 * hear of it through `Notices`. What was issued before it was lifted stays refused.
 * Source: docs/contract/rest-user.md#bans.
 */
import { Context, Effect, Layer } from "effect"
import type { AccountsUnavailable } from "./Accounts.ts"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import { type Ban, BanStore } from "./BanStore.ts"
import { Grants } from "./Grants.ts"
import { InvalidationBus } from "../operations/InvalidationBus.ts"

/** How often bans that other gateways set are looked for. */
export const REFRESH = "500 millis"

export class BanList extends Context.Service<
  BanList,
  {
    readonly isBanned: (user_id: string) => boolean
    /** Time of a user's last ban or its lifting, Unix ms: credentials issued up to then are refused. 0: there was none. */
    readonly refusedThrough: (user_id: string) => number
    /** The ban of a user, if it was ever banned. */
    readonly of: (user_id: string) => Ban | undefined
    /** Sets a ban or lifts it, and ends all credentials of the user here. */
    readonly put: (ban: Ban) => Effect.Effect<void, AccountsUnavailable>
  }
>()("gateway/services/BanList") {
  static readonly layer: Layer.Layer<BanList, AccountsUnavailable, BanStore | Grants> = Layer.effect(
    BanList,
    Effect.gen(function* () {
      const store = yield* BanStore
      const grants = yield* Grants
      const notices = yield* InvalidationBus
      const bans = new Map<string, Ban>()
      let newest = 0

      const take = (ban: Ban) => {
        newest = Math.max(newest, ban.changed_time)
        const known = bans.get(ban.user_id)
        // read before a later one was put, or read again
        if (known !== undefined && known.changed_time > ban.changed_time) return
        if (known?.changed_time === ban.changed_time && known.banned === ban.banned) return
        bans.set(ban.user_id, ban)
        // one that is lifted was set before, and perhaps never seen here; credentials of before it stay refused
        grants.endUser(ban.user_id, "banned")
      }
      const refresh = Effect.map(
        // another gateway's clock may be behind that of the newest
        Effect.suspend(() => store.since(newest - CLOCKS_APART_MS)),
        (some) => {
          for (const ban of some) take(ban)
        }
      )
      yield* refresh
      const refreshed = Effect.catch(refresh, (error) => Effect.logWarning("bans not read", error))
      yield* refreshed.pipe(Effect.delay(REFRESH), Effect.forever, Effect.forkScoped)
      yield* notices.listen(({ type }) => (type === "ban" || type === "missed" ? refreshed : Effect.void))

      return BanList.of({
        isBanned: (user_id) => bans.get(user_id)?.banned ?? false,
        refusedThrough: (user_id) => bans.get(user_id)?.changed_time ?? 0,
        of: (user_id) => bans.get(user_id),
        put: Effect.fnUntraced(function* (asked) {
          // a later one is later by its time too, whatever the clock of the gateway that set the one before
          const known = bans.get(asked.user_id)?.changed_time ?? 0
          const ban = { ...asked, changed_time: Math.max(asked.changed_time, known + 1) }
          yield* store.put(ban)
          take(ban)
          yield* notices.publish({ type: "ban", user_id: ban.user_id })
        }, Effect.uninterruptible)
      })
    })
  )
}
