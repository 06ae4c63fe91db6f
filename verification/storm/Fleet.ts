/** A fleet on this machine: gateways over one PostgreSQL, one Redis and one backend, each a process of its own. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { isThere, PostgresServer, urlOf } from "../harness/PostgresServer.ts"
import { isRedisInstalled, RedisServer } from "../harness/RedisServer.ts"
import { startBackend } from "../harness/BackendProcess.ts"
import { freePort, type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"

export interface Fleet {
  readonly gateways: ReadonlyArray<GatewayProcess>
  readonly stop: () => Promise<void>
}

/** Whether its programs are installed. */
export const isPossible = isThere && isRedisInstalled

/** Time that a start may take on a busy machine, in ms. */
const START_MS = 180_000
const SECRET = "between-gateways-and-backend"

/** Starts so many gateways; `env` is added to the settings of each. */
export const startFleet = async (count: number, env: Readonly<Record<string, string>>): Promise<Fleet> => {
  const dataDir = mkdtempSync(join(tmpdir(), "storm-"))
  /** What must be ended, in the order in which it began. */
  const ends: Array<() => Promise<unknown>> = [async () => rmSync(dataDir, { recursive: true, force: true })]
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end()
  }
  try {
    const postgres = await PostgresServer.start()
    ends.push(() => postgres.remove())
    const redis = await RedisServer.start()
    ends.push(() => redis.remove())
    const port = await freePort()
    const backend = await startBackend({
      dataDir,
      port,
      env: { BACKEND_SECRET: SECRET, INDEX_SOURCE: "manual", FAUCET_DAILY_LIMIT: "1000000" }
    })
    ends.push(backend.kill)
    const gateways: Array<GatewayProcess> = []
    for (let i = 0; i < count; i++) {
      const gateway = await startGateway({
        dataDir,
        ready_ms: START_MS,
        env: {
          BACKEND: "grpc",
          SEQUENCER_URL: `127.0.0.1:${port}`,
          BACKEND_SECRET: SECRET,
          DATABASE_URL: urlOf("public", postgres.port),
          REDIS_URL: Redacted.value(redis.url),
          JWT_SIGNING_KEY: "5a".repeat(32),
          LOG_LEVEL: "error",
          ...env
        }
      })
      ends.push(gateway.kill)
      gateways.push(gateway)
    }
    return { gateways, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}
