/**
 * A fleet on this machine, each part a process of its own: a backend, PostgreSQL, Redis, gateways, and on request NATS with
 * its relay, HAProxy in front, and a fault proxy on each link. Settings are those of deploy/compose.fleet.yml.
 */
import { Redacted } from "effect"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { type BackendProcess, startBackend, startRelay } from "./BackendProcess.ts"
import { FaultProxy } from "./FaultProxy.ts"
import { type GatewayProcess, startGateway } from "./GatewayProcess.ts"
import { type Balancer, startBalancer } from "./HAProxy.ts"
import { isNatsInstalled, NatsServer } from "./NatsServer.ts"
import { isPostgresInstalled, PostgresServer } from "./PostgresServer.ts"
import { freePort, isInstalled, temporaryFolder } from "./Programs.ts"
import { isRedisInstalled, RedisServer } from "./RedisServer.ts"
import { until } from "./Wait.ts"

/** Whether PostgreSQL and Redis are installed, and whether NATS and HAProxy are, too. */
export const isFleetInstalled = isPostgresInstalled && isRedisInstalled
export const isWholeFleetInstalled = isFleetInstalled && isNatsInstalled && isInstalled("haproxy")

export const SECRET = "between-gateways-and-backend"

export interface FleetOptions {
  readonly gateways: number
  /** Settings of the gateways beside the addresses of the other parts. */
  readonly env?: Readonly<Record<string, string>>
  /** Settings of the backend. */
  readonly backendEnv?: Readonly<Record<string, string>>
  /** Events reach the gateways over NATS. */
  readonly nats?: boolean
  /** HAProxy is in front of the gateways. */
  readonly balanced?: boolean
  /** A {@link FaultProxy} is on each link of the gateways. */
  readonly proxied?: boolean
  /** The folder of the sources of each gateway, at each of its starts; default: this project. */
  readonly homeOf?: (name: string) => string
  /** The folder of the sources of the backend; default: this project. */
  readonly backendHome?: string
  /** Longest start of a gateway or the backend, in ms. */
  readonly ready_ms?: number
  /** Receives each log line of a gateway. */
  readonly say?: (line: string) => void
}

/** Links of the gateways, by their far end. */
export type Link = "sequencer" | "referee" | "redis" | "postgres" | "nats"

/** One gateway of the fleet. It keeps its address over restarts. */
export class Member {
  readonly name: string
  readonly url: string
  /** Starts it, and waits until it is ready and the balancer sends to it. */
  readonly start: () => Promise<void>
  private readonly current: () => GatewayProcess | undefined

  constructor(name: string, url: string, start: () => Promise<void>, current: () => GatewayProcess | undefined) {
    this.name = name
    this.url = url
    this.start = start
    this.current = current
  }
  /** Stops it gracefully; returns its exit code. */
  async stop(): Promise<number | null> {
    return this.current()!.stop()
  }
  /** Kills it with SIGKILL. */
  async kill(): Promise<void> {
    await this.current()?.kill()
  }
}

export class Fleet {
  readonly backendDir: string
  readonly redis: RedisServer
  readonly postgres: PostgresServer
  /** With `nats`. */
  readonly nats: NatsServer | undefined
  /** With `proxied`. */
  readonly proxies: Readonly<Partial<Record<Link, FaultProxy>>>
  backend: BackendProcess
  readonly backendEnv: Readonly<Record<string, string>>
  members: ReadonlyArray<Member> = []
  /** With `balanced`. */
  balancer: Balancer | undefined
  private readonly closing: Array<() => unknown>

