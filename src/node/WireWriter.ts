/**
 * A protobuf writer for a kept buffer: the generated encoders write into it as into a {@link BinaryWriter}.
 *
 * It writes the same bytes in about half of the time. Integers of 64 bits are numbers here, so no bigint is made, and the
 * texts of records are ASCII and longer than those for which the library has a short path.
 */
import { BinaryWriter } from "@bufbuild/protobuf/wire"

const INITIAL_BYTES = 1 << 16
const RENEWED_BYTES_MIN = 4096
/** Longer texts go to the encoder of the runtime. */
const LOOP_CHARS_MAX = 127
const HALF = 2 ** 32
const utf8 = new TextEncoder()

const unsupported = (): never => {
  throw new Error("no message of the boundary has a field of this type")
}

export class WireWriter extends BinaryWriter {
  private kept = new Uint8Array(INITIAL_BYTES)
  private at = 0
  private readonly forks: Array<number> = []

  /** Number of bytes written since the last {@link finish}. */
  get length(): number {
    return this.at
  }

  /** The bytes from an offset on. They stay valid until the next {@link finish}. */
  from(start: number): Uint8Array {
    return this.kept.subarray(start, this.at)
  }

  /** Begins anew in another buffer, so that the bytes written so far stay valid for ever. */
  renew(): void {
    if (this.at === 0) return
    this.kept = new Uint8Array(Math.max(RENEWED_BYTES_MIN, 2 * this.at))
    this.at = 0
  }

  /** A copy of the bytes that were written; the writer is empty afterwards. */
  override finish(): Uint8Array<ArrayBuffer> {
    const bytes = this.kept.slice(0, this.at)
    this.at = 0
    return bytes
  }

  override fork(): this {
    this.room(1)
    this.forks.push(this.at++)
    return this
  }

  override join(): this {
    const start = this.forks.pop()
    if (start === undefined) throw new Error("there is no fork to join")
    const size = this.at - start - 1
    if (size < 0x80) {
      this.kept[start] = size
      return this
    }
    const more = sizeOf(size) - 1
    this.room(more)
    this.kept.copyWithin(start + 1 + more, start + 1, this.at)
    this.at = start
    this.varint(size)
    this.at += size
    return this
  }

  override uint32(value: number): this {
    this.room(5)
    this.varint(value)
    return this
  }

  override int32(value: number): this {
    return this.int64(value)
  }

  override uint64(value: string | number | bigint): this {
    return this.int64(value)
  }

  override int64(value: string | number | bigint): this {
    this.room(10)
    if (typeof value !== "number" || !Number.isSafeInteger(value)) this.bigVarint(BigInt(value))
    else if (value < 0) this.bigVarint(BigInt(value))
    else this.varint(value)
    return this
  }

  override bool(value: boolean): this {
    this.room(1)
    this.kept[this.at++] = value ? 1 : 0
    return this
  }

  override fixed32(value: number): this {
    this.room(4)
    for (let shift = 0; shift < 32; shift += 8) this.kept[this.at++] = value >>> shift
    return this
  }

  override bytes(value: Uint8Array): this {
    return this.uint32(value.byteLength).raw(value)
  }

  override raw(chunk: Uint8Array): this {
    this.room(chunk.length)
    this.kept.set(chunk, this.at)
    this.at += chunk.length
    return this
  }

  override string(value: string): this {
    const { length } = value
    this.room(3 * length + 5)
    if (length <= LOOP_CHARS_MAX) {
      const bytes = this.kept
      let at = this.at
      bytes[at++] = length
      let i = 0
      for (; i < length; i++) {
        const code = value.charCodeAt(i)
        if (code > 0x7f) break
        bytes[at++] = code
      }
      if (i === length) {
        this.at = at
        return this
      }
    }
    this.fork()
    this.at += utf8.encodeInto(value, this.kept.subarray(this.at)).written
    return this.join()
  }

  override tag(field: number, type: number): this {
    return this.uint32(((field << 3) | type) >>> 0)
  }

  override float = unsupported
  override double = unsupported
  override sfixed32 = unsupported
  override sint32 = unsupported
  override sfixed64 = unsupported
  override fixed64 = unsupported
  override sint64 = unsupported

  private room(size: number): void {
    if (this.at + size <= this.kept.length) return
    const wider = new Uint8Array(Math.max(2 * this.kept.length, this.at + size))
    wider.set(this.kept.subarray(0, this.at))
    this.kept = wider
  }

  /** Writes a safe integer that is not negative. */
  private varint(value: number): void {
    const bytes = this.kept
    let at = this.at
    while (value >= HALF) {
      bytes[at++] = (value % 128) | 0x80
      value = Math.floor(value / 128)
    }
    while (value > 0x7f) {
      bytes[at++] = (value & 0x7f) | 0x80
      value >>>= 7
    }
    bytes[at++] = value
    this.at = at
  }

  private bigVarint(value: bigint): void {
    let rest = BigInt.asUintN(64, value)
    while (rest > 0x7fn) {
      this.kept[this.at++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.kept[this.at++] = Number(rest)
  }
}

/** Bytes of a varint of at most 32 bits. */
const sizeOf = (value: number): number =>
  value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5
