/** A way to a dependency: a TCP proxy that is open, slow, held still, or closed. */
import { createConnection, createServer, type Server, type Socket } from "node:net"

export class Way {
  port = 0
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private isClosed = false
  private isHeld = false
  private delay_ms = 0

  private constructor(target: number) {
    this.server = createServer({ pauseOnConnect: true }, (near) => {
      if (this.isClosed) return void near.resetAndDestroy()
      const far = createConnection(target, "127.0.0.1")
      this.carry(near, far)
      this.carry(far, near)
      if (!this.isHeld) near.resume()
    })
  }
  static start(target: number): Promise<Way> {
    const way = new Way(target)
    return new Promise((resolve) =>
      way.server.listen(0, "127.0.0.1", () => {
        way.port = (way.server.address() as { readonly port: number }).port
        resolve(way)
      })
    )
  }

  private carry(from: Socket, to: Socket): void {
    this.sockets.add(from)
    from.on("data", (chunk) => {
      if (this.delay_ms === 0) this.hand(chunk, from, to)
      else setTimeout(() => this.hand(chunk, from, to), this.delay_ms)
    })
    from.on("error", () => {}) // the close event follows
    from.on("close", () => {
      this.sockets.delete(from)
      to.destroy()
    })
  }
  private hand(chunk: Buffer, from: Socket, to: Socket): void {
    if (to.destroyed || to.write(chunk)) return
    from.pause()
    to.once("drain", () => this.isHeld || from.resume())
  }

  /** Nobody is there: connections are reset, new ones too. */
  close(): void {
    this.isClosed = true
    for (const socket of this.sockets) socket.resetAndDestroy()
  }
  /** Connections stand and bring nothing; what was sent meanwhile arrives when it is open again. */
  hold(): void {
    this.isHeld = true
    for (const socket of this.sockets) socket.pause()
  }
  /** Everything takes so long each way, in ms. */
  slow(ms: number): void {
    this.delay_ms = ms
  }
  open(): void {
    this.isClosed = false
    this.isHeld = false
    this.delay_ms = 0
    for (const socket of this.sockets) socket.resume()
  }
  end(): Promise<void> {
    this.close()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}
