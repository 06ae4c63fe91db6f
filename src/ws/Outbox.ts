/**
 * The send queue of one connection: a bounded list of frames, written to the socket once per turn of the event loop.
 *
 * A fast socket costs one write per turn, whatever the number of frames, and sockets with the same frames share one
 * {@link Batch}. Frames of a slow socket wait here and delay no other connection. Above the limits, frames of conflatable
 * feeds are dropped and replaced by one snapshot once the socket drains; a frame that must not be lost ends the
 * connection instead. Source: docs/contract/websocket.md#limits,
 * #slow-consumers.
 */
import { Batch, type QueuedFrame, queuedFrame, type Source } from "./Batch.ts"
import type { Frame } from "./Frame.ts"

/** The socket behind an outbox. */
export interface Sink {
  readonly deflated: boolean
  /** Bytes written that are still buffered in the process. */
  readonly pending: () => number
  readonly write: (bytes: Buffer) => void
  /** Calls back once, after all written bytes have left the buffer. */
  readonly whenTaken: (callback: () => void) => void
}

/** The connection of an outbox. */
export interface Owner {
  readonly end: (reason: "SlowConsumer" | "Internal") => void
}

export interface OutboxLimits {
  readonly outbound_bytes: number
  readonly outbound_age_ms: number
}

export interface Clocks {
  /** The wall clock, for times in messages, Unix ms. */
  readonly now: () => number
  /** Monotonic time, for intervals and ages, in ms. */
  readonly monotonic: () => number
}

/** Largest write of several concatenated frames, in bytes. */
const WRITE_BYTES = 256 * 1024

/** Flushes all outboxes with queued frames once per turn of the event loop. */
export class Flusher {
  private dirty: Array<Outbox> = []
  /** Conflated feeds of all outboxes so far. */
  conflations = 0
  /** The batch of an empty outbox. */
  readonly nothing = new Batch()
  readonly clocks: Clocks
  private readonly onFault: (fault: unknown) => void

