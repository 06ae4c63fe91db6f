/**
 * Hands the event log to its subscribers.
 *
 * A subscriber holds a cursor and no queue: it is served from the log as fast as it reads, and a slow one falls behind
 * inside the log. It is ended with RESOURCE_EXHAUSTED when it took nothing for a while or when the log has moved on, and
 * may come back at the seq that it has.
 */
import { type ServerWritableStream, status } from "@grpc/grpc-js"
import { type StreamEventsRequest, StreamEventsResponse } from "../../proto/gateway/v1/sequencer.ts"
import type { Cursor, EventLog } from "./EventLog.ts"

/** Source: docs/contract/boundary.md#sequencer. */
export const HEARTBEAT_MS = 1000
/** A subscriber that takes nothing for so long is ended. */
export const SUBSCRIBER_STALL_MS = 10_000
export const SUBSCRIBERS_MAX = 1000

export type EventCall = ServerWritableStream<StreamEventsRequest, Buffer>

/** Ends a call with a status. */
export const fail = (
  call: { readonly emit: (event: "error", error: unknown) => unknown },
  code: status,
  details: string
) => call.emit("error", { code, details, message: details })

class Subscriber {
  readonly call: EventCall
  cursor: Cursor
  /** When the stream stopped taking frames; undefined while it takes them. */
  stalledSince: number | undefined
  constructor(call: EventCall, cursor: Cursor) {
    this.call = call
    this.cursor = cursor
  }
}

export class EventStream {
  private readonly log: EventLog
  private readonly now: () => number
  private readonly refusing: () => ReadonlyArray<string>
  private readonly subscribers = new Set<Subscriber>()
  private readonly timer: NodeJS.Timeout
  private stopped = false

  /** `refusing`: why the backend refuses every command, as heartbeats say it. */
  constructor(log: EventLog, now: () => number, refusing: () => ReadonlyArray<string> = () => []) {
    this.log = log
    this.now = now
    this.refusing = refusing
    this.timer = setInterval(() => this.beat(), HEARTBEAT_MS)
  }

  get count(): number {
    return this.subscribers.size
  }

  subscribe(call: EventCall): void {
    const { epoch, from_seq } = call.request
    const { log } = this
    if (this.stopped) return void fail(call, status.UNAVAILABLE, "the backend is stopping")
    if (epoch !== "" && epoch !== log.epoch) {
      return void fail(call, status.FAILED_PRECONDITION, `the epoch is ${log.epoch}`)
    }
    if (this.subscribers.size >= SUBSCRIBERS_MAX) {
      return void fail(call, status.RESOURCE_EXHAUSTED, "too many subscribers")
    }
    const from = log.seek(Math.max(1, from_seq))
    if (from === undefined) {
      const details = `from_seq must lie between ${log.oldest} and ${log.head + 1}`
      return void fail(call, status.OUT_OF_RANGE, details)
    }
    const subscriber = new Subscriber(call, from.cursor)
    this.subscribers.add(subscriber)
    const leave = () => this.subscribers.delete(subscriber)
    call.on("cancelled", leave)
    call.on("close", leave)
    call.on("drain", () => {
      subscriber.stalledSince = undefined
      this.serve(subscriber)
    })
    // The first frame tells the epoch and the head, before any event.
    this.write(subscriber, this.heartbeat())
    if (from.frame !== undefined) this.write(subscriber, from.frame)
    this.serve(subscriber)
  }

  /** Serves everyone after the log has grown. */
  readonly publish = (): void => {
    for (const subscriber of this.subscribers) this.serve(subscriber)
  }

  /** Ends all subscriptions, after a last heartbeat; they may come back to the next instance. */
  stop(): void {
    this.stopped = true
    clearInterval(this.timer)
    // a writer that failed is named before the stream ends
    this.beat()
    for (const subscriber of this.subscribers) this.end(subscriber, status.UNAVAILABLE, "the backend is stopping")
  }

  private serve(subscriber: Subscriber): void {
    const { log } = this
    while (subscriber.stalledSince === undefined && subscriber.cursor < log.end) {
      if (log.isGone(subscriber.cursor)) {
        return this.end(subscriber, status.RESOURCE_EXHAUSTED, "too slow: the events behind the last one read are gone")
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
    const heartbeat = { head_seq: this.log.head, server_ts_ms: this.now(), refusing: [...this.refusing()] }
    return Buffer.from(StreamEventsResponse.encode({ epoch: this.log.epoch, events: [], heartbeat }).finish())
  }

  private beat(): void {
    const now = this.now()
    const frame = this.heartbeat()
    for (const subscriber of this.subscribers) {
      if (subscriber.stalledSince === undefined) this.write(subscriber, frame)
      else if (now - subscriber.stalledSince >= SUBSCRIBER_STALL_MS || this.log.isGone(subscriber.cursor)) {
        this.end(subscriber, status.RESOURCE_EXHAUSTED, "too slow: no frame was taken")
      }
    }
  }

  private end(subscriber: Subscriber, code: status, details: string): void {
    this.subscribers.delete(subscriber)
    fail(subscriber.call, code, details)
  }
}
