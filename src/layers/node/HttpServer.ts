/**
 * The HTTP server of the gateway. It can listen before the gateway is built: connections made during start-up are queued,
 * then served. Only probes are answered at once.
 *
 * It depends on Node alone, so that a program can open its port before it loads anything else.
 */
import { Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { transportLimits } from "../../domain/TransportLimits.ts"
import * as StartupProbes from "./StartupProbes.ts"

/** Limits of connections and their timeouts. */
export interface ServerLimits {
  /** Open connections, WebSockets included; further ones are closed without a response. */
  readonly connections: number
  /** Time a client has to send the headers, in ms, from the start of its connection; then it gets 408 and is closed. */
  readonly headers_ms: number
  /** Time a client has to send a whole request, in ms. */
  readonly request_ms: number
  /** Idle time after which a kept connection is closed, in ms. */
  readonly keep_alive_ms: number
  /** Interval at which timeouts are checked, in ms: how late a connection may be closed. */
  readonly check_ms: number
  /** Connections held during start-up; further ones are closed without a response. */
  readonly early: number
  /** Longest hold of a connection, in ms; then it is closed without a response. */
  readonly early_ms: number
}

export const defaults: ServerLimits = {
  connections: transportLimits.connections.figure,
  headers_ms: transportLimits.headers_ms.figure,
  request_ms: transportLimits.request_ms.figure,
  // above the usual 60 s of load balancers
  keep_alive_ms: transportLimits.keep_alive_ms.figure,
  check_ms: 1_000,
  early: 4_096,
  early_ms: 10_000
}

/** The response in progress on a connection, from the field that Node's own server uses. */
export const responseOf = (socket: Duplex): ServerResponse | undefined =>
  (socket as Duplex & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined

/** The close event that follows an error removes the held socket. */
const onError = (): void => {}

/** The server. Between `hold` and `admit` it holds new connections, and answers probes. */
export class GatewayHttpServer extends Server {
  readonly #limits: ServerLimits
  /** Held connections, each with the function that removes its listeners. */
  readonly #waiting = new Map<Socket, () => void>()
  #isHolding = false

  constructor(limits = defaults) {
    super({
      keepAliveTimeout: limits.keep_alive_ms,
      requestTimeout: limits.request_ms,
      headersTimeout: limits.headers_ms,
      connectionsCheckingInterval: limits.check_ms,
      maxHeaderSize: transportLimits.header_bytes.figure,
      // Node would respond without a body; the routes refuse the request with the usual error body
      requireHostHeader: false
    })
    this.maxHeadersCount = transportLimits.headers.figure
    this.maxConnections = limits.connections
    this.#limits = limits
  }

  /** Holds new connections from now on. */
  hold(): void {
    this.#isHolding = true
  }

  /** Serves held connections in the order of their arrival, and new ones at once. */
  admit(): void {
    this.#isHolding = false
    for (const [socket, release] of this.#waiting) {
      release()
      this.emit("connection", socket)
    }
  }

  #wait(socket: Socket): void {
    if (this.#waiting.size >= this.#limits.early) return void socket.destroy()
    const drop = () => socket.destroy()
    const look = () => {
      const bytes = socket.read() as Buffer | null
      if (bytes === null) return
      const answer = StartupProbes.answerTo(bytes)
      if (answer !== undefined) return void socket.end(answer, drop)
      socket.off("readable", look).unshift(bytes)
    }
    const release = () => {
      this.#waiting.delete(socket)
      socket.off("error", onError).off("timeout", drop).off("end", drop).off("close", release).off("readable", look)
      socket.setTimeout(0)
    }
    this.#waiting.set(socket, release)
    // what follows the first bytes of a held connection is unread: after its end it would stay half open
    socket.on("error", onError).on("timeout", drop).on("end", drop).on("close", release).on("readable", look)
    socket.setTimeout(this.#limits.early_ms)
  }

  override emit(event: string | symbol, ...args: Array<unknown>): boolean {
    if (event === "connection" && this.#isHolding) {
      this.#wait(args[0] as Socket)
      return true
    }
    // the pending response would go into the upgraded connection
    const socket = event === "upgrade" ? (args[1] as Duplex) : undefined
    if (socket !== undefined && responseOf(socket) !== undefined) {
      return super.emit("clientError", new Error("an upgrade while a response is pending"), socket)
    }
    return super.emit(event as string, ...args)
  }

  /** As `Server.listen`; a server that listens already keeps its port and ignores the arguments. */
  override listen(...args: Array<unknown>): this {
    const callback = args.at(-1)
    if (!this.listening) return super.listen(...(args as []))
    if (typeof callback === "function") process.nextTick(callback as () => void)
    return this
  }
}
