/**
 * Scans the frames of a byte stream to detect the boundaries between messages: there, no receiver state is needed. It does
 * not validate the content.
 */

const FIN = 0x80
const OPCODE = 0x0f
const MASKED = 0x80
/** First opcode of control frames, which can arrive between the fragments of a message. */
const CONTROL = 0x8
const CONTINUATION = 0x0
const HEADER_MAX = 14

export class FrameScanner {
  private readonly header = Buffer.alloc(HEADER_MAX)
  /** Header bytes received; payload bytes still missing. */
  private have = 0
  private skip = 0
  private fragmented = false
  /** Bytes and chunks received of the incomplete message. */
  bytes = 0
  chunks = 0

  /** Scans the next bytes; true: they end at a message boundary. */
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
  /** The header is complete; the payload follows. */
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
