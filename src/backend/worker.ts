/**
 * The backend as a worker thread of the gateway's process. It posts once it runs. On request it takes a call over a MessagePort,
 * posts its metrics or stops gracefully. After a failure it posts the error and ends.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Effect, Fiber } from "effect"
import * as Backend from "./Backend.ts"
import type { WorkerData, WorkerMessage, WorkerRequest } from "./Embedded.ts"
import type { Running } from "./server/Running.ts"
import type { Settings } from "./Settings.ts"

const settings: Settings = { ...(workerData as WorkerData), secret: undefined }
const post = (message: WorkerMessage): void => parentPort!.postMessage(message)

/** The backend once it runs. */
let running: Running | undefined

const program = Effect.gen(function* () {
  running = yield* Backend.run(settings)
  post("running")
  return yield* running.failed
}).pipe(
  Effect.scoped,
  Effect.tapError((error) =>
    Effect.andThen(
      Effect.logError(error.message),
      Effect.sync(() => post({ error: error.message }))
    )
  ),
  Backend.withLogging(settings)
)

const fiber = Effect.runFork(program)
parentPort!.on("message", (request: WorkerRequest) => {
  if (request === "stop") fiber.interruptUnsafe()
  else if (request === "metrics") post({ metrics: running?.metrics() ?? "" })
  else if (running === undefined) request.port.close()
  else running.open(request.path, request.request, request.request_id, request.port)
})
await Effect.runPromise(Fiber.await(fiber))
process.exit()
