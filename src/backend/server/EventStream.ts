/**
 * Streams the event log to subscribers.
 *
 * A subscriber has a cursor and no queue: it reads from the log at its own speed, and a slow one falls behind inside
 * the log. Its stream ends with RESOURCE_EXHAUSTED when it has read nothing for {@link SUBSCRIBER_STALL_MS} or when the
 * log has dropped its events. It can resume at its last seq.
 *
 * Events before those of the log come from a {@link Replay} of the journal, until it reaches the log. There both must have
 * the same checksum.
 */
import { Metadata, type ServerWritableStream, status } from "@grpc/grpc-js"
import { type StreamEventsRequest, StreamEventsResponse } from "../../proto/gateway/v1/sequencer.ts"
import type { Block } from "../journal/EventBlocks.ts"
import type { Cursor, EventLog } from "../journal/EventLog.ts"
import type { ReplayFrom } from "../journal/EventReplay.ts"
import type { Fork } from "../journal/Forks.ts"

/** Source: docs/contract/boundary.md#sequencer. */
export const HEARTBEAT_MS = 1000
/** Time without progress after which a subscription ends. */
export const SUBSCRIBER_STALL_MS = 10_000
export const SUBSCRIBERS_MAX = 1000
/** Replays at one time: each has a thread and the state of an engine. Further subscribers try again. */
export const REPLAYS_MAX = 2
/** Time until a subscriber may begin another replay after one was lost, in ms. */
const LOST_MS = 1000

/** What heartbeats report. Source: docs/contract/rest.md#service-endpoints. */
export interface BackendStatus {
  /** Reasons for which the backend refuses every command. */
  readonly refusing: ReadonlyArray<string>
  /** Conditions that an operator should end, while the backend works. */
  readonly warnings: ReadonlyArray<string>
}
const WELL: BackendStatus = { refusing: [], warnings: [] }

export type EventCall = ServerWritableStream<StreamEventsRequest, Buffer>

/** Ends a call with a status, and a reason in the trailing metadata. */
export const fail = (
  call: { readonly emit: (event: "error", error: unknown) => unknown },
  code: status,
  details: string,
  reason?: string
) => {
  const metadata = new Metadata()
  if (reason !== undefined) metadata.set("error-reason", reason)
  return call.emit("error", { code, details, message: details, metadata })
}

/** The history that an event stream continues. */
export interface Lineage {
  /** Oldest first. */
  readonly forks: ReadonlyArray<Fork>
  /** A subscriber has seen this event of the current fork, and the log ends before it. */
  readonly onAhead: (seq: number) => void
}

/** Receives the events of a replay. */
export interface ReplaySink {
  /** `taken` is called when the subscriber has room for more. */
  readonly onBlock: (block: Block, taken: () => void) => void
  /** The replay is at the end of the journal; or the journal had another checksum before the first event. */
  readonly onEnd: (at: "AtHead" | "Forked") => void
  readonly onError: (message: string) => void
  /** The replay ended, for a reason that says nothing of the journal, such as too little memory: another one may succeed. */
  readonly onLost: (message: string) => void
}
/** Starts a replay of old events. The returned function ends it. */
export type Replay = (from: ReplayFrom, sink: ReplaySink) => () => void
/** Replays of the journal of an event stream. */
export interface Replays {
  readonly start: Replay
  /** A replay failed, or has events that differ from those of the log. */
  readonly onFailure: (message: string) => void
}

class Subscriber {
  readonly call: EventCall
  /** Undefined while its events come from a replay. */
  cursor: Cursor | undefined
  /** Time since which the stream's buffer is full; undefined while it accepts frames. */
  stalledSince: number | undefined
  /** Ends its replay. */
  endReplay: (() => void) | undefined
  /** Lets its replay continue, once the buffer accepts frames. */
  continueReplay: (() => void) | undefined
  constructor(call: EventCall) {
    this.call = call
  }
}

export class EventStream {
  private readonly log: EventLog
  private readonly now: () => number
  private readonly status: () => BackendStatus
  private readonly lineage: Lineage
  private readonly replays: Replays | undefined
  private readonly subscribers = new Set<Subscriber>()
  private readonly timer: NodeJS.Timeout
  private stopped = false

