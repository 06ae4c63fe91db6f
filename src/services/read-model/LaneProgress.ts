/**
 * The progress of the event lane, as {@link BackendHealth} judges it: the head of the stream, what is shown of it, and the age of
 * the oldest event that is not shown. Times of the engine are converted to the monotonic clock of this process.
 */
import type { ModelPosition } from "../../domain/Projection.ts"
import type { FeedFrame } from "../Feed.ts"
import type { BackendHealth } from "../operations/BackendHealth.ts"

/** Heartbeats over which the engine's clock is compared with the local one, so that a step of it is noticed. */
const HEARTBEATS_COMPARED = 10

type Heartbeat = Extract<FeedFrame, { readonly type: "heartbeat" }>

export class LaneProgress {
  private readonly health: BackendHealth["Service"]
  /** Monotonic time, in ms. */
  private readonly now: () => number
  private head = 0
  /** Monotonic time less the engine's, of the last heartbeats of this connection, in ms. The fastest one is least. */
  private clockOffsets: ReadonlyArray<number> = []

  constructor(health: BackendHealth["Service"], now: () => number) {
    this.health = health
    this.now = now
  }

  /** The stream has at least the event of this seq. */
  exists(seq: number): void {
    this.head = Math.max(this.head, seq)
  }
  /** The head of a new numbering. */
  restart(head: number): void {
    this.head = head
  }
  heartbeat({ head_seq, refusing, server_ts_ms, warnings = [] }: Heartbeat): void {
    this.head = head_seq
    this.health.sequencerReports({ refusing, warnings })
    this.clockOffsets = [...this.clockOffsets.slice(1 - HEARTBEATS_COMPARED), this.now() - server_ts_ms]
  }
  disconnected(): void {
    this.clockOffsets = []
    this.health.sequencerLost()
  }
  /** Whether all events up to the head, as a heartbeat of this connection reported it, are shown. */
  isAtHead(position: ModelPosition | undefined): boolean {
    return this.clockOffsets.length > 0 && (position?.seq ?? 0) >= this.head
  }
  /** Reports what is shown; `oldest_ms`: engine time of the oldest event that is not. */
  report(position: ModelPosition | undefined, oldest_ms?: number): void {
    const seq = position?.seq ?? 0
    this.health.sequencerProgress({
      head_seq: this.head,
      applied_seq: seq,
      oldest_unapplied_ms: this.monotonicOf(oldest_ms),
      // before the first event nothing is shown
      applied_ms: this.monotonicOf(seq > 0 ? position!.ts_ms : undefined)
    })
  }
  private monotonicOf(engine_ms: number | undefined): number | undefined {
    return engine_ms === undefined || this.clockOffsets.length === 0
      ? undefined
      : engine_ms + Math.min(...this.clockOffsets)
  }
}
