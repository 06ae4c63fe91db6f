/**
 * Policy: one gapless stream of private events a user, over the four private topics.
 *
 * The numbers are a pure function of the event stream. Followers are called after the events are committed, in order.
 * Source: docs/contract/websocket.md#private-topics, #emission.
 */
import { Context } from "effect"
import type { StreamHead, UserStreamEvent } from "../../domain/Projection.ts"

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

type Listener = (events: ReadonlyArray<UserStreamEvent>) => void

/** The state behind {@link UserStreams}, moved by the projector alone. */
export class Streams {
  private id = ""
  private readonly heads = new Map<string, number>()
  private readonly followers = new Map<string, Set<Listener>>()
  private readonly restarts = new Set<() => void>()

  /** Begins at these numbers; who followed before is told. */
  start(streamId: string, heads: ReadonlyArray<StreamHead>): void {
    const again = this.id !== ""
    this.id = streamId
    this.heads.clear()
    for (const { user_id, seq } of heads) this.heads.set(user_id, seq)
    if (again) for (const listener of this.restarts) listener()
  }
  /** Hands committed events to who follows their user. */
  publish(streamId: string, events: ReadonlyArray<UserStreamEvent>): void {
    this.id = streamId
    const told = new Map<string, Array<UserStreamEvent>>()
    for (const event of events) {
      this.heads.set(event.user_id, event.seq)
      if (!this.followers.has(event.user_id)) continue
      const own = told.get(event.user_id)
      if (own === undefined) told.set(event.user_id, [event])
      else own.push(event)
    }
    for (const [user_id, own] of told) {
      // who leaves while being told leaves the others alone
      for (const listener of Array.from(this.followers.get(user_id)!)) listener(own)
    }
  }

  readonly view: UserStreams["Service"] = {
    streamId: () => this.id,
    head: (user_id) => this.heads.get(user_id) ?? 0,
    follow: (user_id, listener) => {
      const listeners = this.followers.get(user_id) ?? new Set<Listener>()
      this.followers.set(user_id, listeners.add(listener))
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0 && this.followers.get(user_id) === listeners) this.followers.delete(user_id)
      }
    },
    onRestart: (listener) => {
      this.restarts.add(listener)
      return () => void this.restarts.delete(listener)
    }
  }
}
