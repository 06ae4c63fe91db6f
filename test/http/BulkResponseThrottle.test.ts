/** The lane of large answers: turns go around among addresses, and who leaves does not hold it up. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as BulkResponseThrottle from "../../src/http/BulkResponseThrottle.ts"

const bytes = new Uint8Array(4 * BulkResponseThrottle.PART_BYTES)
const [FIRST, SECOND] = ["192.0.2.1", "192.0.2.2"]

/** Whose parts went out, in their order. */
const record = () => {
  const lane = BulkResponseThrottle.make()
  const seen: Array<string> = []
  const read = (name: string, address: string) =>
    Effect.forkChild(
      Stream.runForEach(lane.stream(address, bytes), () => Effect.sync(() => void seen.push(name))),
      { startImmediately: true }
    )
  return { read, seen }
}

describe("the lane of large answers", () => {
  it.effect("lets one part out at a time", () =>
    Effect.gen(function* () {
      const { read, seen } = record()
      const reader = yield* read("a", FIRST)
      for (let parts = 1; parts <= 4; parts++) {
        // time stands still: no more come
        yield* TestClock.adjust(0)
        assert.lengthOf(seen, parts)
        yield* TestClock.adjust(2)
      }
      yield* Fiber.join(reader)
    })
  )

  it.effect("gives an address one turn, however many ask from there", () =>
    Effect.gen(function* () {
      const { read, seen } = record()
      const many = yield* Effect.all(Array.from({ length: 9 }, () => read("many", FIRST)))
      const one = yield* read("one", SECOND)
      yield* TestClock.adjust(1_000)
      yield* Fiber.join(one)
      yield* Effect.all(many.map((fiber) => Fiber.join(fiber)))
      assert.lengthOf(seen, 40)
      assert.strictEqual(seen.slice(0, 9).filter((name) => name === "one").length, 4)
    })
  )

  it.effect("gives an IPv6 network one turn, however many of its addresses ask", () =>
    Effect.gen(function* () {
      const { read, seen } = record()
      const many = yield* Effect.all(Array.from({ length: 9 }, (_, i) => read("many", `2001:db8::${i + 1}`)))
      const one = yield* read("one", "2001:db8:1::1")
      yield* TestClock.adjust(1_000)
      yield* Fiber.join(one)
      yield* Effect.all(many.map((fiber) => Fiber.join(fiber)))
      assert.strictEqual(seen.slice(0, 9).filter((name) => name === "one").length, 4)
    })
  )

  it.effect("lets no more parts out at once after a pause", () =>
    Effect.gen(function* () {
      const { read, seen } = record()
      yield* read("a", FIRST)
      yield* TestClock.adjust(1_000)
      assert.lengthOf(seen.splice(0), 4)
      yield* read("b", FIRST)
      for (let parts = 1; parts <= 4; parts++) {
        yield* TestClock.adjust(0)
        assert.lengthOf(seen, parts)
        yield* TestClock.adjust(2)
      }
    })
  )

  it.effect("ignores steps of the wall clock", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let step_ms = 0
      const wall = () => clock.currentTimeMillisUnsafe() + step_ms
      const stepping: Clock.Clock = Object.assign(Object.create(clock), {
        currentTimeMillisUnsafe: wall,
        currentTimeMillis: Effect.sync(wall)
      })
      const { read, seen } = record()
      const reader = yield* Effect.provideService(read("a", FIRST), Clock.Clock, stepping)
      for (let parts = 1; parts <= 4; parts++) {
        yield* TestClock.adjust(0)
        assert.lengthOf(seen, parts)
        step_ms += parts % 2 === 0 ? 7_200_000 : -3_600_000
        yield* TestClock.adjust(2)
      }
      yield* Fiber.join(reader)
    })
  )

  it.effect("removes clients that disconnect", () =>
    Effect.gen(function* () {
      const { read, seen } = record()
      const gone = yield* read("gone", FIRST)
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(gone)
      const other = yield* read("other", SECOND)
      yield* TestClock.adjust(100)
      yield* Fiber.join(other)
      assert.deepStrictEqual(seen, ["gone", "other", "other", "other", "other"])
    })
  )

  it.effect("serves the next reader whenever a reader leaves", () =>
    Effect.gen(function* () {
      for (let steps = 0; steps < 40; steps++) {
        const { read, seen } = record()
        // the reader yields after every third operation
        const gone = yield* Effect.provideService(read("gone", FIRST), References.MaxOpsBeforeYield, 3)
        for (let i = 0; i < steps; i++) yield* Effect.yieldNow
        yield* Fiber.interrupt(gone)
        const other = yield* read("other", SECOND)
        yield* TestClock.adjust(100)
        const parts = seen.filter((name) => name === "other")
        assert.lengthOf(parts, 4, `left after ${steps} steps`)
        yield* Fiber.join(other)
      }
    })
  )
})
