/** Views of a feed: an async iterable of events, or one order book. Source: docs/contract/websocket.md. */
import { isPassing } from "../client/Backoff.ts"
import type { FeedEvent, UserMessage } from "../client/FeedEvent.ts"
import { EVENTS_MAX } from "../client/FeedLoop.ts"
import type { LocalBook } from "../client/LocalBook.ts"
import type { Depth } from "../domain/Enumerations.ts"
import type { Level } from "../domain/Market.ts"
import type { Since } from "../ws/api/Frames.ts"
import type { CallOptions } from "./CallOptions.ts"
import { deferred } from "./Deferred.ts"
import { ExchangeError } from "./ExchangeError.ts"
import { type Connection, type Feed, follow } from "./Feed.ts"

export interface EventOptions extends CallOptions {
  /**
   * For private topics: the position in the user stream (`stream_id` and `seq` of the last processed event) after which to begin,
   * instead of with snapshots. With it, a restarted bot misses no event.
   */
  readonly since?: Since
}

/** Events of {@link orderEvents}. */
export type OrderEvent =
  | Extract<UserMessage, { readonly kind: "order" }>
  | Extract<FeedEvent, { readonly kind: "state" | "resume" | "fault" | "refused" }>

/** A condition variable: `notifyAll` resolves all current waits. */
class Condition {
  private next = deferred<void>()
  wait(): Promise<void> {
    return this.next.promise
  }
  notifyAll(): void {
    this.next.resolve()
    this.next = deferred<void>()
  }
}

const endOf = (event: FeedEvent): ExchangeError | undefined => {
  if (event.kind !== "state" || event.state.type !== "ended") return undefined
  const { code: close_code, reason: message } = event.state
  return new ExchangeError({ status: 0, code: "FEED_ENDED", message, details: { close_code } })
}

/**
 * All events of topics, in order, from the start of the iteration. Leaving the loop closes the connection. The signal ends the loop
 * without an error. A feed that cannot reconnect (invalid credential), or of which the gateway refuses all topics, rejects with `FEED_ENDED`.
 * @internal
 */
export async function* events(
  connection: Connection,
  topics: ReadonlyArray<string>,
  options?: EventOptions
): AsyncGenerator<FeedEvent, void, undefined> {
  if (topics.length === 0) throw new RangeError("topics: expected at least one topic, got none")
  let waiting: Array<FeedEvent> = []
  let isOver = false
  const arrived = new Condition()
  const room = new Condition()
  const isBehind = () => waiting.length >= EVENTS_MAX
  const feed = follow(
    {
      topics,
      since: options?.since,
      signal: options?.signal,
      onEvent: (event) => {
        waiting.push(event)
        arrived.notifyAll()
      },
      reader: { isBehind, caughtUp: async () => void (isBehind() && (await room.wait())) }
    },
    connection
  )
  const over = feed.ended.finally(() => {
    isOver = true
    arrived.notifyAll()
  })
  over.catch(() => {}) // the loop below rejects with it
  try {
    for (;;) {
      if (waiting.length === 0) {
        if (isOver) return await over
        await arrived.wait()
        continue
      }
      const taken = waiting
      waiting = []
      room.notifyAll()
      for (const event of taken) {
        yield event
        const end = endOf(event)
        if (end !== undefined) throw end
      }
    }
  } finally {
    feed.close()
    room.notifyAll()
    await over
  }
}

/**
 * Events of the `order` topic, and notices about the feed.
 * @internal
 */
export async function* orderEvents(
  connection: Connection,
  options?: EventOptions
): AsyncGenerator<OrderEvent, void, undefined> {
  // this topic has no other kinds of events
  for await (const event of events(connection, ["order"], options)) yield event as OrderEvent
}

/**
 * A live order book, until it is closed. Each message is verified by `prev_seq` and checksum; after a fault the book is reloaded.
 * Prices and quantities are text.
 */
export class LiveBook {
  private readonly local: LocalBook
  private readonly feed: Feed
  private readonly moved: Condition
  private end: { readonly error: ExchangeError | undefined } | undefined
  /** Whether it changed since the last {@link changed}. */
  private hasMoved = false

  private constructor(local: LocalBook, feed: Feed, moved: Condition) {
    this.local = local
    this.feed = feed
    this.moved = moved
  }

  /**
   * Opens a book; resolves after the first snapshot.
   * @internal
   */
  static open(connection: Connection, symbol: string, depth: Depth, options?: CallOptions): Promise<LiveBook> {
    const { promise, reject, resolve } = deferred<LiveBook>()
    const moved = new Condition()
    let book: LiveBook | undefined
    const fail = (error: ExchangeError | undefined): void => {
      if (book === undefined) reject(error ?? connection.signal.reason ?? options?.signal?.reason)
      else book.end = { error }
      feed.close()
      moved.notifyAll()
    }
    const move = (): void => {
      if (book !== undefined) book.hasMoved = true
      moved.notifyAll()
    }
    const feed = follow(
      {
        topics: [`orderbook.${depth}.${symbol}`],
        signal: options?.signal,
        onEvent: (event) => {
          if (event.kind === "orderbook") {
            if (book !== undefined) move()
            else resolve((book = new LiveBook(event.book, feed, moved)))
          } else if (event.kind === "refused" && event.error.topic !== undefined && !isPassing(event.error.code)) {
            const { code, details, message } = event.error
            fail(new ExchangeError({ status: 0, code: code as ExchangeError["code"], message, details }))
          } else {
            const end = endOf(event)
            if (end !== undefined) fail(end)
            else if (event.kind === "fault" || (event.kind === "state" && event.state.type === "lost")) move()
          }
        }
      },
      connection
    )
    void feed.ended.then(() => book?.end ?? fail(undefined), reject)
    return promise
  }

  /** Bids, best first. */
  bids(levels?: number): ReadonlyArray<Level> {
    return this.local.bids(levels)
  }
  /** Asks, best first. */
  asks(levels?: number): ReadonlyArray<Level> {
    return this.local.asks(levels)
  }
  /** Sequence number of the book. */
  get seq(): number {
    return this.local.seq
  }
  /** Whether the book is current; false: it is the last known state. */
  get sound(): boolean {
    return this.local.sound
  }
  /** Faults found so far. */
  get faults(): number {
    return this.local.faults
  }
  /**
   * Resolves to `true` once the book or {@link sound} changed after the last call; a busy caller sees only the newest state. Rejects if the
   * feed cannot reconnect, and resolves to `false` after the book was closed.
   */
  async changed(): Promise<boolean> {
    if (this.end === undefined && !this.hasMoved) await this.moved.wait()
    this.hasMoved = false
    if (this.end?.error !== undefined) throw this.end.error
    return this.end === undefined
  }
  close(): void {
    this.feed.close()
  }
}
