/** A feed of the typed client for the page: it reconnects, and its topics can change while it runs. */
import { Effect, Fiber } from "effect"
import { layerWebSocketConstructorGlobal } from "effect/socket/Socket"
import * as Feed from "../src/client/Feed.ts"

export interface LiveFeed {
  /** Replaces the followed topics. */
  readonly show: (topics: ReadonlyArray<string>) => void
  /** Round-trip time in ms; `undefined` without a connection. */
  readonly ping: () => Promise<number | undefined>
  readonly stop: () => void
}

export interface Access {
  readonly authFrame: Feed.Connection["authFrame"]
  readonly renew: Feed.Connection["renew"]
}
const ANONYMOUS: Access = { authFrame: () => undefined, renew: Effect.succeed("refused") }

/** Follows topics and passes on all events until it is stopped. */
export const follow = (
  topics: ReadonlyArray<string>,
  onEvent: (event: Feed.FeedEvent) => void,
  access: Access = ANONYMOUS
): LiveFeed => {
  // the gateway that serves this page
  const url = location.origin.replace(/^http/u, "ws")
  let feed: Feed.Feed | undefined
  let followed = new Set(topics)
  let wanted = followed

  /** Applies changes of the topics, also those made before the feed was ready. */
  const reconcile = (): void => {
    if (feed === undefined || followed === wanted) return
    const [before, after] = [followed, wanted]
    const gone = [...before].filter((topic) => !after.has(topic))
    const more = [...after].filter((topic) => !before.has(topic))
    followed = after
    const { subscribe, unsubscribe } = feed
    Effect.runFork(Effect.andThen(unsubscribe(gone), subscribe(more)))
  }
  const program = Effect.gen(function* () {
    feed = yield* Feed.follow({ topics, onEvent }, { url, ...access })
    reconcile()
    yield* Effect.never
  })
  // the end of the feed is reported as an event
  const fiber = Effect.runFork(Effect.ignore(Effect.scoped(Effect.provide(program, layerWebSocketConstructorGlobal))))
  return {
    show: (next) => {
      wanted = new Set(next)
      reconcile()
    },
    ping: () => (feed === undefined ? Promise.resolve(undefined) : Effect.runPromise(feed.ping)),
    stop: () => void Effect.runFork(Fiber.interrupt(fiber))
  }
}
