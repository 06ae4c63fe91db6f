/**
 * Whether the process is stopping. /ready reports it, so that new traffic goes elsewhere.
 * Source: docs/contract/configuration.md#shutdown.
 */
import { Context, Effect, Layer } from "effect"

export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    readonly isStopping: () => boolean
    /** Marks the process as stopping. */
    readonly stop: Effect.Effect<void>
  }
>()("gateway/services/Lifecycle") {
  static readonly layer: Layer.Layer<Lifecycle> = Layer.sync(Lifecycle, () => {
    let stopping = false
    return Lifecycle.of({
      isStopping: () => stopping,
      stop: Effect.sync(() => {
        stopping = true
      })
    })
  })
}
