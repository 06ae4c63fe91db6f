/**
 * The default backend as one Effect: reads the settings, recovers the exchange from its journal, runs it, serves it over gRPC.
 *
 * It is a program behind the gRPC boundary and has no dependency on the gateway. Source: docs/contract/exchange.md.
 */
import { readFile } from "node:fs/promises"
import { hostname } from "node:os"
import { Worker } from "node:worker_threads"
import { Effect, Logger, Redacted, Result, Schema, type Scope } from "effect"
import { minimumLogLevel } from "../domain/Setting.ts"
import * as TlsFiles from "../node/TlsFiles.ts"
import { machine } from "./engine/EngineMachine.ts"
import { reads } from "./EngineReads.ts"
import { defaultLimits } from "./journal/EventLog.ts"
import type { JournalError } from "./journal/JournalError.ts"
import type { Taken } from "./journal/Recovery.ts"
import * as MarketsFile from "./markets/File.ts"
import { shippedMarkets } from "./markets/ShippedMarkets.ts"
import type { ServerTls } from "./server/GrpcServer.ts"
import type { Replay } from "./server/EventStream.ts"
import * as Running from "./server/Running.ts"
import * as Serve from "./server/Serve.ts"
import type { Snapshotter } from "./server/SnapshotSchedule.ts"
import type { Settings, SharedSettings } from "./Settings.ts"
import type { ReplayMessage, ReplayRequest } from "./ReplayThread.ts"
import type { SnapshotAnswer, SnapshotRequest } from "./SnapshotThread.ts"

/** A setting refers to an unusable file or value. */
export class SettingError extends Schema.TaggedError<SettingError>()("SettingError", {
  message: Schema.String,
  /** The single findings, where there are several. */
  findings: Schema.optionalKey(Schema.Array(Schema.String)),
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

const file = (name: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: (cause) => new SettingError({ message: `${name}: cannot read ${path}`, cause })
  })

const marketsOf = Effect.fnUntraced(function* (
  path: string | undefined
): Effect.fn.Return<ReadonlyArray<MarketsFile.Market>, SettingError> {
  if (path === undefined) return shippedMarkets
  const text = (yield* file("MARKETS_FILE", path)).toString("utf8")
  const read = MarketsFile.read(text)
  if (Result.isSuccess(read)) return read.success
  const findings = read.failure.map((error) => `MARKETS_FILE: ${path}: ${error}`)
  return yield* new SettingError({ message: findings.join("\n"), findings })
})

const tlsOf = Effect.fnUntraced(function* (settings: Settings): Effect.fn.Return<ServerTls | undefined, SettingError> {
  const { tlsCa, tlsCert, tlsKey } = settings
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined) {
    return yield* new SettingError({ message: "BACKEND_TLS_CERT and BACKEND_TLS_KEY must be set together" })
  }
  const tls = {
    ca: tlsCa === undefined ? undefined : yield* file("BACKEND_TLS_CA", tlsCa),
    cert: yield* file("BACKEND_TLS_CERT", tlsCert),
    key: yield* file("BACKEND_TLS_KEY", tlsKey)
  }
  const fault = TlsFiles.faultOf(tls)
  if (fault !== undefined) return yield* new SettingError({ message: fault })
  return tls
})

