/** Gateways that changes of credentials are raced on: one by itself, or two of a fleet. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Fleet from "../fleet/Fleet.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import type { Stand } from "./Races.ts"

const admin = { username: "admin", password: "correct-horse-battery" }
const env = {
  ADMIN_USERNAME: admin.username,
  ADMIN_PASSWORD: admin.password,
  RATE_LIMIT_MODE: "off",
  ARRIVALS_PER_IP: "0",
  WS_CONNECTIONS_PER_IP: "0",
  WS_CONNECTIONS_PER_USER: "0"
}
/** Time that a start may take on a busy machine, in ms. */
const START_MS = 120_000
/** Time in which a replica must have learned of a change, in ms. Source: docs/contract/authentication.md#revocation. */
export const REPLICA_MS = 1_000

export interface Running extends Stand {
  readonly close: () => Promise<void>
}

export const one = async (): Promise<Running> => {
  const dataDir = mkdtempSync(join(tmpdir(), "revocations-"))
  const own = { INDEX_SOURCE: "manual", SIM_MAKER: "off", FAUCET_DAILY_LIMIT: "1000000", LOG_LEVEL: "error" }
  const gateway = await startGateway({ dataDir, env: { ...env, ...own }, ready_ms: START_MS })
  return {
    urls: [gateway.url],
    admin,
    grace_ms: 0,
    close: async () => {
      await gateway.kill()
      rmSync(dataDir, { recursive: true, force: true })
    }
  }
}

/** Changes go to one gateway of the fleet, and the uses to another one. */
export const two = async (say: (line: string) => void): Promise<Running> => {
  const fleet = await Fleet.start({ drain_ms: 100, say, env: { ...env, TRUSTED_PROXIES: "0" } })
  return { urls: fleet.members.slice(0, 2).map(({ url }) => url), admin, grace_ms: REPLICA_MS, close: fleet.close }
}

/** Whether the programs that {@link two} needs are installed. */
