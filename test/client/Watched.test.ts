/** A value that is watched by readers of different speeds. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Stream } from "effect"
import * as Watched from "../../src/client/Watched.ts"

it.effect("gives a watcher the current value, then each change; a busy one only the newest", () =>
  Effect.gen(function* () {
    const watched = Watched.make(1)
    const seen: Array<number> = []
    const free = Latch.makeUnsafe(false)
    const reader = yield* Effect.forkChild(
      Stream.runForEach(Stream.take(watched.changes, 2), (value) => Effect.as(free.await, seen.push(value))),
      { startImmediately: true }
    )
    yield* Effect.yieldNow
    for (const value of [2, 3, 4]) watched.set(value)
    assert.strictEqual(watched.get(), 4)
    yield* free.open
    yield* Fiber.join(reader)
    assert.deepStrictEqual(seen, [1, 4])
  })
)
