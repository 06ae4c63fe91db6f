/** A real redis-server on a free port, without a file unless it is asked to keep one; and its time as a test has it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Clock, Effect, Layer, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { createClient } from "redis"
import * as RedisLink from "../../src/layers/redis/RedisLink.ts"

/** Whether a program is installed. */
export const isInstalled = (program: string): boolean => {
  try {
    execFileSync("which", [program], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
export const isRedisInstalled = isInstalled("redis-server")

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** Ends a process and waits until it is gone. */
export const ended = (child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once("exit", () => resolve())
    child.kill(signal)
  })

export class RedisServer {
  private child: ChildProcess | undefined
  readonly port: number
  private readonly keeps: boolean
  private readonly env: Readonly<Record<string, string>>
  private readonly directory = mkdtempSync(join(tmpdir(), "redis-"))
  constructor(port: number, keeps: boolean, env: Readonly<Record<string, string>>) {
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
  /** Starts the program, which has what its directory keeps, and waits until it answers. */
  async begin(): Promise<void> {
    const flags = ["--save", "", "--appendonly", this.keeps ? "yes" : "no", "--dir", this.directory]
    this.child = spawn("redis-server", ["--port", String(this.port), "--bind", "127.0.0.1", ...flags], {
      env: { ...process.env, ...this.env },
      stdio: "ignore"
    })
    for (let i = 0; ; i++) {
      try {
        return await this.use(async () => {})
      } catch (cause) {
        if (i > 500) throw cause
        await new Promise((resolve) => setTimeout(resolve, 40))
      }
    }
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
  /** Neither answers nor ends, as one that swaps or hangs. */
  hang(): void {
    this.child!.kill("SIGSTOP")
  }
  goOn(): void {
    this.child!.kill("SIGCONT")
  }
  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** For as long as the scope lives. */
export const running = (options: { readonly keeps?: boolean } = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => RedisServer.start(options)),
    (server) => Effect.promise(() => server.remove())
  )

/** The time of the scripts is that of the test's clock: the same scripts, but for where they read it. */
const atTestTime = Layer.effect(
  Redis.Redis,
  Effect.map(Redis.Redis, (redis) => {
    const shifted = new Map<unknown, unknown>()
    const evaluate: Redis.Redis["Service"]["eval"] = (script) => {
      type Of = typeof script
      const known = shifted.get(script) as Of | undefined
      const own: Of =
        known ??
        Object.setPrototypeOf(
          { ...script, lua: script.lua.replace('redis.call("TIME")', 'redis.call("HMGET", "test:time", "s", "us")') },
          Object.getPrototypeOf(script)
        )
      shifted.set(script, own)
      const run = redis.eval(own)
      return (...params) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.andThen(
            redis.send("HSET", "test:time", "s", String(Math.floor(now / 1000)), "us", String((now % 1000) * 1000)),
            run(...params)
          )
        )
    }
    return Redis.Redis.of({ ...redis, eval: evaluate })
  })
)

/** A link to a server of its own that waits for every answer: on a loaded machine, and while a test moves its clock. */
export const link = Layer.unwrap(
  Effect.map(running(), ({ url }) => RedisLink.layer({ url, command_timeout: "1 hour" }))
)
export const linkAtTestTime = Layer.merge(atTestTime, Layer.effect(RedisLink.RedisLink, RedisLink.RedisLink)).pipe(
  // heartbeats do not run with the test's clock
  Layer.provide(link.pipe(Layer.provide(Layer.succeed(Clock.Clock, Clock.Clock.defaultValue()))))
)
