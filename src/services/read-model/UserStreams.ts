/**
 * Policy: one gapless stream of private events per user, over the four private topics.
 *
 * The numbers are a pure function of the event stream. Followers are called in order, after the events are committed.
 * Source: docs/contract/websocket.md#private-topics, #emission.
 */
import { Context } from "effect"
import type { StreamHead, UserStreamEvent } from "../../domain/Projection.ts"

export class UserStreams extends Context.Service<
  UserStreams,
  {
    /** Identity of the numbering; changes when the numbering restarts. */
    readonly streamId: () => string
    /** Position of the last event of a user; 0 before the first. */
    readonly head: (user_id: string) => number
    /**
     * Registers a listener for the events of one user; the returned function removes it. It is called synchronously
     * and must not throw or wait.
     */
    readonly follow: (user_id: string, listener: (events: ReadonlyArray<UserStreamEvent>) => void) => () => void
    /**
     * Registers a listener for restarts of the numbering ({@link streamId} has changed); followers must start from
     * snapshots.
     */
    readonly onRestart: (listener: () => void) => () => void
  }
>()("gateway/services/UserStreams") {}

type Listener = (events: ReadonlyArray<UserStreamEvent>) => void

/** The state of {@link UserStreams}, updated only by the projector. */
export class Streams {
  private id = ""
  private readonly heads = new Map<string, number>()
  private readonly followers = new Map<string, Set<Listener>>()
  private readonly restarts = new Set<() => void>()

  /** Starts at the given numbers; notifies the followers of an earlier numbering. */
  start(streamId: string, heads: ReadonlyArray<StreamHead>): void {
    const again = this.id !== ""
    this.id = streamId
    this.heads.clear()
    for (const { user_id, seq } of heads) this.heads.set(user_id, seq)
    if (again) for (const listener of this.restarts) listener()
  }
  /** Delivers committed events to the followers of their users. */
  publish(streamId: string, events: ReadonlyArray<UserStreamEvent>): void {
    this.id = streamId
    const byUser = new Map<string, Array<UserStreamEvent>>()
    for (const event of events) {
      this.heads.set(event.user_id, event.seq)
      if (!this.followers.has(event.user_id)) continue
      const own = byUser.get(event.user_id)
      if (own === undefined) byUser.set(event.user_id, [event])
      else own.push(event)
    }
    for (const [user_id, own] of byUser) {
      // copy, because a listener may remove itself during the call
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
