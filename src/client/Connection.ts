/**
 * One WebSocket: requests and their replies, and whether anything is heard of the other side.
 *
 * A line is used up when it is lost: whoever waits for a reply is told so, and a new line is another one.
 */
import type { WebSocketLike } from "effect/socket/Socket"
import type { ErrorFrame, EventFrame, ServerFrame } from "../ws/api/Frames.ts"

/** Silence that makes the client ask, and silence that makes it give the line up, in ms. */
export const ASK_AFTER_MS = 15_000
export const SILENCE_MS = 30_000
/** How often a line is asked whether it is silent, in ms. */
export const WATCH_MS = 1_000
/** `readyState` of a socket that is open. */
const OPEN = 1

/**
 * Is given each frame that replies to a request, and answers whether more are to come; `undefined`: the line was lost
 * before the last of them.
 */
export type OnReply = (frame: ServerFrame | undefined) => boolean

export interface ConnectionHandlers {
  readonly now: () => number
  readonly onEvent: (frame: typeof EventFrame.Type) => void
  readonly onError: (frame: ErrorFrame) => void
}

export class Connection {
  private readonly socket: WebSocketLike
  private readonly handlers: ConnectionHandlers
  private readonly replies = new Map<string, OnReply>()
  private nextId = 0
  private lost = false
  private heard_ms: number
  private asked_ms: number

  constructor(socket: WebSocketLike, handlers: ConnectionHandlers) {
    this.socket = socket
    this.handlers = handlers
    this.heard_ms = this.asked_ms = handlers.now()
  }

  /** Sends a message, and hands on its replies. */
  request(message: object, onReply: OnReply): void {
    if (this.lost || this.socket.readyState !== OPEN) return void onReply(undefined)
    const req_id = String(++this.nextId)
    this.replies.set(req_id, onReply)
    this.socket.send(JSON.stringify({ ...message, req_id }))
  }

  /** Takes a frame in, as text. */
  take(text: string): void {
    if (this.lost) return
    this.heard_ms = this.handlers.now()
    const frame = JSON.parse(text) as ServerFrame
    if (frame.op === "event") return this.handlers.onEvent(frame)
    const req_id = typeof frame.req_id === "string" ? frame.req_id : undefined
    const onReply = req_id === undefined ? undefined : this.replies.get(req_id)
    if (onReply !== undefined && !onReply(frame)) this.replies.delete(req_id!)
    if (frame.op === "error") this.handlers.onError(frame)
  }

  /** Asks when nothing came for long; answers whether it has been silent for so long that it is to be given up. */
  isSilent(): boolean {
    const now = this.handlers.now()
    const silent = now - this.heard_ms
    if (silent >= ASK_AFTER_MS && now - this.asked_ms >= ASK_AFTER_MS) {
      this.asked_ms = now
      this.request({ op: "ping" }, () => false)
    }
    return silent >= SILENCE_MS
  }

  /** The line is of no use any more; nothing that still comes is heard. */
  lose(): void {
    if (this.lost) return
    this.lost = true
    const waiting = [...this.replies.values()]
    this.replies.clear()
    for (const onReply of waiting) onReply(undefined)
  }
}
