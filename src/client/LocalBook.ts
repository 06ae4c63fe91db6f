/**
 * A local order book, built from the orderbook topic. It detects missing messages, a wrong checksum and crossed prices. Source: docs/contract/websocket.md#order-book.
 */
import { Book, checksum, CHECKSUM_LEVELS } from "../domain/Book.ts"
import type { BookData } from "../ws/api/TopicData.ts"

export type BookFault = "gap" | "checksum" | "crossed"

export class LocalBook extends Book {
  /** Identity of the sequence; `undefined` before the first snapshot. */
  stream_id: string | undefined
  /** Whether the book equals the market's at {@link seq}. */
  sound = false
  /** Messages applied, and faults found. */
  messages = 0
  faults = 0

  /** Applies a message. After a fault, deltas are skipped until the next snapshot. */
  take(data: BookData): BookFault | undefined {
    if (data.type === "snapshot") {
      this.reset(data.bids, data.asks, data.seq)
      this.stream_id = data.stream_id
      this.sound = true
    } else {
      if (!this.sound) return undefined
      if (data.prev_seq !== this.seq) return this.fault("gap")
      this.apply(data.bids, data.asks, data.seq)
    }
    this.messages++
    if (checksum(this.bids(CHECKSUM_LEVELS), this.asks(CHECKSUM_LEVELS)) !== data.checksum)
      return this.fault("checksum")
    return this.crossed() ? this.fault("crossed") : undefined
  }

  private fault(kind: BookFault): BookFault {
    this.sound = false
    this.faults++
    return kind
  }
}
