/**
 * A TCP proxy that cuts connections at seeded moments: before the upgrade, during authentication, in the middle of a frame or
 * of a replay, or some time later. A connection's fate is chosen when it opens.
 */
import { connect, createServer, type Server, type Socket } from "node:net"

/** Most bytes, and longest time in ms, before a connection is cut. */
const BYTES_MAX = 60_000
const TIME_MAX_MS = 600

/** When a connection is cut. */
export type Fate =
  | { readonly by: "bytes down" | "bytes up"; readonly after: number }
  | { readonly by: "time"; readonly after_ms: number }

export class CuttingProxy {
  /** Connections that reached the gateway and were cut, by fate. */
  readonly cuts = new Map<Fate["by"], number>()
  port = 0
  private readonly next: () => number
  private readonly target: () => number
  private readonly server: Server
  private readonly open = new Set<Socket>()
  private isCalm = false
  /** Until then new connections are refused. */
  private refusingUntil = 0

  /** `next` is the source of chance, `target` returns the port of the gateway. */
  constructor(next: () => number, target: () => number) {
    this.next = next
    this.target = target
    this.server = createServer((client) => this.carry(client))
  }
  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.server.listen(0, "127.0.0.1", () => {
        const address = this.server.address()
        if (typeof address === "object" && address !== null) this.port = address.port
        resolve()
      })
    })
  }
  get total(): number {
    return [...this.cuts.values()].reduce((sum, count) => sum + count, 0)
  }
  /** Whether connections are left alone from now on. */
  calm(isCalm: boolean): void {
    this.isCalm = isCalm
  }
  /** Cuts open connections and refuses new ones for a while. */
  refuse(ms: number): void {
    this.refusingUntil = Date.now() + ms
    for (const socket of this.open) socket.destroy()
  }
  close(): void {
    this.server.close()
    for (const socket of this.open) socket.destroy()
  }

  private fate(): Fate {
    const by = this.next()
    // logarithmic: most of the interesting moments are at the beginning
    const after = Math.floor(Math.exp(this.next() * Math.log(BYTES_MAX)))
    if (by < 0.45) return { by: "bytes down", after }
    if (by < 0.55) return { by: "bytes up", after: after % 1_500 }
    return { by: "time", after_ms: this.next() * TIME_MAX_MS }
  }

  private carry(client: Socket): void {
    if (Date.now() < this.refusingUntil) return void client.destroy()
    const fate = this.fate()
    const gateway = connect(this.target(), "127.0.0.1")
    const both = [client, gateway]
    let timer: NodeJS.Timeout | undefined
    let ended = false
    let reached = false
    for (const socket of both) {
      this.open.add(socket)
      socket.on("error", () => {}) // the close event follows
      socket.on("close", () => {
        clearTimeout(timer)
        ended = true
        for (const each of both) {
          this.open.delete(each)
          each.destroy()
        }
      })
    }
    const cut = (): void => {
      if (ended || this.isCalm) return
      ended = true
      if (reached) this.cuts.set(fate.by, (this.cuts.get(fate.by) ?? 0) + 1)
      // half of them with a reset, half with an orderly close
      for (const socket of both) {
        if (this.next() < 0.5) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
    gateway.once("connect", () => {
      reached = true
      if (fate.by === "time") timer = setTimeout(cut, fate.after_ms)
    })
    const pipe = (from: Socket, to: Socket, by: "bytes up" | "bytes down"): void => {
      let left = fate.by === by ? fate.after : Infinity
      from.on("data", (data) => {
        const part = this.isCalm ? data : data.subarray(0, Math.max(0, left))
        left -= data.length
        if (!to.destroyed && part.length > 0 && !to.write(part)) {
          from.pause()
          to.once("drain", () => from.resume())
        }
        // bytes that were forwarded arrive before the cut
        if (left < 0) setImmediate(cut)
      })
    }
    pipe(client, gateway, "bytes up")
    pipe(gateway, client, "bytes down")
  }
}
