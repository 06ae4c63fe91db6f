/**
 * The format of a block: consecutive entries that the journal stores in one row.
 *
 * An entry is time (float64), hash of its command_id (uint32, 0 for a Tick), length of the command and of the result
 * (int32, -1 where there is none), all little-endian, then command and result.
 */

/** Size limit of a block with more than one entry; a lookup of one entry reads a whole block. */
export const BLOCK_BYTES = 64 * 1024

const HEAD_BYTES = 20

export interface BlockEntry {
  /** Unix ms */
  readonly at_ms: number
  readonly hash: number
  readonly command: Uint8Array | undefined
  readonly result: Uint8Array | undefined
  /** End offset in the block. */
  readonly end: number
}

/** Collects entries for a row. */
export class Block {
  private buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  private view = new DataView(this.buffer.buffer)
  private size = 0
  /** Number of entries. */
  count = 0

  /** The bytes of the entries; valid until the next change. */
  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.size)
  }

  /** Whether an entry of this size must go to the next block. */
  isFullFor(command: Uint8Array | null, result: Uint8Array | null): boolean {
    const more = HEAD_BYTES + (command?.length ?? 0) + (result?.length ?? 0)
    return this.count > 0 && this.size + more > BLOCK_BYTES
  }

  /** Adds an entry; returns its bytes, valid until the next change. */
  add(at_ms: number, hash: number, command: Uint8Array | null, result: Uint8Array | null): Uint8Array {
    const body = this.size + HEAD_BYTES
    const middle = body + (command?.length ?? 0)
    const end = middle + (result?.length ?? 0)
    if (end > this.buffer.length) this.grow(end)
    const { buffer, size, view } = this
    view.setFloat64(size, at_ms, true)
    view.setUint32(size + 8, hash, true)
    view.setInt32(size + 12, command === null ? -1 : command.length, true)
    view.setInt32(size + 16, result === null ? -1 : result.length, true)
    if (command !== null) buffer.set(command, body)
    if (result !== null) buffer.set(result, middle)
    this.size = end
    this.count++
    return this.buffer.subarray(size, end)
  }

  clear(): void {
    this.size = 0
    this.count = 0
    if (this.buffer.length > BLOCK_BYTES) this.grow(BLOCK_BYTES)
  }

  private grow(bytes: number): void {
    const wider = Buffer.allocUnsafeSlow(bytes)
    wider.set(this.bytes)
    this.buffer = wider
    this.view = new DataView(wider.buffer)
  }
}

/** Decodes the entries of a block in order. Throws RangeError where the bytes are invalid. */
export function* entriesOf(bytes: Uint8Array): Generator<BlockEntry> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < bytes.length;) {
    const [commandBytes, resultBytes] = [view.getInt32(at + 12, true), view.getInt32(at + 16, true)]
    const body = at + HEAD_BYTES
    const middle = body + Math.max(0, commandBytes)
    const end = middle + Math.max(0, resultBytes)
    if (end > bytes.length) throw new RangeError(`an entry ends at ${end} in a block of ${bytes.length} bytes`)
    yield {
      at_ms: view.getFloat64(at, true),
      hash: view.getUint32(at + 8, true),
      command: commandBytes < 0 ? undefined : bytes.subarray(body, middle),
      result: resultBytes < 0 ? undefined : bytes.subarray(middle, end),
      end
    }
    at = end
  }
}
