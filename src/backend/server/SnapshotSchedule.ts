/** When snapshots of a journal are taken: beside its writer, one at a time, and the less often the longer one takes. */
import { type Context, Effect } from "effect"
import type { Machine } from "../engine/Machine.ts"
import type { EventLog } from "../journal/EventLog.ts"
import { Follower } from "../journal/Follower.ts"
import type { JournalPort } from "../journal/Journal.ts"
import { endOf, type SnapshotPoint, type Taken } from "../journal/Recovery.ts"
import type { BackendMetrics } from "./BackendMetrics.ts"

/**
 * Journal entries between two snapshots, of which a start replays at most two intervals: the next snapshot is taken
 * while they arrive.
 */
export const SNAPSHOT_ENTRIES = 5000

/**
 * The pause after a snapshot, in times of its {@link Taken.dump_ms}: a large state takes at most a twentieth of
 * a thread, and a start replays more entries instead.
 */
const PAUSE = 20

/** Takes snapshots of a journal while its writer runs, one at a time. */
export interface Snapshotter {
  /** The caller gives the bytes of the events away. */
  readonly take: (point: SnapshotPoint) => Promise<Taken>
  /** Ends a snapshot in progress, and frees what the next one would use. */
  readonly stop: () => void
}

/** Takes snapshots in this thread, each after the current turn. */
export const inThisThread =
  <S, C>(machine: Machine<S, C>) =>
  (path: string): Snapshotter => {
    let follower: Follower<S, C> | undefined
    return {
      take: (point) =>
        new Promise((resolve, reject) => {
          setImmediate(() => {
            try {
              follower ??= new Follower(machine, path)
              resolve(follower.take(point))
            } catch (cause) {
              reject(cause as Error)
            }
          })
        }),
      stop: () => follower?.close()
    }
  }

export interface SnapshotScheduleOptions {
  readonly journal: JournalPort
  /** The events up to the end of the journal. */
  readonly log: EventLog
  readonly snapshotter: Snapshotter
  readonly metrics: Pick<BackendMetrics, "snapshot" | "snapshotFailed">
  /** Monotonic time in ms. */
  readonly monotonic: () => number
  /** Where the logs go. */
  readonly context: Context.Context<never>
}

/** Takes the snapshots of one journal. A failure is logged and counted; the next interval takes another one. */
export class SnapshotSchedule {
  private readonly options: SnapshotScheduleOptions
  /** Position at which the last snapshot was due. */
  private dueAt: number
  private isTaking = false
  private notBefore_ms = 0

  constructor(options: SnapshotScheduleOptions) {
    this.options = options
    this.dueAt = options.journal.position
  }

  /** Takes a snapshot where {@link SNAPSHOT_ENTRIES} followed the last one. The journal ends with a durable turn. */
  readonly takeIfDue = (): void => {
    const { position } = this.options.journal
    if (position - this.dueAt < SNAPSHOT_ENTRIES) return
    this.dueAt = position
    this.take()
  }

  /** Takes a snapshot of the journal's end, unless one is in progress or the pause after the last one is not over. */
  readonly take = (): void => {
    const { context, journal, log, metrics, monotonic, snapshotter } = this.options
    const began = monotonic()
    if (this.isTaking || began < this.notBefore_ms) return
    this.isTaking = true
    const point = endOf(journal, log)
    const logged = Effect.tryPromise(() => snapshotter.take(point)).pipe(
      Effect.flatMap((taken) => {
        const now = monotonic()
        this.notBefore_ms = now + PAUSE * taken.dump_ms
        metrics.snapshot((now - began) / 1_000)
        return Effect.logInfo("snapshot taken").pipe(Effect.annotateLogs({ position: taken.head.position }))
      }),
      // A missing snapshot loses no data, but an engine that does not replay to its own state is a bug that must be
      // visible.
      Effect.catch((error) => {
        metrics.snapshotFailed()
        return Effect.logError("the snapshot failed", error.cause)
      }),
      Effect.ensuring(Effect.sync(() => (this.isTaking = false)))
    )
    Effect.runForkWith(context)(logged)
  }

  /** Ends a snapshot in progress; none may follow. */
  stop(): void {
    this.options.snapshotter.stop()
  }
}
