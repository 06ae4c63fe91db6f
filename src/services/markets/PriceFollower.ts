/**
 * Policy: follows the price stream of the referee to track its health. The prices themselves reach readers through
 * the event stream, in its order.
 * Source: docs/contract/boundary.md#lagging.
 */
import { Effect, Layer, Stream } from "effect"
import { BackendHealth } from "../operations/BackendHealth.ts"
import * as Daemon from "../operations/Daemon.ts"
import { PriceFeed, type PriceFrame } from "../PriceFeed.ts"

export const layer: Layer.Layer<never, never, PriceFeed | BackendHealth> = Layer.effectDiscard(
  Effect.gen(function* () {
    const feed = yield* PriceFeed
    const health = yield* BackendHealth
    let isKnown = false
    const take = (frame: PriceFrame): void => {
      if (frame.type === "interrupted") return health.refereeLost()
      isKnown ||= frame.type === "heartbeat"
      // prices carry no progress, they only show that the referee is connected
      if (isKnown) health.refereeProgress({ applied_seq: frame.type === "heartbeat" ? frame.applied_seq : undefined })
    }
    yield* Stream.runForEachArray(feed.frames, (frames) => Effect.sync(() => frames.forEach(take))).pipe(
      Effect.ensuring(Effect.sync(() => health.refereeLost())),
      Effect.andThen(Effect.sleep("1 second")),
      Daemon.repeat("price stream")
    )
  })
)
