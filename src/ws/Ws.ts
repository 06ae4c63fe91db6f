/**
 * The WebSocket endpoints of feeds and procedure calls, as one layer on the HTTP server of REST.
 *
 * Build it above the layer that listens: then it closes first, and the server does not wait for open sockets.
 * Source: docs/contract/websocket.md#endpoints, #limits, docs/contract/configuration.md#shutdown.
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import type * as Http from "node:http"
import { Authenticator } from "../services/identity/Authenticator.ts"
import { CredentialLease } from "../services/identity/CredentialLease.ts"
import { MarketView } from "../services/markets/MarketView.ts"
import { BackendHealth } from "../services/operations/BackendHealth.ts"
import { InProcessFeeds } from "../services/operations/InProcessFeeds.ts"
import { UserSnapshots } from "../services/read-model/UserSnapshots.ts"
import { UserStreams } from "../services/read-model/UserStreams.ts"
import { Admission } from "./Admission.ts"
import { ConnectionRegistry } from "./ConnectionRegistry.ts"
import { drain } from "./Drain.ts"
import { Hub } from "./Hub.ts"
import { openInProcess } from "./InProcessSessions.ts"
import * as Keepalive from "./Keepalive.ts"
import { Limits } from "./Limits.ts"
import type { SessionDeps } from "./Session.ts"
import { handleUpgrades } from "./UpgradeHandler.ts"

/** The HTTP server that receives the upgrade requests. */
export class UpgradeServer extends Context.Service<UpgradeServer, Http.Server>()("gateway/ws/UpgradeServer") {}

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const limits = yield* Limits
    const registry = yield* ConnectionRegistry.make
    const admission = yield* Admission.make(registry)
    const fork = yield* FiberSet.makeRuntime<never>()
    const deps: SessionDeps = {
      hub: yield* Hub,
      authenticator: yield* Authenticator,
      snapshots: yield* UserSnapshots,
      streams: yield* UserStreams,
      view: yield* MarketView,
      limits,
      run: (effect) => void fork(effect),
      admit: registry.admit,
      ending: registry.ending,
      gone: registry.remove
    }
    const sources = { health: yield* BackendHealth, lease: yield* CredentialLease }
    yield* Keepalive.run(() => registry.connections, limits, sources)
    const restore = yield* handleUpgrades(yield* UpgradeServer, admission, registry, deps)
    const inProcess = yield* InProcessFeeds
    yield* inProcess.serve(openInProcess(admission, registry, deps))
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        admission.isOpen = false
        yield* drain(registry.connections, limits)
        restore()
      })
    )
  })
)

/** The endpoints with their fan-out and snapshots; needs the ports that these read. */
export const live = layer.pipe(Layer.provide([Hub.layer, UserSnapshots.layer]))
