/**
 * What waits to be sent on one connection: a bounded list of frames, handed to the socket once per event-loop turn.
 *
 * A socket that takes what it is given costs one write a turn, whatever the number of frames, and neighbours with the same
 * frames share one concatenated buffer. A socket that does not keep up holds its frames here, and only here: nobody else
 * waits for it. Over the limits, feeds whose state can be told anew are dropped and stood for by one snapshot as soon as
 * the socket drains; what must not be lost ends the connection instead. Source: contract 5.2, 5.9.
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
export interface Parcel {
  readonly frame: Frame
  /** `undefined`: a reply, which is neither dropped nor repeated. */
  readonly source: Source | undefined
  /** When it was made, Unix ms. */
  readonly at: number
  /** Bytes that count against the limit. */
  readonly weight: number
}

export const parcel = (frame: Frame, source: Source | undefined, at: number): Parcel => ({
  frame,
  source,
  at,
  weight: frame.length
})

/** The socket behind an outbox. */
export interface Sink {
  readonly deflated: boolean
  /** Bytes written that the system has not taken yet. */
  readonly pending: () => number
  readonly write: (bytes: Buffer) => void
  /** Calls back once, when the system has taken all that was written. */
  readonly whenTaken: (callback: () => void) => void
}

export interface OutboxLimits {
  readonly outbound_bytes: number
  readonly outbound_age_ms: number
}

/** Largest write that is put together from several frames, in bytes. */
const WRITE_BYTES = 256 * 1024

/** Flushes every outbox that has something to send, once per turn of the event loop. */
export class Flusher {
  private dirty: Array<Outbox> = []
  private last:
    { readonly parcels: ReadonlyArray<Parcel>; readonly deflated: boolean; readonly bytes: Buffer } | undefined
  readonly now: () => number
  private readonly onFault: (fault: unknown) => void

  /** `onFault` is told of what should never be thrown; it ends the outbox that threw it, and no other. */
  constructor(now: () => number, onFault: (fault: unknown) => void) {
    this.now = now
    this.onFault = onFault
  }

  schedule(outbox: Outbox): void {
    if (this.dirty.push(outbox) === 1) setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    const boxes = this.dirty
    this.dirty = []
    for (const box of boxes) {
      try {
        box.flush()
      } catch (fault) {
        this.onFault(fault)
        box.fail()
      }
    }
    this.last = undefined
  }

  /** Bytes of the first `count` parcels; outboxes flushed one after the other that hold the same ones share them. */
  join(parcels: ReadonlyArray<Parcel>, count: number, deflated: boolean): Buffer {
    if (count === 1) return parcels[0]!.frame.bytes(deflated)
    const last = this.last
    if (last !== undefined && last.deflated === deflated && last.parcels.length === count) {
      let i = 0
      while (i < count && last.parcels[i] === parcels[i]) i++
      if (i === count) return last.bytes
    }
    const taken = parcels.slice(0, count)
    const bytes = Buffer.concat(taken.map(({ frame }) => frame.bytes(deflated)))
    this.last = { parcels: taken, deflated, bytes }
    return bytes
  }
}

export class Outbox {
  private readonly sink: Sink
  private readonly flusher: Flusher
  private readonly limits: OutboxLimits
  private readonly onEnd: (reason: "SlowConsumer" | "Internal") => void
  private queue: Array<Parcel> = []
  private weight = 0
  /** Feeds that were dropped; a snapshot of each follows when the socket has drained. */
  private readonly lapsed = new Set<Source>()
  private scheduled = false
  private closed = false
  /** When the oldest frame that the socket holds was made; `undefined` while it takes everything. */
  private blockedSince: number | undefined = undefined
  /** Whether the socket holds a frame that must not be lost. */
  private blockedByLasting = false

  constructor(
    sink: Sink,
    flusher: Flusher,
    limits: OutboxLimits,
    onEnd: (reason: "SlowConsumer" | "Internal") => void
  ) {
    this.sink = sink
    this.flusher = flusher
    this.limits = limits
    this.onEnd = onEnd
  }

  /** Queues a frame; over the limit, contract 5.9 decides. */
  offer(parcel: Parcel): void {
    if (this.closed || (parcel.source !== undefined && this.lapsed.has(parcel.source))) return
    // a frame that is larger than the limit by itself may pass when nothing else waits
    if (this.weight > 0 && this.weight + parcel.weight > this.limits.outbound_bytes && !this.makeRoom(parcel)) return
    this.push(parcel)
  }

