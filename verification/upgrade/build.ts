/**
 * Builds test/fixtures/0.1.1 with the earlier version: `node verification/upgrade/build.ts`. It takes up to six minutes,
 * because it waits for a funding settlement. Needs `git`, `tar` and PostgreSQL.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { startBackend } from "../harness/BackendProcess.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { PostgresServer } from "../harness/PostgresServer.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { ADMIN_ENV, QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import { FIXTURES, dumpPostgres, pack } from "./Fixture.ts"
import { readSettled, SYMBOL, tell } from "./Story.ts"
import { earlierSources } from "./Versions.ts"

/** Time between settlements, so that the fixture has one, and a test has time until the next one. */
const FUNDING_MINUTES = 5
const FUNDING_MS = FUNDING_MINUTES * 60_000
const START_MS = 240_000

const market = {
  symbol: SYMBOL,
  base_asset: "BTC",
  tick_size: "0.1",
  min_price: "0.1",
  max_price: "1000000",
  qty_step: "0.001",
  min_order_qty: "0.001",
  max_order_qty: "100",
  max_mkt_order_qty: "30",
  max_leverage: "50",
  index_base: "60000",
  funding_interval_minutes: FUNDING_MINUTES,
  risk_tiers: [{ risk_limit_value: "2000000", initial_margin_rate: "0.02", maintenance_margin_rate: "0.01" }]
}

const { home, remove } = earlierSources()
const folder = temporaryFolder("fixture")
const postgres = await PostgresServer.start()
const ending: Array<() => Promise<unknown>> = []
try {
  const MARKETS_FILE = join(folder.path, "markets.json")
  writeFileSync(MARKETS_FILE, JSON.stringify({ markets: [market] }))
  const env = { ...UNLIMITED, ...QUIET_MARKET, ...ADMIN_ENV, MARKETS_FILE, JWT_SIGNING_KEY: "5a".repeat(32) }
  const options = { home, ready_ms: START_MS }
  const dirs = { machine: join(folder.path, "machine"), fleet: join(folder.path, "fleet") }
  const machine = await startGateway({ ...options, dataDir: dirs.machine, env })
  const backend = await startBackend({
    ...options,
    dataDir: dirs.fleet,
    env: { ...env, BACKEND_SECRET: "fixture", LOG_LEVEL: "info" }
  })
  const fleet = await startGateway({
    ...options,
    dataDir: join(folder.path, "gateway"),
    env: {
      ...env,
      BACKEND: "grpc",
      BACKEND_SECRET: "fixture",
      SEQUENCER_URL: `127.0.0.1:${backend.port}`,
      DATABASE_URL: `postgres://gateway@127.0.0.1:${postgres.port}/postgres`
    }
  })
  ending.push(machine.kill, fleet.kill, backend.kill)
  const began = Date.now()
  for (const { url } of [machine, fleet]) await tell(url)
  // the records end after a settlement, long before the next one
  const settled = (Math.floor(began / FUNDING_MS) + 1) * FUNDING_MS
  await sleep(Math.max(0, settled + 5_000 - Date.now()))
  for (const [kind, gateway] of [
    ["machine", machine],
    ["fleet", fleet]
  ] as const) {
    const records = await readSettled(gateway.url)
    const at_ms = Date.now()
    await gateway.stop()
    if (kind === "fleet") {
      await backend.stop()
      dumpPostgres(postgres.port)
    }
    pack(kind, dirs[kind], { at_ms, records })
    console.log(`${kind}: ${Object.keys(records).length} answers at ${new Date(at_ms).toISOString()}`)
  }
  console.log(`wrote ${FIXTURES}`)
} finally {
  for (const end of ending) await end()
  await postgres.remove()
  folder.remove()
  remove()
}
