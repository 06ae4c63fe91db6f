/**
 * A WebSocket peer made of bytes: it sends what no client library would, and reads what comes back frame by frame. What is
 * text is held against the document.
 */
import { randomBytes } from "node:crypto"
import { connect, type Socket } from "node:net"
import { messageOf } from "../../verification/harness/documents/AsyncApi.ts"

/** Longest wait for anything, in ms. */
const WAIT_MS = 20_000

export interface RawFrame {
  readonly opcode: number
  readonly payload: Buffer
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Bytes of one frame; by default a whole text message, masked as a client must. */
export const frame = (
  payload: string | Buffer,
  options: {
    readonly opcode?: number
    readonly fin?: boolean
    readonly masked?: boolean
    /** The three reserved bits, as a number. */
    readonly reserved?: number
    /** Length that the header declares. */
    readonly declared?: bigint
  } = {}
): Buffer => {
  const { fin = true, masked = true, opcode = opcodes.text, reserved = 0 } = options
  const body = Buffer.from(payload)
  const length = options.declared ?? BigInt(body.length)
  const size = length < 126n ? 0 : length < 65_536n ? 2 : 8
  const head = Buffer.alloc(2 + size)
  head[0] = (fin ? 0x80 : 0) | (reserved << 4) | opcode
  head[1] = (masked ? 0x80 : 0) | (size === 0 ? Number(length) : size === 2 ? 126 : 127)
  if (size === 2) head.writeUInt16BE(Number(length), 2)
  if (size === 8) head.writeBigUInt64BE(length, 2)
  if (!masked) return Buffer.concat([head, body])
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, body.map((byte, i) => byte ^ mask[i % 4]!)])
}

/** Bytes of a close frame. */
export const closing = (code: number, reason: string | Buffer = ""): Buffer => {
  const body = Buffer.alloc(2)
  body.writeUInt16BE(code)
  return frame(Buffer.concat([body, Buffer.from(reason)]), { opcode: opcodes.close })
}

/** The bytes that ask for an upgrade. */
export const upgrade = (path: string, headers: ReadonlyArray<string> = []): string =>
  [
    `GET ${path} HTTP/1.1`,
    "Host: gateway",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    ...headers,
    "\r\n"
  ].join("\r\n")

export class RawSocket {
  readonly socket: Socket
  /** The answer to the upgrade, without what followed it. */
  head: string | undefined
  readonly frames: Array<RawFrame> = []
  /** Whether the other side has ended the connection, or broken it. */
  ended = false
  private rest: Buffer = Buffer.alloc(0)
  private readonly path: string | undefined
  private fault: unknown

  /** Connects and writes; `url` of the gateway. Half-open: the end of the other side is not answered. */
  constructor(
    url: string,
    bytes: string | Buffer,
    options: { readonly halfOpen?: boolean; readonly path?: string; readonly from?: string } = {}
  ) {
    const { hostname, port } = new URL(url)
    this.path = options.path
    this.socket = connect({
      host: hostname,
      port: Number(port),
      allowHalfOpen: options.halfOpen ?? false,
      ...(options.from === undefined ? {} : { localAddress: options.from })
    })
    this.socket.on("data", (chunk) => this.read(chunk))
    this.socket.on("error", () => {})
    for (const event of ["end", "close"]) this.socket.on(event, () => (this.ended = true))
    this.socket.write(bytes)
  }

  /** Upgrades, and waits until that is answered. */
  static async open(
    url: string,
    path: string,
    headers?: ReadonlyArray<string>,
    options?: { readonly from?: string }
  ): Promise<RawSocket> {
    const raw = new RawSocket(url, upgrade(path, headers), { ...options, path })
    await raw.until("the answer to the upgrade", () => raw.head)
    return raw
  }

  get status(): number | undefined {
    return this.head === undefined ? undefined : Number(this.head.split(" ")[1])
  }
  /** The code of the close frame that came; `undefined`: none did. */
  get code(): number | undefined {
    return this.frames.find(({ opcode }) => opcode === opcodes.close)?.payload.readUInt16BE()
  }
  /** Text messages so far. */
  get texts(): ReadonlyArray<string> {
    return this.frames.filter(({ opcode }) => opcode === opcodes.text).map(({ payload }) => payload.toString())
  }
  count(opcode: number): number {
    return this.frames.filter((each) => each.opcode === opcode).length
  }

  private read(chunk: Buffer): void {
    this.rest = Buffer.concat([this.rest, chunk])
    if (this.head === undefined) {
      const end = this.rest.indexOf("\r\n\r\n")
      if (end < 0) return
      this.head = this.rest.subarray(0, end).toString()
      this.rest = this.rest.subarray(end + 4)
    }
    if (this.status === 101) while (this.takeFrame());
  }
  private takeFrame(): boolean {
    const { rest } = this
    if (rest.length < 2) return false
    const short = rest[1]!
    const at = short < 126 ? 2 : short === 126 ? 4 : 10
    if (rest.length < at) return false
    const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2))
    if (rest.length < at + length) return false
    const frame = { opcode: rest[0]! & 15, payload: rest.subarray(at, at + length) }
    this.frames.push(frame)
    this.rest = rest.subarray(at + length)
    if (frame.opcode === opcodes.text) this.hold(frame.payload.toString())
    return true
  }
  private hold(text: string): void {
    // what goes over /rpc is in another document
    if (this.path === "/rpc") return
    try {
      messageOf("/ws/public", JSON.parse(text))
    } catch (fault) {
      this.fault ??= fault
    }
  }

  write(...bytes: ReadonlyArray<Buffer>): void {
    this.socket.write(Buffer.concat(bytes))
  }
  /** Waits until something is there. */
  async until<A>(what: string, look: () => A | undefined | false): Promise<A> {
    for (const deadline = Date.now() + WAIT_MS; ;) {
      if (this.fault !== undefined) throw this.fault
      const found = look()
      if (found !== undefined && found !== false) return found
      if (Date.now() > deadline) {
        throw new Error(`no ${what}; ${this.head}; ${this.frames.map(({ opcode }) => opcode).join(" ")}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  /** Waits for the end of the connection; answers the code that it was closed with. */
  async over(): Promise<number | undefined> {
    await this.until("end of the connection", () => this.ended)
    return this.code
  }
}
