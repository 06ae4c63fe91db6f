/**
 * What one turn of the event loop brings an outbox. Outboxes that are offered the same frames hold the same batch, so a
 * queue is one reference, and the bytes of its frames are put together once for all of them. A batch never changes: a
 * frame added to it makes the next one, which it remembers for the outbox that is offered the same frame after.
 */
import type { Frame } from "./Frame.ts"

/** Where a frame comes from, and what may be done with it when the socket is slow. */
export interface Source {
  /** Whether frames may be dropped, and one of `snapshot` sent in their place. */
  readonly conflatable: boolean
  /** The state that stands for dropped frames; `undefined` while there is none. */
  readonly snapshot: (now: number) => Frame | undefined
}

/** A frame with what a queue must know of it; made once and shared by all outboxes that queue it. */
export interface FrameRun {
  readonly frame: Frame
  /** `undefined`: a reply, which is neither dropped nor repeated. */
  readonly source: Source | undefined
  /** When it was made, Unix ms. */
  readonly at: number
  /** Bytes that count against the limit. */
  readonly weight: number
}

export const frameRun = (frame: Frame, source: Source | undefined, at: number): FrameRun => ({
  frame,
  source,
  at,
  weight: frame.length
})

/** No frames; the first ones follow from it. */
export class Batch {
  readonly count: number = 0
  /** Bytes of the frames, uncompressed, and those that count against the limit. */
  readonly length: number = 0
  readonly weight: number = 0
  private next: Filled | undefined = undefined

  with(parcel: FrameRun): Batch {
    return this.next?.last === parcel ? this.next : (this.next = new Filled(this, parcel))
  }
  /** Forgets what followed. */
  reset(): void {
    this.next = undefined
  }
  parcels(): Array<FrameRun> {
    return []
  }
  bytes(_deflated: boolean): Buffer {
    return Buffer.alloc(0)
  }
}

/** Without recursion: a turn may bring very many. */
const parcelsOf = (batch: Batch): Array<FrameRun> => {
  const parcels: Array<FrameRun> = []
  for (let at = batch; at instanceof Filled; at = at.before) parcels.push(at.last)
  return parcels.reverse()
}

/** A batch with one frame more. */
class Filled extends Batch {
  override readonly count: number
  override readonly length: number
  override readonly weight: number
  readonly last: FrameRun
  readonly before: Batch
  private plain: Buffer | undefined = undefined
  private deflated: Buffer | undefined = undefined

  constructor(before: Batch, last: FrameRun) {
    super()
    this.before = before
    this.last = last
    this.count = before.count + 1
    this.length = before.length + last.frame.length
    this.weight = before.weight + last.weight
  }
  override parcels(): Array<FrameRun> {
    return parcelsOf(this)
  }
  override bytes(deflated: boolean): Buffer {
    return deflated ? (this.deflated ??= this.join(true)) : (this.plain ??= this.join(false))
  }
  private join(deflated: boolean): Buffer {
    return this.count === 1
      ? this.last.frame.bytes(deflated)
      : Buffer.concat(this.parcels().map(({ frame }) => frame.bytes(deflated)))
  }
}
