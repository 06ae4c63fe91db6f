import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { addRate, type Rate, tightest } from "../../../src/domain/RateHeaders.ts"
import * as MemoryRateLimitStore from "../../../src/layers/memory/MemoryRateLimitStore.ts"
import {
  type Bucket,
  RateLimiter,
  type RateLimiterOptions,
  RateWitness
} from "../../../src/services/operations/RateLimiter.ts"
import { RateLimitStore, RateLimitStoreUnavailable } from "../../../src/services/operations/RateLimitStore.ts"

const limiter = (options: RateLimiterOptions) =>
  RateLimiter.layer(options).pipe(Layer.provide(MemoryRateLimitStore.layer()))

describe("RateLimiter", () => {
  const numbers: Record<Bucket, number> = {
    public: 60,
    token: 30,
    user: 120,
    "api-key": 600,
    "token-cancels": 30,
    "user-cancels": 120,
    "api-key-cancels": 600,
    "authorize-ip": 20,
    "authorize-key": 10,
    "basic-failures": 10,
    "auth-failures": 60,
    "activate-ip": 10,
    "activate-root": 5
  }
  for (const [bucket, limit] of Object.entries(numbers) as Array<[Bucket, number]>) {
    it.effect(`${bucket}: ${limit} a minute, and the next one a minute after the first`, () =>
      Effect.gen(function* () {
        const { take, peek } = yield* RateLimiter
        for (let i = 1; i <= limit; i++) {
          assert.isTrue((yield* peek(bucket, "192.0.2.1"))!.allowed)
          const rate = yield* take(bucket, "192.0.2.1")
          assert.deepStrictEqual(rate, {
            bucket,
            allowed: true,
            limit,
            remaining: limit - i,
            reset_s: i === limit ? 60 : 0,
            window_s: 60
          })
        }
        yield* TestClock.adjust(59_999)
        const refused = { bucket, allowed: false, limit, remaining: 0, reset_s: 1, window_s: 60 }
        assert.deepStrictEqual(yield* take(bucket, "192.0.2.1"), refused)
        assert.deepStrictEqual(yield* peek(bucket, "192.0.2.1"), refused)
        yield* TestClock.adjust(1)
        assert.isTrue((yield* peek(bucket, "192.0.2.1"))!.allowed)
        assert.isTrue((yield* take(bucket, "192.0.2.1"))!.allowed)
      }).pipe(Effect.provide(limiter({ mode: "enforce" })))
    )
  }

  it.effect("counts many at once, or none of them", () =>
    Effect.gen(function* () {
      const { take, takeAll } = yield* RateLimiter
      const many = (count: number) => takeAll([{ bucket: "token", key: "a" }], count)
      assert.deepInclude(yield* many(28), { allowed: true, remaining: 2 })
      yield* TestClock.adjust("10 seconds")
      // the first slot of those that it takes is free with the first of the 28
      assert.deepInclude(yield* many(3), { allowed: false, remaining: 2, reset_s: 50 })
      assert.deepInclude(yield* many(2), { allowed: true, remaining: 0 })
      assert.isFalse((yield* take("token", "a"))?.allowed)
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* many(3), { allowed: true, remaining: 27 })
    }).pipe(Effect.provide(limiter({ mode: "enforce" })))
  )

  it.effect("counts many and refuses none where limits are only reported", () =>
    Effect.gen(function* () {
      const { takeAll } = yield* RateLimiter
      const many = (count: number) => takeAll([{ bucket: "token", key: "a" }], count)
      assert.deepInclude(yield* many(30), { allowed: true, remaining: 0 })
      assert.deepInclude(yield* many(3), { allowed: true, remaining: 0 })
    }).pipe(Effect.provide(limiter({ mode: "report" })))
  )

  it.effect("a bucket of cancels is as large as the configured bucket of the credential", () =>
    Effect.gen(function* () {
      const { take } = yield* RateLimiter
      assert.strictEqual((yield* take("token-cancels", "t"))!.limit, 7)
      assert.strictEqual((yield* take("user-cancels", "u"))!.limit, 120)
      assert.strictEqual((yield* take("api-key-cancels", "k"))!.limit, 9)
    }).pipe(Effect.provide(limiter({ mode: "enforce", limits: { token: 7, "api-key": 9 } })))
  )

  it.effect("counts an IPv6 network as one client, and an IPv4 client the same in both spellings", () =>
    Effect.gen(function* () {
      const { take } = yield* RateLimiter
      const remaining = (bucket: Bucket, key: string) => Effect.map(take(bucket, key), (rate) => rate!.remaining)
      assert.strictEqual(yield* remaining("public", "2001:db8:1:2::1"), 59)
      assert.strictEqual(yield* remaining("public", "2001:0DB8:1:2:ffff::9"), 58)
      assert.strictEqual(yield* remaining("public", "2001:db8:1:3::1"), 59)
      assert.strictEqual(yield* remaining("public", "::ffff:192.0.2.9"), 59)
      assert.strictEqual(yield* remaining("public", "192.0.2.9"), 58)
      // other keys are taken as they are
      assert.strictEqual(yield* remaining("authorize-key", "p::1220"), 9)
      assert.strictEqual(yield* remaining("authorize-key", "q::1220"), 9)
    }).pipe(Effect.provide(limiter({ mode: "enforce" })))
  )

  it.effect("takes limits and window from its options", () =>
    Effect.gen(function* () {
      const { take } = yield* RateLimiter
      assert.deepInclude(yield* take("token", "t"), { limit: 1, remaining: 0, window_s: 10, reset_s: 10 })
      assert.isFalse((yield* take("token", "t"))!.allowed)
      assert.strictEqual((yield* take("public", "192.0.2.1"))!.limit, 60)
    }).pipe(Effect.provide(limiter({ mode: "enforce", limits: { token: 1 }, window: "10 seconds" })))
  )

  it.effect("refuses nothing where it only reports", () =>
    Effect.gen(function* () {
      const { take } = yield* RateLimiter
      for (let i = 0; i < 40; i++) assert.isTrue((yield* take("token", "t"))!.allowed)
      assert.deepInclude(yield* take("token", "t"), { remaining: 0, reset_s: 60 })
    }).pipe(Effect.provide(limiter({ mode: "report" })))
  )

  it.effect("returns undefined if it is off, or if its store does not respond", () =>
    Effect.gen(function* () {
      const down = Layer.succeed(
        RateLimitStore,
        RateLimitStore.of({
          take: () => Effect.fail(new RateLimitStoreUnavailable({})),
          takeAll: () => Effect.fail(new RateLimitStoreUnavailable({})),
          peek: () => Effect.fail(new RateLimitStoreUnavailable({}))
        })
      )
      for (const layer of [
        limiter({ mode: "off" }),
        RateLimiter.layer({ mode: "enforce" }).pipe(Layer.provide(down))
      ]) {
        const { take, peek } = yield* Effect.provide(RateLimiter, layer)
        for (let i = 0; i < 100; i++) assert.isUndefined(yield* take("token", "t"))
        assert.isUndefined(yield* peek("token", "t"))
      }
    })
  )
})

