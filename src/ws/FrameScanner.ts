/**
 * Follows the frames in a stream of bytes, as far as needed to know whether it stands between two messages: then nothing
 * has to be remembered of it. What the bytes say, and whether they may, is not looked at.
 */

const FIN = 0x80
const OPCODE = 0x0f
const MASKED = 0x80
/** Opcodes from here on are of control frames, which may come between the fragments of a message. */
const CONTROL = 0x8
const CONTINUATION = 0x0
const HEADER_MAX = 14

export class FrameScanner {
  private readonly header = Buffer.alloc(HEADER_MAX)
  /** Bytes of the header that are there; those of the frame's rest that are not. */
  private have = 0
  private skip = 0
  private fragmented = false
  /** Of the message under way: its bytes so far, and the chunks that they came in. */
  bytes = 0
  chunks = 0

  /** Takes the next bytes; true where they end between two messages. */
  take(chunk: Buffer): boolean {
    let at = 0
    let from = 0
    this.chunks++
    while (at < chunk.length) {
      if (this.skip > 0) {
        const step = Math.min(this.skip, chunk.length - at)
        this.skip -= step
        at += step
      } else {
        this.header[this.have++] = chunk[at++]!
        if (this.have >= 2 && this.have === this.headerLength()) this.enter()
      }
      if (this.isBetween()) {
        from = at
        this.bytes = 0
        this.chunks = at < chunk.length ? 1 : 0
      }
    }
    this.bytes += chunk.length - from
    return this.isBetween()
  }

  private isBetween(): boolean {
    return this.have === 0 && this.skip === 0 && !this.fragmented
  }

  private headerLength(): number {
    const short = this.header[1]! & ~MASKED
    return 2 + (short < 126 ? 0 : short === 126 ? 2 : 8) + (this.header[1]! & MASKED ? 4 : 0)
  }
  /** The header is whole: its payload follows. */
  private enter(): void {
    const [first, second] = [this.header[0]!, this.header[1]!]
    const short = second & ~MASKED
    this.skip =
      short < 126 ? short : short === 126 ? this.header.readUInt16BE(2) : Number(this.header.readBigUInt64BE(2))
    this.have = 0
    const opcode = first & OPCODE
    if (opcode >= CONTROL) return
    this.fragmented = (first & FIN) === 0 && (opcode !== CONTINUATION || this.fragmented)
  }
}
