/** A real nats-server with JetStream on a free port. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "@nats-io/transport-node"
import { Redacted } from "effect"
import { ended, freePort, isInstalled } from "./RedisServer.ts"

export const isNatsInstalled = isInstalled("nats-server")

export class NatsServer {
  private child: ChildProcess | undefined
  private directory = ""
  readonly port: number
  private constructor(port: number) {
    this.port = port
  }
  static async start(): Promise<NatsServer> {
    const server = new NatsServer(await freePort())
    await server.begin()
    return server
  }
  get url(): Redacted.Redacted<string> {
    return Redacted.make(`nats://127.0.0.1:${this.port}`)
  }
  /** Starts the program with an empty store, and waits until it answers. */
  async begin(): Promise<void> {
    this.directory = mkdtempSync(join(tmpdir(), "nats-"))
    const flags = ["-a", "127.0.0.1", "-p", String(this.port), "-js", "-sd", this.directory]
    this.child = spawn("nats-server", flags, { stdio: "ignore" })
    for (let i = 0; ; i++) {
      try {
        const nats = await connect({ servers: Redacted.value(this.url), reconnect: false })
        return await nats.close()
      } catch (cause) {
        if (i > 500) throw cause
        await new Promise((resolve) => setTimeout(resolve, 40))
      }
    }
  }
  /** Neither answers nor ends. */
  hang(): void {
    this.child!.kill("SIGSTOP")
  }
  goOn(): void {
    this.child!.kill("SIGCONT")
  }
  /** Ends it, and its data with it. */
  async kill(): Promise<void> {
    await ended(this.child!)
    rmSync(this.directory, { recursive: true, force: true })
  }
}