  /** An unexpected exception ends only the outbox that threw it, and is reported to `onFault`. */
  constructor(clocks: Clocks, onFault: (fault: unknown) => void) {
    this.clocks = clocks
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
  /** Frames of this turn while the socket is writable; otherwise frames wait in the backlog. */
  private batch: Batch
  private backlog: Array<QueuedFrame> | undefined = undefined
  private backlogWeight = 0
  /** Conflated feeds; a snapshot of each follows once the socket has drained. */
  private conflated: Set<Source> | undefined = undefined
  private scheduled = false
  private closed = false
  /** Creation time of the oldest frame in the socket's buffer; `undefined` while the socket is writable. */
  private blockedSince: number | undefined = undefined
  /** Whether the socket's buffer has a frame that must not be lost. */
  private blockedByLasting = false

  constructor(sink: Sink, flusher: Flusher, limits: OutboxLimits, owner: Owner) {
    this.sink = sink
    this.flusher = flusher
    this.limits = limits
    this.owner = owner
    this.batch = flusher.nothing
  }

  /** Queued bytes that count against the limit. */
  get weight(): number {
    return this.batch.weight + this.backlogWeight
  }

  /** Queues a frame. Above the limit it follows docs/contract/websocket.md#slow-consumers. */
  offer(queued: QueuedFrame): void {
    if (this.closed || (queued.source !== undefined && this.conflated?.has(queued.source) === true)) return
    // a single frame above the limit passes if the queue is empty
    if (this.weight > 0 && this.weight + queued.weight > this.limits.outbound_bytes && !this.makeRoom(queued)) return
    this.push(queued)
  }

  /**
   * Queues a requested snapshot. It does not count against the limit, and replaces queued frames of its topic, so that
   * repeated requests do not add up.
   */
  begin(frame: Frame | undefined, source: Source, at: number): void {
    if (this.closed) return
    this.forget(source)
    if (frame !== undefined) this.push({ frame, source, at, weight: 0 })
  }

  /** Drops the queued frames and the pending snapshot of a topic that the client left or starts again. */
  forget(source: Source): void {
    this.conflated?.delete(source)
    this.drop((other) => other === source)
  }

  private push(queued: QueuedFrame): void {
    if (this.backlog === undefined) this.batch = this.batch.with(queued)
    else {
      this.backlog.push(queued)
      this.backlogWeight += queued.weight
    }
    if (this.scheduled || this.blockedSince !== undefined) return
    this.scheduled = true
    this.flusher.schedule(this)
  }

  private drop(which: (source: Source | undefined) => boolean): void {
    const frames = this.backlog ?? this.batch.frames()
    const left = frames.filter(({ source }) => !which(source))
    if (left.length < frames.length) this.retain(left)
  }

  /** Replaces the queue. */
  private retain(frames: Array<QueuedFrame>): void {
    this.batch = this.flusher.nothing
    this.backlog = frames
    this.backlogWeight = frames.reduce((sum, { weight }) => sum + weight, 0)
  }

  private conflateSource(source: Source): void {
    this.conflated ??= new Set()
    if (this.conflated.has(source)) return
    this.conflated.add(source)
    this.flusher.conflations++
  }

  /** Conflates feeds; false: the frame itself was dropped, or the connection ended. */
  private makeRoom({ source, weight }: QueuedFrame): boolean {
    if (source?.conflatable === true) {
      this.conflateSource(source)
      this.drop((other) => other === source)
      return false
    }
    this.conflate()
    if (this.weight === 0 || this.weight + weight <= this.limits.outbound_bytes) return true
    this.slow()
    return false
  }

  private conflate(): void {
    for (const { source } of this.backlog ?? this.batch.frames()) {
      if (source?.conflatable === true) this.conflateSource(source)
    }
    this.drop((source) => source?.conflatable === true)
  }

  private slow(): void {
    this.close()
    this.owner.end("SlowConsumer")
  }
  /** Ends the connection after an exception. */
  fail(): void {
    this.close()
    this.owner.end("Internal")
  }

  /** Applies the age limit at a monotonic time. Called periodically, because a stuck socket emits no event. */
  check(now: number): void {
    const oldest = now - this.limits.outbound_age_ms
    if (this.closed || this.blockedSince === undefined || this.blockedSince >= oldest) return
    this.conflate()
    const first = this.backlog?.[0]
    if (this.blockedByLasting || (first !== undefined && first.at < oldest)) this.slow()
  }

  /** Writes queued frames until the socket is full or the queue is empty. */
  flush(): void {
    this.scheduled = false
    if (this.closed || this.blockedSince !== undefined) return
    const { batch } = this
    if (batch.count > 0) {
      if (batch.length > WRITE_BYTES) this.retain(batch.frames())
      else {
        this.batch = this.flusher.nothing
        this.sink.write(batch.bytes(this.sink.deflated))
        if (this.sink.pending() > 0) this.block(batch.frames())
      }
    }
    while (!this.closed && this.blockedSince === undefined && (this.backlog !== undefined || this.refill()))
      this.writeSome()
  }

  /** Writes one part of the backlog. */
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

  /** The socket is full: later frames wait in the backlog. */
  private block(written: ReadonlyArray<QueuedFrame>): void {
    this.blockedSince = written[0]!.at
    this.blockedByLasting = written.some(({ source }) => source?.conflatable !== true)
    this.backlog ??= []
    this.sink.whenTaken(() => {
      this.blockedSince = undefined
      this.flush()
    })
  }

  /** Queues the snapshot of one conflated feed; false: there is none. */
  private refill(): boolean {
    for (const source of this.conflated ?? []) {
      this.conflated!.delete(source)
      const { monotonic, now } = this.flusher.clocks
      const frame = source.snapshot(now())
      if (frame === undefined) continue
      this.retain([queuedFrame(frame, source, monotonic())])
      return true
    }
    return false
  }

  /** Writes queued frames as far as the socket accepts them, then closes the queue. */
  finish(): void {
    this.conflated = undefined
    this.flush()
    this.close()
  }

  /** Drops queued frames and accepts no more. */
  close(): void {
    this.closed = true
    this.retain([])
    this.conflated = undefined
  }
}
