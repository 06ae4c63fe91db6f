/** WebSockets without the client's code. */
import { WebSocket } from "ws"
import { messageOf } from "./documents/AsyncApi.ts"
import type { Target } from "./RestClient.ts"
import { WAIT_MS } from "./Wait.ts"

// oxlint-disable-next-line typescript/no-explicit-any
export type Frame = any

/** A WebSocket that queues its frames in order, each checked against the AsyncAPI document, and waits for the one that a test wants. */
export class Socket {
  readonly frames: Array<Frame> = []
  readonly ws: WebSocket
  closed: { readonly code: number; readonly reason: string } | undefined
  private waiting: Array<() => void> = []
  private fault: unknown

  private constructor(ws: WebSocket) {
    this.ws = ws
    const path = new URL(ws.url).pathname
    ws.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString())
      this.frames.push(frame)
      try {
        messageOf(path, frame)
      } catch (fault) {
        this.fault ??= fault
      }
      this.wake()
    })
    ws.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      this.wake()
    })
  }
  private wake() {
    const waiting = this.waiting
    this.waiting = []
    for (const resume of waiting) resume()
  }
  static open(exchange: Target, path: string): Promise<Socket> {
    const ws = new WebSocket(`${exchange.url.replace("http", "ws")}${path}`)
    const socket = new Socket(ws)
    return new Promise((resolve, reject) => {
      ws.once("open", () => resolve(socket))
      ws.once("error", reject)
    })
  }
  send(frame: unknown): void {
    this.ws.send(typeof frame === "string" ? frame : JSON.stringify(frame))
  }
  /** Waits until `read` returns something. Fails after `limit_ms` with the last frames. */
  private async until<A>(what: string, read: () => A | undefined, limit_ms: number): Promise<A> {
    const deadline = Date.now() + limit_ms
    for (;;) {
      if (this.fault !== undefined) throw this.fault
      const found = read()
      if (found !== undefined) return found
      const left = deadline - Date.now()
      if (left <= 0) {
        throw new Error(
          `no ${what} within ${limit_ms} ms; frames:\n${this.frames
            .slice(-10)
            .map((frame) => JSON.stringify(frame))
            .join("\n")}`
        )
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        this.waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }
  /** Takes the first frame that matches, and all frames before it, out of the queue. */
  next(what: string, match: (frame: Frame) => boolean, limit_ms = WAIT_MS): Promise<Frame> {
    return this.until(
      what,
      () => {
        const at = this.frames.findIndex(match)
        return at === -1 ? undefined : this.frames.splice(0, at + 1).at(-1)
      },
      limit_ms
    )
  }
  event(topic: string, match: (data: Frame) => boolean = () => true, limit_ms = WAIT_MS): Promise<Frame> {
    return this.next(
      `event of ${topic}`,
      (frame) => frame.op === "event" && frame.topic === topic && match(frame.data),
      limit_ms
    )
  }
  closing(limit_ms = WAIT_MS): Promise<{ readonly code: number; readonly reason: string }> {
    return this.until("close", () => this.closed, limit_ms)
  }
  close(): void {
    this.ws.terminate()
    if (this.fault !== undefined) throw this.fault
  }
}
