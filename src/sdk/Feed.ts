/** A live feed for programs without Effect: the feed loop of src/client with signals. Source: docs/contract/websocket.md. */
import type { FeedEvent } from "../client/FeedEvent.ts"
import { FeedLoop, type FeedLoopOptions } from "../client/FeedLoop.ts"
import { isPrivate } from "../domain/TopicNames.ts"
import type { Since } from "../ws/api/Frames.ts"
import { type Environment, joined } from "./Environment.ts"
import type { Identity } from "./Identity.ts"

/** Address, credentials and environment of all feeds of a client. */
export interface Connection {
  /** Base of the WebSocket endpoints, without a trailing slash. */
  readonly url: string
  readonly environment: Environment
  readonly identity: Identity | undefined
  /** Ends all feeds. */
  readonly signal: AbortSignal
}

export interface FollowOptions {
  readonly topics: ReadonlyArray<string>
  /** Position in the user stream after which private topics begin, instead of with snapshots. */
  readonly since?: Since | undefined
  readonly signal?: AbortSignal | undefined
  /** Receives all events, in order. */
  readonly onEvent: (event: FeedEvent) => void
  /** For a reader that can fall behind: while it is behind the feed has no connection. */
  readonly reader?: FeedLoopOptions["reader"]
}

export interface Feed {
  readonly close: () => void
  /** Resolves when the feed is closed, or cannot reconnect. */
  readonly ended: Promise<void>
}

/** Follows topics until it is closed, or the gateway refuses it for good. */
export const follow = (options: FollowOptions, connection: Connection): Feed => {
  const { environment, identity } = connection
  const { free, signal } = joined(connection.signal, options.signal)
  const needsLogin = options.topics.some(isPrivate)
  const loop = new FeedLoop(
    {
      ...options,
      url: `${connection.url}${needsLogin ? "/ws/private" : "/ws/public"}`,
      authFrame: needsLogin ? () => identity?.authFrame() ?? Promise.resolve(undefined) : undefined,
      renew: () => identity?.renew() ?? Promise.resolve("refused")
    },
    {
      openSocket: (url) => new environment.WebSocket(url),
      now: environment.now,
      random: environment.chance,
      sleep: environment.sleep
    }
  )
  const close = (): void => loop.close()
  signal.addEventListener("abort", close)
  if (signal.aborted) close()
  return { close, ended: loop.run().finally(free) }
}
