/** The gateways of a race: one by itself, or two of a fleet. */
import { Fleet } from "../harness/Fleet.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { ADMIN, ADMIN_ENV, QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import type { Gateways } from "./Races.ts"

const env = { ...UNLIMITED, ...ADMIN_ENV }
/** Longest time until a replica applies a change, in ms. Source: docs/contract/authentication.md#revocation. */
const REPLICA_MS = 1_000

export interface Running extends Gateways {
  readonly close: () => Promise<void>
}

export const one = async (): Promise<Running> => {
  const folder = temporaryFolder("revocations")
  const gateway = await startGateway({ dataDir: folder.path, env: { ...QUIET_MARKET, ...env } })
  return {
    urls: [gateway.url],
    admin: ADMIN,
    grace_ms: 0,
    close: async () => {
      await gateway.kill()
      folder.remove()
    }
  }
}

/** Two gateways of a fleet: the first receives the changes, the second the uses. */
export const two = async (): Promise<Running> => {
  const fleet = await Fleet.start({ gateways: 2, nats: true, env: { ...env, TRUSTED_PROXIES: "0", DRAIN_MS: "100" } })
  return { urls: fleet.members.map(({ url }) => url), admin: ADMIN, grace_ms: REPLICA_MS, close: () => fleet.close() }
}
