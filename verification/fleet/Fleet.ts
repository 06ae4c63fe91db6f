/**
 * A whole fleet on this machine: PostgreSQL, Redis, NATS, the backend, the relay, three gateways, and HAProxy in front of them,
 * each a process of its own with the settings of deploy/compose.fleet.yml.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { isNatsInstalled, NatsServer } from "../harness/NatsServer.ts"
import { isThere as isPostgresInstalled, PostgresServer } from "../harness/PostgresServer.ts"
import { ended, isInstalled, isRedisInstalled, RedisServer } from "../harness/RedisServer.ts"
import { startBackend } from "../harness/BackendProcess.ts"
import { freePort, type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import * as Balancer from "../harness/HAProxy.ts"

/** Whether all programs of other projects are installed. */
export const isThere = isPostgresInstalled && isRedisInstalled && isNatsInstalled && isInstalled("haproxy")

const GATEWAYS = 3
const SECRET = "between-gateways-and-backend"
/** Time that a start of a gateway, or the balancer's noticing, may take on a busy machine, in ms. */
const PATIENCE_MS = 120_000
const LOOK_MS = 50

/** One gateway of the fleet; it keeps its address through every restart. */
export interface Member {
  readonly name: string
  readonly url: string
  /** Starts it, and waits until the balancer sends to it. */
  readonly start: () => Promise<void>
  /** Stops it in good order; answers its exit code. */
  readonly stop: () => Promise<number | null>
  /** Ends it at once, as kill -9 does. */
  readonly kill: () => Promise<void>
}

export interface Fleet {
  /** The balancer. */
  readonly url: string
  readonly balancer: Balancer.Balancer
  readonly members: ReadonlyArray<Member>
  /** Where the backend's journal is. */
  readonly backendDir: string
  readonly close: () => Promise<void>
}

/** Waits until it holds. */
export const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  for (const deadline = Date.now() + PATIENCE_MS; !(await holds());) {
    if (Date.now() > deadline) throw new Error(`not in ${PATIENCE_MS} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** A Redis that is known to be new has forgotten no nonce, so nobody has to wait for what was signed before to become stale. */
const startRedis = async () => {
  const redis = await RedisServer.start({ keeps: true })
  await redis.use((client) => client.hSet("{gateway:nonces}", "since", "0"))
  return redis
}

/** Starts a fleet; `drain_ms`: over which a gateway that stops closes its sockets. `say` is told what gateways warn of. */
export const start = async (options: {
  readonly drain_ms: number
  /** More settings of the gateways. */
  readonly env?: Readonly<Record<string, string>>
  readonly say: (line: string) => void
}): Promise<Fleet> => {
  const folder = mkdtempSync(join(tmpdir(), "fleet-"))
  const closing: Array<() => Promise<void> | void> = [() => rmSync(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const one of closing.splice(0).toReversed()) await one()
  }
  const kept = async <A>(starting: Promise<A>, end: (started: A) => Promise<void>): Promise<A> => {
    const started = await starting
    closing.push(() => end(started))
    return started
  }
  try {
    const backendDir = join(folder, "backend")
    const backendPort = await freePort()
    const backendEnv = {
      BACKEND_SECRET: SECRET,
      INDEX_SOURCE: "manual",
      FAUCET_DAILY_LIMIT: "1000000",
      LOG_LEVEL: "error"
    }
    const [postgres, redis, nats] = await Promise.all([
      kept(PostgresServer.start(), (postgres) => postgres.remove()),
      kept(startRedis(), (redis) => redis.remove()),
      kept(NatsServer.start(), (nats) => nats.kill()),
      kept(
        startBackend({ dataDir: backendDir, port: backendPort, env: backendEnv, ready_ms: PATIENCE_MS }),
        ({ kill }) => kill()
      )
    ])
    const shared = {
      BACKEND: "grpc",
      SEQUENCER_URL: `127.0.0.1:${backendPort}`,
      BACKEND_SECRET: SECRET,
      NATS_URL: Redacted.value(nats.url)
    }
    const relay: ChildProcess = spawn(process.execPath, ["src/layers/nats/main.ts"], {
      cwd: join(import.meta.dirname, "../.."),
      env: { ...process.env, ...shared },
      stdio: "ignore"
    })
    closing.push(() => ended(relay))

    const env = {
      ...shared,
      DATABASE_URL: `postgres://gateway@127.0.0.1:${postgres.port}/postgres`,
      REDIS_URL: Redacted.value(redis.url),
      JWT_SIGNING_KEY: "5a".repeat(32),
      TRUSTED_PROXIES: "1",
      RATE_LIMIT_MODE: "off",
      CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_USER: "0",
      DRAIN_MS: String(options.drain_ms),
      LOG_LEVEL: "warn",
      ...options.env
    }
    const places = await Promise.all(
      Array.from({ length: GATEWAYS }, async (_, i) => {
        // addresses of their own: no connection of a client takes the port of one that is away
        const host = `127.0.0.${i + 2}`
        return { name: `gateway${i + 1}`, host, port: await freePort(host) }
      })
    )
    const running = new Map<string, GatewayProcess>()
    const run = async ({ host, name, port }: (typeof places)[number]) => {
      const dataDir = join(folder, name)
      const onLine = (line: string) => (line.startsWith("{") ? options.say(`${name}: ${line}`) : undefined)
      running.set(name, await startGateway({ dataDir, host, port, env, ready_ms: PATIENCE_MS, onLine }))
    }
    closing.push(async () => {
      await Promise.all([...running.values()].map(({ kill }) => kill()))
    })
    await Promise.all(places.map(run))
    const balancer = await kept(Balancer.start(places), ({ stop }) => stop())
    const isUp = (name: string) => until(`traffic for ${name}`, async () => (await balancer.up()).has(name))
    await Promise.all(places.map(({ name }) => isUp(name)))

    const members = places.map((place): Member => ({
      name: place.name,
      url: `http://${place.host}:${place.port}`,
      start: async () => {
        await run(place)
        await isUp(place.name)
      },
      stop: () => running.get(place.name)!.stop(),
      kill: () => running.get(place.name)!.kill()
    }))
    return { url: balancer.url, balancer, members, backendDir, close }
  } catch (error) {
    await close()
    throw error
  }
}
