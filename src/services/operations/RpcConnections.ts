/**
 * Connections for remote procedure calls. The transport owns the sockets and their limits, and passes the connections
 * to the server of the calls. Before that server starts, and after it stops, no connection is accepted.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { Peer } from "./InProcessFeeds.ts"

/** Path of calls, by POST and over WebSocket. */
export const CALLS_PATH = "/rpc"

/** A connection, as provided by its transport. */
export interface RpcConnection {
  readonly peer: Peer
  /** Headers of the request that opened it. */
  readonly headers: ReadonlyArray<readonly [string, string]>
  /** Sends a message; waits until the client has read the previous ones. */
  readonly send: (text: string) => Effect.Effect<void>
  /** Sends text without waiting; a client that does not read is disconnected. */
  readonly sendNow: (text: string) => void
  /** Closes the connection: its unfinished input is too large. */
  readonly tooLarge: () => void
  /** Sets the size of the unprocessed input, in bytes. */
  readonly hold: (bytes: number) => void
  /** Called when no call is in flight. */
  readonly idle: () => void
}

/** The calls of a connection. */
export interface ConnectionCalls {
  /** Handles a message. Unless `mayRun`, its calls are refused because there are too many messages. */
  readonly take: (text: string, mayRun: boolean) => void
  /** Refuses further calls: the gateway is shutting down. */
  readonly refuse: () => void
  /** Whether a call is in flight. */
  readonly isBusy: () => boolean
  /** The connection is closed: interrupts its calls. */
  readonly closed: () => void
}

export type AcceptCalls = (connection: RpcConnection) => ConnectionCalls

export class RpcConnections extends Context.Service<
  RpcConnections,
  {
    /** Accepts a connection; only while {@link isServed}. */
    readonly accept: AcceptCalls
    readonly isServed: () => boolean
    /** Accepts connections until the scope closes. */
    readonly serve: (accept: AcceptCalls) => Effect.Effect<void, never, Scope.Scope>
  }
>()("gateway/services/RpcConnections") {
  static readonly layer = Layer.sync(RpcConnections, () => {
    let current: AcceptCalls | undefined
    return RpcConnections.of({
      accept: (connection) => current!(connection),
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
