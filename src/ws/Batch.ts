/**
 * The frames that an outbox receives in one turn of the event loop. Outboxes with the same frames share one batch: a queue
 * is one reference, and the bytes are concatenated once. A batch is immutable: adding a frame returns the next batch,
 * which is cached for the next outbox that adds the same frame.
 */
import type { Frame } from "./Frame.ts"

/** The topic of a frame, and whether its frames may be dropped for a slow socket. */
export interface Source {
  /** Whether frames may be dropped, and one of `snapshot` sent in their place. */
  readonly conflatable: boolean
  /** The snapshot that replaces dropped frames; `undefined`: none yet. */
  readonly snapshot: (now: number) => Frame | undefined
}

/** A frame with its queue data; created once and shared by all outboxes. */
export interface QueuedFrame {
  readonly frame: Frame
  /** `undefined`: a reply, which is never dropped. */
  readonly source: Source | undefined
  /** Creation time, monotonic, in ms. */
  readonly at: number
  /** Bytes that count against the limit. */
  readonly weight: number
}

export const queuedFrame = (frame: Frame, source: Source | undefined, at: number): QueuedFrame => ({
  frame,
  source,
  at,
  weight: frame.length
})

/** The empty batch. */
export class Batch {
  readonly count: number = 0
  /** Bytes of the frames, uncompressed, and those that count against the limit. */
  readonly length: number = 0
  readonly weight: number = 0
  private next: Filled | undefined = undefined

  with(queued: QueuedFrame): Batch {
    return this.next?.last === queued ? this.next : (this.next = new Filled(this, queued))
  }
  /** Drops the cached next batch. */
  reset(): void {
    this.next = undefined
  }
  frames(): Array<QueuedFrame> {
    return []
  }
  bytes(_deflated: boolean): Buffer {
    return Buffer.alloc(0)
  }
}

/** Iterative, because a batch can be very long. */
const framesOf = (batch: Batch): Array<QueuedFrame> => {
  const frames: Array<QueuedFrame> = []
  for (let at = batch; at instanceof Filled; at = at.before) frames.push(at.last)
  return frames.reverse()
}

/** A batch with one more frame. */
class Filled extends Batch {
  override readonly count: number
  override readonly length: number
  override readonly weight: number
  readonly last: QueuedFrame
  readonly before: Batch
  private plain: Buffer | undefined = undefined
  private deflated: Buffer | undefined = undefined

  constructor(before: Batch, last: QueuedFrame) {
    super()
    this.before = before
    this.last = last
    this.count = before.count + 1
    this.length = before.length + last.frame.length
    this.weight = before.weight + last.weight
  }
  override frames(): Array<QueuedFrame> {
    return framesOf(this)
  }
  override bytes(deflated: boolean): Buffer {
    return deflated ? (this.deflated ??= this.join(true)) : (this.plain ??= this.join(false))
  }
  private join(deflated: boolean): Buffer {
    return this.count === 1
      ? this.last.frame.bytes(deflated)
      : Buffer.concat(this.frames().map(({ frame }) => frame.bytes(deflated)))
  }
}
