/**
 * One text message, encoded once for all sockets.
 *
 * The bytes follow RFC 6455: a header and the payload, unmasked as a server sends it. For sockets with permessage-deflate
 * without context takeover, the payload is compressed once, on first use.
 */
import { constants, deflateRawSync } from "node:zlib"

/** Smallest payload that is compressed, in bytes. */
const DEFLATE_FROM_BYTES = 1024

const FIN_TEXT = 0x81
const FIN_TEXT_DEFLATED = 0xc1

const headerLength = (payload: number): number => (payload < 126 ? 2 : payload < 65536 ? 4 : 10)

const writeHeader = (bytes: Buffer, first: number, payload: number): void => {
  bytes[0] = first
  if (payload < 126) bytes[1] = payload
  else if (payload < 65536) {
    bytes[1] = 126
    bytes.writeUInt16BE(payload, 2)
  } else {
    bytes[1] = 127
    bytes.writeUInt32BE(0, 2)
    bytes.writeUInt32BE(payload, 6)
  }
}

const deflate = (plain: Buffer): Buffer => {
  // of at least DEFLATE_FROM_BYTES: the length is in the next 2 or 8 bytes
  const payload = plain.subarray(plain[1] === 126 ? 4 : 10)
  const packed = deflateRawSync(payload, { level: constants.Z_BEST_SPEED, finishFlush: constants.Z_SYNC_FLUSH })
  const length = packed.length - 4 // the trailing 00 00 ff ff is implied, RFC 7692 7.2.1
  if (length >= payload.length) return plain
  const at = headerLength(length)
  const bytes = Buffer.allocUnsafe(at + length)
  writeHeader(bytes, FIN_TEXT_DEFLATED, length)
  packed.copy(bytes, at, 0, length)
  return bytes
}

export class Frame {
  readonly plain: Buffer
  private packed: Buffer | undefined = undefined

  constructor(text: string) {
    const payload = Buffer.byteLength(text)
    const at = headerLength(payload)
    this.plain = Buffer.allocUnsafe(at + payload)
    writeHeader(this.plain, FIN_TEXT, payload)
    this.plain.write(text, at)
  }

  /** Uncompressed bytes on the wire, which count against limits. */
  get length(): number {
    return this.plain.length
  }

  bytes(deflated: boolean): Buffer {
    if (!deflated || this.plain.length < DEFLATE_FROM_BYTES) return this.plain
    return (this.packed ??= deflate(this.plain))
  }
}

/** The texts of consecutive uncompressed frames. */
export const textsOf = (bytes: Buffer): ReadonlyArray<string> => {
  const texts: Array<string> = []
  for (let at = 0; at < bytes.length;) {
    const short = bytes[at + 1]!
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 6)
    const from = at + headerLength(length)
    at = from + length
    texts.push(bytes.toString("utf8", from, at))
  }
  return texts
}

export const CLOSE = 0x8
export const PING = 0x9
export const PONG = 0xa
const FIN = 0x80

/** A control frame; its payload is at most 125 bytes. */
export const control = (opcode: typeof CLOSE | typeof PING | typeof PONG, payload: Buffer): Buffer => {
  const bytes = Buffer.allocUnsafe(2 + payload.length)
  writeHeader(bytes, FIN | opcode, payload.length)
  payload.copy(bytes, 2)
  return bytes
}

/** Encodes a message as JSON. */
export const frameOf = (message: object): Frame => new Frame(JSON.stringify(message))
