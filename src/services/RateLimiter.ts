/**
 * Policy: how often a caller may ask. A sliding log: a request passes if fewer than N passed in the last 60 000 ms;
 * refused ones do not count. Source: contract 7.
 */
import { Context, type Effect } from "effect"

export type Bucket =
  | "public"
  | "token"
  | "api-key"
  | "authorize-ip"
  | "authorize-key"
  | "basic-failures"
  | "auth-failures"
  | "activate-ip"
  | "activate-root"

/** What a bucket says of one request. */
export interface Rate {
  readonly bucket: Bucket
  /** Whether the request may pass; always true where limits are only reported. */
  readonly allowed: boolean
  /** Requests a window. */
  readonly limit: number
  readonly remaining: number
  /** Seconds to the next free slot; 0 when one is free. */
  readonly reset_s: number
  readonly window_s: number
}

export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Counts a request against a bucket. `undefined`: limits are off. */
    readonly take: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
    /** What `take` would say, without counting. */
    readonly peek: (bucket: Bucket, key: string) => Effect.Effect<Rate | undefined>
  }
>()("gateway/services/RateLimiter") {}
