/**
 * The backend's metrics in Prometheus format. A backend that runs alone serves them at METRICS_PORT; the embedded one
 * is part of the gateway's /metrics. Names and meanings are in one table, which docs/operations/metrics.md repeats verbatim.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Context, Effect, Metric, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"

export const catalogue = {
  backend_journal_commit_seconds: "commit of a turn's commands to the journal; they are durable when it ends",
  backend_turn_seconds: "a turn: applying its commands and committing them",
  backend_turn_commands: "commands of a turn, which one commit makes durable",
  backend_snapshot_seconds: "taking a snapshot, in parallel to the turns",
  backend_snapshot_failures_total: "failed snapshots",
  backend_queue_commands: "queued commands",
  backend_head_seq: "seq of the newest event",
  backend_failed: "1: a turn could not be made durable; the backend accepts no more commands and must be restarted",
  backend_disk_full: "1: less than 32 MiB are free, and commands are refused",
  backend_clock_offset_seconds: "how far engine time is ahead of the wall clock; it slews toward it",
  backend_clock_steps_total: "steps of the wall clock, which engine time did not follow",
  backend_leads: "1: this backend serves; 0: it is a standby of a shared journal, or has lost the lead",
  backend_term: "term in which this backend leads a shared journal; 0 for a standby and for a journal in a file",
  backend_journal_position: "position of the last entry that this backend has applied",
  backend_forks: "restores of the journal; each began a new fork of its history",
  backend_fee_account: "balance of the fee account, in quote units",
  backend_heap_used_bytes: "heap in use of the thread",
  backend_eventloop_delay_seconds: "longest delay of the thread's event loop in the last ten seconds"
}
type Name = keyof typeof catalogue

/** Histogram bucket limits of durations, in seconds, and of counts. */
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const COUNTS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096]
/** Window in which the event-loop delay is measured, and resolution, in ms. */
const WINDOW_MS = 10_000
const RESOLUTION_MS = 50

export interface BackendMetrics {
  readonly commit: (seconds: number) => void
  readonly turn: (commands: number, seconds: number) => void
  readonly snapshot: (seconds: number) => void
  readonly snapshotFailed: () => void
  readonly clockStep: () => void
  /** Registers a gauge that is read on each export. */
  readonly gauge: (name: Name, read: () => number) => void
  readonly text: () => string
}

export const make: Effect.Effect<BackendMetrics, never, Scope.Scope> = Effect.gen(function* () {
  const context = Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>
  const histogram = (name: Name, boundaries: ReadonlyArray<number>) => {
    const metric = Metric.histogram(name, { description: catalogue[name], boundaries })
    metric.valueUnsafe(context)
    return (value: number) => metric.updateUnsafe(value, context)
  }
  const gauge: BackendMetrics["gauge"] = (name, read) => {
    const hooks = { get: () => ({ value: read() }), update: () => {}, modify: () => {} }
    Metric.registerUnsafe(Metric.gauge(name, { description: catalogue[name] }), context, hooks)
  }
  const counter = (name: Name) => {
    const metric = Metric.counter(name, { description: catalogue[name], incremental: true })
    metric.valueUnsafe(context)
    return () => metric.updateUnsafe(1, context)
  }

  const monitor = yield* Effect.acquireRelease(
    Effect.sync(() => monitorEventLoopDelay({ resolution: RESOLUTION_MS })),
    (monitor) => Effect.sync(() => void monitor.disable())
  )
  let delay = 0
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      monitor.enable()
      return setInterval(() => {
        delay = Math.max(0, monitor.max / 1e6 - RESOLUTION_MS) / 1e3
        monitor.reset()
      }, WINDOW_MS).unref()
    }),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
  gauge("backend_eventloop_delay_seconds", () => delay)
  gauge("backend_heap_used_bytes", () => process.memoryUsage().heapUsed)

  const turnSeconds = histogram("backend_turn_seconds", SECONDS)
  const turnCommands = histogram("backend_turn_commands", COUNTS)
  return {
    commit: histogram("backend_journal_commit_seconds", SECONDS),
    turn: (commands, seconds) => {
      turnCommands(commands)
      turnSeconds(seconds)
    },
    snapshot: histogram("backend_snapshot_seconds", SECONDS),
    snapshotFailed: counter("backend_snapshot_failures_total"),
    clockStep: counter("backend_clock_steps_total"),
    gauge,
    text: () => PrometheusMetrics.formatUnsafe(context)
  }
})
