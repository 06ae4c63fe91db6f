/**
 * Whether REST and the sockets show the same records: `node verification/consistency/main.ts [actions = 10000] [seed = 1]` trades at
 * random on a gateway of its own and compares them field by field. Ends with 1 where any differ.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "./Run.ts"

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })

const port = await freePort()
const dataDir = mkdtempSync(join(tmpdir(), "gateway-records-"))
const [username, password] = ["admin", "record-truth-of-a-run"]
const gateway = spawn(process.execPath, ["src/main.ts"], {
  stdio: ["ignore", "ignore", "inherit"],
  env: {
    ...process.env,
    PORT: String(port),
    HOST: "127.0.0.1",
    DATA_DIR: dataDir,
    RATE_LIMIT_MODE: "off",
    SIM_MAKER: "off",
    INDEX_SOURCE: "manual",
    FAUCET_DAILY_LIMIT: "100000000",
    POOL_BASE_EQUITY: "50",
    LOG_LEVEL: "error",
    ADMIN_USERNAME: username,
    ADMIN_PASSWORD: password
  }
})
const url = `http://127.0.0.1:${port}`
try {
  for (let i = 0; ; i++) {
    const ready = await fetch(`${url}/ready`).catch(() => undefined)
    if (ready?.status === 200) break
    if (i > 600) throw new Error("the gateway is not ready")
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const report = await run({
    url,
    admin: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
    actions: Number(process.argv[2] ?? 10_000),
    seed: Number(process.argv[3] ?? 1),
    users: 8,
    every: 10,
    say: (line) => console.log(line)
  })
  console.log(JSON.stringify(report, undefined, 2))
  process.exitCode = report.different === 0 ? 0 : 1
} finally {
  gateway.kill()
  await new Promise((resolve) => gateway.once("exit", resolve))
  rmSync(dataDir, { recursive: true, force: true })
}
