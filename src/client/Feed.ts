/**
 * A live feed: topics over a WebSocket that authenticates, and comes back when it is lost.
 *
 * Everything is told in one order: messages as they arrive, and between them what happened to the feed. Order books are
 * checked, and taken anew when a message is missing, the checksum differs or they cross. After a lost line private topics
 * resume where they stood; what cannot be resumed starts from snapshots, and a `resume` notice tells so. Data is trusted to be
 * what its schema says: new values of enumerations pass. Source: docs/contract/websocket.md.
 */
import { Clock, Deferred, Effect, Random, type Scope } from "effect"
import { WebSocketConstructor } from "effect/socket/Socket"
import type { Depth } from "../domain/Enumerations.ts"
import { printTopic } from "../domain/Topic.ts"
import { isPrivate } from "../domain/TopicNames.ts"
import { closeCodes } from "../ws/api/CloseCodes.ts"
import { CODE_LOST, type Ended, nextStep, pauseAfter, textOf } from "./Backoff.ts"
import { type AuthFrame, connect, type GiveUp } from "./Connect.ts"
import { FeedEnded, type FeedEvent, type FeedState } from "./FeedEvent.ts"
import type { LocalBook } from "./LocalBook.ts"
import { WATCH_MS } from "./Connection.ts"
import { type Counts, Topics } from "./Topics.ts"
import * as Watched from "./Watched.ts"

export type { AuthFrame } from "./Connect.ts"
export * from "./FeedEvent.ts"
export type { Counts } from "./Topics.ts"

export interface Options {
  readonly topics: ReadonlyArray<string>
  /** Default: `/ws/private` if a topic is private, else `/ws/public`. */
  readonly path?: "/ws" | "/ws/public" | "/ws/private"
  /** Called for everything that is told, in order. It must not throw. */
  readonly onEvent?: (event: FeedEvent) => void
  /**
   * For a reader that can fall behind: asked after each event. While it is behind the feed has no line, so nothing piles up;
   * the feed comes back, and resumes, when the reader has caught up.
   */
  readonly reader?: { readonly isBehind: () => boolean; readonly caughtUp: Effect.Effect<void> }
}

/** What the client that owns the feed knows. */
export interface Connection {
  /** Base of the WebSocket endpoints, without a slash at the end. */
  readonly url: string
  readonly authFrame: () => AuthFrame | undefined
  /** Gets a new credential; `later`: the gateway does not answer now, `refused`: there is none to be had. */
  readonly renew: Effect.Effect<"renewed" | "later" | "refused">
}

