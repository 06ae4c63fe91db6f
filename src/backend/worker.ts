/**
 * The backend as a worker thread of the gateway's process. It serves on the loopback port with the given secret and
 * posts the port once it serves. On request it posts its metrics or stops gracefully. After a failure it posts the
 * error and ends.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Effect, Fiber, Redacted } from "effect"
import * as Backend from "./Backend.ts"
import type { WorkerData, WorkerMessage, WorkerRequest } from "./Embedded.ts"
import type { Settings } from "./Settings.ts"

const { settings, port, secret } = workerData as WorkerData
const values: Settings = {
  ...settings,
  host: "127.0.0.1",
  port,
  secret: Redacted.make(secret),
  tlsCa: undefined,
  tlsCert: undefined,
  tlsKey: undefined
}
const post = (message: WorkerMessage): void => parentPort!.postMessage(message)

/** Metrics of the backend once it serves. */
let metrics = (): string => ""

const program = Effect.gen(function* () {
  const serving = yield* Backend.serve(values)
  post({ port: serving.port })
  metrics = serving.metrics
  return yield* serving.failed
}).pipe(
  Effect.scoped,
  Effect.tapError((error) =>
    Effect.andThen(
      Effect.logError(error.message),
      Effect.sync(() => post({ error: error.message }))
    )
  ),
  Backend.withLogging(values)
)

const fiber = Effect.runFork(program)
parentPort!.on("message", (request: WorkerRequest) => {
  if (request === "stop") fiber.interruptUnsafe()
  else post({ metrics: metrics() })
})
await Effect.runPromise(Fiber.await(fiber))
process.exit()
