/** A feed of the client, run for the page: topics may change while it runs, and it comes back by itself. */
import { Effect, Fiber } from "effect"
import { layerWebSocketConstructorGlobal } from "effect/socket/Socket"
import * as Feed from "../src/client/Feed.ts"

export interface Following {
  /** Follows these topics from now on, and no others. */
  readonly show: (topics: ReadonlyArray<string>) => void
  /** Time to the gateway and back in ms; `undefined` without a connection. */
  readonly ping: () => Promise<number | undefined>
  readonly stop: () => void
}

/** Where the WebSocket endpoints of this page's own gateway are. */
const url = location.origin.replace(/^http/u, "ws")

export interface Access {
  readonly authFrame: Feed.Connection["authFrame"]
  readonly renew: Feed.Connection["renew"]
}
const NOBODY: Access = { authFrame: () => undefined, renew: Effect.succeed("refused") }

/** Follows topics and calls back for everything that is told, until it is stopped. */
export const follow = (
  topics: ReadonlyArray<string>,
  onEvent: (event: Feed.FeedEvent) => void,
  access: Access = NOBODY
): Following => {
  let feed: Feed.Feed | undefined
  let followed = new Set(topics)
  let wanted = followed

  /** What was wanted while the feed was not there yet is done once it is. */
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
  // how it ended is told as an event
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
