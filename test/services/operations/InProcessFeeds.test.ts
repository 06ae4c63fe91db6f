/** Connections to the feeds without a socket exist while the server of the sockets does. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { DomainError } from "../../../src/services/DomainError.ts"
import { InProcessFeeds, type Opening } from "../../../src/services/operations/InProcessFeeds.ts"

const opening: Opening = { endpoint: "public", peer: { address: undefined, forwarded: undefined }, messages: ["hello"] }

describe("connections to the feeds in the process", () => {
  it.effect("are opened while the server serves them, and refused before and after", () =>
    Effect.gen(function* () {
      const feeds = yield* InProcessFeeds
      const refused = Effect.gen(function* () {
        const failure = yield* Effect.flip(Stream.runDrain(feeds.open(opening)))
        assert.instanceOf(failure, DomainError)
        assert.strictEqual(failure.reason, "ShuttingDown")
      })
      yield* refused
      // a stream uses the server that is there when it begins
      const early = feeds.open(opening)
      const scope = yield* Scope.make()
      const over = yield* Effect.forkChild(feeds.over)
      yield* Scope.provide(
        feeds.serve(({ messages }) => Stream.fromIterable([...messages, "world"])),
        scope
      )
      for (const stream of [early, feeds.open(opening)])
        assert.deepStrictEqual(yield* Stream.runCollect(stream), ["hello", "world"])
      yield* Effect.yieldNow
      assert.isUndefined(over.pollUnsafe(), "the server still serves")
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(over)
      yield* refused
    }).pipe(Effect.provide(InProcessFeeds.layer))
  )
})
