/**
 * Port: the sliding logs behind {@link RateLimiter}.
 *
 * Guarantee: of all takes of one key on all gateways that share the store, at most `limit` pass within any window; a
 * refused take leaves no trace. Time is the store's; a clock that is set back makes nobody wait longer than a window. A store may forget keys that have not passed for a window, and the
 * longest unused ones where it is full. Source: docs/contract/limits.md.
 */
import { Context, type Effect, Schema } from "effect"

/** The store does not answer; nothing, or one pass, may have been counted. */
export class RateLimitStoreUnavailable extends Schema.TaggedError<RateLimitStoreUnavailable>()(
  "RateLimitStoreUnavailable",
  { cause: Schema.optionalKey(Schema.Defect()) }
) {}

export interface Log {
  readonly bucket: string
  readonly key: string
  /** Passes a window. */
  readonly limit: number
  readonly window_ms: number
}

/** How a log stands after a take, or now. */
export interface BucketState {
  readonly passed: boolean
  /** Passes within the window. */
  readonly used: number
  /** Time until as many slots are free as were taken or asked for, 0 while they are. */
  readonly wait_ms: number
}

export class RateLimitStore extends Context.Service<
  RateLimitStore,
  {
    /** Passes, and counts, if fewer than `limit` passed within the window. */
    readonly take: (log: Log) => Effect.Effect<BucketState, RateLimitStoreUnavailable>
    /** The same as {@link take}, at once; a store that has to be asked over a wire has it not. */
    readonly takeNow?: (log: Log) => BucketState
    /**
     * Passes `count` times (default 1) in every log, or in none of them: where one has no room, no other is counted. Answers
     * a standing for each; `passed`: this log had room.
     */
    readonly takeAll: (
      logs: ReadonlyArray<Log>,
      count?: number
    ) => Effect.Effect<ReadonlyArray<BucketState>, RateLimitStoreUnavailable>
    /** The same as {@link takeAll}, at once; a store has it where it has {@link takeNow}. */
    readonly takeAllNow?: (logs: ReadonlyArray<Log>, count?: number) => ReadonlyArray<BucketState>
    /** What {@link take} would say before it counted. */
    readonly peek: (log: Log) => Effect.Effect<BucketState, RateLimitStoreUnavailable>
  }
>()("gateway/services/RateLimitStore") {}
