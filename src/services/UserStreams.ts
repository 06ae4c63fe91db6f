/**
 * Policy: one gapless stream of private events a user, over the four private topics.
 *
 * The numbers are a pure function of the event stream. Followers are called after the events are committed, in order.
 * Source: contract 5.8, 6.
 */
import { Context } from "effect"
import type { UserStreamEvent } from "../domain/Projection.ts"

export class UserStreams extends Context.Service<
  UserStreams,
  {
    /** Identity of the numbering; a change means that numbers started anew. */
    readonly streamId: () => string
    /** Position of the last event of a user; 0 before the first. */
    readonly head: (user_id: string) => number
    /** Follows one user's events; the returned function ends it. Called synchronously: it must not throw or wait. */
    readonly follow: (user_id: string, listener: (events: ReadonlyArray<UserStreamEvent>) => void) => () => void
    /** Called after the numbering started anew ({@link streamId} is another one): who follows starts from snapshots. */
    readonly onRestart: (listener: () => void) => () => void
  }
>()("gateway/services/UserStreams") {}
