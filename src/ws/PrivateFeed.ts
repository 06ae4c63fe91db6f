/**
 * The private topics of one connection, fed from the user's stream.
 *
 * A subscription has three steps, so that no event is missing or repeated: from {@link PrivateFeed.join} on, events are
 * buffered; meanwhile `PrivateSubscriptions` reads snapshots or a replay; {@link PrivateFeed.begin} sends those, then the
 * newer buffered events. Source: docs/contract/websocket.md#private-topics.
 */
import type { PrivateTopic } from "../domain/Topic.ts"
import type { UserEvent } from "../services/History.ts"
import { Frame } from "./Frame.ts"
import type { Source } from "./Batch.ts"
import type { Outbox } from "./Outbox.ts"

/** Maximum buffered events during a subscription; above it the connection ends, and the client resumes. */
export const BUFFERED_MAX = 50_000

/** An event with its frames, which all connections of the user share. */
export class UserMessage {
  readonly event: UserEvent
  readonly stream_id: string
  private readonly at: number
  private whole: Frame | undefined
  private empty: Frame | undefined

  constructor(event: UserEvent, stream_id: string, at: number) {
    this.event = event
    this.stream_id = stream_id
    this.at = at
  }
  private encode(list: string): Frame {
    const { mts, prev_seq, seq, topic } = this.event
    // the record is text already; stream_id holds no character that JSON escapes
    return new Frame(
      `{"op":"event","topic":"${topic}","server_ts_ms":${this.at},"data":{"type":"update","stream_id":${JSON.stringify(this.stream_id)},"seq":${seq},"prev_seq":${prev_seq},"ts":${this.at},"mts":${mts},"list":[${list}]}}`
    )
  }
  /** The frame for a connection that may see these sub-accounts; events of others have an empty list. */
  frame(bound_to: ReadonlySet<string> | undefined): Frame {
    return bound_to === undefined || bound_to.has(this.event.sub_account_address)
      ? (this.whole ??= this.encode(this.event.record))
      : (this.empty ??= this.encode(""))
  }
}

/** The source of a private topic in an outbox: none of its frames may be dropped. */
class PrivateSource implements Source {
  readonly conflatable = false
  readonly snapshot = () => undefined
}

/** A position of a user stream. */
export interface StreamPosition {
  readonly stream_id: string
  readonly seq: number
}

/** How a topic begins: with a snapshot taken at `seq`, or without one after the position it resumes from. */
export interface FeedStart {
  readonly topic: PrivateTopic
  readonly snapshot: Frame | undefined
  readonly seq: number
}

export class PrivateFeed {
  readonly user_id: string
  /** Sub-accounts that the credential may see; `undefined`: all. */
  bound_to: ReadonlySet<string> | undefined
  private readonly outbox: Outbox
  private readonly onOverflow: () => void
  /** Live topics with the seq of their last sent event, so that no event is repeated. */
  private readonly live = new Map<PrivateTopic, number>()
  private readonly sources = new Map<PrivateTopic, PrivateSource>()
  private buffered: Array<UserMessage> | undefined
  private holds = 0
  /** Position up to which all events of the live topics were sent; `undefined` before the first topic. */
  position: StreamPosition | undefined

  constructor(user_id: string, outbox: Outbox, onOverflow: () => void) {
    this.user_id = user_id
    this.outbox = outbox
    this.onOverflow = onOverflow
  }

  topics(): ReadonlyArray<PrivateTopic> {
    return [...this.live.keys()]
  }

  private source(topic: PrivateTopic): PrivateSource {
    let source = this.sources.get(topic)
    if (source === undefined) this.sources.set(topic, (source = new PrivateSource()))
    return source
  }

  private send(message: UserMessage, at: number, counts = true): void {
    const { seq, topic } = message.event
    const last = this.live.get(topic)
    if (last === undefined || seq <= last) return
    this.live.set(topic, seq)
    const frame = message.frame(this.bound_to)
    this.outbox.offer({ frame, source: this.source(topic), at, weight: counts ? frame.length : 0 })
  }

  /** A replay does not count against the queue limit, so that long resumes are possible. */
  private replay(replay: ReadonlyArray<UserMessage>, at: number): void {
    for (const message of replay) this.send(message, at, false)
  }

  private advance(stream_id: string, seq: number): void {
    const known = this.position?.stream_id === stream_id ? this.position.seq : 0
    this.position = { stream_id, seq: Math.max(known, seq) }
  }

  /** Receives the next events of the user, in order, at a monotonic time. */
  take(messages: ReadonlyArray<UserMessage>, at: number): void {
    if (this.buffered !== undefined) {
      if (this.buffered.length + messages.length > BUFFERED_MAX) return this.onOverflow()
      this.buffered.push(...messages)
    }
    if (this.holds > 0) return
    for (const message of messages) this.send(message, at)
    const last = messages.at(-1)
    if (last !== undefined && this.position?.stream_id === last.stream_id) this.advance(last.stream_id, last.event.seq)
  }

  /** Starts to buffer events; events of live topics are still sent. */
  join(): void {
    this.buffered ??= []
  }

  /** Cancels a {@link join}. */
  abandon(): void {
    if (this.holds === 0) this.buffered = undefined
  }

  /** Starts topics: snapshots, then the replay, then buffered events, then live events. */
  begin(stream_id: string, beginnings: ReadonlyArray<FeedStart>, replay: ReadonlyArray<UserMessage>, at: number): void {
    for (const { seq, snapshot, topic } of beginnings) {
      this.live.set(topic, seq)
      this.outbox.begin(snapshot, this.source(topic), at)
    }
    const begun = new Set(beginnings.map(({ topic }) => topic))
    this.replay(
      replay.filter(({ event }) => begun.has(event.topic)),
      at
    )
    const seqs = beginnings.map(({ seq }) => seq)
    if (this.holds === 0) {
      this.catchUp(stream_id, Math.max(0, replay.at(-1)?.event.seq ?? 0, ...seqs), at)
    } else if (this.position?.stream_id === stream_id) {
      // during an interruption the missed events come first, from the earliest position of a topic
      this.position = { stream_id, seq: Math.min(this.position.seq, ...seqs) }
    } else if (beginnings.length > 0 && begun.size === this.live.size) {
      this.position = { stream_id, seq: Math.min(...seqs) }
    }
    // else other topics are of an earlier stream, and so is the position: the restart sends snapshots of all
  }

  private catchUp(stream_id: string, seq: number, at: number): void {
    const own = (this.buffered ?? []).filter((message) => message.stream_id === stream_id)
    this.buffered = undefined
    for (const message of own) this.send(message, at)
    this.advance(stream_id, Math.max(seq, own.at(-1)?.event.seq ?? 0))
  }

  /** The user stream was interrupted: buffers all events until {@link release}. */
  hold(): void {
    this.holds++
    this.join()
  }

  /** Ends a {@link hold}. */
  release(): void {
    this.holds--
  }

  /** Continues after an interruption with the missed events, then the buffered ones. */
  resume(replay: ReadonlyArray<UserMessage>, at: number): void {
    this.replay(replay, at)
    const { seq, stream_id } = this.position!
    if (this.holds === 0) this.catchUp(stream_id, Math.max(seq, replay.at(-1)?.event.seq ?? 0), at)
  }

  leave(topic: PrivateTopic): boolean {
    this.outbox.forget(this.source(topic))
    return this.live.delete(topic)
  }
}
