/** Failures of one caller stop at the limit, however many come at once and however slow the store is. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import * as AuthAttemptLimiter from "../../../src/services/identity/AuthAttemptLimiter.ts"
import type { Rate } from "../../../src/services/operations/RateLimiter.ts"

const LIMIT = 6
/** Turns of the scheduler that the store takes to answer, as one behind a wire does. */
const TURNS = 5
const later = Effect.replicateEffect(Effect.yieldNow, TURNS)

/** A bucket of failures whose every question and count takes a while. */
const slowBucket = (mode: "enforce" | "report" = "enforce") => {
  let used = 0
  let asked = 0
  const rate = (): Rate => ({
    bucket: "auth-failures",
    allowed: used < LIMIT || mode === "report",
    limit: LIMIT,
    remaining: Math.max(0, LIMIT - used),
    reset_s: 1,
    window_s: 60
  })
  return {
    used: () => used,
    asked: () => asked,
    left: Effect.suspend(() => {
      asked++
      return Effect.andThen(later, Effect.sync(rate))
    }).pipe(Effect.tap(later)),
    count: Effect.andThen(
      later,
      Effect.sync(() => void used++)
    )
  }
}

/** Checks that take a while too; counts those that were made, and how many ran at once. */
const make = (mode?: "enforce" | "report") => {
  const bucket = slowBucket(mode)
  const attempts = AuthAttemptLimiter.make()
  const seen = { made: 0, now: 0, most: 0 }
  const run = (result: Effect.Effect<string, string>, key = "a") =>
    Effect.exit(
      attempts.run(key, {
        left: bucket.left,
        check: Effect.suspend(() => {
          seen.made++
          seen.most = Math.max(seen.most, ++seen.now)
          return Effect.andThen(later, result).pipe(Effect.ensuring(Effect.sync(() => seen.now--)))
        }),
        isFailure: (error) => error === "bad",
        count: bucket.count,
        refuse: () => "limited"
      })
    )
  return { bucket, run, seen }
}
const bad = Effect.fail("bad")
const all = { concurrency: "unbounded" } as const

