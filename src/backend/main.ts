/**
 * The backend alone: `npm run backend` serves until it is told to stop. After `--`, each printing one line of JSON:
 *
 *   verify              replays the journal read-only, beside a running backend or not, and compares all it can
 *   replay              replays the journal of a stopped backend and replaces its snapshots by a new one
 *   backup <directory>  copies a DATA_DIR in use, the gateway's databases included, into a new directory
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Exit } from "effect"
import * as Backend from "./Backend.ts"
import * as Backup from "./journal/Backup.ts"
import * as MetricsServer from "./server/MetricsServer.ts"
import { metricsPort, settings } from "./Settings.ts"

const print = (value: unknown) => Console.log(JSON.stringify(value))

const run = Effect.gen(function* () {
  const values = yield* settings
  const telling = yield* metricsPort
  const [verb, target, ...more] = process.argv.slice(2)
  if (verb === "verify" && target === undefined) return yield* print(yield* Backend.verify(values))
  if (verb === "replay" && target === undefined) return yield* print(yield* Backend.rebuild(values))
  if (verb === "backup" && target !== undefined && more.length === 0)
    return yield* print(yield* Backup.backup(values.dataDir, target))
  if (verb !== undefined)
    return yield* new Backend.SettingError({
      message: "usage: npm run backend [-- verify | -- replay | -- backup <directory>]"
    })
  const program = Effect.gen(function* () {
    const { port, epoch, failed, metrics } = yield* Backend.serve(values)
    const metrics_port =
      telling === undefined ? undefined : yield* MetricsServer.serve(Backend.hostOf(values), telling, metrics)
    yield* Effect.logInfo("backend serves").pipe(
      Effect.annotateLogs({
        port,
        epoch,
        data_dir: values.dataDir,
        ...(metrics_port !== undefined && { metrics_port })
      })
    )
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
