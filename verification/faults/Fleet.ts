/** A gateway as one of a fleet, and all that it depends on, each a process of its own that may be harmed. */
import { Redacted } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { NatsServer } from "../harness/NatsServer.ts"
import { PostgresServer } from "../harness/PostgresServer.ts"
import { ended, RedisServer } from "../harness/RedisServer.ts"
import { type BackendProcess, startBackend } from "../harness/BackendProcess.ts"
import { freePort, type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { Way } from "../harness/FaultProxy.ts"

const START_MS = 120_000
const SECRET = "between-gateway-and-backend"
const relayMain = fileURLToPath(new URL("../../src/layers/nats/main.ts", import.meta.url))

/** Ways of the gateway, by what is at their end. */
type Ways = Record<"sequencer" | "referee" | "redis" | "postgres" | "nats", Way>

export class Fleet {
  readonly ways: Ways
  readonly redis: RedisServer
  readonly postgres: PostgresServer
  readonly nats: NatsServer
  backend: BackendProcess
  private gatewayProcess: GatewayProcess | undefined
  private readonly relay: ChildProcess
  private readonly folder: string
  private readonly backendPort: number

  private constructor(
    parts: Pick<Fleet, "ways" | "redis" | "postgres" | "nats" | "backend"> & {
      readonly folder: string
      readonly backendPort: number
    }
  ) {
    this.ways = parts.ways
    this.redis = parts.redis
    this.postgres = parts.postgres
    this.nats = parts.nats
    this.backend = parts.backend
    this.folder = parts.folder
    this.backendPort = parts.backendPort
    this.relay = spawn(process.execPath, [relayMain], {
      env: {
        ...process.env,
        NATS_URL: Redacted.value(this.nats.url),
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${this.backendPort}`,
        BACKEND_SECRET: SECRET,
        LOG_LEVEL: "error"
      },
      stdio: "ignore"
    })
  }

  static async start(): Promise<Fleet> {
    const folder = mkdtempSync(join(tmpdir(), "faults-"))
    const backendPort = await freePort()
    const backend = await startBackend(backendOf(folder, backendPort))
    const [redis, postgres, nats] = await Promise.all([
      RedisServer.start({ keeps: true }),
      PostgresServer.start(),
      NatsServer.start()
    ])
    const ways: Ways = {
      sequencer: await Way.start(backendPort),
      referee: await Way.start(backendPort),
      redis: await Way.start(redis.port),
      postgres: await Way.start(postgres.port),
      nats: await Way.start(nats.port)
    }
    const fleet = new Fleet({ ways, redis, postgres, nats, backend, folder, backendPort })
    await fleet.startGateway()
    return fleet
  }

  get url(): string {
    return this.gatewayProcess!.url
  }
  async startGateway(): Promise<void> {
    const { nats, postgres, redis, referee, sequencer } = this.ways
    const port = this.gatewayProcess?.port
    this.gatewayProcess = await startGateway({
      dataDir: join(this.folder, "gateway"),
      ready_ms: START_MS,
      ...(port === undefined ? {} : { port }),
      env: {
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${sequencer.port}`,
        REFEREE_URL: `127.0.0.1:${referee.port}`,
        BACKEND_SECRET: SECRET,
        DATABASE_URL: `postgres://gateway@127.0.0.1:${postgres.port}/postgres`,
        REDIS_URL: `redis://127.0.0.1:${redis.port}`,
        NATS_URL: `nats://127.0.0.1:${nats.port}`,
        JWT_SIGNING_KEY: "5a".repeat(32),
        // logins come from many addresses; the other limits are counted, and far away
        TRUSTED_PROXIES: "1",
        RATE_PUBLIC: "1000000",
        RATE_TOKEN: "1000000",
        RATE_API_KEY: "1000000",
        LOG_LEVEL: "error"
      }
    })
  }
  async killGateway(): Promise<void> {
    await this.gatewayProcess!.kill()
  }
  async startBackend(): Promise<void> {
    this.backend = await startBackend(backendOf(this.folder, this.backendPort))
  }
  /** What the backend kept is gone. */
  forgetBackend(): void {
    rmSync(join(this.folder, "backend"), { recursive: true, force: true })
  }
  async end(): Promise<void> {
    await this.gatewayProcess?.kill()
    await ended(this.relay)
    await this.backend.kill()
    await Promise.all(Object.values(this.ways).map((way) => way.end()))
    await Promise.all([this.redis.remove(), this.postgres.remove(), this.nats.kill()])
    rmSync(this.folder, { recursive: true, force: true })
  }
}

const backendOf = (folder: string, port: number) => ({
  dataDir: join(folder, "backend"),
  port,
  ready_ms: START_MS,
  env: { BACKEND_SECRET: SECRET, INDEX_SOURCE: "manual", FAUCET_DAILY_LIMIT: "1000000000" }
})
