/**
 * The recent events, encoded once for any number of subscribers.
 *
 * Events are stored as {@link Block}s, and a subscriber that is behind gets joined blocks. The log is bounded by events and
 * bytes; the oldest blocks are dropped first.
 */
import { StreamEventsResponse } from "../../proto/gateway/v1/sequencer.ts"
import { asBuffer, type Block, EventBlocks, FRAME_BYTES } from "./EventBlocks.ts"

/** How many past events subscribers can request. */
export interface EventLogLimits {
  readonly events_kept_max: number
  readonly bytes_kept_max: number
}

export const defaultLimits: EventLogLimits = { events_kept_max: 500_000, bytes_kept_max: 512 * 1024 * 1024 }

/** The newest blocks, concatenated. A snapshot stores them so that a subscriber can resume after a restart. */
export interface EventTail {
  /** Seq of the last event. */
  readonly head_seq: number
  /** First seq, last seq and size of each block. */
  readonly blocks: ReadonlyArray<readonly [first: number, last: number, size: number]>
  readonly bytes: Uint8Array
}

/** A position in the log: the ordinal of a block since the first one. */
export type Cursor = number

export class EventLog {
  readonly epoch: string
  /** Id of the current fork. */
  readonly fork: string
  private readonly limits: EventLogLimits
  private blocks: Array<Block> = []
  /** Index in `blocks` of the oldest block kept. */
  private start = 0
  /** Cursor of `blocks[start]`. */
  private base: Cursor = 0
  private bytes = 0
  private head_seq = 0
  /** Checksum at the head; undefined where it is not known. */
  private headChecksum: number | undefined
  /** Encodes the next events; {@link add} publishes them. */
  readonly encoder: EventBlocks
  private joined: { readonly from: Cursor; readonly to: Cursor; readonly bytes: Buffer } | undefined

  constructor(epoch: string, limits: EventLogLimits = defaultLimits, fork = epoch) {
    this.epoch = epoch
    this.fork = fork
    this.limits = limits
    this.encoder = new EventBlocks(epoch, fork)
  }

  /** Seq of the last published event; 0 before the first. */
  get head(): number {
    return this.head_seq
  }

  /** Seq of the oldest event in the log; `head + 1` while it is empty. */
  get oldest(): number {
    return this.blocks[this.start]?.first ?? this.head_seq + 1
  }

  /** Cursor after the newest block. */
  get end(): Cursor {
    return this.base + this.blocks.length - this.start
  }

  /** Whether the block at the cursor has been dropped. */
  isGone(cursor: Cursor): boolean {
    return cursor < this.base
  }

  /** Sets the head of an empty log; earlier events are not in memory. */
  skipTo(head_seq: number, checksum?: number): void {
    if (this.end !== 0) throw new Error("the event log is not empty")
    this.head_seq = head_seq
    this.headChecksum = checksum
  }

  /** The checksum of the journal after the input of the event `seq`; undefined where memory does not reach. */
  checksumAt(seq: number): number | undefined {
    if (seq === this.head_seq) return this.headChecksum
    const index = this.indexOf(seq)
    if (index === undefined) return undefined
    const { first, bytes } = this.blocks[index]!
    return StreamEventsResponse.decode(bytes).checksums[seq - first]
  }

  /** The newest blocks with at least `events` events, where the log has as many. */
  tail(events: number): EventTail {
    let from = this.blocks.length
    while (from > this.start && this.head_seq - (this.blocks[from]?.first ?? this.head_seq + 1) + 1 < events) from--
    const blocks = this.blocks.slice(from)
    // with a memory of its own, so that it can move to another thread
    const bytes = new Uint8Array(blocks.reduce((size, block) => size + block.bytes.length, 0))
    let at = 0
    for (const block of blocks) {
      bytes.set(block.bytes, at)
      at += block.bytes.length
    }
    return {
      head_seq: this.head_seq,
      blocks: blocks.map(({ first, last, bytes }) => [first, last, bytes.length] as const),
      bytes
    }
  }

