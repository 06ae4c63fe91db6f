/**
 * Policy: whether this gateway should receive traffic.
 * Source: docs/contract/rest.md#service-endpoints, docs/contract/boundary.md#lagging, docs/contract/configuration.md.
 */
import { Context, Effect, Layer } from "effect"
import { BackendHealth, type LinkState } from "./operations/BackendHealth.ts"
import { History } from "./History.ts"
import { CredentialLease, current } from "./identity/CredentialLease.ts"
import { Sequencer } from "./Sequencer.ts"
import { Lifecycle } from "./operations/Lifecycle.ts"
import { MarketView } from "./markets/MarketView.ts"

/** Time for which a backend may be unhealthy, or accept no command, before the gateway reports itself as not ready. */
export const UNHEALTHY_MAX_MS = 10_000
/** Response time after which the database counts as lost. */
const DATABASE_WAIT = "1 second"

const linkOf = ({ connected, lag_events, lag_ms }: LinkState) => ({ connected, lag_events, lag_ms })

/** Reasons of a link that is unhealthy for longer than {@link UNHEALTHY_MAX_MS}. */
const names = {
  sequencer: { lost: "SequencerUnavailable", lagging: "SequencerLagging" },
  referee: { lost: "RefereeUnavailable", lagging: "RefereeLagging" }
} as const

const reasonsOf = (link: LinkState, { lagging, lost }: (typeof names)[keyof typeof names]): ReadonlyArray<string> => {
  if (link.unhealthy_for_ms <= UNHEALTHY_MAX_MS) return []
  if (!link.connected) return [lost]
  return [link.fault === "stalled" ? "DatabaseUnavailable" : lagging]
}

export class Readiness extends Context.Service<
  Readiness,
  {
    readonly check: Effect.Effect<{
      readonly ready: boolean
      /** Why the gateway is not ready; empty if `ready`. Includes the reasons of the sequencer's heartbeat. */
      readonly reasons: ReadonlyArray<string>
      /** Conditions that an operator should end; the gateway serves meanwhile. */
      readonly warnings: ReadonlyArray<string>
      readonly sequencer: ReturnType<typeof linkOf>
      readonly referee: ReturnType<typeof linkOf>
      readonly database: { readonly connected: boolean }
    }>
  }
>()("gateway/services/Readiness") {
  static readonly layer: Layer.Layer<Readiness, never, BackendHealth | History | Lifecycle | MarketView | Sequencer> =
    Layer.effect(
      Readiness,
      Effect.gen(function* () {
        const health = yield* BackendHealth
        const history = yield* History
        const lifecycle = yield* Lifecycle
        const markets = yield* MarketView
        const lease = yield* CredentialLease
        const { commands_down_ms } = yield* Sequencer
        // a gateway that cannot read changes of credentials refuses their requests
        const database = Effect.all([history.position, current(lease)], { concurrency: "unbounded" }).pipe(
          Effect.timeout(DATABASE_WAIT),
          Effect.as(true),
          Effect.catch(() => Effect.succeed(false))
        )
        return Readiness.of({
          check: Effect.map(database, (connected) => {
            const sequencer = health.sequencer()
            const referee = health.referee()
            const { refusing, warnings } = health.reported()
            const found = new Set([
              ...(lifecycle.isStopping() ? ["Stopping"] : []),
              // before the first frames there is no data to serve
              ...(health.started() && markets.instruments().length > 0 ? [] : ["Starting"]),
              ...(connected ? [] : ["DatabaseUnavailable"]),
              ...reasonsOf(sequencer, names.sequencer),
              // events arrive, but nobody can trade; without events the sequencer's own state is reported
              ...(sequencer.connected && commands_down_ms() > UNHEALTHY_MAX_MS ? ["CommandsUnavailable"] : []),
              ...reasonsOf(referee, names.referee),
              ...refusing
            ])
            return {
              ready: found.size === 0,
              reasons: [...found],
              warnings,
              sequencer: linkOf(sequencer),
              referee: linkOf(referee),
              database: { connected }
            }
          })
        })
      })
    )
}
