/**
 * Where each private topic stands in the user stream, and whether what comes next follows from it.
 *
 * A topic's messages are chained: `prev_seq` names the one before. Topics that were subscribed in one frame come in the
 * order of the stream, so a message of one says that all of them are told up to it; topics of different frames are not
 * ordered against each other, so each frame has a place of its own, and resumes from it.
 * Source: docs/contract/websocket.md#resume.
 */
import type { PrivateTopic } from "../domain/Topic.ts"
import type { Since } from "../ws/api/Frames.ts"
import type { UserMessage } from "./FeedEvent.ts"

interface Place {
  readonly stream_id: string
  /** Every event of the topic up to here was told. */
  seq: number
  /** The last event of the topic, or the snapshot that it began with. */
  last: number
  /** Whether {@link last} is an event: then the next one must name it. */
  exact: boolean
  /** Topics of one frame share it. */
  group: object
}

/**
 * What a message is to its topic. `next` and `begins`, a first snapshot, are to be told; so is `replaces`, a snapshot that nobody
 * asked for, but what happened before it is not known. The others are faults.
 */
export type Verdict = "next" | "begins" | "replaces" | "gap" | "repetition" | "stream"

/** A frame to subscribe with. */
export interface Joining {
  readonly args: ReadonlyArray<PrivateTopic>
  readonly since: Since | undefined
}

export class StreamPositions {
  private readonly places = new Map<PrivateTopic, Place>()
  /** Groups of topics that are subscribed and have not begun yet. */
  private readonly groups = new Map<PrivateTopic, object>()

  /** Takes a message in; see {@link Verdict}. */
  take({ data, kind: topic }: UserMessage): Verdict {
    const place = this.places.get(topic)
    if (data.type === "snapshot") {
      const { seq, stream_id } = data
      const group = this.groups.get(topic) ?? {}
      this.places.set(topic, { stream_id, seq, last: seq, exact: false, group })
      return place === undefined ? "begins" : "replaces"
    }
    if (place === undefined) return "gap"
    if (data.stream_id !== place.stream_id) {
      this.places.delete(topic)
      return "stream"
    }
    if (data.seq <= place.seq) return "repetition"
    if (place.exact ? data.prev_seq !== place.last : data.prev_seq > place.last) {
      // only its own last event is sure, whatever others of its frame are told meanwhile
      Object.assign(place, { seq: place.last, group: {} })
      return "gap"
    }
    place.last = data.seq
    place.exact = true
    for (const other of this.places.values()) {
      if (other.group === place.group) other.seq = Math.max(other.seq, data.seq)
    }
    return "next"
  }

  /** Topics that go on after a position that was kept elsewhere, in place of a snapshot. */
  begin(topics: ReadonlyArray<PrivateTopic>, { seq, stream_id }: Since): void {
    const group = {}
    for (const topic of topics) this.places.set(topic, { stream_id, seq, last: seq, exact: false, group })
  }

  /** The position from which a topic goes on; `undefined`: it begins with a snapshot. */
  since(topic: PrivateTopic): Since | undefined {
    const place = this.places.get(topic)
    return place && { stream_id: place.stream_id, seq: place.seq }
  }

  /** The frames that topics are subscribed with: those that stand at one position go together, so they come in one order. */
  joinings(topics: ReadonlyArray<PrivateTopic>): ReadonlyArray<Joining> {
    const byPosition = new Map<string, { readonly args: Array<PrivateTopic>; readonly since: Since | undefined }>()
    for (const topic of topics) {
      const since = this.since(topic)
      const key = since === undefined ? "" : `${since.seq}:${since.stream_id}`
      const joining = byPosition.get(key) ?? { args: [], since }
      joining.args.push(topic)
      byPosition.set(key, joining)
    }
    return [...byPosition.values()]
  }

  /** The gateway accepted topics of one frame: they go on from where they were asked for, or begin with snapshots. */
  joined(topics: ReadonlyArray<PrivateTopic>, since: Since | undefined, recovered: boolean): void {
    const group = {}
    for (const topic of topics) {
      this.groups.set(topic, group)
      const place = this.places.get(topic)
      if (place === undefined) continue
      if (since === undefined || !recovered) this.places.delete(topic)
      else place.group = group
    }
  }

  /** Topics that are not followed any more. */
  leave(topics: ReadonlyArray<string>): void {
    for (const topic of this.places.keys()) if (topics.includes(topic)) this.places.delete(topic)
  }
}