  /** Restores a tail into an empty log. */
  restore({ head_seq, blocks, bytes: whole }: EventTail): void {
    if (this.end !== 0 || this.head_seq !== 0) throw new Error("the event log is not empty")
    // copied, so that the garbage collector can free the tail's source
    const bytes = Buffer.from(whole)
    let at = 0
    for (const [first, last, size] of blocks) {
      this.push({ first, last, checksum: undefined, bytes: asBuffer(bytes.subarray(at, at + size)) })
      at += size
    }
    const last = this.blocks.at(-1)
    this.headChecksum = last === undefined ? undefined : StreamEventsResponse.decode(last.bytes).checksums.at(-1)
    this.head_seq = head_seq
    this.trim()
  }

  /** Adds durable events. Throws where a seq does not follow the head: that is a bug. */
  add(blocks: ReadonlyArray<Block>): void {
    for (const block of blocks) {
      if (block.first !== this.head_seq + 1)
        throw new Error(`event ${block.first} does not follow the head ${this.head_seq}`)
      this.head_seq = block.last
      this.headChecksum = block.checksum
      this.push(block)
    }
    this.trim()
  }

  /**
   * Finds the start for a subscriber whose next event is `from_seq`: a first frame where the seq is inside a block, and
   * the cursor to continue from. Undefined if the seq has been dropped or is beyond the next one.
   */
  seek(from_seq: number): { readonly frame: Buffer | undefined; readonly cursor: Cursor } | undefined {
    if (from_seq === this.head_seq + 1) return { frame: undefined, cursor: this.end }
    const index = this.indexOf(from_seq)
    if (index === undefined) return undefined
    const block = this.blocks[index]!
    const cursor = this.base + index - this.start
    if (block.first === from_seq) return { frame: undefined, cursor }
    const whole = StreamEventsResponse.decode(block.bytes)
    const skipped = from_seq - block.first
    const rest = { ...whole, events: whole.events.slice(skipped), checksums: whole.checksums.slice(skipped) }
    return { frame: asBuffer(StreamEventsResponse.encode(rest).finish()), cursor: cursor + 1 }
  }

  /** Index of the block with an event; undefined where it is not in the log. */
  private indexOf(seq: number): number | undefined {
    if (seq < this.oldest || seq > this.head_seq) return undefined
    let low = this.start
    let high = this.blocks.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.blocks[middle]!.last < seq) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The next frame at the cursor, and the cursor after it. The block at the cursor must still be in the log. */
  read(cursor: Cursor): { readonly frame: Buffer; readonly cursor: Cursor } {
    const from = this.start + cursor - this.base
    let to = from + 1
    let size = this.blocks[from]!.bytes.length
    while (to < this.blocks.length && size + this.blocks[to]!.bytes.length <= FRAME_BYTES) {
      size += this.blocks[to]!.bytes.length
      to++
    }
    const after = cursor + to - from
    if (to === from + 1) return { frame: this.blocks[from]!.bytes, cursor: after }
    if (this.joined?.from !== cursor || this.joined.to !== after) {
      const parts = this.blocks.slice(from, to).map((block) => block.bytes)
      this.joined = { from: cursor, to: after, bytes: Buffer.concat(parts) }
    }
    return { frame: this.joined.bytes, cursor: after }
  }

  private push(block: Block): void {
    this.blocks.push(block)
    this.bytes += block.bytes.length
  }

  private trim(): void {
    const { events_kept_max, bytes_kept_max } = this.limits
    while (this.start < this.blocks.length - 1) {
      const oldest = this.blocks[this.start]!
      if (this.head_seq - oldest.first < events_kept_max && this.bytes <= bytes_kept_max) break
      this.bytes -= oldest.bytes.length
      this.blocks[this.start] = undefined as never
      this.start++
      this.base++
    }
    if (this.start > 1024 && this.start * 2 > this.blocks.length) {
      this.blocks = this.blocks.slice(this.start)
      this.start = 0
    }
  }
}
