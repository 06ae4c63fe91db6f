/**
 * Encodes events into blocks: encoded StreamEventsResponse messages that contain whole steps, or a part of a step that is
 * larger than {@link BLOCK_BYTES_MAX}. Protobuf messages concatenate, so several consecutive blocks are also a valid frame.
 */
import { Event } from "../../proto/gateway/v1/sequencer.ts"
import { WireWriter } from "../../node/WireWriter.ts"
import type { Slices } from "../engine/Machine.ts"

/** A block ends with the step that exceeds this size; joined frames have about this size too. */
export const FRAME_BYTES = 64 * 1024
/**
 * A block ends with the event that exceeds this size, also within a step: funding, or a move of the index, is one step of all
 * positions. Source: docs/contract/boundary.md#commands-and-events.
 */
export const BLOCK_BYTES_MAX = 256 * 1024

/** Tags of StreamEventsResponse.epoch, .events, .fork and .checksums. */
const EPOCH_TAG = 10
const EVENTS_TAG = 18
const FORK_TAG = 34
const CHECKSUMS_TAG = 42

/** Events that are encoded without a stop. */
const EVENTS_PER_SLICE = 64

/** Encoded events. */
export interface Block {
  readonly first: number
  readonly last: number
  /** Checksum of the journal after its last event; undefined where only its bytes have it. */
  readonly checksum: number | undefined
  readonly bytes: Buffer
}

/** The same memory as a Buffer. */
export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** An encoder that is given each event as soon as it exists, so that no turn holds all its events. */
export class EventBlocks {
  private readonly epoch: string
  private readonly fork: string
  private readonly writer = new WireWriter()
  private blocks: Array<Block> = []
  /** Checksums of the events of the open block. */
  private checksums: Array<number> = []
  private last: Event | undefined

  constructor(epoch: string, fork: string) {
    this.epoch = epoch
    this.fork = fork
  }

  /** Adds the next event, with the checksum of the journal after its input. Throws where its seq does not follow: that is a bug. */
  add(event: Event, checksum: number): void {
    const { last, writer } = this
    if (last !== undefined && event.seq !== last.seq + 1)
      throw new Error(`event ${event.seq} does not follow its predecessor`)
    if (writer.length >= (event.step === last?.step ? BLOCK_BYTES_MAX : FRAME_BYTES)) this.end()
    if (writer.length === 0) writer.uint32(EPOCH_TAG).string(this.epoch)
    Event.encode(event, writer.uint32(EVENTS_TAG).fork()).join()
    this.checksums.push(checksum)
    this.last = event
  }

  /** Adds the events of an input, in slices. */
  *addAll(events: ReadonlyArray<Event>, checksum: number): Slices {
    for (let i = 0; i < events.length; i++) {
      if (i % EVENTS_PER_SLICE === EVENTS_PER_SLICE - 1) yield
      this.add(events[i]!, checksum)
    }
  }

  /** The blocks of the events since the last call; the next event begins a new one. */
  take(): ReadonlyArray<Block> {
    this.end()
    const { blocks } = this
    this.blocks = []
    this.last = undefined
    return blocks
  }

  private end(): void {
    const { checksums, last, writer } = this
    if (last === undefined || checksums.length === 0) return
    writer.uint32(FORK_TAG).string(this.fork)
    writer.uint32(CHECKSUMS_TAG).uint32(4 * checksums.length)
    for (const checksum of checksums) writer.fixed32(checksum)
    this.blocks.push({
      first: last.seq - checksums.length + 1,
      last: last.seq,
      checksum: checksums.at(-1),
      bytes: asBuffer(writer.finish())
    })
    this.checksums = []
  }
}
