/**
 * What waits to be sent on one connection: a bounded list of frames, handed to the socket once per event-loop turn.
 *
 * A socket that takes what it is given costs one write a turn, whatever the number of frames, and all with the same frames
 * share one {@link Batch} of them. A socket that does not keep up holds its frames here, and only here: nobody else
 * waits for it. Over the limits, feeds whose state can be told anew are dropped and stood for by one snapshot as soon as
 * the socket drains; what must not be lost ends the connection instead. Source: docs/contract/websocket.md#limits,
 * #slow-consumers.
 */
import { Batch, type FrameRun, frameRun, type Source } from "./Batch.ts"
import type { Frame } from "./Frame.ts"

/** The socket behind an outbox. */
export interface Sink {
  readonly deflated: boolean
  /** Bytes written that the system has not taken yet. */
  readonly pending: () => number
  readonly write: (bytes: Buffer) => void
  /** Calls back once, when the system has taken all that was written. */
  readonly whenTaken: (callback: () => void) => void
}

/** Whose outbox it is: told when its connection must end. */
export interface Owner {
  readonly end: (reason: "SlowConsumer" | "Internal") => void
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
  /** Feeds that were dropped, of all outboxes so far. */
  conflations = 0
  /** What an outbox holds that has nothing to send. */
  readonly nothing = new Batch()
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
    this.nothing.reset()
  }
}

export class Outbox {
  private readonly sink: Sink
  private readonly flusher: Flusher
  private readonly limits: OutboxLimits
  private readonly owner: Owner
  /** What this turn brought, while the socket takes everything; else what waits is in the backlog. */
  private batch: Batch
  private backlog: Array<FrameRun> | undefined = undefined
  private backlogWeight = 0
  /** Feeds that were dropped; a snapshot of each follows when the socket has drained. */
  private lapsed: Set<Source> | undefined = undefined
  private scheduled = false
  private closed = false
  /** When the oldest frame that the socket holds was made; `undefined` while it takes everything. */
  private blockedSince: number | undefined = undefined
  /** Whether the socket holds a frame that must not be lost. */
  private blockedByLasting = false

  constructor(sink: Sink, flusher: Flusher, limits: OutboxLimits, owner: Owner) {
    this.sink = sink
    this.flusher = flusher
    this.limits = limits
    this.owner = owner
    this.batch = flusher.nothing
  }

  /** Bytes that wait and count against the limit. */
  get weight(): number {
    return this.batch.weight + this.backlogWeight
  }

  /** Queues a frame; over the limit, docs/contract/websocket.md#slow-consumers decides. */
  offer(parcel: FrameRun): void {
    if (this.closed || (parcel.source !== undefined && this.lapsed?.has(parcel.source) === true)) return
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
    this.lapsed?.delete(source)
    this.drop((other) => other === source)
  }

  private push(parcel: FrameRun): void {
    if (this.backlog === undefined) this.batch = this.batch.with(parcel)
    else {
      this.backlog.push(parcel)
      this.backlogWeight += parcel.weight
    }
    if (this.scheduled || this.blockedSince !== undefined) return
    this.scheduled = true
    this.flusher.schedule(this)
  }

  private drop(which: (source: Source | undefined) => boolean): void {
    const parcels = this.backlog ?? this.batch.parcels()
    const left = parcels.filter(({ source }) => !which(source))
    if (left.length < parcels.length) this.retain(left)
  }

  /** Lets these wait, and no others. */
  private retain(parcels: Array<FrameRun>): void {
    this.batch = this.flusher.nothing
    this.backlog = parcels
    this.backlogWeight = parcels.reduce((sum, { weight }) => sum + weight, 0)
  }

  private lapse(source: Source): void {
    this.lapsed ??= new Set()
    this.lapsed.add(source)
    this.flusher.conflations++
  }

  /** Drops what can be dropped; false where the frame itself was, or the connection ended. */
  private makeRoom({ source, weight }: FrameRun): boolean {
    if (source?.conflatable === true) {
      this.lapse(source)
      this.drop((other) => other === source)
      return false
    }
    this.conflate()
    if (this.weight === 0 || this.weight + weight <= this.limits.outbound_bytes) return true
    this.slow()
    return false
  }

  private conflate(): void {
    for (const { source } of this.backlog ?? this.batch.parcels()) {
      if (source?.conflatable === true) this.lapse(source)
    }
    this.drop((source) => source?.conflatable === true)
  }

  private slow(): void {
    this.close()
    this.owner.end("SlowConsumer")
  }
  /** Ends the connection: its state is not known any more. */
  fail(): void {
    this.close()
    this.owner.end("Internal")
  }

  /** Applies the age limit; called now and then, since a stuck socket brings no event of its own. */
  check(now: number): void {
    const oldest = now - this.limits.outbound_age_ms
    if (this.closed || this.blockedSince === undefined || this.blockedSince >= oldest) return
    this.conflate()
    const first = this.backlog?.[0]
    if (this.blockedByLasting || (first !== undefined && first.at < oldest)) this.slow()
  }

  /** Hands over what waits until the socket is full or nothing is left. */
  flush(): void {
    this.scheduled = false
    if (this.closed || this.blockedSince !== undefined) return
    const { batch } = this
    if (batch.count > 0) {
      if (batch.length > WRITE_BYTES) this.retain(batch.parcels())
      else {
        this.batch = this.flusher.nothing
        this.sink.write(batch.bytes(this.sink.deflated))
        if (this.sink.pending() > 0) this.block(batch.parcels())
      }
    }
    while (!this.closed && this.blockedSince === undefined && (this.backlog !== undefined || this.refill()))
      this.writeSome()
  }

  /** Writes a part of the backlog. */
  private writeSome(): void {
    const backlog = this.backlog!
    let count = 0
    for (let bytes = 0; count < backlog.length; count++) {
      bytes += backlog[count]!.frame.length
      if (bytes > WRITE_BYTES && count > 0) break
    }
    const written = backlog.splice(0, count)
    if (backlog.length === 0) this.backlog = undefined
    if (count === 0) return
    for (const { weight } of written) this.backlogWeight -= weight
    const bytes = written.map(({ frame }) => frame.bytes(this.sink.deflated))
    this.sink.write(bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes))
    if (this.sink.pending() > 0) this.block(written)
  }

  /** The socket does not take what was written: what comes waits here. */
  private block(written: ReadonlyArray<FrameRun>): void {
    this.blockedSince = written[0]!.at
    this.blockedByLasting = written.some(({ source }) => source?.conflatable !== true)
    this.backlog ??= []
    this.sink.whenTaken(() => {
      this.blockedSince = undefined
      this.flush()
    })
  }

  /** Takes up one feed that was dropped; false when there is none. */
  private refill(): boolean {
    for (const source of this.lapsed ?? []) {
      this.lapsed!.delete(source)
      const now = this.flusher.now()
      const frame = source.snapshot(now)
      if (frame === undefined) continue
      this.retain([frameRun(frame, source, now)])
      return true
    }
    return false
  }

  /** Hands over what waits, as far as the socket takes it, and accepts nothing more. */
  finish(): void {
    this.lapsed = undefined
    this.flush()
    this.close()
  }

  /** Forgets what waits and accepts nothing more. */
  close(): void {
    this.closed = true
    this.retain([])
    this.lapsed = undefined
  }
}
