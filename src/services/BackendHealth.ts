/**
 * Policy: whether the backends are up, lagging or lost, by the numbers of contract 8.4.
 *
 * The projector reports what the feed brought, the price follower what the referee brought; everybody else only asks.
 */
import { Context } from "effect"

export interface LinkState {
  readonly connected: boolean
  readonly lag_events: number
  readonly lag_ms: number
  /** Down or lagging: new commands and private reads are refused. */
  readonly ill: boolean
  /** How long it has been ill, in ms; 0 when it is well. */
  readonly ill_for_ms: number
  /** Age of the last frame, in ms. */
  readonly age_ms: number
}

export class BackendHealth extends Context.Service<
  BackendHealth,
  {
    readonly sequencer: () => LinkState
    readonly referee: () => LinkState
    /** A frame of the event stream arrived: the head it tells, and the seq and engine time applied here. */
    readonly sawSequencer: (frame: {
      readonly head_seq: number
      readonly applied_seq: number
      readonly oldest_unapplied_ms: number | undefined
    }) => void
    readonly sawReferee: (frame: { readonly applied_seq: number }) => void
    readonly lostSequencer: () => void
    readonly lostReferee: () => void
  }
>()("gateway/services/BackendHealth") {}
