/**
 * The backend as a worker thread of the gateway's process. Serves on the loopback port and with the secret that it is
 * given, says so once it does, tells its metrics and stops gracefully when it is asked to, and exits with 1 when it had to stop, after saying why.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Cause, Effect, Exit, Fiber, Redacted } from "effect"
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
const tell = (message: WorkerMessage): void => parentPort!.postMessage(message)

/** What the backend tells of itself, once it serves. */
let metrics = (): string => ""

const program = Effect.gen(function* () {
  const serving = yield* Backend.serve(values)
  tell({ port: serving.port })
  metrics = serving.metrics
  return yield* serving.failed
}).pipe(
  Effect.scoped,
  Effect.tapError((error) =>
    Effect.andThen(
      Effect.logError(error.message),
      Effect.sync(() => tell({ error: error.message }))
    )
  ),
  Backend.withLogging(values)
)

const fiber = Effect.runFork(program)
parentPort!.on("message", (asked: WorkerRequest) => {
  if (asked === "stop") fiber.interruptUnsafe()
  else tell({ metrics: metrics() })
})
const exit = await Effect.runPromise(Fiber.await(fiber))
process.exit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
