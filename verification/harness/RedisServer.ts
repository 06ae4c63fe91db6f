/** A redis-server process on a free port. */
import { type ChildProcess, spawn } from "node:child_process"
import { Redacted } from "effect"
import { createClient } from "redis"
import { ended, freePort, isInstalled, temporaryFolder } from "./Programs.ts"
import { START_MS, until } from "./Wait.ts"

export const isRedisInstalled = isInstalled("redis-server")

export class RedisServer {
  private child: ChildProcess | undefined
  readonly port: number
  /** Whether it writes an append-only file, so that data survive a kill. */
  private readonly keeps: boolean
  private readonly env: Readonly<Record<string, string>>
  private readonly folder = temporaryFolder("redis")
  private constructor(port: number, keeps: boolean, env: Readonly<Record<string, string>>) {
    this.port = port
    this.keeps = keeps
    this.env = env
  }
  static async start(
    options: { readonly keeps?: boolean; readonly env?: Readonly<Record<string, string>> } = {}
  ): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), options.keeps ?? false, options.env ?? {})
    await server.begin()
    return server
  }
  get url(): Redacted.Redacted<string> {
    return Redacted.make(`redis://127.0.0.1:${this.port}`)
  }
  /** Starts the program on the data of its folder, and waits until it answers. */
  async begin(): Promise<void> {
    const flags = ["--save", "", "--appendonly", this.keeps ? "yes" : "no", "--dir", this.folder.path]
    this.child = spawn("redis-server", ["--port", String(this.port), "--bind", "127.0.0.1", ...flags], {
      env: { ...process.env, ...this.env },
      stdio: "ignore"
    })
    await until("redis-server answers", () => this.use(async () => true).catch(() => false), START_MS)
  }
  async use<A>(f: (client: ReturnType<typeof createClient>) => Promise<A>): Promise<A> {
    const client = createClient({ url: Redacted.value(this.url), socket: { reconnectStrategy: false } })
    client.on("error", () => {})
    await client.connect()
    try {
      await client.ping()
      return await f(client as ReturnType<typeof createClient>)
    } finally {
      client.destroy()
    }
  }
  kill(): Promise<void> {
    return ended(this.child!)
  }
  /** Suspends the process: its connections stay open and it answers nothing. */
  freeze(): void {
    this.child!.kill("SIGSTOP")
  }
  thaw(): void {
    this.child!.kill("SIGCONT")
  }
  async remove(): Promise<void> {
    await this.kill()
    this.folder.remove()
  }
}
