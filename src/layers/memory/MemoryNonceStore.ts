/**
 * Nonces in this process: a double for tests and trials. It forgets everything at its end, and refuses to take more than
 * it can hold rather than forget a nonce too early.
 */
import { Clock, Duration, Effect, Layer } from "effect"
import { Hex } from "effect/encoding"
import { nonceDigest } from "../../domain/Secrets.ts"
import { NonceReused, NonceStore, NonceStoreUnavailable } from "../../services/identity/NonceStore.ts"

export interface Options {
  /** How long nonces of API keys are kept: twice their window. Default 60 seconds. */
  readonly retention?: Duration.Input
  /** Nonces held. Default 100 000. */
  readonly nonces_max?: number
}

export const layer = (options: Options = {}): Layer.Layer<NonceStore> =>
  Layer.sync(NonceStore, () => {
    const retention_ms = Duration.toMillis(options.retention ?? "60 seconds")
    const nonces_max = options.nonces_max ?? 100_000
    const forever = new Set<string>()
    /** Expiry by nonce, oldest first: all are kept equally long. */
    const windowed = new Map<string, number>()
    /** The last expiry that is forgotten: what expired by then may be a repetition. */
    let forgotten_ms = -Infinity
    return NonceStore.of({
      claim: (space, owner, nonce) =>
        Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<void, NonceReused | NonceStoreUnavailable> => {
          for (const [name, expires_at_ms] of windowed) {
            if (expires_at_ms >= now) break
            windowed.delete(name)
            forgotten_ms = Math.max(forgotten_ms, expires_at_ms)
          }
          const name = `${space} ${Hex.encode(nonceDigest(owner, nonce))}`
          if (forever.has(name) || windowed.has(name)) return Effect.fail(new NonceReused())
          if (now <= forgotten_ms && space !== "login" && space !== "activation") {
            return Effect.fail(new NonceStoreUnavailable({}))
          }
          if (forever.size + windowed.size >= nonces_max) return Effect.fail(new NonceStoreUnavailable({}))
          if (space === "login" || space === "activation") forever.add(name)
          else windowed.set(name, now + retention_ms)
          return Effect.void
        })
    })
  })
