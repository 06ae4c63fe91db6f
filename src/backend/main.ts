/**
 * The backend alone: `npm run backend` serves until it is told to stop, `npm run backend -- verify` replays the journal
 * and prints what it holds as one line of JSON.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Exit } from "effect"
import * as Backend from "./Backend.ts"
import { settings } from "./Settings.ts"

const run = Effect.gen(function* () {
  const values = yield* settings
  if (process.argv[2] === "verify") return yield* Console.log(JSON.stringify(yield* Backend.verify(values)))
  const program = Effect.gen(function* () {
    const { port, epoch, failed } = yield* Backend.serve(values)
    yield* Effect.logInfo("backend serves").pipe(Effect.annotateLogs({ port, epoch, data_dir: values.dataDir }))
    yield* failed
  })
  yield* program.pipe(Effect.scoped, Backend.withLogging(values))
})

NodeRuntime.runMain(
  Effect.tapError(run, (error) => Console.error(`backend: ${error.message}`)),
  {
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
  }
)
