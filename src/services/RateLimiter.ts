/**
 * Policy: how often a caller may ask. A sliding log: a request passes if fewer than N passed in the last 60 000 ms;
 * refused ones do not count. Source: contract 7.
 */
import { Context, Duration, Effect, Layer } from "effect"
import { networkOf } from "../domain/Ip.ts"
import type { Bucket, Rate } from "../domain/RateHeaders.ts"
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
     */
    readonly take: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
    /** What `take` would say, without counting. */
    readonly peek: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
  }
>()("gateway/services/RateLimiter") {
  static readonly layer = (options: RateLimiterOptions): Layer.Layer<RateLimiter, never, RateLimitStore> =>
    Layer.effect(
      RateLimiter,
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const off = Effect.undefined
        if (options.mode === "off") return RateLimiter.of({ take: () => off, peek: () => off })
        const enforced = options.mode === "enforce"
        const limits: Limits = { ...defaultLimits, ...options.limits }
        const window_ms = Duration.toMillis(options.window ?? "1 minute")
        const window_s = Math.ceil(window_ms / 1000)

        const ask =
          (question: (log: Log) => Effect.Effect<Standing, RateLimitStoreUnavailable>) =>
          (bucket: Bucket, key: string): Effect.Effect<Rate | undefined> => {
            const limit = limits[bucket]
            const log = { bucket, key: byAddress.has(bucket) ? networkOf(key) : key, limit, window_ms }
            return Effect.matchEffect(question(log), {
              onFailure: (error) => Effect.as(Effect.logWarning("rate limit not counted", error), undefined),
              onSuccess: (standing) =>
                Effect.succeed<Rate>({
                  bucket,
                  allowed: standing.passed || !enforced,
                  limit,
                  remaining: Math.max(0, limit - standing.used),
                  reset_s: Math.ceil(standing.wait_ms / 1000),
                  window_s
                })
            })
          }
        return RateLimiter.of({ take: ask(store.take), peek: ask(store.peek) })
      })
    )
}
