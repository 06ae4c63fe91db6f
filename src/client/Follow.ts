/** Views of a feed: a stream of events, the account state, or one order book. */
import { Cause, Deferred, Effect, Latch, Queue, type Scope, Stream } from "effect"
import type { Depth } from "../domain/Enumerations.ts"
import { printTopic, privateTopics } from "../domain/Topic.ts"
import * as Account from "./Account.ts"
import { CODE_NO_TOPIC } from "./Backoff.ts"
import { EVENTS_MAX } from "./FeedLoop.ts"
import { type Feed, FeedEnded, type FeedEvent, type Options } from "./Feed.ts"
import type { LocalBook } from "./LocalBook.ts"
import * as Watched from "./Watched.ts"

/** Opens a feed. */
export type Open = (options: Options) => Effect.Effect<Feed, FeedEnded, Scope.Scope>

const endOf = (event: FeedEvent): FeedEnded | undefined =>
  event.kind === "state" && event.state.type === "ended"
    ? new FeedEnded({ code: event.state.code, message: event.state.reason })
    : undefined

/** All events of at least one topic, in order. Running the stream opens the connection; its end closes it. */
export const events = (open: Open, topics: ReadonlyArray<string>): Stream.Stream<FeedEvent, FeedEnded> =>
  Stream.unwrap(
    Effect.gen(function* () {
      if (topics.length === 0)
        return yield* new FeedEnded({ code: CODE_NO_TOPIC, message: "topics: expected at least one topic, got none" })
      const queue = yield* Queue.unbounded<FeedEvent, FeedEnded>()
      const room = yield* Latch.make(true)
      const isBehind = () => Queue.sizeUnsafe(queue) >= EVENTS_MAX
      const onEvent = (event: FeedEvent): void => {
        Queue.offerUnsafe(queue, event)
        if (isBehind()) room.closeUnsafe()
        const end = endOf(event)
        if (end !== undefined) Queue.failCauseUnsafe(queue, Cause.fail(end))
      }
      // a failed start is reported through the queue
      yield* Effect.forkScoped(Effect.ignore(open({ topics, onEvent, reader: { isBehind, caughtUp: room.await } })))
      const taken = Effect.tap(Queue.takeAll(queue), () => Effect.sync(() => room.openUnsafe()))
      return Stream.flattenArray(Stream.fromEffectRepeat(taken))
    })
  )

/** A value built from a feed, and the feed. */
export type Kept<A> = Watched.Watched<A> & { readonly feed: Feed }

/** The account state of the user; succeeds after the first snapshot of each topic. */
export const account = Effect.fnUntraced(function* (
  open: Open
): Effect.fn.Return<Kept<Account.Account>, FeedEnded, Scope.Scope> {
  const kept = Watched.make<Account.Account>({ ...Account.empty, awaited: privateTopics })
  const whole = yield* Deferred.make<void, FeedEnded>()
  const onEvent = (event: FeedEvent): void => {
    const next = Account.apply(kept.get(), event)
    if (next !== kept.get()) kept.set(next)
    if (next.awaited.length === 0) Deferred.doneUnsafe(whole, Effect.void)
    const end = endOf(event)
    if (end !== undefined) Deferred.doneUnsafe(whole, Effect.fail(end))
  }
  const feed = yield* open({ topics: privateTopics, onEvent })
  yield* Deferred.await(whole)
  return { get: kept.get, changes: kept.changes, feed }
})

/**
 * The order book of a market; succeeds after the first snapshot. It is updated in place: a watcher receives the same object
 * after each message, and when it is no longer sound. An unknown market fails with `FeedEnded`, code 1003.
 */
export const book = Effect.fnUntraced(function* (
  open: Open,
  symbol: string,
  depth: Depth
): Effect.fn.Return<Kept<LocalBook>, FeedEnded, Scope.Scope> {
  const first = yield* Deferred.make<LocalBook, FeedEnded>()
  let kept: ReturnType<typeof Watched.make<LocalBook>> | undefined
  let wasSound = true
  const onEvent = (event: FeedEvent): void => {
    if (event.kind === "orderbook") {
      kept?.set(event.book)
      wasSound = true
      Deferred.doneUnsafe(first, Effect.succeed(event.book))
      return
    }
    const end = endOf(event)
    if (end !== undefined) Deferred.doneUnsafe(first, Effect.fail(end))
    if (!wasSound || kept?.get().sound !== false) return
    wasSound = false
    kept.set(kept.get())
  }
  const feed = yield* open({ topics: [printTopic({ kind: "orderbook", depth, symbol })], onEvent })
  kept = Watched.make(yield* Deferred.await(first))
  return { get: kept.get, changes: kept.changes, feed }
})
