/**
 * Policy: requests refused while a backend is unhealthy, and the maximum age of market data.
 *
 * Source: docs/contract/boundary.md#lagging.
 */
import { Context, Effect, Layer } from "effect"
import { BackendHealth, type LinkState } from "./BackendHealth.ts"
import { DomainError } from "../DomainError.ts"

/** Error text of a read while the backend is not connected. */
export const READ_UNAVAILABLE = "the trading backend does not answer"

/** Maximum age of the market data that reads return while the sequencer is unhealthy. */
export const MARKET_DATA_AGE_MAX_MS = 60_000

/** Why a call is refused while a backend is unhealthy. */
export type UnhealthyReason = "BackendUnavailable" | "BackendLagging" | "DatabaseUnavailable"

const refusalOf = ({ connected, fault, lag_events, lag_ms }: LinkState): DomainError<UnhealthyReason> => {
  if (!connected) return new DomainError("BackendUnavailable")
  // events are queued because the database accepts none; the backend is not at fault
  if (fault === "stalled") return new DomainError("DatabaseUnavailable")
  return new DomainError("BackendLagging", { lag_events, lag_ms })
}
/** The error of a read. Its text does not mention sequencing. */
const readRefusalOf = (link: LinkState): DomainError<UnhealthyReason> =>
  link.connected ? refusalOf(link) : new DomainError("BackendUnavailable", {}, READ_UNAVAILABLE)

export class BackendAvailability extends Context.Service<
  BackendAvailability,
  {
    /** Guards commands except cancels, and private reads of data from the stream. */
    readonly sequencer: Effect.Effect<void, DomainError<UnhealthyReason>>
    /** Guards reads of accounts and positions. */
    readonly referee: Effect.Effect<void, DomainError<UnhealthyReason>>
    /** Guards market reads. Returns the age of the data in ms while the sequencer is unhealthy, `undefined` otherwise. */
    readonly marketData: Effect.Effect<number | undefined, DomainError<UnhealthyReason>>
  }
>()("gateway/services/BackendAvailability") {
  static readonly layer: Layer.Layer<BackendAvailability, never, BackendHealth> = Layer.effect(
    BackendAvailability,
    Effect.map(BackendHealth, (health) =>
      BackendAvailability.of({
        sequencer: Effect.suspend(() => {
          const link = health.sequencer()
          return link.unhealthy ? Effect.fail(refusalOf(link)) : Effect.void
        }),
        referee: Effect.suspend(() => {
          const link = health.referee()
          return link.unhealthy ? Effect.fail(readRefusalOf(link)) : Effect.void
        }),
        marketData: Effect.suspend(() => {
          const link = health.sequencer()
          if (!link.unhealthy) return Effect.undefined
          return link.age_ms <= MARKET_DATA_AGE_MAX_MS ? Effect.succeed(link.age_ms) : Effect.fail(readRefusalOf(link))
        })
      })
    )
  )
}
