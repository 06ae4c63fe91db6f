/** A TCP proxy in front of a backend, whose connections a test cuts or freezes. */
import { createConnection, createServer, type Server, type Socket } from "node:net"

export class Proxy {
  port = 0
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private frozen = false
  private refusing = false

  private constructor(target: number) {
    this.server = createServer((near) => {
      if (this.refusing) return void near.resetAndDestroy()
      const far = createConnection(target, "127.0.0.1")
      for (const [from, to] of [
        [near, far],
        [far, near]
      ] as const) {
        this.sockets.add(from)
        from.on("data", (chunk) => {
          if (!this.frozen) to.write(chunk)
        })
        from.on("error", () => {})
        from.on("close", () => {
          this.sockets.delete(from)
          to.destroy()
        })
      }
    })
  }

  static start(target: number): Promise<Proxy> {
    const proxy = new Proxy(target)
    return new Promise((resolve) =>
      proxy.server.listen(0, "127.0.0.1", () => {
        proxy.port = (proxy.server.address() as { readonly port: number }).port
        resolve(proxy)
      })
    )
  }

  /** Resets every connection. New ones are taken. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy()
  }

  /** Resets every connection, and every new one, until {@link accept}. */
  refuse(): void {
    this.refusing = true
    this.cut()
  }

  accept(): void {
    this.refusing = false
  }

  /** Swallows what either side sends from now on. */
  freeze(): void {
    this.frozen = true
  }

  thaw(): void {
    this.frozen = false
  }

  close(): Promise<void> {
    this.cut()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}
