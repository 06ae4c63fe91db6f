/**
 * Compares the records of REST with those of the sockets: `node verification/consistency/main.ts [actions = 10000] [seed = 1]`
 * trades at random on a gateway of its own and compares field by field. Ends with 1 at any difference.
 */
import { startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { ADMIN_ENV, basic, QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import { run } from "./Run.ts"

const folder = temporaryFolder("consistency")
const gateway = await startGateway({
  dataDir: folder.path,
  env: { ...UNLIMITED, ...QUIET_MARKET, ...ADMIN_ENV, POOL_BASE_EQUITY: "50" }
})
try {
  const report = await run({
    url: gateway.url,
    admin: basic.authorization,
    actions: Number(process.argv[2] ?? 10_000),
    seed: Number(process.argv[3] ?? 1),
    users: 8,
    every: 10,
    say: (line) => console.log(line)
  })
  console.log(JSON.stringify(report, undefined, 2))
  process.exitCode = report.different === 0 ? 0 : 1
} finally {
  await gateway.kill()
  folder.remove()
}
