/**
 * Topics followed over a WebSocket that comes back when it is lost, resumes private topics where they stood, and takes books
 * anew that are not sound: what is told, and when, is the typed client's own doing (src/client), here without Effect.
 * Source: docs/contract/websocket.md.
 */
import { CODE_LOST, type Ended, nextStep, pauseAfter, textOf } from "../client/Backoff.ts"
import { connect, type GiveUp } from "../client/Connect.ts"
import type { FeedEvent } from "../client/FeedEvent.ts"
import { WATCH_MS } from "../client/Connection.ts"
import { Topics } from "../client/Topics.ts"
import { isPrivate } from "../domain/TopicNames.ts"
import { closeCodes } from "../ws/api/CloseCodes.ts"
import type { Since } from "../ws/api/Frames.ts"
import { type Environment, joined } from "./Environment.ts"
import type { Identity } from "./Identity.ts"

/** What a feed stands on. */
export interface Connection {
  /** Base of the WebSocket endpoints, without a slash at the end. */
  readonly url: string
  readonly environment: Environment
  readonly identity: Identity | undefined
  /** Ends everything. */
  readonly signal: AbortSignal
}

export interface FollowOptions {
  readonly topics: ReadonlyArray<string>
  /** Where private topics begin, instead of with a snapshot. */
  readonly since?: Since | undefined
  readonly signal?: AbortSignal | undefined
  /** Is given everything that is told, in order. */
  readonly onEvent: (event: FeedEvent) => void
  /** For a reader that can fall behind: while it is, the feed has no line. */
  readonly reader?: { readonly isBehind: () => boolean; readonly caughtUp: () => Promise<void> }
}

export interface Feed {
  readonly topics: Topics
  readonly close: () => void
  /** Resolves when the feed is closed, or will not come back. */
  readonly ended: Promise<void>
}

/** Follows topics until it is closed, or the gateway will not have it. */
export const follow = (options: FollowOptions, connection: Connection): Feed => {
  const { environment, identity } = connection
  const { chance, now, sleep } = environment
  const { abort, free, signal } = joined(connection.signal, options.signal)
  const own = options.topics.filter(isPrivate)
  const url = `${connection.url}${own.length > 0 ? "/ws/private" : "/ws/public"}`
  const authFrame = (use: Parameters<NonNullable<Parameters<typeof connect>[2]["authFrame"]>>[0]): void => {
    if (identity === undefined) return use(undefined)
    identity.authFrame().then(use, () => use(undefined))
  }

  let giveUp: GiveUp = () => {}
  const tell = (event: FeedEvent): void => {
    options.onEvent(event)
    if (options.reader?.isBehind() === true) giveUp(CODE_LOST, "the reader is behind")
  }
  const topics = new Topics(options.topics, {
    now,
    tell,
    giveUp: (reason) => giveUp(closeCodes.BackendLost.code, reason)
  })
  if (options.since !== undefined) topics.places.begin(own, options.since)

  const connectOnce = () =>
    new Promise<Ended>((resolve) => {
      tell({ kind: "state", state: { type: "connecting" } })
      giveUp = connect(new environment.WebSocket(url), topics, {
        now,
        tell,
        authFrame: own.length > 0 ? authFrame : undefined,
        live: (resume) => tell({ kind: "state", state: { type: "live", resume } }),
        ended: resolve
      })
    })
  signal.addEventListener("abort", () => giveUp(CODE_LOST, "closed"))

  const watch = async (): Promise<never> => {
    for (;;) {
      await sleep(WATCH_MS, signal)
      if (topics.line?.isSilent() === true) giveUp(CODE_LOST, "silent")
    }
  }

  const stay = async (): Promise<void> => {
    let failures = 0
    let renewals = 0
    while (!signal.aborted) {
      const ended = await connectOnce()
      if (signal.aborted) return
      failures = ended.wasLive ? 0 : failures + 1
      if (ended.wasLive) renewals = 0
      const reason = textOf(ended)
      const step = nextStep(ended, renewals)
      const renewed = step === "renew" ? await (identity?.renew() ?? "refused") : undefined
      if (renewed === "renewed") renewals++
      if (step === "stay" || renewed === "refused")
        return tell({ kind: "state", state: { type: "ended", code: ended.code, reason } })
      tell({ kind: "state", state: { type: "lost", code: ended.code, reason } })
      await sleep(pauseAfter(ended, failures, chance()), signal)
      await options.reader?.caughtUp()
    }
  }
  const over = (): void => {
    abort()
    free()
  }
  watch().catch(() => {}) // it ends with the feed
  return {
    topics,
    close: over,
    ended: stay()
      .catch((error: unknown) => rethrow(signal, error))
      .finally(over)
  }
}

/** What fails because the feed was closed is no failure. */
const rethrow = (signal: AbortSignal, error: unknown): void => {
  if (!signal.aborted) throw error
}
