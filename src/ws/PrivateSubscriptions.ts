/**
 * The private subscriptions of one connection: topics start with snapshots or after a position, and continue after an
 * interruption of the user's stream.
 *
 * Events are buffered while snapshots or a replay are read, so that none is missing or repeated. The buffer ends with the
 * read, also where it fails or is interrupted.
 * Source: docs/contract/websocket.md#private-topics, #resume.
 */
import { Effect } from "effect"
import type { Lease } from "../domain/Grant.ts"
import type { Reason } from "../domain/Reason.ts"
import type { PrivateTopic } from "../domain/Topic.ts"
import type { Caller } from "../domain/User.ts"
import type { AccountsUnavailable } from "../services/identity/Accounts.ts"
import { current } from "../services/identity/CredentialLease.ts"
import type { Snapshot, SnapshotUnavailable, UserSnapshots } from "../services/read-model/UserSnapshots.ts"
import type { UserStreams } from "../services/read-model/UserStreams.ts"
import type { Resume } from "./api/Frames.ts"
import { type Frame, frameOf } from "./Frame.ts"
import type { Hub } from "./Hub.ts"
import type { Outbox } from "./Outbox.ts"
import { type FeedStart, PrivateFeed, type StreamPosition, UserMessage } from "./PrivateFeed.ts"

export interface SubscriptionDeps {
  readonly hub: Pick<typeof Hub.Service, "attach" | "monotonic" | "now">
  readonly snapshots: typeof UserSnapshots.Service
  readonly streams: typeof UserStreams.Service
}

/** The outcome of a subscription. */
export interface Subscribed {
  readonly topics: ReadonlyArray<PrivateTopic>
  readonly refused: ReadonlyArray<{ readonly topic: PrivateTopic; readonly reason: Reason }>
  /** The answer to a requested position; `undefined`: none was requested, or its events are unavailable. */
  readonly resume: Resume | undefined
}

/** Why topics cannot start or continue now. */
type Unavailable = SnapshotUnavailable | AccountsUnavailable

/** A topic that begins with a snapshot, and the stream of the snapshot. */
interface SnapshotStart extends FeedStart {
  readonly stream_id: string
}

export class PrivateSubscriptions {
  private readonly deps: SubscriptionDeps
  private readonly feed: PrivateFeed
  private lease: Lease

  /** `onOverflow`: the buffer is full, and the connection must end. */
  constructor(deps: SubscriptionDeps, caller: Caller, outbox: Outbox, onOverflow: () => void) {
    this.deps = deps
    this.feed = new PrivateFeed(caller.user_id, outbox, onOverflow)
    this.feed.bound_to = caller.bound_to
    this.lease = caller.grant.lease
  }

  /** Uses a newer credential of the same user. */
  authorize({ bound_to, grant }: Caller): void {
    this.feed.bound_to = bound_to
    this.lease = grant.lease
  }

  /**
   * Receives the events of the user until the returned function is called. After each call of `onInterruption`, {@link recover}
   * must run once.
   */
  attach(onInterruption: () => void): () => void {
    return this.deps.hub.attach(this.feed, () => {
      this.feed.hold()
      onInterruption()
    })
  }

  /** Ends a topic; false: it was not subscribed. */
  leave(topic: PrivateTopic): boolean {
    return this.feed.leave(topic)
  }

  /**
   * Starts topics, after the position `from` where that is possible and with snapshots otherwise. `reply` sends the outcome, before
   * the first frame of a topic.
   */
  subscribe(
    topics: ReadonlyArray<PrivateTopic>,
    from: StreamPosition | undefined,
    reply: (outcome: Subscribed) => void
  ): Effect.Effect<void> {
    const { feed } = this
    return Effect.acquireUseRelease(
      Effect.sync(() => feed.join()),
      () =>
        from === undefined
          ? this.startWithSnapshots(topics, reply)
          : Effect.matchEffect(this.replay(from), {
              onFailure: ({ reason }) => Effect.sync(() => reply(refusal(topics, reason))),
              onSuccess: (replay) =>
                // checked again: the stream can have been replaced since the events were read
                replay === undefined || from.stream_id !== this.deps.streams.streamId()
                  ? this.startWithSnapshots(topics, reply, this.resumed(false))
                  : Effect.sync(() => {
                      reply({ topics, refused: [], resume: this.resumed(true) })
                      const starts = topics.map((topic) => ({ topic, snapshot: undefined, seq: from.seq }))
                      feed.begin(from.stream_id, starts, replay, this.deps.hub.monotonic())
                    })
            }),
      () => Effect.sync(() => feed.abandon())
    )
  }

