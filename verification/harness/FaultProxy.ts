/** A TCP proxy on a link, which injects faults: resets, refused connections, stalls, lost bytes, delay. */
import { createConnection, createServer, type Server, type Socket } from "node:net"

/** Bytes that are buffered in each direction before the sender is paused: a peer rarely notices that a proxy is there. */
const BUFFER_BYTES = 16 * 1024 * 1024

export class FaultProxy {
  port = 0
  private target: number
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private isRefusing = false
  private isStalled = false
  private isSwallowing = false
  private delay_ms = 0

  private constructor(target: number) {
    this.target = target
    this.server = createServer({ pauseOnConnect: true, highWaterMark: BUFFER_BYTES }, (near) => {
      if (this.isRefusing) return void near.resetAndDestroy()
      // a variable, because the types of Node lack highWaterMark here
      const upstream = { port: this.target, host: "127.0.0.1", highWaterMark: BUFFER_BYTES }
      const far = createConnection(upstream)
      this.pipe(near, far)
      this.pipe(far, near)
      if (!this.isStalled) near.resume()
    })
  }
  /** Starts a proxy to a port of this machine, on a port that the system chooses. */
  static start(target: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(target)
    return new Promise((resolve) =>
      proxy.server.listen(0, "127.0.0.1", () => {
        proxy.port = (proxy.server.address() as { readonly port: number }).port
        resolve(proxy)
      })
    )
  }

  private pipe(from: Socket, to: Socket): void {
    this.sockets.add(from)
    from.on("data", (chunk) => {
      if (this.isSwallowing) return
      if (this.delay_ms === 0) this.forward(chunk, from, to)
      else setTimeout(() => this.forward(chunk, from, to), this.delay_ms)
    })
    from.on("error", () => {}) // the close event follows
    from.on("close", () => {
      this.sockets.delete(from)
      to.destroy()
    })
  }
  private forward(chunk: Buffer, from: Socket, to: Socket): void {
    if (to.destroyed || to.write(chunk)) return
    from.pause()
    to.once("drain", () => this.isStalled || from.resume())
  }

  /** Sends new connections to another port. */
  retarget(target: number): void {
    this.target = target
  }
  /** Resets every connection. New ones are accepted. */
  cut(): void {
    for (const socket of this.sockets)
      // the system refuses to reset a socket that is being shut down; Node then never closes it, and its process never ends
      if (socket.writableEnded) socket.destroy()
      else socket.resetAndDestroy()
  }
  /** Resets every connection and each new one, until {@link open}. */
  refuse(): void {
    this.isRefusing = true
    this.cut()
  }
  /** Keeps connections open and delivers nothing; {@link open} delivers what was sent meanwhile. */
  stall(): void {
    this.isStalled = true
    for (const socket of this.sockets) socket.pause()
  }
  /** Keeps connections open and discards what either side sends, until {@link open}. */
  swallow(): void {
    this.isSwallowing = true
  }
  /** Delays every byte in each direction, in ms. */
  slow(ms: number): void {
    this.delay_ms = ms
  }
  /** Ends every fault. */
  open(): void {
    this.isRefusing = false
    this.isStalled = false
    this.isSwallowing = false
    this.delay_ms = 0
    for (const socket of this.sockets) socket.resume()
  }
  close(): Promise<void> {
    this.refuse()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}
