/**
 * Policy: who may do more than look, in a closed launch. Source: docs/contract/authentication.md#scopes.
 *
 * A wallet that was found on the whitelist is not looked up again for a while, since every order asks; one that was not is
 * looked up each time, so that an activation is felt at once.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { Accounts, type AccountsUnavailable } from "./Accounts.ts"
import { Lru } from "../operations/Lru.ts"
import { DomainError } from "../DomainError.ts"

/** `off`: no activation; `open`: activation works, nothing is gated; `closed`: whoever is not whitelisted only reads. */
export type AccessMode = "off" | "open" | "closed"

/** For how long another gateway may still admit a wallet that was taken off the whitelist. */
export const REMEMBERED = Duration.seconds(5)
/** Wallets remembered. */
const WALLETS_MAX = 10_000

const notWhitelisted = Effect.fail(new DomainError("NotWhitelisted"))

export class LaunchAccess extends Context.Service<
  LaunchAccess,
  {
    readonly mode: AccessMode
    /** Fails with NotWhitelisted; `undefined` where nobody is gated. */
    readonly gate: ((root_address: string) => Effect.Effect<void, DomainError | AccountsUnavailable>) | undefined
    readonly isWhitelisted: (root_address: string) => Effect.Effect<boolean, AccountsUnavailable>
    readonly setWhitelisted: (root_address: string, whitelisted: boolean) => Effect.Effect<void, AccountsUnavailable>
  }
>()("gateway/services/Admission") {
  static readonly layer = (options: { readonly mode: AccessMode }): Layer.Layer<LaunchAccess, never, Accounts> =>
    Layer.effect(
      LaunchAccess,
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const remembered_ms = Duration.toMillis(REMEMBERED)
        /** When each wallet was last found on the whitelist. */
        const found = new Lru<string, number>(WALLETS_MAX)

        const gate = (root_address: string) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const at = found.get(root_address)
            if (at !== undefined && now - at < remembered_ms) return Effect.void
            return Effect.flatMap(accounts.isWhitelisted(root_address), (whitelisted) => {
              if (!whitelisted) return notWhitelisted
              found.set(root_address, now)
              return Effect.void
            })
          })
        return LaunchAccess.of({
          mode: options.mode,
          gate: options.mode === "closed" ? gate : undefined,
          isWhitelisted: accounts.isWhitelisted,
          setWhitelisted: (root_address, whitelisted) =>
            Effect.tap(accounts.setWhitelisted(root_address, whitelisted), () =>
              Effect.sync(() => found.delete(root_address))
            )
        })
      })
    )
}
