/** `npm start`: the whole exchange on one machine, or the gateway in front of a backend that runs elsewhere. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Layer, Logger, References } from "effect"
import type { AddressInfo } from "node:net"
import * as Gateway from "./Gateway.ts"
import { NodeServer } from "./layers/node/NodeServer.ts"
import { type Settings, settings } from "./layers/Settings.ts"
import * as Cluster from "./layers/Cluster.ts"
import * as Otlp from "./layers/otlp/Otlp.ts"
import * as Standalone from "./layers/Standalone.ts"
import * as Meter from "./services/Meter.ts"

const levels = { trace: "Trace", debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

const logging = (level: Settings["logLevel"]) =>
  Layer.mergeAll(Logger.layer([Logger.consoleJson]), Layer.succeed(References.MinimumLogLevel, levels[level]))

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
  ${port === 3010 ? "" : `GATEWAY_URL=${url} `}npm run demo
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

const Main = Layer.unwrap(
  Effect.map(settings, (settings) =>
    greet(settings).pipe(
      Layer.provide(Gateway.layer(settings)),
      Layer.provide(settings.databaseUrl === undefined ? Standalone.layer(settings) : Cluster.layer(settings)),
      Layer.provide(
        Otlp.layer(settings).pipe(Layer.provideMerge(logging(settings.logLevel)), Layer.provideMerge(Meter.layer))
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

const program = Layer.launch(Main).pipe(
  Effect.tapError((error) =>
    Effect.sync(() => process.stderr.write(`\nThe gateway did not start: ${explain(error)}\n`))
  )
)

/** A signal that comes this soon after the first is its echo: npm passes Ctrl-C on to a process that got it already. */
const ECHO_MS = 250

/** Time that an orderly stop may take, in ms; what hangs then is left to the next start. Source: contract 13. */
const STOP_MS = 30_000

/**
 * The first signal stops the gateway in good order, within its time; a second one ends it at once. Source: contract 13.
 */
const endAtSecondSignal = (): void => {
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
endAtSecondSignal()

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  // a stop that was asked for is a success
  teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
})
