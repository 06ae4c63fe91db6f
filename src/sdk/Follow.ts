/** Ways to follow: everything that is told as an async iterable, or one book. Source: docs/contract/websocket.md. */
import type { FeedEvent, UserMessage } from "../client/FeedEvent.ts"
import type { LocalBook } from "../client/LocalBook.ts"
import type { Depth } from "../domain/Enumerations.ts"
import type { Level } from "../domain/Market.ts"
import type { Since } from "../ws/api/Frames.ts"
import { ExchangeError } from "./ExchangeError.ts"
import { type Connection, type Feed, follow } from "./Feed.ts"
import type { CallOptions } from "./Operations.ts"

/** Events that may wait for a reader; over it the feed lets its line go until the reader has taken them. */
export const EVENTS_MAX = 10_000

export interface EventOptions extends CallOptions {
  /**
   * For private topics: the place in the user stream (`stream_id` and `seq` of the last event that was dealt with) after which to
   * begin, instead of with snapshots. So a bot that starts anew misses nothing.
   */
  readonly since?: Since
}

/** What {@link orderEvents} tells. */
export type OrderEvent =
  | Extract<UserMessage, { readonly kind: "order" }>
  | Extract<FeedEvent, { readonly kind: "state" | "resume" | "fault" | "refused" }>

/** Wakes everybody who waits. */
class Bell {
  private next = Promise.withResolvers<void>()
  wait(): Promise<void> {
    return this.next.promise
  }
  ring(): void {
    this.next.resolve()
    this.next = Promise.withResolvers<void>()
  }
}

const endOf = (event: FeedEvent): ExchangeError | undefined => {
  if (event.kind !== "state" || event.state.type !== "ended") return undefined
  const { code: close_code, reason: message } = event.state
  return new ExchangeError({ status: 0, code: "FEED_ENDED", message, details: { close_code } })
}

/**
 * Everything that is told of topics, in order, from when iteration begins. Leaving the loop closes the line; so does the signal,
 * which ends the loop quietly. A feed that will not come back (wrong credential) rejects with `FEED_ENDED`.
 */
export async function* events(
  connection: Connection,
  topics: ReadonlyArray<string>,
  options?: EventOptions
): AsyncGenerator<FeedEvent, void, undefined> {
  let waiting: Array<FeedEvent> = []
  let isOver = false
  const news = new Bell()
  const room = new Bell()
  const isBehind = () => waiting.length >= EVENTS_MAX
  const feed = follow(
    {
      topics,
      since: options?.since,
      signal: options?.signal,
      onEvent: (event) => {
        waiting.push(event)
        news.ring()
      },
      reader: { isBehind, caughtUp: async () => void (isBehind() && (await room.wait())) }
    },
    connection
  )
  const over = feed.ended.finally(() => {
    isOver = true
    news.ring()
  })
  over.catch(() => {}) // the loop tells it
  try {
    for (;;) {
      if (waiting.length === 0) {
        if (isOver) return await over
        await news.wait()
        continue
      }
      const taken = waiting
      waiting = []
      room.ring()
      for (const event of taken) {
        yield event
        const end = endOf(event)
        if (end !== undefined) throw end
      }
    }
  } finally {
    feed.close()
    room.ring()
    await over
  }
}

/** What becomes of the caller's orders: the events of the `order` topic, and what happens to the feed itself. */
export async function* orderEvents(
  connection: Connection,
  options?: EventOptions
): AsyncGenerator<OrderEvent, void, undefined> {
  // nothing else is told of this topic
  for await (const event of events(connection, ["order"], options)) yield event as OrderEvent
}

/**
 * A book that is kept until it is closed: checked by `prev_seq` and checksum with every message, and taken anew when it is not
 * sound. Prices and quantities are text.
 */
export class LiveBook {
  private readonly local: LocalBook
  private readonly feed: Feed
  private readonly moved: Bell
  private end: { readonly error: ExchangeError | undefined } | undefined

  private constructor(local: LocalBook, feed: Feed, moved: Bell) {
    this.local = local
    this.feed = feed
    this.moved = moved
  }

  /** Opens a book; resolves when the first snapshot is in it. */
  static open(connection: Connection, symbol: string, depth: Depth, options?: CallOptions): Promise<LiveBook> {
    const { promise, reject, resolve } = Promise.withResolvers<LiveBook>()
    const moved = new Bell()
    let book: LiveBook | undefined
    const fail = (error: ExchangeError | undefined): void => {
      if (book === undefined) reject(error ?? connection.signal.reason ?? options?.signal?.reason)
      else book.end = { error }
      feed.close()
      moved.ring()
    }
    const feed = follow(
      {
        topics: [`orderbook.${depth}.${symbol}`],
        signal: options?.signal,
        onEvent: (event) => {
          if (event.kind === "orderbook") {
            resolve((book ??= new LiveBook(event.book, feed, moved)))
            moved.ring()
          } else if (event.kind === "refused" && event.error.topic !== undefined) {
            const { code, details, message } = event.error
            fail(new ExchangeError({ status: 0, code: code as ExchangeError["code"], message, details }))
          } else {
            const end = endOf(event)
            if (end !== undefined) fail(end)
            else if (event.kind === "state") moved.ring()
          }
        }
      },
      connection
    )
    void feed.ended.then(() => book?.end ?? fail(undefined), reject)
    return promise
  }

  /** Bids, the best first. */
  bids(levels?: number): ReadonlyArray<Level> {
    return this.local.bids(levels)
  }
  /** Asks, the best first. */
  asks(levels?: number): ReadonlyArray<Level> {
    return this.local.asks(levels)
  }
  /** Book sequence of the market. */
  get seq(): number {
    return this.local.seq
  }
  /** Whether it is the market's book of now; else it is as it was last known. */
  get sound(): boolean {
    return this.local.sound
  }
  /** Faults found so far. */
  get faults(): number {
    return this.local.faults
  }
  /**
   * Resolves after the next change of the book or of {@link sound}; who is busy meanwhile sees the newest. Rejects when the feed will
   * not come back, and resolves to `false` when the book was closed.
   */
  async changed(): Promise<boolean> {
    if (this.end === undefined) await this.moved.wait()
    if (this.end?.error !== undefined) throw this.end.error
    return this.end === undefined
  }
  close(): void {
    this.feed.close()
  }
}
