/** Ways to follow: everything that is told as a stream, an account, or one book. */
import { Cause, Deferred, Effect, Latch, Queue, type Scope, Stream } from "effect"
import type { Depth } from "../domain/Enumerations.ts"
import { printTopic, privateTopics } from "../domain/Topic.ts"
import * as Account from "./Account.ts"
import { type Feed, FeedEnded, type FeedEvent, type Options } from "./Feed.ts"
import type { LocalBook } from "./LocalBook.ts"
import * as Watched from "./Watched.ts"

/** Events that may wait for the reader of a stream; over it the feed lets its line go until the reader has caught up. */
export const EVENTS_MAX = 10_000

/** Opens a feed. */
export type Open = (options: Options) => Effect.Effect<Feed, FeedEnded, Scope.Scope>

/** Everything that is told of topics, in order; the line is opened when the stream is run, and closed when it ends. */
export const events = (open: Open, topics: ReadonlyArray<string>): Stream.Stream<FeedEvent, FeedEnded> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<FeedEvent, FeedEnded>()
      const room = yield* Latch.make(true)
      const isBehind = () => Queue.sizeUnsafe(queue) >= EVENTS_MAX
      const onEvent = (event: FeedEvent): void => {
        Queue.offerUnsafe(queue, event)
        if (isBehind()) room.closeUnsafe()
        if (event.kind !== "state" || event.state.type !== "ended") return
        const { code, reason } = event.state
        Queue.failCauseUnsafe(queue, Cause.fail(new FeedEnded({ code, message: reason })))
      }
      // that it could not begin is the queue's last word
      yield* Effect.forkScoped(Effect.ignore(open({ topics, onEvent, reader: { isBehind, caughtUp: room.await } })))
      const taken = Effect.tap(Queue.takeAll(queue), () => Effect.sync(() => room.openUnsafe()))
      return Stream.flattenArray(Stream.fromEffectRepeat(taken))
    })
  )

/** What is kept of a feed: the value now, and the feed that it comes from. */
export type Kept<A> = Watched.Watched<A> & { readonly feed: Feed }

/** The account of who is logged in; succeeds when the first snapshots are in it. */
export const account = Effect.fnUntraced(function* (
  open: Open
): Effect.fn.Return<Kept<Account.Account>, FeedEnded, Scope.Scope> {
  const kept = Watched.make(Account.empty)
  const whole = yield* Deferred.make<void>()
  const missing = new Set<string>(privateTopics)
  const onEvent = (event: FeedEvent): void => {
    const next = Account.apply(kept.get(), event)
    if (next !== kept.get()) kept.set(next)
    if (missing.delete(event.kind) && missing.size === 0) Deferred.doneUnsafe(whole, Effect.void)
  }
  const feed = yield* open({ topics: privateTopics, onEvent })
  yield* Deferred.await(whole)
  return { get: kept.get, changes: kept.changes, feed }
})

/**
 * The book of a market; succeeds when the first snapshot is in it. It is kept in place: a watcher is given the same book again
 * after each message. A market that does not exist is a `FeedEnded` with code 1003.
 */
export const book = Effect.fnUntraced(function* (
  open: Open,
  symbol: string,
  depth: Depth
): Effect.fn.Return<Kept<LocalBook>, FeedEnded, Scope.Scope> {
  const first = yield* Deferred.make<LocalBook, FeedEnded>()
  let kept: ReturnType<typeof Watched.make<LocalBook>> | undefined
  const onEvent = (event: FeedEvent): void => {
    if (event.kind === "orderbook") {
      kept?.set(event.book)
      Deferred.doneUnsafe(first, Effect.succeed(event.book))
    } else if (event.kind === "refused" && event.error.topic !== undefined) {
      const { message } = event.error
      Deferred.doneUnsafe(first, Effect.fail(new FeedEnded({ code: 1003, message })))
    }
  }
  const feed = yield* open({ topics: [printTopic({ kind: "orderbook", depth, symbol })], onEvent })
  kept = Watched.make(yield* Deferred.await(first))
  return { get: kept.get, changes: kept.changes, feed }
})
