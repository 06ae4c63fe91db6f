/**
 * Connections to the feeds without a socket, for servers of other protocols.
 *
 * Guarantee: messages, limits and close codes are those of a WebSocket at the same endpoint. The server of the
 * sockets also serves these connections; before it starts and after it stops, none can be opened.
 */
import { Context, Effect, Latch, Layer, Schema, type Scope, Stream } from "effect"
import { DomainError } from "../DomainError.ts"

/** The client of a connection: the address of its socket, and the X-Forwarded-For header. */
export interface Peer {
  readonly address: string | undefined
  readonly forwarded: string | undefined
}

export interface Opening {
  readonly endpoint: "public" | "private"
  readonly peer: Peer
  /** Messages sent when the connection opens, in order. */
  readonly messages: ReadonlyArray<string>
}

/** The server closed the connection. */
export class ConnectionEnded extends Schema.TaggedClass<ConnectionEnded>()("ConnectionEnded", {
  /** Close code; docs/contract/websocket.md#close-codes. */
  code: Schema.Int
}) {}

/** Reasons for which a connection is refused. */
export type OpenReason = "BackendUnavailable" | "RateLimitExceeded" | "ShuttingDown"

/** Opens a connection and returns its messages. The connection closes with the stream. */
export type Open = (opening: Opening) => Stream.Stream<string, DomainError<OpenReason> | ConnectionEnded>

export class InProcessFeeds extends Context.Service<
  InProcessFeeds,
  {
    readonly open: Open
    /** Accepts connections until the scope closes. */
    readonly serve: (open: Open) => Effect.Effect<void, never, Scope.Scope>
    /** Waits until the server has stopped serving; the carrier of the connections may stop then. */
    readonly over: Effect.Effect<void>
  }
>()("gateway/services/InProcessFeeds") {
  static readonly layer = Layer.sync(InProcessFeeds, () => {
    const closed: Open = () => Stream.fail(new DomainError("ShuttingDown"))
    let current = closed
    const over = Latch.makeUnsafe()
    return InProcessFeeds.of({
      over: over.await,
      open: (opening) => Stream.suspend(() => current(opening)),
      serve: (open) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            current = open
          }),
          () =>
            Effect.sync(() => {
              current = closed
              over.openUnsafe()
            })
        )
    })
  })
}
