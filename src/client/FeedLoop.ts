/**
 * The feed loop of both clients, without Effect: it follows topics over a WebSocket, authenticates, and reconnects after a
 * loss.
 *
 * All events have one order: messages as they arrive, and between them the notices of the feed itself. After a reconnect
 * private topics resume at their last position; what cannot be resumed starts with a snapshot, and a `resume` notice
 * reports that. Data is not validated against its schema, so new enumeration values pass through.
 * Source: docs/contract/websocket.md.
 */
import { isPrivate } from "../domain/TopicNames.ts"
import { closeCodes } from "../ws/api/CloseCodes.ts"
import type { Since } from "../ws/api/Frames.ts"
import { CODE_LOST, type Ended, nextStep, pauseAfter, textOf } from "./Backoff.ts"
import { type AuthFrame, connect, type Disconnect } from "./Connect.ts"
import { WATCH_MS } from "./Connection.ts"
import type { FeedEvent, FeedState } from "./FeedEvent.ts"
import { Topics } from "./Topics.ts"
import type { WebSocketLike } from "./WebSocketLike.ts"

/** Events that may wait for a reader; above it the feed disconnects until the reader has caught up. */
export const EVENTS_MAX = 10_000

/** `later`: the gateway does not answer at present. `refused`: no other credential is available. */
export type Renewal = "renewed" | "later" | "refused"

/** Sockets, time and randomness, so that a test can replace them. */
export interface FeedEnvironment {
  readonly openSocket: (url: string) => WebSocketLike
  /** Monotonic time in ms. */
  readonly now: () => number
  /** A number from 0 to 1. */
  readonly random: () => number
  /** Resolves after `ms`; rejects once the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface FeedLoopOptions {
  /** The WebSocket endpoint. */
  readonly url: string
  readonly topics: ReadonlyArray<string>
  /** Position in the user stream after which private topics begin, instead of with snapshots. */
  readonly since?: Since | undefined
  /** Returns the frame to authenticate with; `undefined` means no credential. Absent: the endpoint needs no authentication. */
  readonly authFrame: (() => Promise<AuthFrame | undefined>) | undefined
  /** Gets a new credential after the current one ended. */
  readonly renew: () => Promise<Renewal>
  /** Receives all events, in order. It must not throw. */
  readonly onEvent: (event: FeedEvent) => void
  /**
   * For a reader that can fall behind; checked after each event. While it is behind the feed has no connection, so events do
   * not pile up. The feed reconnects and resumes once the reader has caught up.
   */
  readonly reader?: { readonly isBehind: () => boolean; readonly caughtUp: () => Promise<void> } | undefined
}

export class FeedLoop {
  readonly topics: Topics
  /** Connections opened so far. */
  connections = 0
  private readonly options: FeedLoopOptions
  private readonly environment: FeedEnvironment
  private readonly stop = new AbortController()
  private isLive = false
  /** Ends the current connection, if there is one. */
  private disconnect: Disconnect = () => {}

  constructor(options: FeedLoopOptions, environment: FeedEnvironment) {
    this.options = options
    this.environment = environment
    this.topics = new Topics(options.topics, {
      now: environment.now,
      emit: (event) => this.emit(event),
      disconnect: (reason) => this.disconnect(closeCodes.BackendLost.code, reason)
    })
    if (options.since !== undefined) this.topics.positions.begin(options.topics.filter(isPrivate), options.since)
  }

  /** Follows the topics; resolves after {@link close}, or when the feed cannot reconnect. Runs once. */
  async run(): Promise<void> {
    const { signal } = this.stop
    if (signal.aborted) return
    try {
      await Promise.race([this.reconnect(signal), this.watchSilence(signal)])
    } catch (error) {
      // a sleep that close() cut short is no failure
      if (!signal.aborted) throw error
    } finally {
      this.close()
    }
  }

  /** Ends the feed and its connection. */
  close(): void {
    this.stop.abort()
    this.disconnect(CODE_LOST, "closed")
  }

  /**
   * Follows more topics; resolves to those that the gateway accepted. Without a connection it resolves to all of them, and the
   * next connection subscribes to them.
   */
  subscribe(names: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
    const unique = [...new Set(names)]
    // a second subscription would repeat events of a topic that is followed already
    const held = unique.filter((topic) => this.topics.wanted.has(topic))
    const added = unique.filter((topic) => !this.topics.wanted.has(topic))
    for (const topic of added) this.topics.wanted.add(topic)
    if (!this.isLive) return Promise.resolve(unique)
    return new Promise((resolve) => {
      this.topics.subscribe(added, (result) => resolve([...held, ...(result?.accepted ?? added)]))
    })
  }

  unsubscribe(names: ReadonlyArray<string>): Promise<void> {
    return new Promise((resolve) => this.topics.unsubscribe(names, resolve))
  }

  /** Round-trip time of a ping in ms; `undefined` without a connection. */
  ping(): Promise<number | undefined> {
    const { connection } = this.topics
    if (connection === undefined) return Promise.resolve(undefined)
    const { now } = this.environment
    const sent = now()
    return new Promise((resolve) => {
      connection.request({ op: "ping", ts: sent }, (frame) => {
        resolve(frame && now() - sent)
        return false
      })
    })
  }

  private emit(event: FeedEvent): void {
    const { onEvent, reader } = this.options
    onEvent(event)
    if (reader?.isBehind() === true) this.disconnect(CODE_LOST, "the reader is behind")
  }

  private enter(state: FeedState): void {
    this.isLive = state.type === "live"
    this.emit({ kind: "state", state })
  }

  /** One connection, from its opening to its end. */
  private connectOnce(): Promise<Ended> {
    const { authFrame, url } = this.options
    const { now, openSocket } = this.environment
    this.connections++
    this.enter({ type: "connecting" })
    return new Promise((resolve) => {
      this.disconnect = connect(openSocket(url), this.topics, {
        now,
        authFrame,
        emit: (event) => this.emit(event),
        onLive: (resume) => this.enter({ type: "live", resume }),
        onEnd: (end) => {
          this.disconnect = () => {}
          resolve(end)
        }
      })
    })
  }

  private async reconnect(signal: AbortSignal): Promise<void> {
    const { reader, renew } = this.options
    const { random, sleep } = this.environment
    let failures = 0
    let renewals = 0
    while (!signal.aborted) {
      const ended = await this.connectOnce()
      if (signal.aborted) return
      failures = ended.wasLive ? 0 : failures + 1
      if (ended.wasLive) renewals = 0
      const reason = textOf(ended)
      const step = nextStep(ended, renewals)
      const renewed = step === "renew" ? await renew() : undefined
      if (signal.aborted) return
      if (renewed === "renewed") renewals++
      if (step === "stay" || renewed === "refused") return this.enter({ type: "ended", code: ended.code, reason })
      this.enter({ type: "lost", code: ended.code, reason })
      await sleep(pauseAfter(ended, failures, random()), signal)
      await reader?.caughtUp()
    }
  }

  /** Ends a connection that stays silent even after a ping. Runs until the signal aborts. */
  private async watchSilence(signal: AbortSignal): Promise<never> {
    for (;;) {
      await this.environment.sleep(WATCH_MS, signal)
      if (this.topics.connection?.isSilent() === true) this.disconnect(CODE_LOST, "silent")
    }
  }
}
