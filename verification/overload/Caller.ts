/** A caller: one keep-alive connection, one request in flight, the next one as soon as the answer arrives. */
import { connect, type Socket } from "node:net"

/** The answer to one request. */
export interface Answered {
  readonly status: number
  readonly text: string
  readonly ms: number
}

/** Time before a connection that broke is opened again, in ms. */
const RECONNECT_MS = 50
/** Longest wait for an answer, in ms; then the request counts as lost. */
const LOST_MS = 15_000

const LENGTH = /\r\ncontent-length: (\d+)/iu

export class Caller {
  private readonly port: number
  private readonly next: () => Buffer | undefined
  private readonly take: (answered: Answered | undefined) => void
  private socket: Socket | undefined
  private text = ""
  private sent_ms: number | undefined
  private isOver = false
  private isIdle = false

  /**
   * `next` creates a request, or `undefined`: then the caller is free until {@link wake}. `take` receives the answer, or `undefined`
   * if the connection broke or the wait was too long.
   */
  constructor(port: number, next: () => Buffer | undefined, take: (answered: Answered | undefined) => void) {
    this.port = port
    this.next = next
    this.take = take
  }

  /** Whether an answer is pending. */
  get isWaiting(): boolean {
    return this.sent_ms !== undefined
  }
  /** Opens the connection and sends the first request. */
  begin(): void {
    const socket = connect(this.port, "127.0.0.1")
    this.socket = socket
    this.text = ""
    socket.setNoDelay(true)
    socket.on("connect", () => this.send())
    socket.on("data", (chunk) => this.read(chunk.toString("latin1")))
    socket.on("error", () => {})
    socket.on("close", () => {
      if (this.socket !== socket) return
      this.isIdle = false
      this.answer(undefined)
      if (!this.isOver) setTimeout(() => this.isOver || this.begin(), RECONNECT_MS)
    })
  }
  /** Sends no further request. A pending answer is still received. */
  stop(): void {
    this.isOver = true
  }
  end(): void {
    this.isOver = true
    this.socket?.destroy()
  }
  /** Closes the connection of a request that waits for too long. */
  look(now: number): void {
    if (this.sent_ms !== undefined && now - this.sent_ms > LOST_MS) this.socket?.destroy()
  }

  /** Lets a free caller ask for its next request. */
  wake(): void {
    if (this.isIdle) this.send()
  }

  private send(): void {
    if (this.isOver) return
    const request = this.next()
    this.isIdle = request === undefined
    if (request === undefined) return
    this.sent_ms = performance.now()
    this.socket!.write(request)
  }
  private read(chunk: string): void {
    const text = this.text === "" ? chunk : this.text + chunk
    this.text = text
    const head = text.indexOf("\r\n\r\n")
    if (head === -1) return
    const length = Number(LENGTH.exec(text)?.[1] ?? 0)
    if (text.length < head + 4 + length) return
    this.text = ""
    const status = Number(text.slice(9, 12))
    this.answer({ status, text: text.slice(head + 4), ms: performance.now() - this.sent_ms! })
    this.send()
  }
  private answer(answered: Answered | undefined): void {
    const wasDue = this.sent_ms !== undefined
    this.sent_ms = undefined
    if (wasDue) this.take(answered)
  }
}
