/**
 * Bounds the connections of one address, and accepts them at a steady pace. Those that come faster wait their turn, unread, so that whoever
 * opens them by the thousand waits for himself, and nobody is refused who comes back with many others.
 */
import type { Server } from "node:http"
import type { Socket } from "node:net"
import { networkOf } from "../../domain/Ip.ts"

export interface ConnectionRateLimits {
  /** Connections of an address, those that wait among them; what comes beyond is closed unanswered. 0: no limit. */
  readonly connections_per_address: number
  /** Connections that are let in a second and address, an IPv6 network being one; 0: all are. */
  readonly arrivals_per_s: number
  /** Connections that are let in at once of an address that has not come for a while. */
  readonly arrivals_at_once: number
  /** Connections of one address that wait; what comes beyond is closed unanswered. */
  readonly arrivals_waiting: number
}

/** How often it is looked who may come in, in ms. */
const STEP_MS = 2

/** The connections of one address. */
interface Queue {
  /** How many may come in now, as of `at_ms`. */
  credit: number
  at_ms: number
  readonly waiting: Set<Socket>
}

/** An error of one that waits is told by its close event. */
const onError = (): void => {}

/** One that ends before it sent anything would tell nobody any more. */
const onEnd = function (this: Socket): void {
  this.destroy()
}

/** Puts a turnstile before the listeners to connections that the server has. */
export const install = (
  server: Server,
  { arrivals_at_once, arrivals_per_s, arrivals_waiting, connections_per_address }: ConnectionRateLimits
): void => {
  if (arrivals_per_s === 0 && connections_per_address === 0) return
  const behind = server.listeners("connection") as Array<(socket: Socket) => void>
  const queues = new Map<string, Queue>()
  let timer: NodeJS.Timeout | undefined

  const letIn = (socket: Socket): void => {
    for (const each of behind) each.call(server, socket)
  }
  const refill = (queue: Queue): void => {
    const now = performance.now()
    queue.credit = Math.min(arrivals_at_once, queue.credit + ((now - queue.at_ms) / 1_000) * arrivals_per_s)
    queue.at_ms = now
  }
  const advance = (queue: Queue): void => {
    refill(queue)
    for (const socket of queue.waiting) {
      if (queue.credit < 1) return
      queue.credit--
      queue.waiting.delete(socket)
      socket.off("error", onError).off("end", onEnd)
      letIn(socket)
    }
  }
  const step = (): void => {
    for (const [network, queue] of queues) {
      // the server waits for all of its connections when it ends
      if (!server.listening) for (const socket of queue.waiting) socket.destroy()
      advance(queue)
      if (queue.waiting.size === 0 && queue.credit >= arrivals_at_once) queues.delete(network)
    }
    if (queues.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  const wait = (socket: Socket, queue: Queue): void => {
    if (queue.waiting.size >= arrivals_waiting) return void socket.destroy()
    queue.waiting.add(socket)
    socket.on("error", onError).on("end", onEnd)
    socket.once("close", () => queue.waiting.delete(socket))
  }

  /** Open connections by address. */
  const open = new Map<string, number>()
  const isOver = (socket: Socket, network: string): boolean => {
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
    if (connections_per_address > 0 && isOver(socket, network)) return void socket.destroy()
    if (arrivals_per_s === 0) return letIn(socket)
    let queue = queues.get(network)
    if (queue === undefined) {
      queue = { credit: arrivals_at_once, at_ms: performance.now(), waiting: new Set() }
      queues.set(network, queue)
      timer ??= setInterval(step, STEP_MS).unref()
    }
    if (queue.waiting.size > 0) return wait(socket, queue)
    refill(queue)
    if (queue.credit < 1) return wait(socket, queue)
    queue.credit--
    letIn(socket)
  })
}
