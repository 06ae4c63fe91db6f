/**
 * One WebSocket on its network socket. Frames are written directly to the socket. Input is parsed by the receiver of `ws`,
 * which exists only during an incomplete message, so that an idle socket needs little memory.
 *
 * The closing handshake follows RFC 6455 7: one close frame each way, then the end of the connection, or its destruction
 * after the close timeout.
 */
import type { Duplex } from "node:stream"
import { type CloseReason, closeCodes } from "./api/CloseCodes.ts"
import { FrameScanner } from "./FrameScanner.ts"
import { CLOSE, control, PING, PONG } from "./Frame.ts"
import type { Limits } from "./Limits.ts"
import type { Held } from "../services/operations/InboundBudget.ts"
import { deflateOf, reasonOf, receiverOf } from "./Protocol.ts"
import type { Transport } from "./Connection.ts"

/** Events of a socket. */
export interface Listener {
  readonly text: (message: string) => void
  readonly binary: () => void
  /** The peer sent a ping. */
  readonly pinged: (payload: Buffer) => void
  readonly heard: () => void
  /** The peer sent invalid bytes; the connection is closing. */
  readonly refused: (reason: CloseReason) => void
  /** The last event. */
  readonly closed: () => void
}

const NOTHING = Buffer.alloc(0)
const A_PING = control(PING, NOTHING)
/** The close code of a close frame without a code. */
const NO_CODE = 1005

/** A network socket refers to its WebSocket, so that all sockets share the listeners below. */
const OWNER = Symbol("WebSocket")
interface Carrier extends Duplex {
  [OWNER]?: Socket
}
function onData(this: Carrier, chunk: Buffer): void {
  this[OWNER]?.take(chunk)
}
function onEnd(this: Carrier): void {
  this[OWNER]?.ended()
}
function onClose(this: Carrier): void {
  this[OWNER]?.closed()
}
/** The close event follows. */
const onError = (): void => {}

export class Socket implements Transport {
  readonly deflated: boolean
  private readonly socket: Carrier
  private readonly limits: Limits
  /** Opens the budget of an incomplete message. */
  private readonly hold: (drop: () => void) => Held
  private held: Held | undefined
  private listener: Listener | undefined
  private reading: Reading | undefined
  /** Payload of the last ping, while the write buffer is not empty. */
  private owedPong: Buffer | undefined
  private closing: NodeJS.Timeout | undefined
  /** False after the close frame was sent. */
  private open = true

  /** `hold` opens the budget of incomplete input; its argument ends the connection. */
  constructor(socket: Carrier, deflated: boolean, limits: Limits, hold: (drop: () => void) => Held) {
    this.socket = socket
    this.hold = hold
    this.deflated = deflated
    this.limits = limits
  }

