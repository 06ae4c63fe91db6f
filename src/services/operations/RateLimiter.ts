/**
 * Policy: request rates. A sliding log: a request passes if fewer than N passed in the last 60 000 ms. Refused
 * requests do not count.
 * Source: docs/contract/limits.md.
 */
import { Context, Duration, Effect, Layer } from "effect"
import { networkOf } from "../../domain/Ip.ts"
import { type Bucket, type Rate, tightest } from "../../domain/RateHeaders.ts"
import type { Caller } from "../../domain/User.ts"
import { CurrentMetricsRegistry } from "./MetricsRegistry.ts"
import { type Log, RateLimitStore, type RateLimitStoreUnavailable, type BucketState } from "./RateLimitStore.ts"

export type { Bucket, Rate } from "../../domain/RateHeaders.ts"

/** Requests per window, by bucket. */
export type Limits = { readonly [B in Bucket]: number }

export const defaultLimits: Limits = {
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

/** Buckets of cancels have the size of the bucket of their credential or user, and are independent of its use. */
const asLargeAs = { "token-cancels": "token", "user-cancels": "user", "api-key-cancels": "api-key" } as const

/** All limits, with some of them overridden. */
export const limitsOf = (set: Partial<Limits> = {}): Limits => {
  const limits = { ...defaultLimits, ...set }
  const cancels = Object.entries(asLargeAs).map(
    ([bucket, of]) => [bucket, set[bucket as Bucket] ?? limits[of]] as const
  )
  return { ...limits, ...Object.fromEntries(cancels) }
}

/** Class of a request. */
export type Counted = "requests" | "cancels"

/** A bucket and its key. */
export interface Slot {
  readonly bucket: Bucket
  readonly key: string
}

/**
 * The buckets of an authenticated request. All tokens of a user share the bucket of the user; each API key has its
 * own.
 * Source: docs/contract/limits.md, docs/contract/limits.md#buckets.
 */
export const slotsOf = ({ credential, user_id, via }: Caller, counted: Counted): ReadonlyArray<Slot> => {
  const isCancel = counted === "cancels"
  if (via === "api-key") return [{ bucket: isCancel ? "api-key-cancels" : "api-key", key: credential }]
  return [
    { bucket: isCancel ? "token-cancels" : "token", key: credential },
    { bucket: isCancel ? "user-cancels" : "user", key: user_id }
  ]
}

export interface RateLimiterOptions {
  /** `report`: count and report, refuse nothing; `off`: another component limits rates. */
  readonly mode: "enforce" | "report" | "off"
  readonly limits?: Partial<Limits>
  /** Default one minute. */
  readonly window?: Duration.Input
}

/** Receives every count of a request, so that its response can show the tightest bucket. */
export const RateWitness = Context.Reference<((rate: Rate) => void) | undefined>("gateway/services/RateWitness", {
  defaultValue: () => undefined
})

/** Buckets with the client's address as key. */
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
     * Counts a request against a bucket. IP addresses are counted by network (an IPv6 /64). `undefined`: limits are
     * off, or the store does not respond (orders continue without rate limits). {@link RateWitness} receives the
     * result.
     */
    readonly take: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
    /** Counts `count` requests (default 1) against each of several buckets, or against none; returns the tightest. */
    readonly takeAll: (slots: ReadonlyArray<Slot>, count?: number) => Effect.Effect<Rate | undefined>
    /**
     * Synchronous {@link takeAll}, if the store supports it, without {@link RateWitness}; for requests that are answered
     * without a fiber.
     */
    readonly takeAllNow?: (slots: ReadonlyArray<Slot>) => Rate | undefined
    /** The result of `take`, without counting. */
    readonly peek: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
  }
>()("gateway/services/RateLimiter") {
  static readonly layer = (options: RateLimiterOptions): Layer.Layer<RateLimiter, never, RateLimitStore> =>
    Layer.effect(
      RateLimiter,
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const limits = limitsOf(options.limits)
        const meter = yield* CurrentMetricsRegistry
        const refusals = new Map(
          Object.keys(limits).map((bucket) => [bucket, meter.counter("gateway_rate_limit_refusals_total", { bucket })])
        )
        const off = Effect.undefined
        if (options.mode === "off") {
          return RateLimiter.of({
            take: () => off,
            takeAll: () => off,
            takeAllNow: () => undefined,
            peek: () => off
          })
        }
        const enforced = options.mode === "enforce"
        const window_ms = Duration.toMillis(options.window ?? "1 minute")
        const window_s = Math.ceil(window_ms / 1000)

        const logOf = ({ bucket, key }: Slot): Log => ({
          bucket,
          key: byAddress.has(bucket) ? networkOf(key) : key,
          limit: limits[bucket],
          window_ms
        })
        const rateOf = (bucket: Bucket, state: BucketState): Rate => ({
          bucket,
          allowed: state.passed || !enforced,
          limit: limits[bucket],
          remaining: Math.max(0, limits[bucket] - state.used),
          reset_s: Math.ceil(state.wait_ms / 1000),
          window_s
        })

        /** The rate of a bucket; counts refusals, also those that are only reported. */
        const counted = (bucket: Bucket, state: BucketState): Rate => {
          if (!state.passed) refusals.get(bucket)!.add()
          return rateOf(bucket, state)
        }
        const uncounted = (error: RateLimitStoreUnavailable) =>
          Effect.as(Effect.logWarning("rate limit not counted", error), undefined)
        const query =
          (read: (log: Log) => Effect.Effect<BucketState, RateLimitStoreUnavailable>, convert = rateOf) =>
          (bucket: Bucket, key: string): Effect.Effect<Rate | undefined> =>
            Effect.matchEffect(read(logOf({ bucket, key })), {
              onFailure: uncounted,
              onSuccess: (state) => Effect.succeed(convert(bucket, state))
            })
        const take = query(store.take, counted)
        const peek = query(store.peek)
        const witnessed = (taken: Effect.Effect<Rate | undefined>): Effect.Effect<Rate | undefined> =>
          Effect.withFiber((fiber) => {
            const witness = Context.get(fiber.context, RateWitness)
            if (witness === undefined) return taken
            return Effect.tap(taken, (rate) => Effect.sync(() => rate === undefined || witness(rate)))
          })
        const ratesOf = (slots: ReadonlyArray<Slot>, states: ReadonlyArray<BucketState>) =>
          tightest(states.map((state, i) => counted(slots[i]!.bucket, state)))
        const takeAll = (slots: ReadonlyArray<Slot>, count?: number): Effect.Effect<Rate | undefined> =>
          Effect.matchEffect(store.takeAll(slots.map(logOf), count), {
            onFailure: uncounted,
            onSuccess: (states) => Effect.succeed(ratesOf(slots, states))
          })
        const { takeAllNow } = store
        return RateLimiter.of({
          ...(takeAllNow !== undefined && {
            takeAllNow: (slots) => ratesOf(slots, takeAllNow(slots.map(logOf)))
          }),
          take: (bucket, key) => witnessed(take(bucket, key)),
          peek,
          takeAll: (slots, count) => witnessed(takeAll(slots, count))
        })
      })
    )
}
