/** Bounds what clients leave unread: how long, how much an address, and how many answers a connection. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { networkOf } from "../../domain/Ip.ts"
import { transportLimits } from "../../domain/TransportLimits.ts"
import { answering } from "./HttpServer.ts"

export interface SlowClientLimits {
  /** Time a client has to take what the system does not take of an answer at once, in ms. */
  readonly reading_ms: number
  /** Bytes of answers that the clients of an address leave here; whose oldest waits longest loses its connection. 0: no limit. */
  readonly unread_bytes: number
  /** How often connections are looked at, in ms: how late any of them may be closed. */
  readonly check_ms: number
}

/** An answer that the system did not take at once. */
interface Unread {
  readonly socket: Socket
  readonly since: number
}

/** Closes connections that leave too much, or leave it for too long. */
export const watch = (server: Server, limits: SlowClientLimits): void => {
  const { check_ms, reading_ms, unread_bytes } = limits
  const sockets = new Set<Socket>()
  const begun = new WeakMap<ServerResponse, number>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })

  /** Of one address: the oldest go until the rest is few enough. */
  const relieve = (held: Array<Unread>): void => {
    let bytes = held.reduce((sum, { socket }) => sum + socket.writableLength, 0)
    for (const { socket } of held.toSorted((a, b) => a.since - b.since)) {
      if (bytes <= unread_bytes) return
      bytes -= socket.writableLength
      socket.destroy()
    }
  }
  const timer = setInterval(() => {
    const now = performance.now()
    const held = new Map<string, Array<Unread>>()
    for (const socket of sockets) {
      const answer = answering(socket)
      if (answer === undefined || socket.writableLength === 0) continue
      const since = begun.get(answer) ?? now
      begun.set(answer, since)
      if (now - since > reading_ms) {
        socket.destroy()
        continue
      }
      const network = networkOf(socket.remoteAddress ?? "")
      const others = held.get(network)
      if (others === undefined) held.set(network, [{ socket, since }])
      else others.push({ socket, since })
    }
    if (unread_bytes > 0) for (const each of held.values()) relieve(each)
  }, check_ms)
  timer.unref()
  server.once("close", () => clearInterval(timer))
}

/** Requests of one connection that may wait for their answers. */
const WAITING_MAX = transportLimits.requests_in_flight.figure

/** Ends a connection that sends requests without waiting for answers, and leaves alone all that is within the bound. */
export const crowds = (): ((request: IncomingMessage, response: ServerResponse) => boolean) => {
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
