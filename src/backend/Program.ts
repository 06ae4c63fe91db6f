/** What the backend's program does: serves, or works on the journal of its data directory. */
import { Effect } from "effect"
import * as Backend from "./Backend.ts"
import * as Backup from "./journal/Backup.ts"
import * as MetricsServer from "./server/MetricsServer.ts"
import { metricsPort, type Settings } from "./Settings.ts"

export type Progress = Backend.Progress
export type Verified = Backend.Verified

/** Serves until it is interrupted or must stop; metrics too, where they have a port. */
export const serve = Effect.fnUntraced(function* (values: Settings) {
  const telling = yield* metricsPort.config
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
}, Effect.scoped)

/** Replays the journal read-only, beside a running backend or not, and compares all it can. */
export const verify = Backend.verify

/** Replays the journal of a stopped backend and replaces its snapshots by a new one. */
export const rebuild = Backend.rebuild

/** Copies the data directory, in use or not, the gateway's databases included, into a new directory. */
export const backup = (values: Settings, target: string) => Backup.backup(values.dataDir, target)

/** Reads what the settings name, as a start does. */
export const check = Backend.check

export const withLogging = Backend.withLogging