  /**
   * Queues a snapshot that the client asked for. It does not count, and what the topic had queued before gives way to it,
   * so that asking again and again does not add up.
   */
  begin(frame: Frame | undefined, source: Source, now: number): void {
    if (this.closed) return
    this.forget(source)
    if (frame !== undefined) this.push({ frame, source, at: now, weight: 0 })
  }

  /** Drops what a topic has queued, and its claim to a snapshot: the client left it, or starts anew. */
  forget(source: Source): void {
    this.lapsed.delete(source)
    this.drop((other) => other === source)
  }

  private push(parcel: Parcel): void {
    this.queue.push(parcel)
    this.weight += parcel.weight
    if (this.scheduled || this.blockedSince !== undefined) return
    this.scheduled = true
    this.flusher.schedule(this)
  }

  private drop(which: (source: Source | undefined) => boolean): void {
    if (this.queue.length === 0) return
    this.queue = this.queue.filter(({ source }) => !which(source))
    this.weight = this.queue.reduce((sum, { weight }) => sum + weight, 0)
  }

  /** Drops what can be dropped; false where the frame itself was, or the connection ended. */
  private makeRoom({ source, weight }: Parcel): boolean {
    if (source?.conflatable === true) {
      this.lapsed.add(source)
      this.drop((other) => other === source)
      return false
    }
    this.conflate()
    if (this.weight === 0 || this.weight + weight <= this.limits.outbound_bytes) return true
    this.slow()
    return false
  }

  private conflate(): void {
    for (const { source } of this.queue) if (source?.conflatable === true) this.lapsed.add(source)
    this.drop((source) => source?.conflatable === true)
  }

  private slow(): void {
    this.close()
    this.onEnd("SlowConsumer")
  }
  /** Ends the connection: its state is not known any more. */
  fail(): void {
    this.close()
    this.onEnd("Internal")
  }

  /** Applies the age limit; called now and then, since a stuck socket brings no event of its own. */
  check(now: number): void {
    const oldest = now - this.limits.outbound_age_ms
    if (this.closed || this.blockedSince === undefined || this.blockedSince >= oldest) return
    this.conflate()
    const first = this.queue[0]
    if (this.blockedByLasting || (first !== undefined && first.at < oldest)) this.slow()
  }

  /** Hands over what waits until the socket is full or nothing is left. */
  flush(): void {
    this.scheduled = false
    while (!this.closed && this.blockedSince === undefined && (this.queue.length > 0 || this.refill())) this.writeSome()
  }

  private writeSome(): void {
    const queue = this.queue
    let count = 1
    let bytes = queue[0]!.frame.length
    while (count < queue.length && bytes + queue[count]!.frame.length <= WRITE_BYTES)
      bytes += queue[count++]!.frame.length
    this.sink.write(this.flusher.join(queue, count, this.sink.deflated))
    if (this.sink.pending() > 0) {
      this.blockedSince = queue[0]!.at
      this.blockedByLasting = queue.some(({ source }, i) => i < count && source?.conflatable !== true)
      this.sink.whenTaken(this.resume)
    }
    if (count === queue.length) {
      queue.length = 0
      this.weight = 0
    } else for (const { weight } of queue.splice(0, count)) this.weight -= weight
  }

  private readonly resume = (): void => {
    this.blockedSince = undefined
    this.flush()
  }

  /** Takes up one feed that was dropped; false when there is none. */
  private refill(): boolean {
    for (const source of this.lapsed) {
      this.lapsed.delete(source)
      const now = this.flusher.now()
      const frame = source.snapshot(now)
      if (frame === undefined) continue
      this.queue.push(parcel(frame, source, now))
      this.weight += frame.length
      return true
    }
    return false
  }

  /** Hands over what waits, as far as the socket takes it, and accepts nothing more. */
  finish(): void {
    this.lapsed.clear()
    this.flush()
    this.close()
  }

  /** Forgets what waits and accepts nothing more. */
  close(): void {
    this.closed = true
    this.queue = []
    this.weight = 0
    this.lapsed.clear()
  }
}
