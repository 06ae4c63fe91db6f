/**
 * The whole exchange on one machine, or the gateway in front of a backend that runs elsewhere: what `npm start` and the
 * command line serve, until they are told to stop.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Effect, Layer, Logger, References, Schema } from "effect"
import type { AddressInfo } from "node:net"
import * as Gateway from "./Gateway.ts"
import { NodeServer } from "./layers/node/NodeServer.ts"
import { type Settings, settings } from "./layers/Settings.ts"
import * as Otlp from "./layers/otlp/Otlp.ts"
import * as Standalone from "./layers/Standalone.ts"
import * as MetricsRegistry from "./services/operations/MetricsRegistry.ts"

const levels = { trace: "Trace", debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

const logging = (level: Settings["logLevel"]) =>
  Layer.mergeAll(Logger.layer([Logger.consoleJson]), Layer.succeed(References.MinimumLogLevel, levels[level]))

/** What comes with the sources only, and what comes with the package. */
const NEXT = import.meta.url.endsWith(".ts") ? "npm run demo" : "npx trading-gateway book BTC-USDC"

/** What a person who has just started it wants to know. */
const greeting = (host: string, port: number, { backend, dataDir, databaseUrl, sequencerUrl }: Settings): string => {
  const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`
  return `
Trading gateway 0.1.1 is ready.

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

/** What a fleet needs is not loaded by a gateway that is alone: a start takes as long as what it loads. */
const cluster = (settings: Settings) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./layers/Cluster.ts")),
      (Cluster) => Cluster.layer(settings)
    )
  )

const Main = Layer.unwrap(
  Effect.map(settings, (settings) =>
    greet(settings).pipe(
      Layer.provide(Gateway.layer(settings)),
      Layer.provide(settings.databaseUrl === undefined ? Standalone.layer(settings) : cluster(settings)),
      Layer.provide(
        Otlp.layer(settings).pipe(
          Layer.provideMerge(logging(settings.logLevel)),
          Layer.provideMerge(MetricsRegistry.layer)
        )
      )
    )
  )
)

/** Why it could not start, in one line that says what to change. */
const explain = (error: { readonly _tag: string; readonly message: string; readonly cause?: unknown }): string => {
  const cause = error.cause instanceof Error ? error.cause.message : undefined
  if (error._tag === "ServeError") return `cannot listen: ${cause ?? error.message}; choose another PORT or HOST`
  const database = process.env["DATABASE_URL"] === undefined ? "DATA_DIR" : "DATABASE_URL"
  return error._tag === "SqlError" ? `${database}: ${cause ?? error.message}` : (cause ?? error.message)
}

/** It could not start; the message says what to change. */
export class NotStarted extends Schema.TaggedError<NotStarted>()("NotStarted", { message: Schema.String }) {}

/** Serves by the settings in context until it is interrupted. */
export const serve: Effect.Effect<never, NotStarted> = Layer.launch(Main).pipe(
  Effect.mapError((error) => new NotStarted({ message: `The gateway did not start: ${explain(error)}` }))
)

/** A signal that comes this soon after the first is its echo: npm passes Ctrl-C on to a process that got it already. */
const ECHO_MS = 250

/**
 * Time that an orderly stop may take, in ms; what hangs then is left to the next start.
 * Source: docs/contract/configuration.md#shutdown.
 */
const STOP_MS = 30_000

/**
 * The first signal stops the gateway in good order, within its time; a second one ends it at once.
 * Source: docs/contract/configuration.md#shutdown.
 */
export const endAtSecondSignal = (): void => {
  let first: number | undefined
  const onSignal = (_: NodeJS.Signals, number: number): void => {
    if (first === undefined) {
      first = performance.now()
      setTimeout(() => {
        process.stderr.write(`The gateway did not stop in ${STOP_MS} ms and is ended.\n`)
        process.exit(1)
      }, STOP_MS).unref()
    }
    if (performance.now() - first > ECHO_MS) process.exit(128 + number)
  }
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal)
}
