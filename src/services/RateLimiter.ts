/**
 * Policy: how often a caller may ask. A sliding log: a request passes if fewer than N passed in the last 60 000 ms;
 * refused ones do not count. Source: contract 7.
 */
import { Context, Duration, Effect, Layer } from "effect"
import { networkOf } from "../domain/Ip.ts"
import type { Bucket, Rate } from "../domain/RateHeaders.ts"
import { CurrentMeter } from "./Meter.ts"
import { type Log, RateLimitStore, type RateLimitStoreUnavailable, type Standing } from "./RateLimitStore.ts"

export type { Bucket, Rate } from "../domain/RateHeaders.ts"

/** Requests a window, by bucket. */
export type Limits = { readonly [B in Bucket]: number }

export const defaultLimits: Limits = {
  public: 60,
  token: 30,
  "api-key": 600,
  "authorize-ip": 20,
  "authorize-key": 10,
  "basic-failures": 10,
  "auth-failures": 60,
  "activate-ip": 10,
  "activate-root": 5
}

export interface RateLimiterOptions {
  /** `report`: count and tell, refuse nothing; `off`: something in front does it. */
  readonly mode: "enforce" | "report" | "off"
  readonly limits?: Partial<Limits>
  /** Default one minute. */
  readonly window?: Duration.Input
}

/** Is told of every count that is made while a request is served, so that its answer can show the tightest bucket. */
export const RateWitness = Context.Reference<((rate: Rate) => void) | undefined>("gateway/services/RateWitness", {
  defaultValue: () => undefined
})

/** Buckets whose key is the address of a client. */
const byAddress: ReadonlySet<Bucket> = new Set([
  "public",
  "authorize-ip",
  "basic-failures",
  "auth-failures",
  "activate-ip"
])

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /**
     * Counts a request against a bucket. Keys that are IP addresses are counted by network (an IPv6 /64).
     * `undefined`: limits are off, or the store does not answer (orders do not stop because a counter is lost).
     * {@link RateWitness} is told what the bucket says.
     */
    readonly take: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
    /**
     * The same as {@link take} at once, where the store can, and without telling {@link RateWitness}: for requests that are
     * answered without a fiber.
     */
    readonly takeNow?: (bucket: Bucket, key: string) => Rate | undefined
    /** Counts `count` requests at once, or none of them. */
    readonly takeMany: (bucket: Bucket, key: string, count: number) => Effect.Effect<Rate | undefined>
    /** What `take` would say, without counting. */
    readonly peek: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
  }
>()("gateway/services/RateLimiter") {
  static readonly layer = (options: RateLimiterOptions): Layer.Layer<RateLimiter, never, RateLimitStore> =>
    Layer.effect(
      RateLimiter,
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const limits: Limits = { ...defaultLimits, ...options.limits }
        const meter = yield* CurrentMeter
        const refusals = new Map(
          Object.keys(limits).map((bucket) => [bucket, meter.counter("gateway_rate_limit_refusals_total", { bucket })])
        )
        const off = Effect.undefined
        if (options.mode === "off") {
          return RateLimiter.of({ take: () => off, takeNow: () => undefined, takeMany: () => off, peek: () => off })
        }
        const enforced = options.mode === "enforce"
        const window_ms = Duration.toMillis(options.window ?? "1 minute")
        const window_s = Math.ceil(window_ms / 1000)

        const logOf = (bucket: Bucket, key: string): Log => ({
          bucket,
          key: byAddress.has(bucket) ? networkOf(key) : key,
          limit: limits[bucket],
          window_ms
        })
        const rateOf = (bucket: Bucket, standing: Standing): Rate => ({
          bucket,
          allowed: standing.passed || !enforced,
          limit: limits[bucket],
          remaining: Math.max(0, limits[bucket] - standing.used),
          reset_s: Math.ceil(standing.wait_ms / 1000),
          window_s
        })

        /** Counts what a bucket refuses, or would. */
        const counted = (bucket: Bucket, standing: Standing): Rate => {
          if (!standing.passed) refusals.get(bucket)!.add()
          return rateOf(bucket, standing)
        }
        const ask =
          (question: (log: Log) => Effect.Effect<Standing, RateLimitStoreUnavailable>, told = rateOf) =>
          (bucket: Bucket, key: string): Effect.Effect<Rate | undefined> =>
            Effect.matchEffect(question(logOf(bucket, key)), {
              onFailure: (error) => Effect.as(Effect.logWarning("rate limit not counted", error), undefined),
              onSuccess: (standing) => Effect.succeed(told(bucket, standing))
            })
        const take = ask(store.take, counted)
        const peek = ask(store.peek)
        const witnessed = (taken: Effect.Effect<Rate | undefined>): Effect.Effect<Rate | undefined> =>
          Effect.withFiber((fiber) => {
            const witness = Context.get(fiber.context, RateWitness)
            if (witness === undefined) return taken
            return Effect.tap(taken, (rate) => Effect.sync(() => rate === undefined || witness(rate)))
          })
        const { takeNow } = store
        return RateLimiter.of({
          ...(takeNow !== undefined && {
            takeNow: (bucket, key) => counted(bucket, takeNow(logOf(bucket, key)))
          }),
          take: (bucket, key) => witnessed(take(bucket, key)),
          peek,
          takeMany: (bucket, key, count) =>
            witnessed(
              Effect.gen(function* () {
                let rate = yield* peek(bucket, key)
                if (rate !== undefined && enforced && rate.remaining < count) {
                  refusals.get(bucket)!.add()
                  return { ...rate, allowed: false }
                }
                for (let i = 0; i < count && rate?.allowed === true; i++) rate = yield* take(bucket, key)
                return rate
              })
            )
        })
      })
    )
}