  /** `now`: engine time. */
  constructor(
    log: EventLog,
    now: () => number,
    status: () => BackendStatus = () => WELL,
    lineage?: Lineage,
    replays?: Replays
  ) {
    this.log = log
    this.replays = replays
    this.lineage = lineage ?? { forks: [], onAhead: () => {} }
    this.now = now
    this.status = status
    this.timer = setInterval(() => this.sendHeartbeats(), HEARTBEAT_MS)
  }

  get count(): number {
    return this.subscribers.size
  }

  subscribe(call: EventCall): void {
    const { checksum, epoch, fork, from_seq } = call.request
    const { log } = this
    if (this.stopped) return void fail(call, status.UNAVAILABLE, "the backend is stopping")
    if (epoch !== "" && epoch !== log.epoch) {
      return void fail(call, status.FAILED_PRECONDITION, `the epoch is ${log.epoch}`)
    }
    const seq = Math.max(1, from_seq) - 1
    if (!this.isOnHistory(fork, seq, checksum)) {
      if (fork === log.fork && seq > log.head) this.lineage.onAhead(seq)
      const details = `event ${seq} of fork ${fork} is not on the history of fork ${log.fork}`
      return void fail(call, status.FAILED_PRECONDITION, details, "Forked")
    }
    if (this.subscribers.size >= SUBSCRIBERS_MAX) {
      return void fail(call, status.RESOURCE_EXHAUSTED, "too many subscribers")
    }
    const isReplayed = this.replays !== undefined && seq + 1 < log.oldest
    if (!isReplayed && log.seek(seq + 1) === undefined) {
      const details = `from_seq must be between ${log.oldest} and ${log.head + 1}`
      return void fail(call, status.OUT_OF_RANGE, details)
    }
    if (isReplayed && this.replaying >= REPLAYS_MAX) {
      return void fail(call, status.RESOURCE_EXHAUSTED, "too many subscribers read old events")
    }
    const subscriber = new Subscriber(call)
    this.subscribers.add(subscriber)
    const leave = () => this.remove(subscriber)
    call.on("cancelled", leave)
    call.on("close", leave)
    call.on("drain", () => {
      subscriber.stalledSince = undefined
      subscriber.continueReplay?.()
      this.serve(subscriber)
    })
    // The first frame reports epoch and head, before any event.
    this.write(subscriber, this.heartbeat())
    if (isReplayed) this.replay(subscriber, this.replays!, { seq: seq + 1, checksum })
    else this.join(subscriber, seq + 1)
  }

  private get replaying(): number {
    let count = 0
    for (const { endReplay } of this.subscribers) if (endReplay !== undefined) count++
    return count
  }

  /** Sends what the log has from a seq on. */
  private join(subscriber: Subscriber, seq: number): void {
    const from = this.log.seek(seq)
    if (from === undefined) return this.end(subscriber, status.RESOURCE_EXHAUSTED, "too slow: the next event is old")
    subscriber.cursor = from.cursor
    if (from.frame !== undefined) this.write(subscriber, from.frame)
    this.serve(subscriber)
  }

