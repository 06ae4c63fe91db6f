/** The operations of the backend program: serving, and maintenance of the journal of its data directory. */
import { Effect, Logger } from "effect"
import { warnOfMisspelt } from "../domain/Setting.ts"
import * as Backend from "./Backend.ts"
import { machine } from "./engine/EngineMachine.ts"
import * as Backup from "./journal/Backup.ts"
import * as JournalCheck from "./JournalCheck.ts"
import * as MetricsServer from "./server/MetricsServer.ts"
import * as Restore from "./Restore.ts"
import * as SharedRestore from "./SharedRestore.ts"
import { metricsPort, rows, sharedSettings, type Settings } from "./Settings.ts"

export type Progress = JournalCheck.Progress
export type Verified = JournalCheck.Verified
export type Restored = Restore.Restored

/** Serves until it is interrupted or fails; also serves metrics where they have a port. */
export const serve = Effect.fnUntraced(function* (values: Settings) {
  yield* warnOfMisspelt(rows)
  const metricsPortSetting = yield* metricsPort.config
  const { port, epoch, failed, metrics } = yield* Backend.serve(values, yield* sharedSettings)
  const metrics_port =
    metricsPortSetting === undefined
      ? undefined
      : yield* MetricsServer.serve(Backend.hostOf(values), metricsPortSetting, metrics)
  yield* Effect.logInfo("backend serves").pipe(
    Effect.annotateLogs({
      port,
      epoch,
      data_dir: values.dataDir,
      ...(metrics_port !== undefined && { metrics_port })
    })
  )
  yield* failed
}, Effect.scoped)

/** Replays the journal read-only, while the backend runs or not, and verifies it. */
export const verify = JournalCheck.verify

/** Replays the journal of a stopped backend and replaces its snapshots with a new one. */
export const rebuild = JournalCheck.rebuild

/** Copies the data directory, in use or not, including the gateway's databases, to a new directory. */
export const backup = (values: Settings, target: string) => Backup.backup(values.dataDir, target)

/**
 * Replaces the data directory by a backup, and begins a new fork of the history. With JOURNAL_URL the database has been
 * restored before, and there is no `source`.
 */
export const restore = Effect.fnUntraced(
  function* (values: Settings, source: string | undefined) {
    const { url } = yield* sharedSettings
    if (url === undefined && source !== undefined) return yield* Restore.restore(values.dataDir, source)
    if (url === undefined || source !== undefined)
      return yield* new Backend.SettingError({
        message:
          url === undefined
            ? "usage: npm run backend -- restore <directory>"
            : "with JOURNAL_URL, restore its database first, then run: npm run backend -- restore"
      })
    const { make } = yield* Effect.promise(() => import("./journal/shared/PostgresJournal.ts"))
    return yield* SharedRestore.restore(machine, make(url), values.dataDir)
  },
  Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]))
)

/** Validates the files that the settings refer to, as a start does. */
export const check = Backend.check

export const withLogging = Backend.withLogging
