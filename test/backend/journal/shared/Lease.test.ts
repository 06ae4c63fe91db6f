/** The lead of a shared journal over a database that a test takes away: what it logs, and when it ends. Its safety is simulated in verification/lease. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import {
  type JournalDatabase,
  type JournalSession,
  SessionLost
} from "../../../../src/backend/journal/shared/JournalDatabase.ts"
import * as Lease from "../../../../src/backend/journal/shared/Lease.ts"

/** An empty journal whose sessions fail while the database is away. */
const setting = () => {
  const state = { isAway: false, leads: 0, position: 0, leadership: undefined as Lease.Leadership | undefined }
  const call = <A>(value: A): Effect.Effect<A, SessionLost> =>
    Effect.suspend(() => (state.isAway ? Effect.fail(new SessionLost({ message: "away" })) : Effect.succeed(value)))
  const session: JournalSession = {
    origin: (made) => call(made()),
    lock: call(true),
    raise: () => call({ term: 1, position: 0 }),
    append: (_, { position }) =>
      Effect.map(call(true), (isDurable) => {
        state.position = position
        return isDurable
      }),
    confirm: () => Effect.suspend(() => call(state.position)),
    turns: () => call([]),
    checksumAt: () => call(0),
    history: call({ forks: [], seen_seq: 0 }),
    beginFork: () => call(true),
    demand: () => call(undefined)
  }
  const database: JournalDatabase = { open: call(session) }
  const logged: Array<unknown> = []
  const logger = Logger.make(({ message }) => void logged.push(Array.isArray(message) ? message[0] : message))
  const run = Lease.run({
    database,
    holder: "one",
    replica: { position: () => 0, checksum: () => 0, apply: () => {} },
    onLead: (leadership) =>
      Effect.sync(() => {
        state.leads++
        state.leadership = leadership
      })
  }).pipe(Effect.provide(Logger.layer([logger])))
  return { state, logged, run }
}

describe("a leader", () => {
  it.effect("logs each loss of the database once, however often it tries", () =>
    Effect.gen(function* () {
      const { logged, run, state } = setting()
      const running = yield* Effect.forkChild(run)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(state.leads, 1)
      assert.deepStrictEqual(logged, [])
      for (const losses of [1, 2]) {
        state.isAway = true
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(logged, Array(losses).fill("the session with the journal's database is lost"))
        state.isAway = false
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual(state.leads, 1, "it leads on")
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("takes its lock again after a lost session, also while it appends without a pause", () =>
    Effect.gen(function* () {
      const { run, state } = setting()
      const running = yield* Effect.forkChild(run)
      yield* TestClock.adjust("2 seconds")
      const { append, isCurrent } = state.leadership!
      const turns = Effect.suspend(() => {
        const position = state.position + 1
        return Effect.promise(() => append({ first: position, position, entries: new Uint8Array(), checksum: 0 }))
      })
      const load = yield* Effect.forkChild(Effect.forever(Effect.andThen(turns, Effect.sleep("100 millis"))))
      yield* TestClock.adjust("1 second")
      assert.isTrue(isCurrent())
      state.isAway = true
      yield* TestClock.adjust("300 millis")
      assert.isFalse(isCurrent(), "another backend may have the lock")
      state.isAway = false
      yield* TestClock.adjust("1 second")
      assert.isAbove(state.position, 15, "it appends on")
      assert.isTrue(isCurrent())
      yield* Fiber.interrupt(load)
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("is not current once it is interrupted, because its lock is free", () =>
    Effect.gen(function* () {
      const { run, state } = setting()
      const running = yield* Effect.forkChild(run)
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(state.leadership!.isCurrent())
      yield* Fiber.interrupt(running)
      assert.isFalse(state.leadership!.isCurrent())
    })
  )

  it.effect("ends after three seconds without the database", () =>
    Effect.gen(function* () {
      const { run, state } = setting()
      const running = yield* Effect.forkChild(Effect.flip(run))
      yield* TestClock.adjust("2 seconds")
      state.isAway = true
      yield* TestClock.adjust("2700 millis")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("300 millis")
      assert.strictEqual((yield* Fiber.join(running)).message, "nothing could be committed for 3000 ms")
    })
  )
})

describe("a standby", () => {
  it.effect("logs each loss of the database once, and leads when it is back", () =>
    Effect.gen(function* () {
      const { logged, run, state } = setting()
      const lost = "the journal's database cannot be read: this backend cannot take over"
      state.isAway = true
      const running = yield* Effect.forkChild(run)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(logged, [lost])
      state.isAway = false
      // it has a session, and does not lead yet
      yield* TestClock.adjust("200 millis")
      state.isAway = true
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(logged, [lost, lost])
      assert.strictEqual(state.leads, 0)
      state.isAway = false
      yield* TestClock.adjust("1 second")
      assert.strictEqual(state.leads, 1)
      yield* Fiber.interrupt(running)
    })
  )
})
