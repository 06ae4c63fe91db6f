/** Public topics: members, snapshots and messages. Source: docs/contract/websocket.md#public-topics. */
import type { MarketChange, MarketView } from "../services/markets/MarketView.ts"
import { type Frame, frameOf } from "./Frame.ts"
import { queuedFrame, type Source } from "./Batch.ts"
import type { Outbox } from "./Outbox.ts"
import type { Job } from "./Throttler.ts"

export type View = typeof MarketView.Service

/** One topic of one market, while it has members. */
export abstract class PublicTopic<Data = unknown> implements Source {
  readonly name: string
  readonly symbol: string
  abstract readonly conflatable: boolean
  /** Whether the topic has a state, with which new members begin. */
  readonly hasSnapshot: boolean = true
  readonly members = new Set<Outbox>()
  protected readonly view: View
  /** Monotonic time in ms, for intervals and the age of queued frames. */
  protected readonly monotonic: () => number

  constructor(name: string, symbol: string, view: View, monotonic: () => number) {
    this.name = name
    this.symbol = symbol
    this.view = view
    this.monotonic = monotonic
  }
  abstract snapshot(now: number): Frame | undefined

  /** Handles a market change. While the numbering restarts, a topic with a state waits, and then begins again with it. */
  publish(change: MarketChange, now: number): Job | undefined {
    if (!change.isRestarting || !this.hasSnapshot) return this.take(change, now)
    return change.reset ? this.restart(now) : undefined
  }

  /** Sends the state to all members, or returns the job that does. */
  protected restart(now: number): Job | undefined {
    const frame = this.snapshot(now)
    if (frame !== undefined) this.offer([frame])
    return undefined
  }

  /** Handles a market change: sends it immediately, or returns the job that sends it at the topic's interval. */
  abstract take(change: MarketChange, now: number): Job | undefined

  protected frame(data: Data, now: number): Frame {
    return frameOf({ op: "event", topic: this.name, server_ts_ms: now, data })
  }
  /** Offers one event to all members. */
  protected send(data: Data, now: number): void {
    this.sendAll([data], now)
  }
  /** Offers events to all members. Each event is encoded once. */
  protected sendAll(events: ReadonlyArray<Data>, now: number): void {
    if (this.members.size > 0) this.offer(events.map((data) => this.frame(data, now)))
  }
  private offer(frames: ReadonlyArray<Frame>): void {
    const at = this.monotonic()
    const queued = frames.map((frame) => queuedFrame(frame, this, at))
    for (const member of this.members) for (const sent of queued) member.offer(sent)
  }
}

/** A topic with a minimum interval between messages. */
export abstract class PacedTopic<Data = unknown> extends PublicTopic<Data> implements Job {
  override readonly conflatable = true
  abstract readonly interval_ms: number
  /** Longest time between two messages while the backend is available, in ms; `undefined`: only changes are sent. */
  readonly silence_ms: number | undefined = undefined
  lastRun = -Infinity
  abstract readonly run: (now: number) => void
}

/** A topic whose messages are always the complete state. */
export abstract class StateTopic<Data> extends PacedTopic<Data> {
  /** The state; `undefined` before it is known. */
  protected abstract data(now: number): Data | undefined

  override snapshot(now: number): Frame | undefined {
    // the snapshot of the first member is the topic's first message and starts the interval
    if (this.members.size <= 1) this.lastRun = this.monotonic()
    const data = this.data(now)
    return data && this.frame(data, now)
  }
  protected override restart(): Job {
    return this
  }
  override readonly run = (now: number): void => {
    const data = this.data(now)
    if (data !== undefined) this.send(data, now)
  }
}