describe("attempts", () => {
  it.effect("may fail up to the limit when concurrent; the others are refused without a check", () =>
    Effect.gen(function* () {
      const { bucket, run, seen } = make()
      const exits = yield* Effect.all(
        Array.from({ length: 40 }, () => run(bad)),
        all
      )
      assert.strictEqual(seen.made, LIMIT)
      assert.strictEqual(bucket.used(), LIMIT)
      assert.strictEqual(exits.filter((exit) => Exit.isFailure(exit)).length, 40)
      const results = exits.map((exit) => JSON.stringify(exit))
      assert.strictEqual(results.filter((each) => each.includes("limited")).length, 40 - LIMIT)
    })
  )
  it.effect("all pass when valid, and no more run concurrently than may fail", () =>
    Effect.gen(function* () {
      const { bucket, run, seen } = make()
      const exits = yield* Effect.all(
        Array.from({ length: 40 }, () => run(Effect.succeed("ok"))),
        all
      )
      assert.isTrue(exits.every(Exit.isSuccess))
      assert.strictEqual(bucket.used(), 0)
      assert.strictEqual(seen.most, LIMIT)
    })
  )
  it.effect("mixed: the good ones before the limit pass, and never more than the limit fail", () =>
    Effect.gen(function* () {
      const { bucket, run, seen } = make()
      const mixed = Array.from({ length: 60 }, (_, i) => run(i % 3 === 0 ? bad : Effect.succeed("ok")))
      const exits = yield* Effect.all(mixed, all)
      assert.strictEqual(bucket.used(), LIMIT)
      assert.isAtMost(seen.most, LIMIT)
      assert.isAbove(exits.filter(Exit.isSuccess).length, 0)
    })
  )
  it.effect("that end otherwise are not counted, and another key has its own", () =>
    Effect.gen(function* () {
      const { bucket, run, seen } = make()
      yield* Effect.all(
        Array.from({ length: 20 }, () => run(Effect.fail("unavailable"))),
        all
      )
      assert.strictEqual(bucket.used(), 0)
      assert.strictEqual(seen.made, 20)
      yield* Effect.all([run(bad), run(bad, "b")], all)
      assert.strictEqual(bucket.used(), 2)
    })
  )
  it.effect("that are interrupted, running or waiting, give their places to the others", () =>
    Effect.gen(function* () {
      const { run } = make()
      const gate = yield* Deferred.make<string>()
      const held = yield* Effect.forEach(Array.from({ length: 2 * LIMIT }), () =>
        Effect.forkChild(run(Deferred.await(gate)), { startImmediately: true })
      )
      yield* Effect.replicateEffect(later, 10)
      yield* Effect.forEach(held, Fiber.interrupt, all)
      const exits = yield* Effect.all(
        Array.from({ length: 20 }, () => run(Effect.succeed("ok"))),
        all
      )
      assert.isTrue(exits.every(Exit.isSuccess))
    })
  )
  it.effect("that wait ask the store again when a check has ended, and not before", () =>
    Effect.gen(function* () {
      const { bucket, run } = make()
      const gates = yield* Effect.replicateEffect(Deferred.make<string>(), LIMIT)
      for (const gate of gates) yield* Effect.forkChild(run(Deferred.await(gate)), { startImmediately: true })
      yield* Effect.replicateEffect(later, 10)
      const waiting = yield* Effect.forkChild(run(Effect.succeed("ok")), { startImmediately: true })
      yield* Effect.replicateEffect(later, 100)
      assert.deepStrictEqual([bucket.asked(), waiting.pollUnsafe()], [LIMIT + 1, undefined])
      yield* Deferred.succeed(gates[0]!, "ok")
      assert.strictEqual(yield* Fiber.join(waiting).pipe(Effect.map(Exit.isSuccess)), true)
      assert.strictEqual(bucket.asked(), LIMIT + 2)
    })
  )
  it.effect("that wait run when a check has ended, though one that waited behind them was interrupted", () =>
    Effect.gen(function* () {
      const { run } = make()
      const gates = yield* Effect.replicateEffect(Deferred.make<string>(), LIMIT)
      for (const gate of gates) yield* Effect.forkChild(run(Deferred.await(gate)), { startImmediately: true })
      yield* Effect.replicateEffect(later, 10)
      const [waiting, gone] = [yield* Effect.forkChild(run(Effect.succeed("ok"))), yield* Effect.forkChild(run(bad))]
      yield* Effect.replicateEffect(later, 10)
      yield* Fiber.interrupt(gone)
      yield* Effect.replicateEffect(later, 10)
      yield* Deferred.succeed(gates[0]!, "ok")
      yield* Effect.replicateEffect(later, 100)
      assert.isDefined(waiting.pollUnsafe())
    })
  )
  it.effect("that wait all end, however many, where each is refused at once", () =>
    Effect.gen(function* () {
      const attempts = AuthAttemptLimiter.make()
      const gate = yield* Deferred.make<string, string>()
      let used = 0
      const run = (check: Effect.Effect<string, string>) =>
        attempts.run("a", {
          left: Effect.sync((): Rate => {
            const remaining = LIMIT - used
            return {
              bucket: "auth-failures",
              allowed: remaining > 0,
              limit: LIMIT,
              remaining,
              reset_s: 1,
              window_s: 60
            }
          }),
          check,
          isFailure: () => true,
          count: Effect.sync(() => used++),
          refuse: () => "limited"
        })
      const start = (check: Effect.Effect<string, string>) => Effect.forkChild(run(check), { startImmediately: true })
      for (let i = 0; i < LIMIT; i++) yield* start(Deferred.await(gate))
      const waiting = yield* Effect.replicateEffect(start(bad), 5_000)
      yield* Deferred.fail(gate, "bad")
      for (const fiber of waiting) assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.fail("limited"))
    })
  )
  it.effect("all run if limits are reported and not enforced", () =>
    Effect.gen(function* () {
      const { run, seen } = make("report")
      yield* Effect.all(
        Array.from({ length: 40 }, () => run(bad)),
        all
      )
      assert.strictEqual(seen.made, 40)
    })
  )
})
