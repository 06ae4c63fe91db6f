/**
 * The gateway as one layer: its policies over the ports that it is given, and the doors to them.
 *
 * Give it a stack (`Standalone.layer`), or ports of your own: any of them may be another adapter or a double. It listens as
 * soon as it is built, and its finalizers are the shutdown of docs/contract/configuration.md#shutdown.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { SIM_MAKER_ROOT, userIdOf } from "./domain/Address.ts"
import { VERSION } from "./http/api/Api.ts"
import { FastRoutes } from "./http/fast/FastRoutes.ts"
import * as Http from "./http/Http.ts"
import * as Page from "./http/Page.ts"
import * as AdminUsers from "./layers/AdminUsers.ts"
import { BACKLOG } from "./layers/node/EarlyListen.ts"
import { measure } from "./layers/node/Measure.ts"
import { drain, Limits as DoorBounds, NodeServer, putBefore } from "./layers/node/NodeServer.ts"
import { crowds } from "./layers/node/SlowClientGuard.ts"
import type { Settings } from "./layers/Settings.ts"
import { Endpoints } from "./rpc/handlers/Endpoints.ts"
import * as Rpc from "./rpc/Rpc.ts"
import { AccessCodeIssuer } from "./services/identity/AccessCodeIssuer.ts"
import { Activation } from "./services/identity/Activation.ts"
import { Administrators } from "./services/identity/Administrators.ts"
import { LaunchAccess } from "./services/identity/LaunchAccess.ts"
import { ApiKeys } from "./services/identity/ApiKeys.ts"
import { AuditTrail } from "./services/identity/AuditTrail.ts"
import { Authenticator } from "./services/identity/Authenticator.ts"
import { BackendHealth } from "./services/operations/BackendHealth.ts"
import { BanList } from "./services/identity/BanList.ts"
import { Bans } from "./services/rewards/Bans.ts"
import { RpcConnections } from "./services/operations/RpcConnections.ts"
import * as CommandAdmission from "./services/trading/CommandAdmission.ts"
import { Competitions } from "./services/rewards/Competitions.ts"
import { Cursors } from "./services/operations/Cursors.ts"
import { DeadMansSwitch } from "./services/trading/DeadMansSwitch.ts"
import { InProcessFeeds } from "./services/operations/InProcessFeeds.ts"
import { Funds } from "./services/trading/Funds.ts"
import { BackendAvailability } from "./services/operations/BackendAvailability.ts"
import { Grants } from "./services/identity/Grants.ts"
import { PortfolioQueries } from "./services/read-model/PortfolioQueries.ts"
import { IndexPrices } from "./services/markets/IndexPrices.ts"
import { Klines } from "./services/markets/Klines.ts"
import { Lifecycle } from "./services/operations/Lifecycle.ts"
import { HistoryQueries } from "./services/read-model/HistoryQueries.ts"
import { MarketHistory } from "./services/markets/MarketHistory.ts"
import { MarketQueries } from "./services/markets/MarketQueries.ts"
import { Metrics } from "./services/operations/Metrics.ts"
import { Orders } from "./services/trading/Orders.ts"
import { TradingStatistics } from "./services/read-model/TradingStatistics.ts"
import { Positions } from "./services/trading/Positions.ts"
import { ReadYourWrites } from "./services/read-model/ReadYourWrites.ts"
import * as PriceFollower from "./services/markets/PriceFollower.ts"
import { Projector } from "./services/read-model/Projector.ts"
import { RateLimiter } from "./services/operations/RateLimiter.ts"
import { Readiness } from "./services/Readiness.ts"
import { ReferralFees } from "./services/rewards/ReferralFees.ts"
import { Referrals } from "./services/rewards/Referrals.ts"
import { Rewards } from "./services/rewards/Rewards.ts"
import { CompetitionScoring } from "./services/rewards/CompetitionScoring.ts"
import * as ReadYourWritesSequencer from "./services/read-model/ReadYourWritesSequencer.ts"
import { SubAccounts } from "./services/identity/SubAccounts.ts"
import { Tokens } from "./services/identity/Tokens.ts"
import { CurrentTracer } from "./services/operations/Tracing.ts"
import { UserSnapshots } from "./services/read-model/UserSnapshots.ts"
import { WithdrawalAddresses } from "./services/trading/WithdrawalAddresses.ts"
import * as AsyncApi from "./ws/api/AsyncApi.ts"
import { Hub } from "./ws/Hub.ts"
import { defaults as wsDefaults, Limits } from "./ws/Limits.ts"
import * as Ws from "./ws/Ws.ts"

/**
 * Time in which a balancer notices at /ready that a gateway of a fleet stops: until then everything goes on, since who is sent away
 * would be sent here again. Never longer than the time over which sockets are closed, and nothing where a gateway is alone.
 */