  /** Sends the handshake response and starts to emit events. `first`: bytes received after the request. */
  begin(response: string, first: Buffer, listener: Listener): void {
    this.listener = listener
    const { socket } = this
    socket[OWNER] = this
    socket.write(response)
    if (first.length > 0) socket.unshift(first)
    socket.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose)
  }

  pending(): number {
    return this.socket.writableLength
  }
  write(bytes: Buffer): void {
    if (this.open) this.socket.write(bytes)
  }
  whenTaken(callback: () => void): void {
    // the callback of an empty write runs after all earlier writes
    this.socket.write(NOTHING, (error) => (error == null ? callback() : undefined))
  }
  ping(): void {
    this.write(A_PING)
  }
  /** A peer that pings faster than it reads gets a pong for its last ping: RFC 6455 5.5.3. */
  pong(payload: Buffer): void {
    if (this.pending() === 0) return this.write(control(PONG, payload))
    if (this.owedPong === undefined) {
      this.whenTaken(() => {
        const last = this.owedPong
        this.owedPong = undefined
        if (last !== undefined) this.pong(last)
      })
    }
    this.owedPong = Buffer.from(payload)
  }
  close(reason: CloseReason): void {
    const { code, text } = closeCodes[reason]
    this.closeWith(code, text)
  }
  /** Drops the line. */
  terminate(): void {
    this.socket.destroy()
  }

  private closeWith(code: number | undefined, text: string): void {
    if (!this.open) return
    const payload = code === undefined ? NOTHING : Buffer.from(`  ${text}`)
    if (code !== undefined) payload.writeUInt16BE(code)
    this.write(control(CLOSE, payload))
    this.open = false
    this.limitClose()
  }
  /** Destroys the connection if its end takes too long, as with a peer that does not read. */
  private limitClose(): void {
    this.closing ??= setTimeout(() => this.socket.destroy(), this.limits.close_timeout_ms)
  }

  // ---- events of the network socket

  take(chunk: Buffer): void {
    const reading = (this.reading ??= this.read())
    if (!reading.take(chunk)) this.socket.pause()
    this.count(reading)
  }
  /** Counts the bytes of an incomplete message; most messages arrive in one chunk and count nothing. */
  private count({ boundary }: Reading): void {
    if (boundary.chunks > 0) this.held ??= this.hold(() => this.drop())
    this.held?.set(boundary.bytes, boundary.chunks)
  }
  /** Ends a connection whose incomplete message exceeds the shared budget. */
  private drop(): void {
    this.listener?.refused("TooMany")
    this.concluded(closeCodes.TooMany.code, closeCodes.TooMany.text)
    this.reading?.drop()
    this.reading = undefined
  }
  ended(): void {
    this.open = false
    this.socket.end()
    this.limitClose()
  }
  closed(): void {
    this.open = false
    clearTimeout(this.closing)
    this.held?.set(0)
    this.reading?.drop()
    this.reading = undefined
    this.listener?.closed()
    this.listener = undefined
  }

  // ---- events of the receiver

  private read(): Reading {
    return new Reading(this.limits, this.deflated, {
      text: (message) => this.listener?.text(message),
      binary: () => this.listener?.binary(),
      ping: (payload) => this.listener?.pinged(payload),
      pong: () => this.listener?.heard(),
      resume: () => this.socket.resume(),
      idle: () => {
        this.reading = undefined
      },
      closed: (code, text) => this.concluded(code === NO_CODE ? undefined : code, text),
      refused: (reason) => {
        this.listener?.refused(reason)
        this.concluded(closeCodes[reason].code, closeCodes[reason].text)
      }
    })
  }

  /** Stops reading, sends the close frame and ends the connection. */
  private concluded(code: number | undefined, text: string): void {
    this.closeWith(code, text)
    this.socket.off("data", onData)
    this.socket.resume()
    this.socket.end()
  }
}

/** Events of a {@link Reading}. */
interface Reader {
  readonly text: (message: string) => void
  readonly binary: () => void
  readonly ping: (payload: Buffer) => void
  readonly pong: () => void
  /** Input may continue after {@link Reading.take} returned false. */
  readonly resume: () => void
  /** All input is parsed and ends at a message boundary. */
  readonly idle: () => void
  /** The peer sent a close frame; 1005: without a code. The last event. */
  readonly closed: (code: number, text: string) => void
  /** Invalid bytes. The last event. */
  readonly refused: (reason: CloseReason) => void
}

/** The receiver of a socket during an incomplete message. */
class Reading {
  private readonly receiver: ReturnType<typeof receiverOf>
  private readonly deflate: ReturnType<typeof deflateOf> | undefined
  readonly boundary = new FrameScanner()
  private readonly reader: Reader
  /** Chunks that the receiver has not parsed completely. */
  private unread = 0
  private dropped = false

  constructor(limits: Limits, deflated: boolean, reader: Reader) {
    this.reader = reader
    this.deflate = deflated ? deflateOf(limits) : undefined
    this.deflate?.accept([{}])
    this.receiver = receiverOf(limits, this.deflate === undefined ? {} : { "permessage-deflate": this.deflate })
    this.receiver
      .on("message", (data, isBinary) => (isBinary ? reader.binary() : reader.text(data.toString())))
      .on("ping", reader.ping)
      .on("pong", reader.pong)
      .on("drain", reader.resume)
      .on("conclude", (code, reason) => reader.closed(code, reason.toString()))
      .on("error", ({ code }) => reader.refused(reasonOf(code)))
  }

  /** Parses the next bytes; false: wait for `resume`. */
  take(chunk: Buffer): boolean {
    const between = this.boundary.take(chunk)
    this.unread++
    return this.receiver.write(chunk, () => {
      if (--this.unread > 0 || !(between || this.dropped)) return
      this.deflate?.cleanup()
      this.reader.idle()
    })
  }

  /** Releases the inflate state once no chunk is being inflated. */
  drop(): void {
    this.dropped = true
    if (this.unread === 0) this.deflate?.cleanup()
  }
}
