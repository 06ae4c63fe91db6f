/** A whole exchange in this process: the gateway with its embedded backend, on a free port and an empty directory. */
import { ConfigProvider, Effect, Layer, ManagedRuntime, References } from "effect"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { NodeServer } from "../../src/layers/node/NodeServer.ts"
import * as Gateway from "../../src/Gateway.ts"
import * as Cluster from "../../src/layers/Cluster.ts"
import * as Otlp from "../../src/layers/otlp/Otlp.ts"
import { settings } from "../../src/layers/Settings.ts"
import * as Standalone from "../../src/layers/Standalone.ts"
import type { Endpoints } from "../../src/rpc/handlers/Endpoints.ts"
import type { InProcessFeeds } from "../../src/services/operations/InProcessFeeds.ts"
import * as MetricsRegistry from "../../src/services/operations/MetricsRegistry.ts"
import type { NonceStore } from "../../src/services/identity/NonceStore.ts"
import type { RateLimitStore } from "../../src/services/operations/RateLimitStore.ts"
import type { Signatures } from "../../src/services/identity/Signatures.ts"
import { temporaryFolder } from "./Programs.ts"
import { ADMIN_ENV, QUIET_MARKET, UNLIMITED } from "./Settings.ts"
import { until, WAIT_MS } from "./Wait.ts"

export interface Exchange {
  readonly url: string
  readonly wsUrl: string
  readonly dataDir: string
  /** The HTTP server, for tests that count its connections. */
  readonly server: Server
  /** Runs an effect in this process, with the gateway's own services. */
  readonly inside: <A, E>(effect: Effect.Effect<A, E, Endpoints | InProcessFeeds>) => Promise<A>
  readonly close: () => Promise<void>
}

const { FAUCET_DAILY_LIMIT: _, ...market } = QUIET_MARKET

/** Starts an exchange without limits of rates or connections, on a market that only its callers move, unless `env` differs. */
export const startExchange = async (
  options: {
    readonly env?: Record<string, string>
    readonly clock?: Layer.Layer<never>
    /** Replaces the store that counts rates. */
    readonly rates?: Layer.Layer<RateLimitStore>
    readonly dataDir?: string
    /** Wraps two ports, so that a test can suspend their calls. */
    readonly around?: Layer.Layer<NonceStore | Signatures, never, NonceStore | Signatures>
    /** `false`: return as soon as it listens. */
    readonly awaitReady?: false
  } = {}
): Promise<Exchange> => {
  const folder = options.dataDir === undefined ? temporaryFolder("exchange") : undefined
  const dataDir = options.dataDir ?? folder!.path
  const environment = {
    PORT: "0",
    HOST: "127.0.0.1",
    DATA_DIR: dataDir,
    ...UNLIMITED,
    ...market,
    ...ADMIN_ENV,
    DRAIN_MS: "50",
    ...options.env
  }
  const runtime = ManagedRuntime.make(
    Layer.unwrap(
      Effect.map(settings, (settings) =>
        Gateway.layer(settings).pipe(
          Layer.provide(options.around ?? (Layer.empty as never)),
          Layer.provide(options.rates ?? (Layer.empty as Layer.Layer<RateLimitStore>)),
          Layer.provide(settings.databaseUrl === undefined ? Standalone.layer(settings) : Cluster.layer(settings)),
          Layer.provide(Otlp.layer(settings))
        )
      )
    ).pipe(
      Layer.provide(MetricsRegistry.layer),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))),
      Layer.provide(options.clock ?? Layer.empty)
    )
  )
  const server = await runtime.runPromise(NodeServer)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  if (options.awaitReady !== false) {
    await until("GET /ready returns 200", async () => (await fetch(`${url}/ready`)).status === 200, WAIT_MS)
  }
  return {
    url,
    wsUrl: `ws://127.0.0.1:${port}`,
    dataDir,
    server,
    inside: (effect) => runtime.runPromise(effect),
    close: async () => {
      await runtime.dispose()
      folder?.remove()
    }
  }
}
