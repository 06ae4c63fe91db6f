/** How connections close at a shutdown. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Connection } from "../../src/ws/Connection.ts"
import { drain, dueOf } from "../../src/ws/Drain.ts"
import { defaults } from "../../src/ws/Limits.ts"

describe("a drain", () => {
  it("spreads closings by the clock, however many there are and however late it is looked", () => {
    assert.deepStrictEqual(
      [0, 999, 1_000, 3_999, 4_000, 9_000].map((passed) => dueOf(5, passed, 5_000)),
      [1, 1, 2, 4, 5, 5]
    )
    assert.deepStrictEqual(
      [0, 20, 4_999, 5_000].map((passed) => dueOf(50_000, passed, 5_000)),
      [1, 201, 49_991, 50_000]
    )
    assert.deepStrictEqual([dueOf(3, 0, 0), dueOf(0, 0, 5_000)], [3, 0])
  })

  it("takes 5 s by default", () => assert.strictEqual(defaults.drain_ms, 5_000))

  it.effect("announces it to all, closes them spread over its time, and terminates those that do not answer", () =>
    Effect.gen(function* () {
      // a monotonic clock does not begin with the drain
      yield* TestClock.adjust("1 hour")
      const did = { announced: 0, ended: 0, terminated: 0 }
      const open = new Set<Connection>()
      for (let i = 0; i < 4; i++) {
        const connection = {
          announce: () => did.announced++,
          end: (reason: string) => {
            assert.strictEqual(reason, "GoingAway")
            did.ended++
            // the last one does not answer the close frame
            if (i < 3) open.delete(connection)
          },
          terminate: () => did.terminated++
        } as unknown as Connection
        open.add(connection)
      }
      const limits = { ...defaults, drain_ms: 4_000, close_timeout_ms: 500 }
      const drained = yield* Effect.forkChild(drain(open, limits), { startImmediately: true })
      assert.deepStrictEqual(did, { announced: 4, ended: 1, terminated: 0 })
      for (const ended of [2, 3, 4]) {
        yield* TestClock.adjust(980)
        assert.strictEqual(did.ended, ended - 1)
        yield* TestClock.adjust(20)
        assert.strictEqual(did.ended, ended)
      }
      yield* TestClock.adjust(499)
      assert.strictEqual(did.terminated, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual(did.terminated, 1)
      yield* Fiber.join(drained)
    })
  )

  it.effect("ends when all connections have closed", () =>
    Effect.gen(function* () {
      const open = new Set<Connection>()
      const connection = {
        announce: () => {},
        end: () => setImmediate(() => open.delete(connection)),
        terminate: assert.fail
      } as unknown as Connection
      open.add(connection)
      const drained = yield* Effect.forkChild(drain(open, { ...defaults, drain_ms: 0 }), { startImmediately: true })
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust(20)
      assert.isDefined(drained.pollUnsafe())
      yield* Effect.exit(drain(new Set(), defaults))
    })
  )
})
