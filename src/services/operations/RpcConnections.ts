/**
 * Connections that carry procedure calls: the transport that owns the sockets, with its limits, hands them to the server that
 * runs the calls. Before that server starts, and after it stops, none is accepted.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { Peer } from "./InProcessFeeds.ts"

/** Path of calls, by POST and over WebSocket. */
export const CALLS_PATH = "/rpc"

/** A connection, as its transport offers it. */
export interface RpcConnection {
  readonly peer: Peer
  /** Headers of the request that opened it. */
  readonly headers: ReadonlyArray<readonly [string, string]>
  /** Sends a message; waits while the client does not read those before it. */
  readonly send: (text: string) => Effect.Effect<void>
  /** Sends text at once; a client that does not read loses the connection. */
  readonly sendNow: (text: string) => void
  /** Closes the connection: its unfinished input is too large. */
  readonly tooLarge: () => void
  /** Counts input that is not processed yet, in bytes. */
  readonly hold: (bytes: number) => void
  /** Called when no call is in flight any more. */
  readonly idle: () => void
}

/** The calls of a connection. */
export interface ConnectionCalls {
  /** Takes a message. Unless `mayRun`, its calls are refused: there are too many messages. */
  readonly take: (text: string, mayRun: boolean) => void
  /** From now on calls are refused: the gateway is shutting down. */
  readonly refuse: () => void
  /** Whether a call is in flight. */
  readonly isBusy: () => boolean
  /** The connection is closed: interrupts its calls. */
  readonly closed: () => void
}

export type AcceptCalls = (line: RpcConnection) => ConnectionCalls

export class RpcConnections extends Context.Service<
  RpcConnections,
  {
    /** Takes a connection, while {@link isServed}. */
    readonly accept: AcceptCalls
    readonly isServed: () => boolean
    /** Accepts connections until the scope closes. */
    readonly serve: (accept: AcceptCalls) => Effect.Effect<void, never, Scope.Scope>
  }
>()("gateway/services/CallLines") {
  static readonly layer = Layer.sync(RpcConnections, () => {
    let current: AcceptCalls | undefined
    return RpcConnections.of({
      accept: (line) => current!(line),
      isServed: () => current !== undefined,
      serve: (accept) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            current = accept
          }),
          () =>
            Effect.sync(() => {
              current = undefined
            })
        )
    })
  })
}
