/**
 * Policy: what is refused while a backend is ill, and how old market data may get.
 *
 * Source: contract 8.4.
 */
import { Context, Effect, Layer } from "effect"
import { BackendHealth, type LinkState } from "./BackendHealth.ts"
import { Refused } from "./Refused.ts"

/** Market reads answer the last state for so long. */
export const MARKET_DATA_AGE_MAX_MS = 60_000

const refusalOf = (link: LinkState): Refused =>
  link.connected
    ? new Refused("BackendLagging", { lag_events: link.lag_events, lag_ms: link.lag_ms })
    : new Refused("BackendUnavailable")

const check = (link: LinkState): Effect.Effect<void, Refused> => (link.ill ? Effect.fail(refusalOf(link)) : Effect.void)

export class Gate extends Context.Service<
  Gate,
  {
    /** Commands but cancels, and private reads of what the stream brings. */
    readonly sequencer: Effect.Effect<void, Refused>
    /** Reads of accounts and positions. */
    readonly referee: Effect.Effect<void, Refused>
    /** Market reads: age of the data in ms while the sequencer is ill, `undefined` while it is well. */
    readonly marketData: Effect.Effect<number | undefined, Refused>
  }
>()("gateway/services/Gate") {
  static readonly layer: Layer.Layer<Gate, never, BackendHealth> = Layer.effect(
    Gate,
    Effect.map(BackendHealth, (health) =>
      Gate.of({
        sequencer: Effect.suspend(() => check(health.sequencer())),
        referee: Effect.suspend(() => check(health.referee())),
        marketData: Effect.suspend(() => {
          const link = health.sequencer()
          if (!link.ill) return Effect.undefined
          return link.age_ms <= MARKET_DATA_AGE_MAX_MS ? Effect.succeed(link.age_ms) : Effect.fail(refusalOf(link))
        })
      })
    )
  )
}