  /** Sends replayed events until they reach those of the log. */
  private replay(subscriber: Subscriber, { onFailure, start }: Replays, from: ReplayFrom): void {
    const { log } = this
    const stop = (code: status, details: string, reason?: string) => {
      if (this.subscribers.has(subscriber)) this.end(subscriber, code, details, reason)
    }
    const failed = (message: string) => {
      onFailure(message)
      stop(status.OUT_OF_RANGE, "the journal does not replay from this event")
    }
    subscriber.endReplay = start(from, {
      onBlock: (block, taken) => {
        if (subscriber.endReplay === undefined) return
        const known = log.checksumAt(block.last)
        if (known !== undefined && known !== block.checksum)
          return failed(`the replay of event ${block.last} has another checksum than the journal had`)
        this.write(subscriber, block.bytes)
        if (known !== undefined) {
          this.endReplay(subscriber)
          return this.join(subscriber, block.last + 1)
        }
        subscriber.continueReplay = () => {
          subscriber.continueReplay = undefined
          taken()
        }
        if (subscriber.stalledSince === undefined) subscriber.continueReplay()
      },
      onEnd: (at) =>
        at === "Forked"
          ? stop(status.FAILED_PRECONDITION, `event ${from.seq - 1} is not on this history`, "Forked")
          : stop(status.UNAVAILABLE, "the replay has ended: subscribe at the next event"),
      onError: failed,
      onLost: (message) => {
        onFailure(message)
        const again = () => stop(status.UNAVAILABLE, "the replay was lost: subscribe at the next event")
        setTimeout(again, LOST_MS).unref()
      }
    })
  }
  private endReplay(subscriber: Subscriber): void {
    subscriber.endReplay?.()
    subscriber.endReplay = subscriber.continueReplay = undefined
  }

  /** Sends new events to all subscribers. */
  readonly publish = (): void => {
    for (const subscriber of this.subscribers) this.serve(subscriber)
  }

  /** Ends all subscriptions after a last heartbeat; clients can resume at the next instance. */
  stop(): void {
    this.stopped = true
    clearInterval(this.timer)
    // the heartbeat reports a failed writer before the stream ends
    this.sendHeartbeats()
    for (const subscriber of this.subscribers) this.end(subscriber, status.UNAVAILABLE, "the backend is stopping")
  }

  /** Whether the position of a subscriber is on this history. What it does not name is not compared. */
  private isOnHistory(fork: string, seq: number, checksum: number | undefined): boolean {
    const { log, lineage } = this
    if (fork !== "" && fork !== log.fork) {
      const index = lineage.forks.findIndex((known) => known.fork === fork)
      const next = index < 0 ? undefined : lineage.forks[index + 1]
      if (next === undefined || seq > next.head_seq) return false
    }
    if (fork === log.fork && seq > log.head) return false
    const known = seq === 0 ? undefined : log.checksumAt(seq)
    return checksum === undefined || known === undefined || known === checksum
  }

  private serve(subscriber: Subscriber): void {
    const { log } = this
    while (subscriber.cursor !== undefined && subscriber.stalledSince === undefined && subscriber.cursor < log.end) {
      if (log.isGone(subscriber.cursor)) {
        return this.end(subscriber, status.RESOURCE_EXHAUSTED, "too slow: the log has dropped the next event")
      }
      const next = log.read(subscriber.cursor)
      subscriber.cursor = next.cursor
      this.write(subscriber, next.frame)
    }
  }

  private write(subscriber: Subscriber, frame: Buffer): void {
    if (!subscriber.call.write(frame)) subscriber.stalledSince = this.now()
  }

  private heartbeat(): Buffer {
    const { refusing, warnings } = this.status()
    const heartbeat = {
      head_seq: this.log.head,
      server_ts_ms: this.now(),
      refusing: [...refusing],
      warnings: [...warnings],
      checksum: this.log.checksumAt(this.log.head)
    }
    const { epoch, fork } = this.log
    return Buffer.from(StreamEventsResponse.encode({ epoch, fork, events: [], checksums: [], heartbeat }).finish())
  }

  private sendHeartbeats(): void {
    const now = this.now()
    const frame = this.heartbeat()
    for (const subscriber of this.subscribers) {
      if (subscriber.stalledSince === undefined) this.write(subscriber, frame)
      else if (now - subscriber.stalledSince >= SUBSCRIBER_STALL_MS || this.isGone(subscriber)) {
        this.end(subscriber, status.RESOURCE_EXHAUSTED, "too slow: no frame was read")
      }
    }
  }

  private isGone({ cursor }: Subscriber): boolean {
    return cursor !== undefined && this.log.isGone(cursor)
  }

  private remove(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber)
    this.endReplay(subscriber)
  }

  private end(subscriber: Subscriber, code: status, details: string, reason?: string): void {
    this.remove(subscriber)
    fail(subscriber.call, code, details, reason)
  }
}