describe("rate headers", () => {
  const rateHeaders = (rate: Rate) => {
    const fields: Array<string> = []
    addRate(fields, rate)
    return Object.fromEntries(fields.flatMap((field, i) => (i % 2 === 0 ? [[field, fields[i + 1]!]] : [])))
  }
  const rate = { bucket: "public", allowed: true, limit: 60, remaining: 59, reset_s: 0, window_s: 60 } as const

  it("are those of the contract", () => {
    assert.deepStrictEqual(rateHeaders(rate), {
      "ratelimit-limit": "60",
      "ratelimit-remaining": "59",
      "ratelimit-reset": "1",
      "ratelimit-policy": '"public";q=60;w=60',
      ratelimit: '"public";r=59;t=1'
    })
  })

  it("give a refused caller the time to wait", () => {
    const headers = rateHeaders({ ...rate, bucket: "api-key", allowed: false, limit: 600, remaining: 0, reset_s: 17 })
    assert.deepInclude(headers, {
      "retry-after": "17",
      "ratelimit-reset": "17",
      ratelimit: '"api-key";r=0;t=17'
    })
  })

  it("are structured fields: a list of one string with integer parameters", () => {
    const item = /^"[\x20-\x21\x23-\x5b\x5d-\x7e]+"(;[a-z*][a-z0-9_.*-]*=-?\d{1,15})+$/u
    for (const bucket of ["public", "token", "api-key", "authorize-ip"] as const) {
      const headers = rateHeaders({ ...rate, bucket })
      assert.match(headers["ratelimit-policy"]!, item)
      assert.match(headers["ratelimit"]!, item)
    }
  })

  it("show the bucket that stops the caller first", () => {
    const token = { ...rate, bucket: "token", remaining: 3 } as const
    const refused = { ...rate, bucket: "api-key", allowed: false, remaining: 0 } as const
    const empty = { ...rate, remaining: 0 } as const
    assert.isUndefined(tightest([undefined]))
    assert.strictEqual(tightest([rate, undefined, token]), token)
    assert.strictEqual(tightest([token, rate]), token)
    assert.strictEqual(tightest([empty, refused, token]), refused)
  })

  it.effect("a bucket of cancels may be given a size of its own", () =>
    Effect.gen(function* () {
      const { peek } = yield* RateLimiter
      assert.deepInclude(yield* peek("token-cancels", "a"), { limit: 4 })
      assert.deepInclude(yield* peek("token", "a"), { limit: 3 })
    }).pipe(Effect.provide(limiter({ mode: "enforce", limits: { token: 3, "token-cancels": 4 } })))
  )

  it.effect("reports each count to the witness of its request, and no state that was only read", () => {
    const seen: Array<Rate> = []
    return Effect.gen(function* () {
      const { peek, take, takeAll } = yield* RateLimiter
      yield* peek("token", "a")
      const rates = [yield* take("token", "a"), yield* takeAll([{ bucket: "token", key: "a" }], 2)]
      assert.deepStrictEqual<ReadonlyArray<Rate | undefined>>(seen, rates)
    }).pipe(
      Effect.provideService(RateWitness, (rate) => void seen.push(rate)),
      Effect.provide(limiter({ mode: "enforce" }))
    )
  })
})