  private constructor(
    parts: Pick<Fleet, "backendDir" | "redis" | "postgres" | "nats" | "proxies" | "backend" | "backendEnv">,
    closing: Array<() => unknown>
  ) {
    this.backendDir = parts.backendDir
    this.redis = parts.redis
    this.postgres = parts.postgres
    this.nats = parts.nats
    this.proxies = parts.proxies
    this.backend = parts.backend
    this.backendEnv = parts.backendEnv
    this.closing = closing
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const folder = temporaryFolder("fleet")
    const closing: Array<() => unknown> = [folder.remove]
    const kept = async <A>(starting: Promise<A>, end: (started: A) => unknown): Promise<A> => {
      const started = await starting
      closing.push(() => end(started))
      return started
    }
    try {
      const backendDir = join(folder.path, "backend")
      const backendEnv = { ...options.backendEnv, BACKEND_SECRET: SECRET }
      const [redis, postgres, nats, backend] = await Promise.all([
        kept(startRedis(), (server) => server.remove()),
        kept(PostgresServer.start(), (server) => server.remove()),
        options.nats === true ? kept(NatsServer.start(), (server) => server.kill()) : undefined,
        startBackend({
          dataDir: backendDir,
          env: backendEnv,
          ...(options.backendHome === undefined ? {} : { home: options.backendHome }),
          ...(options.ready_ms === undefined ? {} : { ready_ms: options.ready_ms })
        })
      ])
      const proxies: Partial<Record<Link, FaultProxy>> = {}
      const portOf = async (link: Link, port: number): Promise<number> => {
        if (options.proxied !== true) return port
        const proxy = await kept(FaultProxy.start(port), (started) => started.close())
        proxies[link] = proxy
        return proxy.port
      }
      const fleet = new Fleet({ backendDir, redis, postgres, nats, proxies, backend, backendEnv }, closing)
      closing.push(() => fleet.backend.kill())
      if (nats !== undefined) {
        const relayed = { BACKEND: "grpc", SEQUENCER_URL: `127.0.0.1:${backend.port}`, BACKEND_SECRET: SECRET }
        await kept(startRelay({ ...relayed, NATS_URL: Redacted.value(nats.url), LOG_LEVEL: "error" }), (relay) =>
          relay.kill()
        )
      }
      const env = {
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${await portOf("sequencer", backend.port)}`,
        REFEREE_URL: `127.0.0.1:${await portOf("referee", backend.port)}`,
        BACKEND_SECRET: SECRET,
        DATABASE_URL: `postgres://gateway@127.0.0.1:${await portOf("postgres", postgres.port)}/postgres`,
        REDIS_URL: `redis://127.0.0.1:${await portOf("redis", redis.port)}`,
        ...(nats === undefined ? {} : { NATS_URL: `nats://127.0.0.1:${await portOf("nats", nats.port)}` }),
        JWT_SIGNING_KEY: "5a".repeat(32),
        LOG_LEVEL: "error",
        ...options.env
      }
      await fleet.startGateways(folder.path, env, options)
      return fleet
    } catch (cause) {
      await close(closing)
      throw cause
    }
  }

  private async startGateways(
    folder: string,
    env: Readonly<Record<string, string>>,
    { balanced, gateways, homeOf, ready_ms, say }: FleetOptions
  ): Promise<void> {
    const running = new Map<string, GatewayProcess>()
    this.closing.push(() => Promise.all([...running.values()].map(({ kill }) => kill())))
    const isUp = async (name: string) =>
      this.balancer === undefined || until(`traffic for ${name}`, async () => (await this.balancer!.up()).has(name))
    const places = await Promise.all(
      Array.from({ length: gateways }, async (_, i) => {
        // addresses of their own, so that no client's connection takes the port of a stopped gateway
        const host = `127.0.0.${i + 2}`
        return { name: `gateway${i + 1}`, host, port: await freePort(host) }
      })
    )
    this.members = places.map(({ host, name, port }) => {
      const onLine = (line: string) => (line.startsWith("{") ? say?.(`${name}: ${line}`) : undefined)
      const start = async () => {
        const started = await startGateway({
          dataDir: join(folder, name),
          host,
          port,
          env,
          onLine,
          ...(homeOf === undefined ? {} : { home: homeOf(name) }),
          ...(ready_ms === undefined ? {} : { ready_ms })
        })
        running.set(name, started)
        await isUp(name)
      }
      return new Member(name, `http://${host}:${port}`, start, () => running.get(name))
    })
    await Promise.all(this.members.map(({ start }) => start()))
    if (balanced !== true) return
    const balancer = await startBalancer(places)
    this.closing.push(balancer.stop)
    this.balancer = balancer
    await Promise.all(this.members.map(({ name }) => isUp(name)))
  }

  /** The balancer's address, or that of the first gateway. */
  get url(): string {
    return this.balancer?.url ?? this.members[0]!.url
  }
  /** Starts the backend again on its data and port. */
  async startBackend(): Promise<void> {
    const { port } = this.backend
    this.backend = await startBackend({ dataDir: this.backendDir, port, env: this.backendEnv })
  }
  /** Deletes the backend's data; it must be down. */
  forgetBackend(): void {
    rmSync(this.backendDir, { recursive: true, force: true })
  }
  close(): Promise<void> {
    return close(this.closing)
  }
}

/** Ends the parts in the reverse order of their start. */
const close = async (closing: Array<() => unknown>): Promise<void> => {
  for (const one of closing.splice(0).toReversed()) await one()
}

/**
 * A Redis whose nonces count as complete. Otherwise gateways refuse every nonce until signatures from before its start are
 * stale.
 */
const startRedis = async (): Promise<RedisServer> => {
  const redis = await RedisServer.start({ keeps: "always" })
  await redis.use((client) => client.hSet("{gateway:nonces}", "since", "0"))
  return redis
}
