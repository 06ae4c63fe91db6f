/** A redis-server process on a free port. */
import { type ChildProcess, spawn } from "node:child_process"
import { Redacted } from "effect"
import { createClient } from "redis"
import { ended, freePort, isInstalled, temporaryFolder } from "./Programs.ts"
import { START_MS, until } from "./Wait.ts"

export const isRedisInstalled = isInstalled("redis-server")

/** When an append-only file is synced; without one no data survive a kill. */
export type Keeps = "always" | "everysec"

export interface RedisOptions {
  readonly keeps?: Keeps
  /** Commands that it does not know. */
  readonly lacks?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

export class RedisServer {
  private child: ChildProcess | undefined
  readonly port: number
  private readonly options: RedisOptions
  private readonly folder = temporaryFolder("redis")
  private constructor(port: number, options: RedisOptions) {
    this.port = port
    this.options = options
  }
  static async start(options: RedisOptions = {}): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), options)
    await server.begin()
    return server
  }
  get url(): Redacted.Redacted<string> {
    return Redacted.make(`redis://127.0.0.1:${this.port}`)
  }
  /** Starts the program on the data of its folder, and waits until it answers. */
  async begin(keeps = this.options.keeps): Promise<void> {
    const { env, lacks = [] } = this.options
    const file = keeps === undefined ? ["no"] : ["yes", "--appendfsync", keeps]
    const renamed = lacks.flatMap((command) => ["--rename-command", command, ""])
    const flags = ["--save", "", "--dir", this.folder.path, "--appendonly", ...file, ...renamed]
    this.child = spawn("redis-server", ["--port", String(this.port), "--bind", "127.0.0.1", ...flags], {
      env: { ...process.env, ...env },
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
