/** One connection of a feed, from its opening to its end: it authenticates where the endpoint needs that, then subscribes. */
import { closeCodes } from "../ws/api/CloseCodes.ts"
import type { Resume } from "../ws/api/Frames.ts"
import { CODE_LOST, CODE_NO_TOPIC, type Ended, isPassing } from "./Backoff.ts"
import { Connection } from "./Connection.ts"
import type { FeedEvent } from "./FeedEvent.ts"
import type { Topics } from "./Topics.ts"
import type { WebSocketLike } from "./WebSocketLike.ts"

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
  /** Returns the frame to authenticate with; `undefined` means no credential. Absent: the endpoint needs no authentication. */
  readonly authFrame: (() => Promise<AuthFrame | undefined>) | undefined
  readonly emit: (event: FeedEvent) => void
  /** All wanted topics are subscribed. */
  readonly onLive: (resume: Resume | undefined) => void
  readonly onEnd: (end: Ended) => void
}

/** Ends a connection as if it had been closed with this code. */
export type Disconnect = (code: number, reason: string) => void

/** Follows topics over a socket that is not open yet. */
export const connect = (socket: WebSocketLike, topics: Topics, options: ConnectOptions): Disconnect => {
  let refusal = ""
  const connection = new Connection(socket, {
    now: options.now,
    onEvent: (frame) => topics.receive(frame),
    onError: (error) => {
      refusal = error.message
      options.emit({ kind: "refused", error })
      // the gateway has dropped a message above the rate limit, and the reply to it never arrives
      if (error.code === "RateLimitExceeded" && error.req_id === undefined) {
        disconnect(closeCodes.TooMany.code, error.message)
      }
    },
    onGarbage: () => disconnect(closeCodes.Internal.code, "the gateway sent text that is no frame")
  })
  topics.connection = connection
  let wasLive = false
  const end = (code: number, reason: string, resetsBackoff = true): void => {
    if (topics.connection !== connection) return
    topics.disconnected()
    options.onEnd({ code, reason, wasLive: wasLive && resetsBackoff })
  }
  const disconnect: Disconnect = (code, reason) => {
    // an immediate reconnect does not repair a connection with faulty data, so the back-off goes on
    end(code, reason, code === CODE_LOST)
    socket.close()
  }
  const subscribe = (): void => {
    const requested = [...topics.wanted]
    topics.subscribe(requested, (result) => {
      if (result === undefined) return
      if (requested.length > 0 && topics.wanted.size === 0) return disconnect(CODE_NO_TOPIC, refusal)
      // read first: a caller subscribes itself what it adds to a feed that is live
      const more = [...topics.wanted].filter((topic) => !requested.includes(topic))
      wasLive = true
      options.onLive(result.resume)
      if (more.length > 0) topics.subscribe(more, () => {})
    })
  }
  const authenticate = (frame: AuthFrame | undefined): void => {
    if (frame === undefined) return disconnect(closeCodes.AuthRefused.code, "log in first")
    connection.request({ op: "auth", ...frame }, (reply) => {
      if (reply?.op === "auth" && reply.success) subscribe()
      else if (reply !== undefined) {
        const { code, message } = reply.op === "auth" || reply.op === "error" ? reply : { code: "", message: reply.op }
        disconnect(isPassing(code) ? closeCodes.BackendLost.code : closeCodes.AuthRefused.code, message)
      }
      return false
    })
  }
  socket.addEventListener("open", () => {
    if (options.authFrame === undefined) subscribe()
    else options.authFrame().then(authenticate, () => authenticate(undefined))
  })
  socket.addEventListener("message", ({ data }) => connection.receive(String(data)))
  socket.addEventListener("error", () => {}) // a close event follows
  socket.addEventListener("close", ({ code, reason }) => end(code ?? CODE_LOST, reason ?? ""))
  return disconnect
}