  /**
   * Continues after an interruption of the user stream: from the position of the connection, or with snapshots if the stream was
   * replaced.
   */
  recover(): Effect.Effect<void, Unavailable> {
    const { feed } = this
    return Effect.gen({ self: this }, function* () {
      const { position } = feed
      if (position === undefined) {
        feed.release()
        return feed.abandon() // no topic has started
      }
      const replay = yield* Effect.orElseSucceed(this.replay(position), () => undefined)
      if (replay !== undefined) {
        feed.release()
        return feed.resume(replay, this.deps.hub.monotonic())
      }
      const starts = yield* Effect.forEach(feed.topics(), (topic) => this.snapshot(topic))
      yield* this.fresh()
      feed.release()
      this.begin(starts)
    })
  }

  private startWithSnapshots(
    topics: ReadonlyArray<PrivateTopic>,
    reply: (outcome: Subscribed) => void,
    resume?: Resume
  ): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const [starts, refused] = yield* Effect.partition(topics, (topic) =>
        Effect.mapError(this.snapshot(topic), ({ reason }) => ({ topic, reason }))
      )
      yield* Effect.match(this.fresh(), {
        onFailure: ({ reason }) => reply({ ...refusal(topics, reason), resume }),
        onSuccess: () => {
          reply({ topics: starts.map(({ topic }) => topic), refused, resume })
          if (starts.length > 0) this.begin(starts)
        }
      })
    })
  }

  private resumed(recovered: boolean): Resume {
    const { streams } = this.deps
    return { recovered, stream_id: streams.streamId(), head_seq: streams.head(this.feed.user_id) }
  }

  /** Completes when the gateway knows that the credential of this connection has not ended elsewhere. */
  private fresh(): Effect.Effect<void, AccountsUnavailable> {
    return Effect.suspend(() => current(this.lease))
  }

  /** The events after a position; `undefined`: they are not all available. */
  private replay({
    seq,
    stream_id
  }: StreamPosition): Effect.Effect<ReadonlyArray<UserMessage> | undefined, Unavailable> {
    const { hub, snapshots } = this.deps
    return snapshots.replay(this.feed.user_id, { stream_id, seq }).pipe(
      Effect.tap(this.fresh()),
      Effect.map((events) => {
        const now = hub.now()
        return events?.map((event) => new UserMessage(event, stream_id, now))
      })
    )
  }

  private snapshot(topic: PrivateTopic): Effect.Effect<SnapshotStart, SnapshotUnavailable> {
    const { hub, snapshots } = this.deps
    const { bound_to, user_id } = this.feed
    return Effect.map(snapshots.take(user_id, topic, bound_to), (snapshot) => ({
      topic,
      snapshot: snapshotFrame(topic, snapshot, hub.now()),
      seq: snapshot.seq,
      stream_id: snapshot.stream_id
    }))
  }

  /**
   * Starts topics with snapshots. If one of them is of an earlier stream, so is the position of the feed; the interruption that is
   * queued then sends the snapshots of the new stream.
   */
  private begin(starts: ReadonlyArray<SnapshotStart>): void {
    const { hub, streams } = this.deps
    const now = streams.streamId()
    const earlier = starts.find(({ stream_id }) => stream_id !== now)
    this.feed.begin(earlier?.stream_id ?? now, starts, [], hub.monotonic())
  }
}

const refusal = (topics: ReadonlyArray<PrivateTopic>, reason: Reason): Subscribed => ({
  topics: [],
  refused: topics.map((topic) => ({ topic, reason })),
  resume: undefined
})

const snapshotFrame = (topic: PrivateTopic, { list, seq, stream_id }: Snapshot, now: number): Frame =>
  frameOf({
    op: "event",
    topic,
    server_ts_ms: now,
    data: { type: "snapshot", stream_id, seq, ts: now, mts: now, list }
  })
