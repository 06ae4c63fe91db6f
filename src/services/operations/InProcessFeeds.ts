/**
 * Connections to the feeds that have no socket under them, for doors that speak another protocol.
 *
 * Guarantee: what is said and told on one, its limits and its end are those of a WebSocket at the same endpoint. Whoever serves
 * sockets serves these too; before it does, and after it stopped, none is opened.
 */
import { Context, Effect, Latch, Layer, type Scope, Stream } from "effect"
import { DomainError } from "../DomainError.ts"

/** Where whoever opens a line is: the address of the socket, and what proxies in front of it wrote. */
export interface Peer {
  readonly address: string | undefined
  readonly forwarded: string | undefined
}

export interface Opening {
  readonly endpoint: "public" | "private"
  readonly peer: Peer
  /** What is said as soon as the line is open, in order. */
  readonly messages: ReadonlyArray<string>
}

/** The line was closed from the other side. */
export class ConnectionEnded {
  readonly _tag = "LineEnded"
  /** Close code; docs/contract/websocket.md#close-codes. */
  readonly code: number
  constructor(code: number) {
    this.code = code
  }
}

/** Opens a line, which is closed with the stream, and tells the text of every message. */
export type Open = (opening: Opening) => Stream.Stream<string, DomainError | ConnectionEnded>

export class InProcessFeeds extends Context.Service<
  InProcessFeeds,
  {
    readonly open: Open
    /** Lets lines be opened until the scope closes. */
    readonly serve: (open: Open) => Effect.Effect<void, never, Scope.Scope>
    /** Waits until lines were opened and are not any more: whoever carries them may go. */
    readonly over: Effect.Effect<void>
  }
>()("gateway/services/FeedLines") {
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
