/** One depth of one order book. Source: docs/contract/websocket.md#order-book. */
import { checksum } from "../domain/Book.ts"
import * as Decimal from "../domain/Decimal.ts"
import type { Depth } from "../domain/Enumerations.ts"
import type { Level } from "../domain/Market.ts"
import type { BookView, MarketChange } from "../services/markets/MarketView.ts"
import type { BookData } from "./api/TopicData.ts"
import type { Frame } from "./Frame.ts"
import type { Job } from "./Throttler.ts"
import { PacedTopic, type View } from "./PublicTopic.ts"

/** Least time between two messages of a topic, in ms. */
const BOOK_INTERVAL_MS = { 1: 20, 50: 20, 200: 100, 1000: 200 } as const satisfies Record<Depth, number>

interface Sides {
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
}

const NO_LEVELS: ReadonlyArray<Level> = []

/** Levels whose total differs between two views of one side, with the new total; "0": no longer in the view. */
export const changedLevels = (before: ReadonlyArray<Level>, after: ReadonlyArray<Level>): ReadonlyArray<Level> => {
  // skip equal ends: most changes affect a few levels
  let start = 0
  let beforeEnd = before.length
  let afterEnd = after.length
  const same = (a: Level, b: Level): boolean => a === b || (a[0] === b[0] && a[1] === b[1])
  while (start < beforeEnd && start < afterEnd && same(before[start]!, after[start]!)) start++
  while (beforeEnd > start && afterEnd > start && same(before[beforeEnd - 1]!, after[afterEnd - 1]!)) {
    beforeEnd--
    afterEnd--
  }
  if (start === beforeEnd && start === afterEnd) return NO_LEVELS
  const old = new Map<string, string>()
  for (let i = start; i < beforeEnd; i++) old.set(before[i]![0], before[i]![1])
  const changed: Array<Level> = []
  for (let i = start; i < afterEnd; i++) {
    const level = after[i]!
    if (old.get(level[0]) !== level[1]) changed.push(level)
    old.delete(level[0])
  }
  for (const price of old.keys()) changed.push([price, "0"])
  return changed
}

const crossed = ({ asks, bids }: Sides): boolean =>
  bids.length > 0 && asks.length > 0 && Decimal.parse(bids[0]![0]) >= Decimal.parse(asks[0]![0])

/**
 * One depth of one book. It stores the last published state: a delta is derived once for all members, and a new member
 * gets a snapshot of exactly that state. Source: docs/contract/websocket.md#order-book.
 */
export class BookTopic extends PacedTopic<BookData> {
  override readonly interval_ms: number
  private readonly depth: Depth
  private published: (BookView & { readonly checksum: number; readonly stream_id: string }) | undefined

  constructor(name: string, symbol: string, depth: Depth, view: View, monotonic: () => number) {
    super(name, symbol, view, monotonic)
    this.depth = depth
    this.interval_ms = BOOK_INTERVAL_MS[depth]
  }

  override take({ book, reset }: MarketChange, now: number): Job | undefined {
    if (reset) this.restart(now)
    else if (book !== undefined) return this
    return undefined
  }

  private current(): typeof this.published {
    const book = this.view.book(this.symbol, this.depth)
    // a crossed book is never published
    if (book === undefined || crossed(book)) return undefined
    return { ...book, checksum: checksum(book.bids, book.asks), stream_id: this.view.streamId() }
  }

  private snapshotData(now: number): BookData | undefined {
    const book = this.published
    return (
      book && {
        type: "snapshot",
        symbol: this.symbol,
        depth: this.depth,
        bids: book.bids,
        asks: book.asks,
        seq: book.seq,
        stream_id: book.stream_id,
        ts: now,
        mts: book.mts,
        checksum: book.checksum
      }
    )
  }

  override snapshot(now: number): Frame | undefined {
    this.published ??= this.current()
    const data = this.snapshotData(now)
    return data && this.frame(data, now)
  }

  /** Sends the net change since the last message, if this depth changed. */
  override readonly run = (now: number): void => {
    const before = this.published
    const after = this.current()
    if (after === undefined) return
    if (before === undefined || before.stream_id !== after.stream_id) return this.restart(now)
    const bids = changedLevels(before.bids, after.bids)
    const asks = changedLevels(before.asks, after.asks)
    if (bids.length === 0 && asks.length === 0) return
    this.published = after
    if (this.depth === 1) return this.send(this.snapshotData(now)!, now)
    this.send(
      {
        type: "delta",
        symbol: this.symbol,
        depth: this.depth,
        bids,
        asks,
        seq: after.seq,
        prev_seq: before.seq,
        ts: now,
        mts: after.mts,
        checksum: after.checksum
      },
      now
    )
  }

  /** Sends a new snapshot to all members after a reset of the book. */
  protected override restart(now: number): undefined {
    this.published = this.current()
    const data = this.snapshotData(now)
    if (data !== undefined) this.send(data, now)
  }
}