const NOTICED_MS = 3_000

/** Time that requests in flight have at shutdown. Source: docs/contract/configuration.md#shutdown. */
const REQUESTS_DRAIN = Duration.seconds(10)

/** How often changes of credentials by other gateways are read: they are refused within a second, notices or not. */
const REVOCATIONS_REFRESH = Duration.millis(500)

/** Where the WebSocket endpoints are described, beside their sister document. */
const ASYNCAPI_PATH = "/api-docs/asyncapi.json"
const asyncApi = () => AsyncApi.asyncApi(VERSION)

/** The embedded backend's own market maker: its orders are seen in books and trades, and nobody reads its history. */
const HOUSE_USERS = new Set([userIdOf(SIM_MAKER_ROOT)])

/** What the gateway decides, over its ports. Each storey stands on the ones below it. */
const policies = (settings: Settings) => {
  const { adminPassword: password, adminUsername: username } = settings
  const explainSignatures = settings.environment !== "production"
  const ground = Layer.mergeAll(
    BackendHealth.layer,
    Lifecycle.layer,
    InProcessFeeds.layer,
    RpcConnections.layer,
    Cursors.layer,
    Tokens.layer({ environment: settings.environment, refresh: REVOCATIONS_REFRESH }),
    ApiKeys.layer({ refresh: REVOCATIONS_REFRESH }),
    LaunchAccess.layer({ mode: settings.accessMode }),
    RateLimiter.layer({
      mode: settings.rateLimitMode,
      limits: {
        public: settings.ratePublic,
        token: settings.rateToken,
        user: settings.rateUser,
        "api-key": settings.rateApiKey
      }
    })
  )
  const lanes = Layer.mergeAll(
    BackendAvailability.layer,
    PriceFollower.layer,
    Projector.layer({ houseUsers: HOUSE_USERS })
  )
  const desks = Layer.mergeAll(
    Authenticator.layer({
      loginWindow: Duration.millis(settings.loginWindowMs),
      apiKeyWindow: Duration.millis(settings.apiKeyWindowMs),
      explainSignatures
    }),
    Layer.unwrap(
      Effect.map(AdminUsers.read(settings), (users) =>
        Administrators.layer({
          admin: username === undefined || password === undefined ? undefined : { username, password },
          users
        })
      )
    ),
    AuditTrail.layer,
    Activation.layer({ window: Duration.seconds(settings.activationWindowS), explainSignatures }),
    AccessCodeIssuer.layer,
    Klines.layer,
    Orders.layer,
    Positions.layer,
    SubAccounts.layer,
    Funds.layer({ faucet: settings.environment !== "production" }).pipe(
      Layer.provideMerge(WithdrawalAddresses.layer({ delay: Duration.millis(settings.withdrawalAddressDelayMs) }))
    ),
    IndexPrices.layer({ embedded: settings.backend === "embedded" }),
    Metrics.layer.pipe(Layer.provideMerge(Readiness.layer)),
    UserSnapshots.layer,
    Referrals.layer,
    ReferralFees.layer,
    Competitions.layer
  )
  const readers = Layer.mergeAll(
    MarketQueries.layer,
    HistoryQueries.layer,
    PortfolioQueries.layer,
    MarketHistory.layer,
    TradingStatistics.layer,
    Rewards.layer,
    DeadMansSwitch.layer
  )
  return Bans.layer.pipe(
    Layer.provideMerge(CompetitionScoring.layer),
    Layer.provideMerge(readers),
    Layer.provideMerge(desks),
    Layer.provideMerge(ReadYourWritesSequencer.layer),
    Layer.provideMerge(CommandAdmission.sequencer),
    Layer.provideMerge(CommandAdmission.CommandAdmission.layer()),
    Layer.provideMerge(ReadYourWrites.layer),
    Layer.provideMerge(lanes),
    Layer.provideMerge(ground),
    Layer.provideMerge(BanList.layer),
    Layer.provideMerge(Grants.layer)
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

const httpOptions = (settings: Settings): Http.HttpOptions => ({
  trustedProxies: settings.trustedProxies,
  metricsPublic: settings.metricsPublic,
  documents: { [ASYNCAPI_PATH]: asyncApi },
  page: Page.read(settings.environment)
})

const requests = (options: Http.HttpOptions) =>
  HttpRouter.serve(Layer.mergeAll(Http.layer(options), Rpc.layer).pipe(Layer.provideMerge(Endpoints.layer)), {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: Http.routerConfig
  })

/** Who asks faster than he reads is not answered; what is asked most often is, before the routes look. */
const front = (settings: Settings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* NodeServer
      const { offer } = yield* FastRoutes
      const isTooMuch = crowds()
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          putBefore(server, (request, response) => isTooMuch(request, response) || offer(request, response))
        ),
        (takeAway) => Effect.sync(takeAway)
      )
    })
  ).pipe(Layer.provide(FastRoutes.layer({ trustedProxies: settings.trustedProxies })))

