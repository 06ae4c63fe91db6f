/**
 * A live feed for Effect programs: {@link FeedLoop} with a scope, a clock and a `Watched` state.
 *
 * Order books are checked with every message, and a new snapshot is requested when a message is missing, the checksum
 * differs or the book is crossed. Source: docs/contract/websocket.md.
 */
import { Clock, Deferred, Effect, Random, type Scope } from "effect"
import { WebSocketConstructor } from "effect/socket/Socket"
import type { Depth } from "../domain/Enumerations.ts"
import { printTopic } from "../domain/Topic.ts"
import { isPrivate } from "../domain/TopicNames.ts"
import { CODE_LOST } from "./Backoff.ts"
import type { AuthFrame } from "./Connect.ts"
import { FeedEnded } from "./FeedEnded.ts"
import type { FeedEvent, FeedState } from "./FeedEvent.ts"
import { FeedLoop, type Renewal } from "./FeedLoop.ts"
import type { LocalBook } from "./LocalBook.ts"
import type { Counts } from "./Topics.ts"
import * as Watched from "./Watched.ts"

export type { AuthFrame } from "./Connect.ts"
export { FeedEnded } from "./FeedEnded.ts"
export type * from "./FeedEvent.ts"
export type { Counts } from "./Topics.ts"

export interface Options {
  readonly topics: ReadonlyArray<string>
  /** Default: `/ws/private` if a topic is private, else `/ws/public`. */
  readonly path?: "/ws" | "/ws/public" | "/ws/private"
  /** Receives all events, in order. It must not throw. */
  readonly onEvent?: (event: FeedEvent) => void
  /**
   * For a reader that can fall behind; checked after each event. While it is behind the feed has no connection, so events do
   * not pile up. The feed reconnects and resumes once the reader has caught up.
   */
  readonly reader?: { readonly isBehind: () => boolean; readonly caughtUp: Effect.Effect<void> }
}

/** Address and credentials of the gateway, from the client that owns the feed. */
export interface Connection {
  /** Base of the WebSocket endpoints, without a trailing slash. */
  readonly url: string
  readonly authFrame: () => AuthFrame | undefined
  /** Gets a new credential after the current one ended. */
  readonly renew: Effect.Effect<Renewal>
}

export interface Feed {
  readonly state: Watched.Watched<FeedState>
  /**
   * Follows more topics; returns those that the gateway accepted. Without a connection it returns all of them, and the next
   * connection subscribes to them.
   */
  readonly subscribe: (topics: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  readonly unsubscribe: (topics: ReadonlyArray<string>) => Effect.Effect<void>
  /** The local book of a topic that is followed. */
  readonly book: (symbol: string, depth: Depth) => LocalBook | undefined
  /** Round-trip time of a ping in ms; `undefined` without a connection. */
  readonly ping: Effect.Effect<number | undefined>
  /** Time since the last message of a topic in ms; `undefined` before the first. */
  readonly age: (topic: string) => number | undefined
  /** Counts since the feed began. */
  readonly counts: () => Counts & { readonly connections: number }
}

/** Follows topics until the scope closes; succeeds when all of them are subscribed for the first time. */
export const follow = Effect.fnUntraced(function* (
  options: Options,
  connection: Connection
): Effect.fn.Return<Feed, FeedEnded, Scope.Scope | WebSocketConstructor> {
  const clock = yield* Clock.Clock
  const random = yield* Random.Random
  const openSocket = yield* WebSocketConstructor
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  // monotonic, so that a step of the wall clock changes no interval
  const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  const path = options.path ?? (options.topics.some(isPrivate) ? "/ws/private" : "/ws/public")
  const { reader } = options
  const began = yield* Deferred.make<void, FeedEnded>()
  const state = Watched.make<FeedState>({ type: "connecting" })

  const onEvent = (event: FeedEvent): void => {
    if (event.kind === "state") state.set(event.state)
    options.onEvent?.(event)
    if (event.kind !== "state") return
    if (event.state.type === "live") Deferred.doneUnsafe(began, Effect.void)
    if (event.state.type !== "ended") return
    const { code, reason: message } = event.state
    Deferred.doneUnsafe(began, Effect.fail(new FeedEnded({ code, message })))
  }
  const loop = new FeedLoop(
    {
      url: `${connection.url}${path}`,
      topics: options.topics,
      authFrame: path === "/ws/private" ? () => Promise.resolve(connection.authFrame()) : undefined,
      renew: () => run(connection.renew),
      onEvent,
      reader: reader && { isBehind: reader.isBehind, caughtUp: () => run(reader.caughtUp) }
    },
    {
      openSocket,
      now,
      random: () => random.nextDoubleUnsafe(),
      sleep: (ms, signal) => run(Effect.sleep(ms), { signal })
    }
  )
  yield* Effect.promise(() => loop.run()).pipe(
    // such as an address that is none
    Effect.catchDefect((defect) =>
      Effect.sync(() => onEvent({ kind: "state", state: { type: "ended", code: CODE_LOST, reason: String(defect) } }))
    ),
    Effect.forkScoped
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => loop.close()))
  yield* Deferred.await(began)

  return {
    state,
    subscribe: (topics) => Effect.promise(() => loop.subscribe(topics)),
    unsubscribe: (topics) => Effect.promise(() => loop.unsubscribe(topics)),
    book: (symbol, depth) => loop.topics.books.get(printTopic({ kind: "orderbook", depth, symbol })),
    ping: Effect.promise(() => loop.ping()),
    age: (topic) => {
      const received = loop.topics.receivedAt.get(topic)
      return received === undefined ? undefined : now() - received
    },
    counts: () => ({ ...loop.topics.counts, connections: loop.connections })
  }
})