/** URL of a thread's module, as source or as built. */
const threadOf = (name: string): URL =>
  new URL(`./${name}${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)

/** Takes snapshots in a separate thread, which the first one starts. */
const snapshotsOf = (journal: string): Snapshotter => {
  let worker: Worker | undefined
  return {
    take: (point) =>
      new Promise<Taken>((resolve, reject) => {
        const current = (worker ??= new Worker(threadOf("SnapshotThread"), { workerData: journal, name: "snapshots" }))
        current.removeAllListeners()
        current.once("message", (answer: SnapshotAnswer) => {
          if ("error" in answer) reject(new Error(answer.error))
          else resolve(answer.taken)
        })
        current.once("error", reject)
        current.once("exit", () => {
          worker = undefined
          reject(new Error("the thread that takes snapshots has ended"))
        })
        const request: SnapshotRequest = point
        current.postMessage(request, [request.events.bytes.buffer as ArrayBuffer])
      }),
    stop: () => {
      worker?.removeAllListeners()
      void worker?.terminate()
    }
  }
}

/** Replays old events in a separate thread for each subscriber. */
const replaysOf =
  (path: string): Replay =>
  (from, { onBlock, onEnd, onError, onLost }) => {
    const taken = new SharedArrayBuffer(4)
    const counter = new Int32Array(taken)
    const onTaken = () => {
      Atomics.add(counter, 0, 1)
      Atomics.notify(counter, 0)
    }
    const workerData: ReplayRequest = { path, from, taken }
    const worker = new Worker(threadOf("ReplayThread"), { workerData, name: "replay" })
    worker.on("message", (message: ReplayMessage) => {
      if ("block" in message) {
        const { buffer, byteLength, byteOffset } = message.block.bytes
        onBlock({ ...message.block, bytes: Buffer.from(buffer, byteOffset, byteLength) }, onTaken)
      } else if ("ended" in message) onEnd(message.ended)
      else if ("lost" in message) onLost(message.lost)
      else onError(message.error)
    })
    worker.once("error", (cause) => onLost(cause.message))
    return () => {
      worker.removeAllListeners()
      void worker.terminate()
    }
  }

/** Validates the files that the settings refer to, as a start does. */
export const check = (settings: Settings): Effect.Effect<void, SettingError> =>
  Effect.andThen(marketsOf(settings.marketsFile), Effect.asVoid(tlsOf(settings)))

/** The address to listen on: without a secret, the loopback address only. */
export const hostOf = ({ host, secret }: Settings): string => (secret === undefined ? "127.0.0.1" : host)

/** The shared journal of the settings, if there is one. The driver is loaded only then. */
const sharedOf = Effect.fnUntraced(function* ({ standbyReads, url }: SharedSettings) {
  if (url === undefined) return undefined
  const { make } = yield* Effect.promise(() => import("./journal/shared/PostgresJournal.ts"))
  return { database: make(url), holder: `${hostname()}:${process.pid}`, standbyReads }
})

const optionsOf = Effect.fnUntraced(function* (settings: Settings) {
  const { simMaker, simTakers, indexSource, faucetDailyLimit, openOrdersMax, poolBaseEquity } = settings
  const markets = yield* marketsOf(settings.marketsFile)
  return {
    machine,
    reads,
    config: { markets, simMaker, simTakers, indexSource, faucetDailyLimit, openOrdersMax, poolBaseEquity },
    directory: settings.dataDir,
    limits: { ...defaultLimits, events_kept_max: settings.eventsKept },
    snapshots: snapshotsOf,
    replays: replaysOf
  }
})

/** Runs the exchange of these settings until the scope closes, for calls from this process. */
export const run = (settings: Settings): Effect.Effect<Running.Running, SettingError | JournalError, Scope.Scope> =>
  Effect.flatMap(optionsOf(settings), Running.run)

/** Runs the exchange of these settings and serves it over gRPC until the scope closes. */
export const serve = Effect.fnUntraced(function* (
  settings: Settings,
  shared: SharedSettings = { url: undefined, standbyReads: false }
): Effect.fn.Return<Serve.Serving, SettingError | JournalError | Serve.BindError, Scope.Scope> {
  const { port, secret, tlsCa } = settings
  const tls = yield* tlsOf(settings)
  // not a part of `check`: a gateway can use the setting alone
  if (tls === undefined && tlsCa !== undefined) {
    return yield* new SettingError({
      message: "BACKEND_TLS_CA requires BACKEND_TLS_CERT and BACKEND_TLS_KEY, which turn TLS on"
    })
  }
  return yield* Serve.serve({
    ...(yield* optionsOf(settings)),
    host: hostOf(settings),
    port,
    secret: secret === undefined ? undefined : Redacted.value(secret),
    tls,
    shared: yield* sharedOf(shared)
  })
})

/** Structured log lines on the standard output, at the level of the settings. */
export const withLogging =
  (settings: Settings) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(
      Effect.annotateLogs({ program: "backend" }),
      Effect.provide(Logger.layer([Logger.consoleJson])),
      Effect.provide(minimumLogLevel(settings.logLevel))
    )
