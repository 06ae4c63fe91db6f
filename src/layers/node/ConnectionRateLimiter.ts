/**
 * Limits the connections of one address, and accepts them at a steady rate. Faster connections are queued unread instead of
 * refused: clients that reconnect together all get in, and an address that opens thousands delays only itself.
 */
import type { Server } from "node:http"
import type { Socket } from "node:net"
import { networkOf } from "../../domain/Ip.ts"

export interface ConnectionRateLimits {
  /** Connections per address, queued ones included; further ones are closed without a response. 0: no limit. */
  readonly connections_per_address: number
  /** Connections accepted per second and address; an IPv6 network counts as one address. 0: no limit. */
  readonly arrivals_per_s: number
  /** Burst: connections accepted at once from an address that was idle. */
  readonly arrivals_at_once: number
  /** Queued connections per address; further ones are closed without a response. */
  readonly arrivals_waiting: number
}

/** Interval at which queued connections are accepted, in ms. */
const STEP_MS = 2

/** The queue of one address. */
interface Queue {
  /** Connections that may be accepted now, as of `at_ms`. */
  credit: number
  at_ms: number
  readonly waiting: Set<Socket>
}

/** The close event that follows an error removes the queued socket. */
const onError = (): void => {}

/** Destroys a queued socket whose client ended it: unread, it would otherwise stay half open. */
const onEnd = function (this: Socket): void {
  this.destroy()
}

/** Installs the limiter before the server's present listeners of "connection". */
export const install = (
  server: Server,
  { arrivals_at_once, arrivals_per_s, arrivals_waiting, connections_per_address }: ConnectionRateLimits
): void => {
  if (arrivals_per_s === 0 && connections_per_address === 0) return
  const listeners = server.listeners("connection") as Array<(socket: Socket) => void>
  const queues = new Map<string, Queue>()
  let timer: NodeJS.Timeout | undefined

  const accept = (socket: Socket): void => {
    for (const each of listeners) each.call(server, socket)
  }
  const refill = (queue: Queue): void => {
    const now = performance.now()
    queue.credit = Math.min(arrivals_at_once, queue.credit + ((now - queue.at_ms) / 1_000) * arrivals_per_s)
    queue.at_ms = now
  }
  const acceptQueued = (queue: Queue): void => {
    refill(queue)
    for (const socket of queue.waiting) {
      if (queue.credit < 1) return
      queue.credit--
      queue.waiting.delete(socket)
      socket.off("error", onError).off("end", onEnd)
      accept(socket)
    }
  }
  const step = (): void => {
    for (const [network, queue] of queues) {
      // the server's close waits for all of its connections
      if (!server.listening) for (const socket of queue.waiting) socket.destroy()
      acceptQueued(queue)
      if (queue.waiting.size === 0 && queue.credit >= arrivals_at_once) queues.delete(network)
    }
    if (queues.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  const enqueue = (socket: Socket, queue: Queue): void => {
    if (queue.waiting.size >= arrivals_waiting) return void socket.destroy()
    queue.waiting.add(socket)
    socket.on("error", onError).on("end", onEnd)
    socket.once("close", () => queue.waiting.delete(socket))
  }

  /** Open connections by address. */
  const open = new Map<string, number>()
  const exceedsLimit = (socket: Socket, network: string): boolean => {
    const count = open.get(network) ?? 0
    if (count >= connections_per_address) return true
    open.set(network, count + 1)
    socket.once("close", () => {
      const left = open.get(network)! - 1
      if (left === 0) open.delete(network)
      else open.set(network, left)
    })
    return false
  }

  server.removeAllListeners("connection")
  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "")
    if (connections_per_address > 0 && exceedsLimit(socket, network)) return void socket.destroy()
    if (arrivals_per_s === 0) return accept(socket)
    let queue = queues.get(network)
    if (queue === undefined) {
      queue = { credit: arrivals_at_once, at_ms: performance.now(), waiting: new Set() }
      queues.set(network, queue)
      timer ??= setInterval(step, STEP_MS).unref()
    }
    if (queue.waiting.size > 0) return enqueue(socket, queue)
    refill(queue)
    if (queue.credit < 1) return enqueue(socket, queue)
    queue.credit--
    accept(socket)
  })
}
