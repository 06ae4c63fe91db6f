/**
 * One WebSocket: it matches replies to requests and measures silence. After a loss all pending requests fail, and a new
 * connection is a new object.
 */
import type { ErrorFrame, EventFrame, ServerFrame } from "../ws/api/Frames.ts"
import type { WebSocketLike } from "./WebSocketLike.ts"

/** Silence after which the client sends a ping, and silence after which it disconnects, in ms. */
export const PING_AFTER_MS = 15_000
export const SILENCE_MS = 30_000
/** Time between two checks of the silence, in ms. */
export const WATCH_MS = 1_000
/** `readyState` of an open socket. */
const OPEN = 1

/**
 * Receives each reply to a request and returns whether it expects more. `undefined`: the connection was lost before the
 * last reply, and none follows.
 */
export type OnReply = (frame: ServerFrame | undefined) => boolean

export interface ConnectionHandlers {
  readonly now: () => number
  readonly onEvent: (frame: typeof EventFrame.Type) => void
  readonly onError: (frame: ErrorFrame) => void
  /** Called where a text is no frame, as one of a proxy in between. */
  readonly onGarbage: () => void
}

const frameOf = (text: string): ServerFrame | undefined => {
  try {
    const frame = JSON.parse(text) as ServerFrame | null
    return typeof frame === "object" && frame !== null ? frame : undefined
  } catch {
    return undefined
  }
}

export class Connection {
  private readonly socket: WebSocketLike
  private readonly handlers: ConnectionHandlers
  private readonly pending = new Map<string, OnReply>()
  private nextId = 0
  private lost = false
  private received_ms: number
  private pinged_ms: number

  constructor(socket: WebSocketLike, handlers: ConnectionHandlers) {
    this.socket = socket
    this.handlers = handlers
    this.received_ms = this.pinged_ms = handlers.now()
  }

  request(message: object, onReply: OnReply): void {
    if (this.lost || this.socket.readyState !== OPEN) return void onReply(undefined)
    const req_id = String(++this.nextId)
    this.pending.set(req_id, onReply)
    this.socket.send(JSON.stringify({ ...message, req_id }))
  }

  /** Dispatches a frame that arrived as text. */
  receive(text: string): void {
    if (this.lost) return
    this.received_ms = this.handlers.now()
    const frame = frameOf(text)
    if (frame === undefined) return this.handlers.onGarbage()
    if (frame.op === "event") return this.handlers.onEvent(frame)
    const req_id = typeof frame.req_id === "string" ? frame.req_id : undefined
    // first: the reply can end the connection
    if (frame.op === "error") this.handlers.onError(frame)
    const onReply = req_id === undefined ? undefined : this.pending.get(req_id)
    if (onReply !== undefined && !onReply(frame)) this.pending.delete(req_id!)
  }

  /** Returns whether nothing arrived for {@link SILENCE_MS}. Sends a ping after {@link PING_AFTER_MS}. */
  isSilent(): boolean {
    const now = this.handlers.now()
    const silent = now - this.received_ms
    if (silent >= PING_AFTER_MS && now - this.pinged_ms >= PING_AFTER_MS) {
      this.pinged_ms = now
      this.request({ op: "ping" }, () => false)
    }
    return silent >= SILENCE_MS
  }

  /** Fails the pending requests, and ignores frames that still arrive. */
  lose(): void {
    if (this.lost) return
    this.lost = true
    for (const onReply of this.pending.values()) onReply(undefined)
  }
}
