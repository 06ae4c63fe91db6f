/** The calls and streams that are not done yet: a shutdown waits for them before it closes what carries them. */
import { Context, Effect, Latch, Layer, type Scope } from "effect"

export class InHand extends Context.Service<
  InHand,
  {
    /** Counts one more until the scope closes. */
    readonly one: Effect.Effect<void, never, Scope.Scope>
    /** Waits until there is none. */
    readonly none: Effect.Effect<void>
  }
>()("gateway/rpc/InHand") {
  static readonly layer = Layer.sync(InHand, () => {
    let count = 0
    const none = Latch.makeUnsafe(true)
    const begin = Effect.sync(() => {
      count++
      none.closeUnsafe()
    })
    const end = Effect.sync(() => {
      if (--count === 0) none.openUnsafe()
    })
    return InHand.of({ one: Effect.acquireRelease(begin, () => end), none: none.await })
  })
}