/** The door, whose bounds for an address mean nothing where all connections are a proxy's. */
const door = ({ arrivalsPerIp, connectionsPerIp, trustedProxies }: Settings) =>
  NodeServer.layer.pipe(
    Layer.provide(
      Layer.effect(
        DoorBounds,
        Effect.map(DoorBounds, (limits) =>
          trustedProxies > 0
            ? { ...limits, arrivals_per_s: 0, connections_per_address: 0, unread_bytes: 0 }
            : { ...limits, arrivals_per_s: arrivalsPerIp, connections_per_address: connectionsPerIp }
        )
      )
    )
  )

/** Counts beside the way that requests take. */
const measuring = (options: Http.HttpOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* NodeServer
      const metrics = yield* Metrics
      const { routeOf } = Http.tableOf(options)
      const tracer = yield* CurrentTracer
      const spans = tracer === undefined ? undefined : { tracer, clock: yield* Clock.Clock }
      yield* Effect.acquireRelease(
        Effect.sync(() => measure(server, metrics, routeOf, spans)),
        (stop) => Effect.sync(stop)
      )
    })
  )

/** It listens before its routes are there, so connections wait. */
const listening = (settings: Settings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* NodeServer
      yield* Effect.sync(() => server.hold())
      return NodeHttpServer.layer(() => server, {
        port: settings.port,
        host: settings.host,
        backlog: BACKLOG,
        gracefulShutdownTimeout: REQUESTS_DRAIN
      })
    })
  )

/** All is built: those who wait come first. */
const opening = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* NodeServer
    yield* Effect.sync(() => server.admit())
  })
)

/** From the first word of a shutdown on, /ready and every answer tell clients to go elsewhere. */
const announcing = ({ databaseUrl, drainMs }: Settings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { stop } = yield* Lifecycle
      const server = yield* NodeServer
      yield* Effect.addFinalizer(() =>
        stop.pipe(
          Effect.andThen(Effect.sync(() => drain(server))),
          Effect.andThen(Effect.sleep(databaseUrl === undefined ? 0 : Math.min(NOTICED_MS, drainMs)))
        )
      )
    })
  )

/** Layers are closed in the opposite order of their building: announce, sockets, requests, then what they stood on. */
export const layer = (settings: Settings) =>
  Layer.unwrap(
    Effect.sync(() => {
      const options = httpOptions(settings)
      return opening.pipe(
        Layer.provideMerge(announcing(settings)),
        Layer.provideMerge(measuring(options)),
        Layer.provideMerge(sockets(settings)),
        Layer.provideMerge(front(settings)),
        Layer.provideMerge(requests(options)),
        Layer.provideMerge(listening(settings)),
        Layer.provideMerge(policies(settings)),
        Layer.provideMerge(door(settings))
      )
    })
  )
