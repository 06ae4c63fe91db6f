/**
 * Policy: which wallets may do more than read during a closed launch. Source: docs/contract/authentication.md#scopes.
 *
 * A whitelisted wallet is cached for a while, because every order checks it. A wallet that is not whitelisted is
 * looked up each time, so an activation is effective at once.
 */
import { Context, Duration, Effect, Layer } from "effect"
import { Accounts, type AccountsUnavailable } from "./Accounts.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import { Lru } from "../operations/Lru.ts"
import { DomainError } from "../DomainError.ts"

/**
 * `off`: no activation; `open`: activation works, access is not restricted; `closed`: wallets that are not
 * whitelisted only read.
 */
export type AccessMode = "off" | "open" | "closed"

/** Time for which another gateway may still admit a wallet that was removed from the whitelist. */
export const REMEMBERED = Duration.seconds(5)
/** Wallets in the cache. */
const WALLETS_MAX = 10_000

const notWhitelisted = Effect.fail(new DomainError("NotWhitelisted"))

export class LaunchAccess extends Context.Service<
  LaunchAccess,
  {
    readonly mode: AccessMode
    /** Fails with NotWhitelisted; `undefined` if access is not restricted. */
    readonly gate:
      ((root_address: string) => Effect.Effect<void, DomainError<"NotWhitelisted"> | AccountsUnavailable>) | undefined
    readonly isWhitelisted: (root_address: string) => Effect.Effect<boolean, AccountsUnavailable>
    readonly setWhitelisted: (root_address: string, whitelisted: boolean) => Effect.Effect<void, AccountsUnavailable>
  }
>()("gateway/services/LaunchAccess") {
  static readonly layer = (options: { readonly mode: AccessMode }): Layer.Layer<LaunchAccess, never, Accounts> =>
    Layer.effect(
      LaunchAccess,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const cached_ms = Duration.toMillis(REMEMBERED)
        /** Monotonic time at which each wallet was last found on the whitelist. */
        const found = new Lru<string, number>(WALLETS_MAX)
        /** Number of changes of the whitelist here: what was read before one of them is not kept. */
        let changes = 0

        const gate = (root_address: string) =>
          Effect.clockWith((clock) => {
            const now = monotonicMillis(clock)
            const at = found.get(root_address)
            if (at !== undefined && now - at < cached_ms) return Effect.void
            const before = changes
            return Effect.flatMap(accounts.isWhitelisted(root_address), (whitelisted) => {
              if (!whitelisted) return notWhitelisted
              if (changes === before) found.set(root_address, now)
              return Effect.void
            })
          })
        return LaunchAccess.of({
          mode: options.mode,
          gate: options.mode === "closed" ? gate : undefined,
          isWhitelisted: accounts.isWhitelisted,
          setWhitelisted: (root_address, whitelisted) =>
            // a write that fails or whose caller leaves may have had its effect
            Effect.ensuring(
              accounts.setWhitelisted(root_address, whitelisted),
              Effect.sync(() => {
                changes++
                found.delete(root_address)
              })
            )
        })
      })
    )
}
