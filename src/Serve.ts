/**
 * What `npm start` and the command line serve until a stop signal: the exchange on one machine, or the gateway in front
 * of a backend that runs elsewhere.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Effect, Layer, Logger, Schema } from "effect"
import { HttpServerError } from "effect/http"
import type { AddressInfo } from "node:net"
import { minimumLogLevel, warnOfMisspelt } from "./domain/Setting.ts"
import { VERSION } from "./domain/Version.ts"
import * as Gateway from "./Gateway.ts"
import * as AdminUsers from "./layers/AdminUsers.ts"
import * as EarlyListen from "./layers/node/EarlyListen.ts"
import { Early, NodeServer } from "./layers/node/NodeServer.ts"
import { consistent, type Settings, settings, table } from "./layers/Settings.ts"
import * as Otlp from "./layers/otlp/Otlp.ts"
import * as Standalone from "./layers/Standalone.ts"
import * as MetricsRegistry from "./services/operations/MetricsRegistry.ts"

const logging = (level: Settings["logLevel"]) =>
  Layer.mergeAll(Logger.layer([Logger.consoleJson]), minimumLogLevel(level))

/** The demo ships with the sources only; the package offers the command line. */
const NEXT = import.meta.url.endsWith(".ts") ? "npm run demo" : "npx trading-gateway book BTC-USDC"

/** The text that a successful start prints for its user. */
const greeting = (host: string, port: number, { backend, dataDir, databaseUrl, sequencerUrl }: Settings): string => {
  const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`
  return `
Trading gateway ${VERSION} is ready.

  Market       ${url}
  REST         ${url}/api/v1
  WebSocket    ${url.replace("http", "ws")}/ws, /ws/public, /ws/private
  API explorer ${url}/swagger-ui
  Backend      ${backend === "embedded" ? "embedded, in a thread of this process" : sequencerUrl}
  Data         ${databaseUrl === undefined ? dataDir : "PostgreSQL"}

Try next:
  curl "${url}/api/v1/market/tickers?symbol=BTC-USDC"
  curl "${url}/api/v1/market/orderbook?symbol=BTC-USDC&depth=5"
  ${port === 3010 ? "" : `GATEWAY_URL=${url} `}${NEXT}
`
}

const greet = (settings: Settings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* NodeServer
      const { port } = server.address() as AddressInfo
      yield* Effect.sync(() => process.stdout.write(`${greeting(settings.host, port, settings)}\n`))
    })
  )

/** A gateway that runs alone does not load the modules of a fleet: the load time of modules is most of the start. */
const cluster = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./layers/Cluster.ts")),
      (Cluster) => Cluster.layer(settings)
    )
  )

const warnings = warnOfMisspelt(Object.values(table))

/** The server that listens already, else one that is opened here: a start on a port in use writes nothing to DATA_DIR. */
const listening = ({ host, port }: Settings) =>
  Layer.effect(
    Early,
    Effect.flatMap(Early, (early) =>
      early !== undefined
        ? Effect.succeed(early)
        : Effect.acquireRelease(
            Effect.tryPromise({
              try: () => EarlyListen.open(host, port),
              catch: (cause) => new HttpServerError.ServeError({ cause })
            }),
            (server) => Effect.sync(() => (server.listening ? server.close() : server))
          )
    )
  )

const Main = Layer.unwrap(
  // before anything is written to DATA_DIR
  Effect.map(Effect.flatMap(settings, consistent).pipe(Effect.tap(AdminUsers.read)), (settings) =>
    Layer.merge(greet(settings), Layer.effectDiscard(warnings)).pipe(
      Layer.provide(Gateway.layer(settings)),
      Layer.provide(settings.databaseUrl === undefined ? Standalone.layer(settings) : cluster(settings)),
      Layer.provide(
        Otlp.layer(settings).pipe(
          Layer.provideMerge(logging(settings.logLevel)),
          Layer.provideMerge(MetricsRegistry.layer)
        )
      ),
      Layer.provide(listening(settings))
    )
  )
)

/** Why the gateway did not start, in one line that says what to change. */
const explain = (error: { readonly _tag: string; readonly message: string; readonly cause?: unknown }): string => {
  const cause = error.cause instanceof Error ? error.cause.message : undefined
  if (error._tag === "ServeError") return `cannot listen: ${cause ?? error.message}; choose another PORT or HOST`
  // its message names the setting, the cause what the system reported
  if (error._tag === "SettingUnusable") return cause === undefined ? error.message : `${error.message}: ${cause}`
  const database = process.env["DATABASE_URL"] === undefined ? "DATA_DIR" : "DATABASE_URL"
  return error._tag === "SqlError" ? `${database}: ${cause ?? error.message}` : (cause ?? error.message)
}

/** The gateway did not start; the message says what to change. */
export class NotStarted extends Schema.TaggedError<NotStarted>()("NotStarted", { message: Schema.String }) {}

/** Serves with the settings in context until it is interrupted. */
export const serve: Effect.Effect<never, NotStarted> = Layer.launch(Main).pipe(
  Effect.mapError((error) => new NotStarted({ message: `The gateway did not start: ${explain(error)}` }))
)

/** A second signal within this time is an echo of the first: npm forwards Ctrl-C to a process that received it too. */
const ECHO_MS = 250

/**
 * Longest orderly stop, in ms. After it the process exits; the next start recovers what the stop left undone.
 * Source: docs/contract/configuration.md#shutdown.
 */
const STOP_MS = 30_000

/**
 * The first signal starts an orderly stop with a time limit. A second signal ends the process at once.
 * Source: docs/contract/configuration.md#shutdown.
 */
export const endAtSecondSignal = (): void => {
  let first: number | undefined
  const onSignal = (_: NodeJS.Signals, number: number): void => {
    if (first === undefined) {
      first = performance.now()
      setTimeout(() => {
        process.stderr.write(`The gateway did not stop within ${STOP_MS} ms; the process exits.\n`)
        process.exit(1)
      }, STOP_MS).unref()
    }
    if (performance.now() - first > ECHO_MS) process.exit(128 + number)
  }
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal)
}
