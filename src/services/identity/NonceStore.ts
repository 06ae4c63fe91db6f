/**
 * Port: the used nonces of each owner.
 *
 * Guarantee: of all claims of one pair within the retention time, over all gateways that share the store, one
 * succeeds. Spaces are login, activation, rest and ws. Login and activation nonces are kept forever, rest and ws
 * nonces for twice their window. A clock that is set back does not make a nonce usable again: while an expired nonce
 * could be accepted, claims fail as unavailable, until the clock has passed its time. After {@link NonceStoreUnavailable}
 * the claim may have been recorded, so the caller must sign with a new nonce.
 * Source: docs/contract/authentication.md#login, #api-keys.
 */
import { Context, Effect, Layer, Schema } from "effect"

export type NonceSpace = "login" | "activation" | "rest" | "ws"

/** The pair was used before. */
export class NonceReused extends Schema.TaggedError<NonceReused>()("NonceReused", {}) {}
export class NonceStoreUnavailable extends Schema.TaggedError<NonceStoreUnavailable>()("NonceStoreUnavailable", {
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export class NonceStore extends Context.Service<
  NonceStore,
  {
    /** `owner`: raw bytes of the key, or UTF-8 bytes of the party id. */
    readonly claim: (
      space: NonceSpace,
      owner: Uint8Array,
      nonce: string
    ) => Effect.Effect<void, NonceReused | NonceStoreUnavailable>
  }
>()("gateway/services/NonceStore") {
  /** Uses one store for the spaces kept forever and another for those with a window. */
  static readonly routed = <E1, R1, E2, R2>(stores: {
    readonly forever: Layer.Layer<NonceStore, E1, R1>
    readonly windowed: Layer.Layer<NonceStore, E2, R2>
  }): Layer.Layer<NonceStore, E1 | E2, R1 | R2> =>
    Layer.effect(
      NonceStore,
      Effect.gen(function* () {
        const forever = Context.get(yield* Layer.build(stores.forever), NonceStore)
        const windowed = Context.get(yield* Layer.build(stores.windowed), NonceStore)
        return NonceStore.of({
          claim: (space, owner, nonce) =>
            (space === "login" || space === "activation" ? forever : windowed).claim(space, owner, nonce)
        })
      })
    )
}
