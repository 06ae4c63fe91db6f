/**
 * Fan-out of user events: each event of a user is encoded once and offered to all of the user's private connections.
 * Source: docs/contract/websocket.md#private-topics.
 */
import type { UserStreams } from "../services/read-model/UserStreams.ts"
import { type PrivateFeed, UserMessage } from "./PrivateFeed.ts"

/** The connections of one user, each with the callback for a restart of the stream. */
interface Channel {
  readonly feeds: Map<PrivateFeed, () => void>
  readonly unfollow: () => void
}

export class UserFanout {
  private readonly channels = new Map<string, Channel>()
  private readonly streams: typeof UserStreams.Service
  private readonly now: () => number

  constructor(streams: typeof UserStreams.Service, now: () => number) {
    this.streams = streams
    this.now = now
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

  /** The streams were interrupted. */
  restart(): void {
    for (const { feeds } of this.channels.values()) for (const onRestart of feeds.values()) onRestart()
  }

  close(): void {
    for (const { unfollow } of this.channels.values()) unfollow()
  }

  private open(user_id: string): Channel {
    const { streams } = this
    const feeds: Channel["feeds"] = new Map()
    const channel: Channel = {
      feeds,
      unfollow: streams.follow(user_id, (events) => {
        const at = this.now()
        const stream_id = streams.streamId()
        const messages = events.map((event) => new UserMessage(event, stream_id, at))
        for (const feed of feeds.keys()) feed.take(messages, at)
      })
    }
    this.channels.set(user_id, channel)
    return channel
  }
}
