/**
 * The backend as a worker thread of the gateway's process. Serves on the loopback port and with the secret that it is
 * given, says `{ port, epoch }` once it does, stops gracefully at any message, and exits with 1 when it had to stop.
 */
import { parentPort, workerData } from "node:worker_threads"
import { Cause, Effect, Exit, Fiber, Redacted } from "effect"
import * as Backend from "./Backend.ts"
import type { WorkerData } from "./Embedded.ts"
import { settings } from "./Settings.ts"

const { port, secret } = workerData as WorkerData

const program = Effect.gen(function* () {
  const values = yield* settings
  const embedded = {
    ...values,
    host: "127.0.0.1",
    port,
    secret: Redacted.make(secret),
    tlsCert: undefined,
    tlsKey: undefined
  }
  return yield* Effect.gen(function* () {
    const serving = yield* Backend.serve(embedded)
    parentPort!.postMessage({ port: serving.port, epoch: serving.epoch })
    return yield* serving.failed
  }).pipe(Effect.scoped, Backend.withLogging(embedded))
})

const fiber = Effect.runFork(Effect.tapError(program, (error) => Effect.logError(error.message)))
parentPort!.once("message", () => fiber.interruptUnsafe())
const exit = await Effect.runPromise(Fiber.await(fiber))
process.exit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
