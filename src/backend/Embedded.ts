/**
 * Runs the backend in a worker thread and keeps it running: a worker that dies is started again after a pause, on the
 * same port and with the same secret, so that whoever is connected to it only has to connect again.
 */
import { randomBytes } from "node:crypto"
import { Worker } from "node:worker_threads"
import { type Config, Deferred, Effect, Redacted, Schema, type Scope } from "effect"
import { type Settings, settings } from "./Settings.ts"

/** The worker did not come to serve at its first start. */
export class BackendNotStarted extends Schema.TaggedError<BackendNotStarted>()("BackendNotStarted", {
  message: Schema.String
}) {}

export interface WorkerData {
  /** As the gateway's process reads them; port, address, secret and TLS are the thread's own. */
  readonly settings: Omit<Settings, "secret">
  /** 0 takes a free one. */
  readonly port: number
  readonly secret: string
}

/** What the worker is asked. */
export type WorkerRequest = "stop" | "metrics"
/** What the worker tells: that it serves, its metrics, or why it ends. */
export type WorkerMessage = { readonly port: number } | { readonly metrics: string } | { readonly error: string }

export interface Embedded {
  /** `host:port` on the loopback interface. */
  readonly address: string
  readonly secret: Redacted.Redacted<string>
  /** The thread that runs now; undefined between two lives. */
  readonly worker: () => Worker | undefined
  /** What it tells of itself, as Prometheus reads it; "" where it does not answer in time. */
  readonly metrics: Effect.Effect<string>
}

/** First and longest pause before a worker is started again, in ms. */
export const RESTART_MS_MIN = 100
export const RESTART_MS_MAX = 5000
/** A worker that served this long had a good start: the pauses begin anew. */
const GOOD_RUN_MS = 30_000
/** Time that the worker has to tell its metrics; a turn may be under way. */
const METRICS_MS = 1000
/** Time that the worker has to stop. */
const STOP_MS = 10_000

/** The entry beside this module: as source, or as built. */
const entry = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url)

const ask = (worker: Worker, request: WorkerRequest): void => worker.postMessage(request)

const start = (data: WorkerData): Worker => new Worker(entry, { workerData: data })

/** Starts the backend and answers once it serves. Closing the scope stops it gracefully. */
export const make: Effect.Effect<Embedded, BackendNotStarted | Config.ConfigError, Scope.Scope> = Effect.gen(
  function* () {
    const { secret: _, ...values } = yield* settings
    const secret = randomBytes(32).toString("base64url")
    const first = yield* Deferred.make<number, BackendNotStarted>()
    let port = 0
    let stopping = false
    let worker: Worker | undefined
    /** Who waits for metrics; one answer is for all. */
    const askers: Array<(text: string) => void> = []

    /** One life of the worker; answers how long it served, in ms. */
    const life = Effect.callback<number>((resume) => {
      if (stopping) return resume(Effect.succeed(0))
      let since = Number.POSITIVE_INFINITY
      let reason = "see its log lines"
      const current = start({ settings: values, port, secret })
      worker = current
      current.on("message", (message: WorkerMessage) => {
        if ("error" in message) {
          reason = message.error
          return
        }
        if ("metrics" in message) {
          for (const asker of askers.splice(0)) asker(message.metrics)
          return
        }
        since = performance.now()
        port = message.port
        Deferred.doneUnsafe(first, Effect.succeed(port))
      })
      current.on("error", (cause) => {
        reason = String(cause)
      })
      current.once("exit", () => {
        worker = undefined
        if (port === 0) {
          const message = `the embedded backend did not start: ${reason}`
          Deferred.doneUnsafe(first, Effect.fail(new BackendNotStarted({ message })))
        }
        resume(Effect.succeed(Math.max(0, performance.now() - since)))
      })
    })

    const supervise = Effect.gen(function* () {
      let failures = 0
      while (true) {
        const served = yield* life
        if (stopping) return
        if (served >= GOOD_RUN_MS) failures = 0
        const pause = Math.min(RESTART_MS_MAX, RESTART_MS_MIN * 2 ** Math.min(failures++, 16))
        yield* Effect.logError("the embedded backend ended; it is started again").pipe(
          Effect.annotateLogs({ pause_ms: pause })
        )
        yield* Effect.sleep(pause)
      }
    })

    yield* Effect.addFinalizer(() =>
      Effect.callback<void>((resume) => {
        stopping = true
        const current = worker
        if (current === undefined) return resume(Effect.void)
        const timer = setTimeout(() => void current.terminate(), STOP_MS)
        current.once("exit", () => {
          clearTimeout(timer)
          resume(Effect.void)
        })
        ask(current, "stop")
      })
    )
    yield* Effect.forkScoped(supervise)
    const bound = yield* Deferred.await(first)
    const metrics = Effect.callback<string>((resume) => {
      const current = worker
      if (current === undefined) return resume(Effect.succeed(""))
      const asker = (text: string) => resume(Effect.succeed(text))
      askers.push(asker)
      ask(current, "metrics")
      return Effect.sync(() => {
        const at = askers.indexOf(asker)
        if (at !== -1) askers.splice(at, 1)
      })
    }).pipe(Effect.timeoutOrElse({ duration: METRICS_MS, orElse: () => Effect.succeed("") }))
    return { address: `127.0.0.1:${bound}`, secret: Redacted.make(secret), worker: () => worker, metrics }
  }
)
