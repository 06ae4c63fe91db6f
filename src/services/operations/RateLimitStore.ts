/**
 * Port: the sliding logs of {@link RateLimiter}.
 *
 * Guarantee: over all gateways that share the store, at most `limit` takes of a key pass within any window; a refused
 * take is not recorded. Time is that of the store; a clock that is set back delays a caller by one window at most. A
 * store may forget keys without a pass within a window, and evicts the least recently used keys when it is full.
 * Source: docs/contract/limits.md.
 */
import { Context, type Effect, Schema } from "effect"

/** The store does not respond; the take may or may not have been recorded. */
export class RateLimitStoreUnavailable extends Schema.TaggedError<RateLimitStoreUnavailable>()(
  "RateLimitStoreUnavailable",
  { cause: Schema.optionalKey(Schema.Defect()) }
) {}

export interface Log {
  readonly bucket: string
  readonly key: string
  /** Passes per window. */
  readonly limit: number
  readonly window_ms: number
}

/** State of a log after a take, or now. */
export interface BucketState {
  readonly passed: boolean
  /** Passes within the window. */
  readonly used: number
  /** Time until the requested number of slots is free; 0 while they are. */
  readonly wait_ms: number
}

export class RateLimitStore extends Context.Service<
  RateLimitStore,
  {
    /** Passes and is recorded if fewer than `limit` passed within the window. */
    readonly take: (log: Log) => Effect.Effect<BucketState, RateLimitStoreUnavailable>
    /**
     * Passes `count` times (default 1) in every log, or in none. Returns a state per log; `passed`: this log had
     * room.
     */
    readonly takeAll: (
      logs: ReadonlyArray<Log>,
      count?: number
    ) => Effect.Effect<ReadonlyArray<BucketState>, RateLimitStoreUnavailable>
    /** Synchronous {@link takeAll}; absent in stores behind a network. */
    readonly takeAllNow?: (logs: ReadonlyArray<Log>, count?: number) => ReadonlyArray<BucketState>
    /** The result of {@link take} without recording it. */
    readonly peek: (log: Log) => Effect.Effect<BucketState, RateLimitStoreUnavailable>
  }
>()("gateway/services/RateLimitStore") {}
