/**
 * Runs the backend in a worker thread and restarts it when it ends, after a pause. Calls reach it over MessagePorts.
 */
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads"
import { type Config, Deferred, Effect, Schema, type Scope } from "effect"
import type { Open } from "../node/PortCall.ts"
import { type Settings, settings } from "./Settings.ts"

/** The first start of the worker failed. */
export class BackendNotStarted extends Schema.TaggedError<BackendNotStarted>()("BackendNotStarted", {
  message: Schema.String
}) {}

/** Settings of the gateway's process. Only this process calls the thread, so there is no secret. */
export type WorkerData = Omit<Settings, "secret">

/** A call: the path of its method, its request, its id in the logs, and its port. */
export interface OpenRequest {
  readonly path: string
  readonly request: Uint8Array
  readonly request_id: string
  readonly port: MessagePort
}
/** Requests to the worker. */
export type WorkerRequest = "stop" | "metrics" | OpenRequest
/** Messages from the worker: that it runs, its metrics, or the reason why it ends. */
export type WorkerMessage = "running" | { readonly metrics: string } | { readonly error: string }

export interface Embedded {
  /** The current thread; undefined between two runs. */
  readonly worker: () => Worker | undefined
  /** Opens a call to its services. */
  readonly open: Open
  /** Metrics in Prometheus format; "" where the worker does not respond in time. */
  readonly metrics: Effect.Effect<string>
}

/** Shortest and longest pause before a restart, in ms. */
export const RESTART_MS_MIN = 100
export const RESTART_MS_MAX = 5000
/** Serving time after which the pauses start from the shortest again. */
const GOOD_RUN_MS = 30_000
/** Time limit for the worker's metrics; a turn may be in progress. */
const METRICS_MS = 1000
/** Time limit for a graceful stop, in ms. */
const STOP_MS = 10_000

/** URL of the worker's module, as source or as built. */
const entry = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url)

const send = (worker: Worker, request: WorkerRequest): void =>
  worker.postMessage(request, typeof request === "string" ? [] : [request.port])

const start = (data: WorkerData): Worker => new Worker(entry, { workerData: data, name: "backend" })

/** Starts the backend; succeeds once it runs. Closing the scope stops it gracefully. */
export const make: Effect.Effect<Embedded, BackendNotStarted | Config.ConfigError, Scope.Scope> = Effect.gen(
  function* () {
    const { secret: _, ...values } = yield* settings
    const first = yield* Deferred.make<void, BackendNotStarted>()
    let hasStarted = false
    let stopping = false
    let worker: Worker | undefined
    /** Callbacks that wait for metrics; one response serves all. */
    const metricsWaiters: Array<(text: string) => void> = []

    /** Runs the worker once; returns how long it served, in ms. */
    const runWorker = Effect.callback<number>((resume) => {
      if (stopping) return resume(Effect.succeed(0))
      let since = Number.POSITIVE_INFINITY
      let reason = "see its log lines"
      const current = start(values)
      worker = current
      current.on("message", (message: WorkerMessage) => {
        if (message === "running") {
          since = performance.now()
          hasStarted = true
          Deferred.doneUnsafe(first, Effect.void)
        } else if ("error" in message) reason = message.error
        else for (const waiter of metricsWaiters.splice(0)) waiter(message.metrics)
      })
      current.on("error", (cause) => {
        reason = String(cause)
      })
      current.once("exit", () => {
        worker = undefined
        if (!hasStarted) {
          const message = `the embedded backend did not start: ${reason}`
          Deferred.doneUnsafe(first, Effect.fail(new BackendNotStarted({ message })))
        }
        resume(Effect.succeed(Math.max(0, performance.now() - since)))
      })
    })

    const supervise = Effect.gen(function* () {
      let failures = 0
      while (true) {
        const served = yield* runWorker
        if (stopping) return
        if (served >= GOOD_RUN_MS) failures = 0
        const pause = Math.min(RESTART_MS_MAX, RESTART_MS_MIN * 2 ** Math.min(failures++, 16))
        yield* Effect.logError("the embedded backend ended and will be restarted").pipe(
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
        send(current, "stop")
      })
    )
    yield* Effect.forkScoped(supervise)
    yield* Deferred.await(first)
    const metrics = Effect.callback<string>((resume) => {
      const current = worker
      if (current === undefined) return resume(Effect.succeed(""))
      const waiter = (text: string) => resume(Effect.succeed(text))
      metricsWaiters.push(waiter)
      send(current, "metrics")
      return Effect.sync(() => {
        const at = metricsWaiters.indexOf(waiter)
        if (at !== -1) metricsWaiters.splice(at, 1)
      })
    }).pipe(Effect.timeoutOrElse({ duration: METRICS_MS, orElse: () => Effect.succeed("") }))
    const open: Open = (path, request, request_id) => {
      if (worker === undefined) return undefined
      const { port1, port2 } = new MessageChannel()
      send(worker, { path, request, request_id, port: port2 })
      return port1
    }
    return { worker: () => worker, open, metrics }
  }
)
