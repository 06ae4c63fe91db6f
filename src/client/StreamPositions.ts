/**
 * The position of each private topic in the user stream, and the check that each message follows the one before.
 *
 * The messages of a topic form a chain: `prev_seq` names the previous one. Topics subscribed in one frame arrive in stream
 * order, so a message of one of them confirms the position of all. Topics of different frames have no common order, so
 * each frame has a position of its own and resumes from it.
 * Source: docs/contract/websocket.md#resume.
 */
import type { PrivateTopic } from "../domain/Topic.ts"
import type { Since } from "../ws/api/Frames.ts"
import type { UserMessage } from "./FeedEvent.ts"

interface Position {
  readonly stream_id: string
  /** All events of the topic up to here were received. */
  seq: number
  /** Seq of the last event of the topic, or of its first snapshot. */
  last: number
  /** Whether {@link last} is an event: then `prev_seq` of the next one must equal it. */
  isEvent: boolean
  /** Identity that the topics of one frame share. */
  group: object
}

/**
 * How a message relates to its topic. `next` and `begins`, a first snapshot, are passed on. So is `replaces`, a snapshot
 * that was not requested; the events before it are lost. The others are faults.
 */
export type Verdict = "next" | "begins" | "replaces" | "gap" | "repetition" | "stream"

/** Topics of one subscribe frame, and the position that it resumes from. */
export interface SubscribeArgs {
  readonly args: ReadonlyArray<PrivateTopic>
  readonly since: Since | undefined
}

export class StreamPositions {
  private readonly positions = new Map<PrivateTopic, Position>()
  /** Groups of topics that are subscribed and have no position yet. */
  private readonly groups = new Map<PrivateTopic, object>()

  /** Checks a message and advances the position. */
  advance({ data, kind: topic }: UserMessage): Verdict {
    const position = this.positions.get(topic)
    if (data.type === "snapshot") {
      const { seq, stream_id } = data
      const group = this.groups.get(topic) ?? {}
      this.positions.set(topic, { stream_id, seq, last: seq, isEvent: false, group })
      return position === undefined ? "begins" : "replaces"
    }
    if (position === undefined) return "gap"
    if (data.stream_id !== position.stream_id) {
      this.positions.delete(topic)
      return "stream"
    }
    if (data.seq <= position.seq) return "repetition"
    if (position.isEvent ? data.prev_seq !== position.last : data.prev_seq > position.last) {
      // after a gap only the topic's own last event is certain, whatever other topics of the frame receive
      Object.assign(position, { seq: position.last, group: {} })
      return "gap"
    }
    position.last = data.seq
    position.isEvent = true
    for (const other of this.positions.values()) {
      if (other.group === position.group) other.seq = Math.max(other.seq, data.seq)
    }
    return "next"
  }

  /** Sets a position that the caller stored: the topics begin after it instead of with snapshots. */
  begin(topics: ReadonlyArray<PrivateTopic>, { seq, stream_id }: Since): void {
    const group = {}
    for (const topic of topics) this.positions.set(topic, { stream_id, seq, last: seq, isEvent: false, group })
  }

  /** The position from which a topic resumes; `undefined`: it begins with a snapshot. */
  since(topic: PrivateTopic): Since | undefined {
    const position = this.positions.get(topic)
    return position && { stream_id: position.stream_id, seq: position.seq }
  }

  /** Groups topics into subscribe frames: topics with the same position share a frame, so they arrive in stream order. */
  frames(topics: ReadonlyArray<PrivateTopic>): ReadonlyArray<SubscribeArgs> {
    const byPosition = new Map<string, { readonly args: Array<PrivateTopic>; readonly since: Since | undefined }>()
    for (const topic of topics) {
      const since = this.since(topic)
      const key = since === undefined ? "" : `${since.seq}:${since.stream_id}`
      const frame = byPosition.get(key) ?? { args: [], since }
      frame.args.push(topic)
      byPosition.set(key, frame)
    }
    return [...byPosition.values()]
  }

  /** Records topics of one frame that the gateway accepted: they resume from `since`, or begin with snapshots. */
  subscribed(topics: ReadonlyArray<PrivateTopic>, since: Since | undefined, recovered: boolean): void {
    const group = {}
    for (const topic of topics) {
      this.groups.set(topic, group)
      const position = this.positions.get(topic)
      if (position === undefined) continue
      if (since === undefined || !recovered) this.positions.delete(topic)
      else position.group = group
    }
  }

  /** Forgets topics that are no longer followed. */
  remove(topics: ReadonlyArray<string>): void {
    for (const topic of this.positions.keys()) if (topics.includes(topic)) this.positions.delete(topic)
  }
}
