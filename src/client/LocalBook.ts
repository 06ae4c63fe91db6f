/**
 * A book kept from the orderbook topic. It says when it can no longer be trusted: a message is missing, the checksum
 * differs, or bids reach asks. Source: docs/contract/websocket.md#order-book.
 */
import { Book, checksum, CHECKSUM_LEVELS } from "../domain/Book.ts"
import type { BookData } from "../ws/api/TopicData.ts"

export type BookFault = "gap" | "checksum" | "crossed"

export class LocalBook extends Book {
  /** Identity of the numbers; `undefined` before the first snapshot. */
  stream_id: string | undefined
  /** Whether the book is that of the market at {@link seq}. */
  sound = false
  /** Messages taken in, and faults found. */
  messages = 0
  faults = 0

  /** Takes a message in; a fault asks for a new snapshot, and until it comes deltas are skipped. */
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
