/** Limits unread responses: how long a client may take, bytes per address, and pipelined requests per connection. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { networkOf } from "../../domain/Ip.ts"
import { transportLimits } from "../../domain/TransportLimits.ts"
import { responseOf } from "./HttpServer.ts"

export interface SlowClientLimits {
  /** Time a client has to read the buffered rest of a response, in ms. */
  readonly reading_ms: number
  /** Buffered response bytes per address; beyond it the connections that have waited longest are closed. 0: no limit. */
  readonly unread_bytes: number
  /** Interval of the checks, in ms: how late a connection may be closed. */
  readonly check_ms: number
}

/** A response whose rest is buffered here. */
interface Unread {
  readonly socket: Socket
  readonly since: number
}

/** Closes connections that leave too much unread, or leave it for too long. */
export const watch = (server: Server, limits: SlowClientLimits): void => {
  const { check_ms, reading_ms, unread_bytes } = limits
  const sockets = new Set<Socket>()
  const begun = new WeakMap<ServerResponse, number>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })

  /** Closes the oldest connections of one address until the others are within the limit. */
  const closeOldest = (unread: Array<Unread>): void => {
    let bytes = unread.reduce((sum, { socket }) => sum + socket.writableLength, 0)
    for (const { socket } of unread.toSorted((a, b) => a.since - b.since)) {
      if (bytes <= unread_bytes) return
      bytes -= socket.writableLength
      socket.destroy()
    }
  }
  const timer = setInterval(() => {
    const now = performance.now()
    const unread = new Map<string, Array<Unread>>()
    for (const socket of sockets) {
      const response = responseOf(socket)
      if (response === undefined || socket.writableLength === 0) continue
      const since = begun.get(response) ?? now
      begun.set(response, since)
      if (now - since > reading_ms) {
        socket.destroy()
        continue
      }
      const network = networkOf(socket.remoteAddress ?? "")
      const others = unread.get(network)
      if (others === undefined) unread.set(network, [{ socket, since }])
      else others.push({ socket, since })
    }
    if (unread_bytes > 0) for (const each of unread.values()) closeOldest(each)
  }, check_ms)
  timer.unref()
  server.once("close", () => clearInterval(timer))
}

/** Requests of one connection that may wait for their responses. */
const WAITING_MAX = transportLimits.requests_in_flight.figure

/** Returns an interceptor that closes a connection with too many pipelined requests, and otherwise does nothing. */
export const pipelineLimit = (): ((request: IncomingMessage, response: ServerResponse) => boolean) => {
  const waiting = new WeakMap<Socket, number>()
  return ({ socket }, response) => {
    const count = waiting.get(socket) ?? 0
    if (count >= WAITING_MAX) {
      socket.destroy()
      return true
    }
    waiting.set(socket, count + 1)
    response.once("close", () => waiting.set(socket, waiting.get(socket)! - 1))
    return false
  }
}
