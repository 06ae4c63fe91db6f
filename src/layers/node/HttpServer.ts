/**
 * The HTTP server of the gateway. It may listen before what is behind it is built: connections wait meanwhile, unread, and
 * who comes too early is neither refused nor left without an answer.
 *
 * It stands on Node alone, so that a program can open its port before it loads anything else.
 */
import { Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { transportLimits } from "../../domain/TransportLimits.ts"

/** What a connection may take, and how many there may be. */
export interface ServerLimits {
  /** Connections at once, sockets among them; what comes beyond is closed unanswered. */
  readonly connections: number
  /** Time a client has to send the headers, in ms, from its connection on: slow senders are answered 408 and closed. */
  readonly headers_ms: number
  /** Time a client has to send a whole request, in ms. */
  readonly request_ms: number
  /** Idle time after which a kept connection is closed, in ms. */
  readonly keep_alive_ms: number
  /** How often connections are looked at, in ms: how late any of them may be closed. */
  readonly check_ms: number
  /** Connections that wait to be let in; what comes beyond is closed unanswered. */
  readonly early: number
  /** Time that a connection waits to be let in, in ms: then it is closed unanswered. */
  readonly early_ms: number
}

export const defaults: ServerLimits = {
  connections: transportLimits.connections.figure,
  headers_ms: transportLimits.headers_ms.figure,
  request_ms: transportLimits.request_ms.figure,
  // above the 60 s of usual load balancers
  keep_alive_ms: transportLimits.keep_alive_ms.figure,
  check_ms: 1_000,
  early: 4_096,
  early_ms: 10_000
}

/** The answer that a connection is waiting for; Node keeps it there, and reads it there itself. */
export const answering = (socket: Duplex): ServerResponse | undefined =>
  (socket as Duplex & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined

/** An error of one that waits is told by its close event. */
const onError = (): void => {}

/** The server: everybody comes in, but between `hold` and `admit`. */
export class GatewayHttpServer extends Server {
  readonly #limits: ServerLimits
  /** Connections that wait, with what is to do when they need no longer. */
  readonly #waiting = new Map<Socket, () => void>()
  #holds = false

  constructor(limits = defaults) {
    super({
      keepAliveTimeout: limits.keep_alive_ms,
      requestTimeout: limits.request_ms,
      headersTimeout: limits.headers_ms,
      connectionsCheckingInterval: limits.check_ms,
      maxHeaderSize: transportLimits.header_bytes.figure,
      // Node would answer without a body; the routes refuse it in the form of all errors
      requireHostHeader: false
    })
    this.maxHeadersCount = transportLimits.headers.figure
    this.maxConnections = limits.connections
    this.#limits = limits
  }

  /** From now on connections wait. */
  hold(): void {
    this.#holds = true
  }

  /** Lets in those that wait, in the order in which they came, and all that come from now on. */
  admit(): void {
    this.#holds = false
    for (const [socket, release] of this.#waiting) {
      release()
      this.emit("connection", socket)
    }
  }

  #wait(socket: Socket): void {
    if (this.#waiting.size >= this.#limits.early) return void socket.destroy()
    const drop = () => socket.destroy()
    const release = () => {
      this.#waiting.delete(socket)
      socket.off("error", onError).off("timeout", drop).off("end", drop).off("close", release).setTimeout(0)
    }
    this.#waiting.set(socket, release)
    // one that ends before it sent anything would tell nobody any more
    socket.on("error", onError).on("timeout", drop).on("end", drop).on("close", release)
    socket.setTimeout(this.#limits.early_ms)
  }

  override emit(event: string | symbol, ...args: Array<unknown>): boolean {
    if (event === "connection" && this.#holds) {
      this.#wait(args[0] as Socket)
      return true
    }
    // the answer that is due would go into what the upgrade made of the connection
    const socket = event === "upgrade" ? (args[1] as Duplex) : undefined
    if (socket !== undefined && answering(socket) !== undefined) {
      return super.emit("clientError", new Error("an upgrade behind a request that is not answered"), socket)
    }
    return super.emit(event as string, ...args)
  }

  /** As of any server; one that listens already keeps its port, whatever it is told. */
  override listen(...args: Array<unknown>): this {
    const told = args.at(-1)
    if (!this.listening) return super.listen(...(args as []))
    if (typeof told === "function") process.nextTick(told as () => void)
    return this
  }
}
