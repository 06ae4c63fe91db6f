/**
 * The backend as a program of its own: `npm run backend` serves until it is stopped. Verbs after `--` each print one
 * line of JSON:
 * - `verify`: replays the journal read-only, while a backend runs or not, and verifies it
 * - `replay`: replays the journal of a stopped backend and replaces its snapshots with a new one
 * - `backup <directory>`: copies a DATA_DIR in use, including the gateway's databases, to a new directory
 * - `restore <directory>`: replaces the DATA_DIR of stopped programs by a backup, begins a new fork of the history, and
 *   prints what was lost. With JOURNAL_URL it has no argument: the database was restored before
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Exit } from "effect"
import { SettingError } from "./Backend.ts"
import * as Program from "./Program.ts"
import { settings } from "./Settings.ts"

const print = (value: unknown) => Console.log(JSON.stringify(value))

const run = Effect.gen(function* () {
  const values = yield* settings
  const [verb, target, ...more] = process.argv.slice(2)
  if (verb === "verify" && target === undefined) return yield* print(yield* Program.verify(values))
  if (verb === "replay" && target === undefined) return yield* print(yield* Program.rebuild(values))
  if (verb === "backup" && target !== undefined && more.length === 0)
    return yield* print(yield* Program.backup(values, target))
  if (verb === "restore" && more.length === 0) return yield* print(yield* Program.restore(values, target))
  if (verb !== undefined)
    return yield* new SettingError({
      message: "usage: npm run backend [-- verify | -- replay | -- backup <directory> | -- restore [<directory>]]"
    })
  yield* Program.withLogging(values)(Program.serve(values))
})

NodeRuntime.runMain(
  Effect.tapError(run, (error) => Console.error(`backend: ${error.message}`)),
  {
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
  }
)
