/**
 * Fan-out of user events: each event of a user is encoded once and offered to all of the user's private connections. Events
 * are held while the gateway may not know that a credential of a connection has ended.
 * Source: docs/contract/websocket.md#private-topics, docs/contract/authentication.md#fresh-gateways.
 */
import type { Lease } from "../domain/Grant.ts"
import type { UserStreams } from "../services/read-model/UserStreams.ts"
import type { Clocks } from "./Outbox.ts"
import { type PrivateFeed, UserMessage } from "./PrivateFeed.ts"

/** Most deliveries that are held; beyond it the connections continue from their positions. */
const HELD_MAX = 65_536

/** The connections of one user, each with the callback for a restart of the stream. */
interface Channel {
  readonly feeds: Map<PrivateFeed, () => void>
  readonly unfollow: () => void
}

export class UserFanout {
  private readonly channels = new Map<string, Channel>()
  private readonly streams: typeof UserStreams.Service
  private readonly lease: Lease
  private readonly clocks: Clocks
  /** Deliveries until the renewal of the lease, in order; `undefined`: none is held. */
  private held: Array<() => void> | undefined
  private isTruncated = false
  private leaveLease: () => void = () => {}

  constructor(streams: typeof UserStreams.Service, lease: Lease, clocks: Clocks) {
    this.streams = streams
    this.lease = lease
    this.clocks = clocks
  }

  /** Authenticated connections. */
  subscriptions(): number {
    let total = 0
    for (const { feeds } of this.channels.values()) total += feeds.size
    return total
  }

  /** Gives a connection the events of its user; the returned function detaches it. */
  attach(feed: PrivateFeed, onRestart: () => void): () => void {
    const channel = this.channels.get(feed.user_id) ?? this.open(feed.user_id)
    channel.feeds.set(feed, onRestart)
    return () => {
      channel.feeds.delete(feed)
      if (channel.feeds.size > 0) return
      channel.unfollow()
      this.channels.delete(feed.user_id)
    }
  }

  /** The streams were interrupted: the connections continue from their positions, held events included. */
  restart(): void {
    if (this.held !== undefined) this.held = []
    for (const { feeds } of this.channels.values()) for (const onRestart of feeds.values()) onRestart()
  }

  close(): void {
    this.leaveLease()
    for (const { unfollow } of this.channels.values()) unfollow()
  }

  private open(user_id: string): Channel {
    const { streams } = this
    const feeds: Channel["feeds"] = new Map()
    const channel: Channel = {
      feeds,
      unfollow: streams.follow(user_id, (events) => {
        const now = this.clocks.now()
        const stream_id = streams.streamId()
        const messages = events.map((event) => new UserMessage(event, stream_id, now))
        this.deliver(() => {
          // the age of held events begins with their delivery
          const at = this.clocks.monotonic()
          for (const feed of feeds.keys()) feed.take(messages, at)
        })
      })
    }
    this.channels.set(user_id, channel)
    return channel
  }

  private deliver(delivery: () => void): void {
    if (this.held === undefined) {
      if (this.lease.isCurrent()) return delivery()
      this.held = []
      this.awaitLease()
    }
    if (this.held.length < HELD_MAX) this.held.push(delivery)
    else this.isTruncated = true
  }

  private awaitLease(): void {
    this.leaveLease = this.lease.onRenewal(() => {
      // the renewal may itself be old
      if (!this.lease.isCurrent()) return this.awaitLease()
      const { held = [], isTruncated } = this
      this.held = undefined
      this.isTruncated = false
      if (isTruncated) return this.restart()
      for (const delivery of held) delivery()
    })
  }
}
