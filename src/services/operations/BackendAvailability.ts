/**
 * Policy: what is refused while a backend is ill, and how old market data may get.
 *
 * Source: docs/contract/boundary.md#lagging.
 */
import { Context, Effect, Layer } from "effect"
import { BackendHealth, type LinkState } from "./BackendHealth.ts"
import { DomainError } from "../DomainError.ts"

/** What a read says where the backend does not answer. */
export const READ_UNAVAILABLE = "the trading backend does not answer"

/** Market reads answer the last state for so long. */
export const MARKET_DATA_AGE_MAX_MS = 60_000

const refusalOf = ({ connected, illness, lag_events, lag_ms }: LinkState): DomainError => {
  if (!connected) return new DomainError("BackendUnavailable")
  // events wait here since the history takes none: that is no fault of the backend
  if (illness === "stalled") return new DomainError("DatabaseUnavailable")
  return new DomainError("BackendLagging", { lag_events, lag_ms })
}
/** The same of a read, which sequences nothing anyway. */
const readRefusalOf = (link: LinkState): DomainError =>
  link.connected ? refusalOf(link) : new DomainError("BackendUnavailable", {}, READ_UNAVAILABLE)

export class BackendAvailability extends Context.Service<
  BackendAvailability,
  {
    /** Commands but cancels, and private reads of what the stream brings. */
    readonly sequencer: Effect.Effect<void, DomainError>
    /** Reads of accounts and positions. */
    readonly referee: Effect.Effect<void, DomainError>
    /** Market reads: age of the data in ms while the sequencer is ill, `undefined` while it is well. */
    readonly marketData: Effect.Effect<number | undefined, DomainError>
  }
>()("gateway/services/Gate") {
  static readonly layer: Layer.Layer<BackendAvailability, never, BackendHealth> = Layer.effect(
    BackendAvailability,
    Effect.map(BackendHealth, (health) =>
      BackendAvailability.of({
        sequencer: Effect.suspend(() => {
          const link = health.sequencer()
          return link.ill ? Effect.fail(refusalOf(link)) : Effect.void
        }),
        referee: Effect.suspend(() => {
          const link = health.referee()
          return link.ill ? Effect.fail(readRefusalOf(link)) : Effect.void
        }),
        marketData: Effect.suspend(() => {
          const link = health.sequencer()
          if (!link.ill) return Effect.undefined
          return link.age_ms <= MARKET_DATA_AGE_MAX_MS ? Effect.succeed(link.age_ms) : Effect.fail(readRefusalOf(link))
        })
      })
    )
  )
}
