/**
 * The gateway as one layer: its policies over the ports that it is given, and the doors to them.
 *
 * Give it a stack (`Standalone.layer`), or ports of your own: any of them may be another adapter or a double. It listens as
 * soon as it is built, and its finalizers are the shutdown of contract 13.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { SIM_MAKER_ROOT, userIdOf } from "./domain/Address.ts"
import * as Http from "./http/Http.ts"
import { drain, NodeServer } from "./layers/node/NodeServer.ts"
import type { Settings } from "./layers/Settings.ts"
import { ApiKeys } from "./services/ApiKeys.ts"
import { Authenticator } from "./services/Authenticator.ts"
import { BackendHealth } from "./services/BackendHealth.ts"
import { Cursors } from "./services/Cursors.ts"
import { Funds } from "./services/Funds.ts"
import { Gate } from "./services/Gate.ts"
import { Holdings } from "./services/Holdings.ts"
import { IndexPrices } from "./services/IndexPrices.ts"
import { Klines } from "./services/Klines.ts"
import { Lifecycle } from "./services/Lifecycle.ts"
import { Lists } from "./services/Lists.ts"
import { Markets } from "./services/Markets.ts"
import { Orders } from "./services/Orders.ts"
import * as PriceFollower from "./services/PriceFollower.ts"
import { Projector } from "./services/Projector.ts"
import { RateLimiter } from "./services/RateLimiter.ts"
import { Readiness } from "./services/Readiness.ts"
import * as SettledSequencer from "./services/SettledSequencer.ts"
import { SubAccounts } from "./services/SubAccounts.ts"
import { Tokens } from "./services/Tokens.ts"
import { UserSnapshots } from "./services/UserSnapshots.ts"
import { Hub } from "./ws/Hub.ts"
import { defaults as wsDefaults, Limits } from "./ws/Limits.ts"
import * as Ws from "./ws/Ws.ts"

/** Time that requests in flight have at shutdown. Source: contract 13. */
const REQUESTS_DRAIN = Duration.seconds(10)

/** The embedded backend's own market maker: its orders are seen in books and trades, and nobody reads its history. */
const HOUSE_USERS = new Set([userIdOf(SIM_MAKER_ROOT)])

/** What the gateway decides, over its ports. Each storey stands on the ones below it. */
const policies = (settings: Settings) => {
  const { adminPassword: password, adminUsername: username } = settings
  const ground = Layer.mergeAll(
    BackendHealth.layer,
    Lifecycle.layer,
    Cursors.layer,
    Tokens.layer({ environment: settings.environment }),
    ApiKeys.layer(),
    RateLimiter.layer({
      mode: settings.rateLimitMode,
      limits: { public: settings.ratePublic, token: settings.rateToken, "api-key": settings.rateApiKey }
    })
  )
  const lanes = Layer.mergeAll(Gate.layer, PriceFollower.layer, Projector.layer({ houseUsers: HOUSE_USERS }))
  const desks = Layer.mergeAll(
    Authenticator.layer({
      loginWindow: Duration.millis(settings.loginWindowMs),
      apiKeyWindow: Duration.millis(settings.apiKeyWindowMs),
      admin: username === undefined || password === undefined ? undefined : { username, password }
    }),
    Klines.layer,
    Orders.layer,
    SubAccounts.layer,
    Funds.layer({ faucet: settings.environment !== "production" }),
    IndexPrices.layer({ embedded: settings.backend === "embedded" }),
    Readiness.layer,
    UserSnapshots.layer
  )
  const readers = Layer.mergeAll(Markets.layer, Lists.layer, Holdings.layer)
  return readers.pipe(
    Layer.provideMerge(desks),
    Layer.provideMerge(SettledSequencer.layer),
    Layer.provideMerge(lanes),
    Layer.provideMerge(ground)
  )
}

const sockets = (settings: Settings) =>
  Ws.layer.pipe(
    Layer.provide(Layer.effect(Ws.UpgradeServer, NodeServer)),
    Layer.provide(Hub.layer),
    Layer.provide(
      Layer.succeed(Limits, {
        ...wsDefaults,
        connections_per_ip: settings.wsConnectionsPerIp,
        connections_per_user: settings.wsConnectionsPerUser,
        ping_interval_ms: settings.wsPingIntervalMs,
        silence_ms: settings.wsKeepaliveTimeoutMs,
        drain_ms: settings.drainMs,
        trusted_proxies: settings.trustedProxies
      })
    )
  )

const requests = (settings: Settings) =>
  HttpRouter.serve(Http.layer({ trustedProxies: settings.trustedProxies }), {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: Http.routerConfig
  })

const listening = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(NodeServer, (server) =>
      NodeHttpServer.layer(() => server, {
        port: settings.port,
        host: settings.host,
        gracefulShutdownTimeout: REQUESTS_DRAIN
      })
    )
  )

/** From the first word of a shutdown on, /ready and every answer tell clients to go elsewhere. */
const announcing = Layer.effectDiscard(
  Effect.gen(function* () {
    const { stop } = yield* Lifecycle
    const server = yield* NodeServer
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        stop,
        Effect.sync(() => drain(server))
      )
    )
  })
)

/** Layers are closed in the opposite order of their building: announce, sockets, requests, then what they stood on. */
export const layer = (settings: Settings) =>
  announcing.pipe(
    Layer.provideMerge(sockets(settings)),
    Layer.provideMerge(requests(settings)),
    Layer.provideMerge(listening(settings)),
    Layer.provideMerge(policies(settings)),
    Layer.provideMerge(NodeServer.layer)
  )