export interface Feed {
  readonly state: Watched.Watched<FeedState>
  /** Follows more topics; answers those that the gateway accepted. Without a line: all, and the next one takes them along. */
  readonly subscribe: (topics: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  readonly unsubscribe: (topics: ReadonlyArray<string>) => Effect.Effect<void>
  /** The book kept for a topic that is followed. */
  readonly book: (symbol: string, depth: Depth) => LocalBook | undefined
  /** Time to the gateway and back in ms, as a ping measures it; `undefined` while there is no connection. */
  readonly ping: Effect.Effect<number | undefined>
  /** Time since the last message of a topic in ms; `undefined` before the first. */
  readonly age: (topic: string) => number | undefined
  /** What happened since the feed began. */
  readonly counts: () => Counts & { readonly connections: number }
}

/** Follows topics until the scope closes; succeeds when all of them are subscribed for the first time. */
export const follow = Effect.fnUntraced(function* (
  options: Options,
  connection: Connection
): Effect.fn.Return<Feed, FeedEnded, Scope.Scope | WebSocketConstructor> {
  const clock = yield* Clock.Clock
  const webSocket = yield* WebSocketConstructor
  const now = () => clock.currentTimeMillisUnsafe()
  const path = options.path ?? (options.topics.some(isPrivate) ? "/ws/private" : "/ws/public")
  const began = yield* Deferred.make<void, FeedEnded>()
  const state = Watched.make<FeedState>({ type: "connecting" })
  let connections = 0
  /** Ends the line that is open, if one is. */
  let giveUp: GiveUp = () => {}

  const tell = (event: FeedEvent): void => {
    options.onEvent?.(event)
    if (options.reader?.isBehind() === true) giveUp(CODE_LOST, "the reader is behind")
  }
  const enter = (next: FeedState): void => {
    state.set(next)
    tell({ kind: "state", state: next })
  }
  const topics = new Topics(options.topics, {
    now,
    tell,
    giveUp: (reason) => giveUp(closeCodes.BackendLost.code, reason)
  })

  /** One line, from its opening to its end. */
  const connectOnce = Effect.callback<Ended>((resume) => {
    connections++
    enter({ type: "connecting" })
    giveUp = connect(webSocket(`${connection.url}${path}`), topics, {
      now,
      tell,
      authFrame: path === "/ws/private" ? (use) => use(connection.authFrame()) : undefined,
      live: (resumed) => {
        enter({ type: "live", resume: resumed })
        Deferred.doneUnsafe(began, Effect.void)
      },
      ended: (end) => {
        giveUp = () => {}
        resume(Effect.succeed(end))
      }
    })
    return Effect.sync(() => giveUp(CODE_LOST, "closed"))
  })

  /** Gives the line up when nothing is heard on it, not even when asked. */
  const watch = Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(WATCH_MS)
      if (topics.line?.isSilent() === true) giveUp(CODE_LOST, "silent")
    }
  })

  const loop = Effect.gen(function* () {
    let failures = 0
    let renewals = 0
    while (true) {
      const ended = yield* connectOnce
      failures = ended.wasLive ? 0 : failures + 1
      if (ended.wasLive) renewals = 0
      const reason = textOf(ended)
      const step = nextStep(ended, renewals)
      const renewed = step === "renew" ? yield* connection.renew : undefined
      if (renewed === "renewed") renewals++
      if (step === "stay" || renewed === "refused") {
        enter({ type: "ended", code: ended.code, reason })
        Deferred.doneUnsafe(began, Effect.fail(new FeedEnded({ code: ended.code, message: reason })))
        return
      }
      enter({ type: "lost", code: ended.code, reason })
      yield* Effect.sleep(pauseAfter(ended, failures, yield* Random.next))
      if (options.reader !== undefined) yield* options.reader.caughtUp
    }
  })
  yield* Effect.forkScoped(Effect.raceFirst(loop, watch))
  yield* Deferred.await(began)

  return {
    state,
    subscribe: (named) =>
      Effect.callback<ReadonlyArray<string>>((resume) => {
        // one that is followed stays as it is: to begin it anew would tell it twice
        const [held, more] = [true, false].map((is) => named.filter((topic) => topics.wanted.has(topic) === is))
        for (const topic of more!) topics.wanted.add(topic)
        if (state.get().type !== "live") return resume(Effect.succeed(named))
        topics.subscribe(more!, (result) => resume(Effect.succeed([...held!, ...(result?.accepted ?? more!)])))
      }),
    unsubscribe: (some) => Effect.callback<void>((resume) => topics.unsubscribe(some, () => resume(Effect.void))),
    book: (symbol, depth) => topics.books.get(printTopic({ kind: "orderbook", depth, symbol })),
    ping: Effect.callback<number | undefined>((resume) => {
      const sent = now()
      if (topics.line === undefined) return resume(Effect.undefined)
      topics.line.request({ op: "ping", ts: sent }, (frame) => {
        resume(Effect.succeed(frame && now() - sent))
        return false
      })
    }),
    age: (topic) => {
      const heard = topics.heard.get(topic)
      return heard === undefined ? undefined : now() - heard
    },
    counts: () => ({ ...topics.counts, connections })
  }
})
