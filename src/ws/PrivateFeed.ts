/**
 * The private topics of one connection, joined with the user's stream.
 *
 * A topic is joined in three steps, so that nothing is missing and nothing comes twice: from {@link PrivateFeed.join} on
 * events are kept aside; meanwhile the snapshots or the replay are read; {@link PrivateFeed.begin} sends them and then
 * what was kept aside, as far as it is newer. Source: docs/contract/websocket.md#private-topics.
 */
import type { PrivateTopic } from "../domain/Topic.ts"
import type { UserEvent } from "../services/History.ts"
import { Frame } from "./Frame.ts"
import type { Source } from "./Batch.ts"
import type { Outbox } from "./Outbox.ts"

/** Events kept aside while a snapshot is read; over it the connection ends, and resumes. */
export const ASIDE_MAX = 50_000

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
  /** The event as told to a connection that may see these sub-accounts: of others only the numbers. */
  frame(bound_to: ReadonlySet<string> | undefined): Frame {
    return bound_to === undefined || bound_to.has(this.event.sub_account_address)
      ? (this.whole ??= this.encode(this.event.record))
      : (this.empty ??= this.encode(""))
  }
}

/** The place of one topic in an outbox: none of its frames may be lost. */
class Place implements Source {
  readonly conflatable = false
  readonly snapshot = () => undefined
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
  /** Topics that are live, with the seq that was told last: nothing is told twice. */
  private readonly live = new Map<PrivateTopic, number>()
  private readonly places = new Map<PrivateTopic, Place>()
  private aside: Array<UserMessage> | undefined
  private holds = 0
  /** Position up to which every event of the live topics was told; `undefined` before any topic began. */
  position: { readonly stream_id: string; readonly seq: number } | undefined

  constructor(user_id: string, outbox: Outbox, onOverflow: () => void) {
    this.user_id = user_id
    this.outbox = outbox
    this.onOverflow = onOverflow
  }

  topics(): ReadonlyArray<PrivateTopic> {
    return [...this.live.keys()]
  }

  private place(topic: PrivateTopic): Place {
    let place = this.places.get(topic)
    if (place === undefined) this.places.set(topic, (place = new Place()))
    return place
  }

  private tell(message: UserMessage, now: number, counts = true): void {
    const { seq, topic } = message.event
    const last = this.live.get(topic)
    if (last === undefined || seq <= last) return
    this.live.set(topic, seq)
    const frame = message.frame(this.bound_to)
    this.outbox.offer({ frame, source: this.place(topic), at: now, weight: counts ? frame.length : 0 })
  }

  /** Like a snapshot, a replay was asked for and does not count against the limit: else nobody could resume far. */
  private retell(replay: ReadonlyArray<UserMessage>, now: number): void {
    for (const message of replay) this.tell(message, now, false)
  }

  private stands(stream_id: string, seq: number): void {
    const known = this.position?.stream_id === stream_id ? this.position.seq : 0
    this.position = { stream_id, seq: Math.max(known, seq) }
  }

  /** Takes the next events of the user, in order. */
  take(messages: ReadonlyArray<UserMessage>, now: number): void {
    if (this.aside !== undefined) {
      if (this.aside.length + messages.length > ASIDE_MAX) return this.onOverflow()
      this.aside.push(...messages)
    }
    if (this.holds > 0) return
    for (const message of messages) this.tell(message, now)
    const last = messages.at(-1)
    if (last !== undefined && this.position?.stream_id === last.stream_id) this.stands(last.stream_id, last.event.seq)
  }

  /** Keeps events aside from now on, while those of live topics are told. */
  join(): void {
    this.aside ??= []
  }

  /** Gives up what {@link join} began. */
  abandon(): void {
    if (this.holds === 0) this.aside = undefined
  }

  /** Starts topics: their snapshots, then a replay, then what was kept aside, then live. */
  begin(
    stream_id: string,
    beginnings: ReadonlyArray<FeedStart>,
    replay: ReadonlyArray<UserMessage>,
    now: number
  ): void {
    for (const { seq, snapshot, topic } of beginnings) {
      this.live.set(topic, seq)
      this.outbox.begin(snapshot, this.place(topic), now)
    }
    const begun = new Set(beginnings.map(({ topic }) => topic))
    this.retell(
      replay.filter(({ event }) => begun.has(event.topic)),
      now
    )
    const seqs = beginnings.map(({ seq }) => seq)
    if (this.holds === 0) {
      this.catchUp(stream_id, Math.max(0, replay.at(-1)?.event.seq ?? 0, ...seqs), now)
    } else {
      // while held, what was missed comes first: from the earliest place that a topic stands at
      const known = this.position?.stream_id === stream_id ? [this.position.seq] : []
      this.position = { stream_id, seq: Math.min(...known, ...seqs) }
    }
  }

  private catchUp(stream_id: string, seq: number, now: number): void {
    const aside = this.aside ?? []
    this.aside = undefined
    for (const message of aside) if (message.stream_id === stream_id) this.tell(message, now)
    this.stands(stream_id, Math.max(seq, aside.at(-1)?.event.seq ?? 0))
  }

  /** The user stream was interrupted: keeps events aside and tells nothing until {@link release}. */
  hold(): void {
    this.holds++
    this.join()
  }

  /** Ends a {@link hold}. */
  release(): void {
    this.holds--
  }

  /** Goes on after an interruption with what was missed, then with what was kept aside. */
  resume(replay: ReadonlyArray<UserMessage>, now: number): void {
    this.retell(replay, now)
    const { seq, stream_id } = this.position!
    if (this.holds === 0) this.catchUp(stream_id, Math.max(seq, replay.at(-1)?.event.seq ?? 0), now)
  }

  leave(topic: PrivateTopic): boolean {
    this.outbox.forget(this.place(topic))
    return this.live.delete(topic)
  }
}
