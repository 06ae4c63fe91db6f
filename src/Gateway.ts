/**
 * The gateway as one layer: its policies over the ports that it receives, and the servers of REST, WebSocket and RPC.
 *
 * Provide a stack (`Standalone.layer`), or your own ports: each of them may be another adapter or a test double. The
 * gateway listens as soon as the layer is built. Its finalizers are the shutdown of docs/contract/configuration.md#shutdown.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Duration, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { SIM_MAKER_ROOT, SIM_TAKERS_ROOT, userIdOf } from "./domain/Address.ts"
import { VERSION } from "./domain/Version.ts"
import { FastRoutes } from "./http/fast/FastRoutes.ts"
import * as Http from "./http/Http.ts"
import * as DocsSite from "./http/DocsSite.ts"
import * as Page from "./http/Page.ts"
import * as AdminUsers from "./layers/AdminUsers.ts"
import { BACKLOG } from "./layers/node/EarlyListen.ts"
import { measure } from "./layers/node/Measure.ts"
import { drain, Limits as ServerLimits, NodeServer, putBefore } from "./layers/node/NodeServer.ts"
import { pipelineLimit } from "./layers/node/SlowClientGuard.ts"
import { consistent, type Settings } from "./layers/Settings.ts"
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
import * as CredentialChanges from "./services/identity/CredentialChanges.ts"
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
import { HistoryWriter } from "./services/read-model/HistoryWriter.ts"
import { HistoryQueries } from "./services/read-model/HistoryQueries.ts"
import { MarketHistory } from "./services/markets/MarketHistory.ts"
import { MarketQueries } from "./services/markets/MarketQueries.ts"
import { Metrics } from "./services/Metrics.ts"
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
 * Time in which a load balancer notices at /ready that a gateway of a fleet stops, in ms. The gateway serves until then,
 * since the balancer would send a disconnected client back to it. Capped by DRAIN_MS; 0 for a gateway that runs alone.
 */
const NOTICED_MS = 3_000

/** Time that requests in flight have to finish at shutdown. Source: docs/contract/configuration.md#shutdown. */
const REQUESTS_DRAIN = Duration.seconds(10)

/** Where the description of the WebSocket endpoints is served, beside the OpenAPI document. */
const ASYNCAPI_PATH = "/api-docs/asyncapi.json"
const asyncApi = () => AsyncApi.asyncApi(VERSION)

/** The simulated users of the embedded backend: books and trades show their orders; no private history is kept for them. */
const HOUSE_USERS = new Set([SIM_MAKER_ROOT, SIM_TAKERS_ROOT].map(userIdOf))

/** The gateway's policies over its ports. Each group is built on the groups below it. */
const policies = (settings: Settings) => {
  const { adminPassword: password, adminUsername: username } = settings
  const explainSignatures = settings.environment !== "production"
  const foundation = Layer.mergeAll(
    BackendHealth.layer,
    Lifecycle.layer,
    InProcessFeeds.layer,
    RpcConnections.layer,
    Cursors.layer,
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
  const streams = Layer.mergeAll(
    BackendAvailability.layer,
    PriceFollower.layer,
    Projector.layer({ houseUsers: HOUSE_USERS })
  )
  const operations = Layer.mergeAll(
    Authenticator.layer({
      loginWindow: Duration.millis(settings.loginWindowMs),
      apiKeyWindow: Duration.millis(settings.apiKeyWindowMs),
      noncesInDatabase: settings.redisUrl === undefined,
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
  const queries = Layer.mergeAll(
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
    Layer.provideMerge(queries),
    Layer.provideMerge(operations),
    Layer.provideMerge(ReadYourWritesSequencer.layer),
    Layer.provideMerge(CommandAdmission.sequencer),
    Layer.provideMerge(
      CommandAdmission.CommandAdmission.layer({
        limits: { ...CommandAdmission.limits, target_ms: settings.commandTargetMs }
      })
    ),
    Layer.provideMerge(ReadYourWrites.layer),
    Layer.provideMerge(streams),
    Layer.provideMerge(foundation),
    Layer.provideMerge(CredentialChanges.layer),
    Layer.provideMerge(Layer.mergeAll(Tokens.layer({ environment: settings.environment }), ApiKeys.layer())),
    Layer.provideMerge(HistoryWriter.layer()),
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
  page: [...Page.read(settings.environment), ...DocsSite.read()]
})

/** Only the endpoints get out: `serve` also returns the memo map with its router, which the router of an app would then share. */
const requests = (options: Http.HttpOptions) =>
  Layer.effect(Endpoints, Endpoints).pipe(
    Layer.provide(
      HttpRouter.serve(Layer.mergeAll(Http.layer(options), Rpc.layer).pipe(Layer.provideMerge(Endpoints.layer)), {
        disableLogger: true,
        disableListenLog: true,
        routerConfig: Http.routerConfig
      })
    )
  )

/** Refuses requests of clients that do not read their responses, then offers hot requests to the fast path before the router. */
const fastPath = (settings: Settings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* NodeServer
      const { offer } = yield* FastRoutes
      const exceedsPipelineLimit = pipelineLimit()
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          putBefore(server, (request, response) => exceedsPipelineLimit(request, response) || offer(request, response))
        ),
        (remove) => Effect.sync(remove)
      )
    })
  ).pipe(Layer.provide(FastRoutes.layer({ trustedProxies: settings.trustedProxies })))

/** The HTTP server. Behind a proxy all connections have the proxy's address, so limits by address are off. */
const httpServer = ({ arrivalsPerIp, connectionsPerIp, trustedProxies }: Settings) =>
  NodeServer.layer.pipe(
    Layer.provide(
      Layer.effect(
        ServerLimits,
        Effect.map(ServerLimits, (limits) =>
          trustedProxies > 0
            ? { ...limits, arrivals_per_s: 0, connections_per_address: 0, unread_bytes: 0 }
            : { ...limits, arrivals_per_s: arrivalsPerIp, connections_per_address: connectionsPerIp }
        )
      )
    )
  )

/** Measures requests outside of their path. */
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

/** Listens before the routes are built; requests are held until `admitting`. */
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

/** Longest wait of a start for the head of the stream. Without a backend, the gateway then serves what the history holds. */
const HEAD_WAIT = Duration.seconds(2)

/**
 * Everything is built and shows the stream up to its head, so that no client is shown less than another gateway, or this one
 * before its restart, has shown it. The held requests are served first.
 */
const admitting = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* NodeServer
    const { caughtUp } = yield* Projector
    yield* Effect.timeoutOption(caughtUp, HEAD_WAIT)
    yield* Effect.sync(() => server.admit())
  })
)

/** The first step of a shutdown: /ready fails and every response closes its connection, so that clients reconnect elsewhere. */
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

/** Layers close in the reverse order of their construction: announce, sockets, requests, then policies and the server. */
export const layer = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(consistent(settings), () => {
      const options = httpOptions(settings)
      return admitting.pipe(
        Layer.provideMerge(announcing(settings)),
        Layer.provideMerge(measuring(options)),
        Layer.provideMerge(sockets(settings)),
        Layer.provideMerge(fastPath(settings)),
        Layer.provideMerge(requests(options)),
        Layer.provideMerge(listening(settings)),
        Layer.provideMerge(policies(settings)),
        Layer.provideMerge(httpServer(settings))
      )
    })
  )
