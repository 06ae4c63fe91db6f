/**
 * One line of a feed, from its opening to its end: it authenticates where that is asked for, and follows all topics that are
 * wanted.
 */
import type { WebSocketLike } from "effect/socket/Socket"
import { closeCodes } from "../ws/api/CloseCodes.ts"
import type { Resume } from "../ws/api/Frames.ts"
import { CODE_LOST, type Ended, isPassing } from "./Backoff.ts"
import type { FeedEvent } from "./FeedEvent.ts"
import { Connection } from "./Connection.ts"
import type { Topics } from "./Topics.ts"

export type AuthFrame =
  | { readonly bearer: string }
  | {
      readonly api_key: string
      readonly signature: string
      readonly timestamp_ms: number
      readonly nonce: string
    }

export interface ConnectOptions {
  readonly now: () => number
  /** Gets the frame to authenticate with; `undefined`: there is no credential. Absent: nobody is to be authenticated. */
  readonly authFrame: ((use: (frame: AuthFrame | undefined) => void) => void) | undefined
  readonly tell: (event: FeedEvent) => void
  /** All topics that were wanted are followed. */
  readonly live: (resume: Resume | undefined) => void
  readonly ended: (end: Ended) => void
}

/** Ends a line, as if it had been closed with this code. */
export type GiveUp = (code: number, reason: string) => void

/** Follows topics over a socket that was just made. */
export const connect = (socket: WebSocketLike, topics: Topics, options: ConnectOptions): GiveUp => {
  const line = new Connection(socket, {
    now: options.now,
    onEvent: (frame) => topics.take(frame),
    onError: (error) => options.tell({ kind: "refused", error })
  })
  topics.line = line
  let wasLive = false
  const end = (code: number, reason: string, sound = true): void => {
    if (topics.line !== line) return
    topics.lose()
    options.ended({ code, reason, wasLive: wasLive && sound })
  }
  const giveUp: GiveUp = (code, reason) => {
    // of no use: coming back at once would not mend it
    end(code, reason, code === CODE_LOST)
    socket.close()
  }
  const begin = (): void => {
    const asked = [...topics.wanted]
    topics.subscribe(asked, (result) => {
      if (result === undefined) return
      // read first: a caller subscribes itself what it adds to a feed that is live
      const more = [...topics.wanted].filter((topic) => !asked.includes(topic))
      wasLive = true
      options.live(result.resume)
      if (more.length > 0) topics.subscribe(more, () => {})
    })
  }
  const authenticate = (frame: AuthFrame | undefined): void => {
    if (frame === undefined) return giveUp(closeCodes.AuthRefused.code, "log in first")
    line.request({ op: "auth", ...frame }, (reply) => {
      if (reply === undefined) return false
      if (reply.op === "auth" && reply.success) begin()
      else {
        const { code, message } = reply.op === "auth" || reply.op === "error" ? reply : { code: "", message: reply.op }
        giveUp(isPassing(code) ? closeCodes.BackendLost.code : closeCodes.AuthRefused.code, message)
      }
      return false
    })
  }
  socket.addEventListener("open", () => {
    if (options.authFrame === undefined) begin()
    else options.authFrame(authenticate)
  })
  socket.addEventListener("message", ({ data }) => line.take(String(data)))
  socket.addEventListener("error", () => {}) // the close event follows
  socket.addEventListener("close", ({ code, reason }) => end(code ?? CODE_LOST, reason ?? ""))
  return giveUp
}
