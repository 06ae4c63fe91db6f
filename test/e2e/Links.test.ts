/**
 * The connections to the backends as an operator configures them: mTLS, the secret, and health by backend.
 * Source: docs/contract/boundary.md, docs/contract/rest.md#service-endpoints.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { freePort } from "../../verification/harness/Programs.ts"
import { call, create, funded } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type BackendProcess, startBackend } from "../../verification/harness/BackendProcess.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

const SECRET = "between-gateway-and-backend"
const READY_MS = 20_000
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0

/** A certificate authority with certificates for backend and gateway, as PEM files in a folder. */
const certificates = (folder: string): void => {
  const openssl = (...args: ReadonlyArray<string>) => {
    const { status, stderr } = spawnSync("openssl", args, { cwd: folder })
    assert.strictEqual(status, 0, String(stderr))
  }
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  const request = (name: string, subject: string) => [...key, "-keyout", `${name}.key`, "-subj", `/CN=${subject}`]
  openssl("req", "-x509", ...request("ca", "authority"), "-days", "2", "-out", "ca.pem")
  for (const [name, subject] of [
    ["backend", "localhost"],
    ["gateway", "gateway"]
  ] as const) {
    openssl("req", ...request(name, subject), "-addext", `subjectAltName=DNS:${subject}`, "-out", `${name}.csr`)
    const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-copy_extensions", "copy", "-days", "2"]
    openssl("x509", "-req", "-in", `${name}.csr`, ...signed, "-out", `${name}.pem`)
  }
}

const tls = (folder: string, name: string) => ({
  BACKEND_SECRET: SECRET,
  BACKEND_TLS_CA: join(folder, "ca.pem"),
  BACKEND_TLS_CERT: join(folder, `${name}.pem`),
  BACKEND_TLS_KEY: join(folder, `${name}.key`)
})

describe.skipIf(!hasOpenssl)("a backend behind mTLS and a secret", { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  const exchanges: Array<Exchange> = []
  let backend: BackendProcess
  let port: number

  const gateway = async (env: Record<string, string>): Promise<Exchange> => {
    const exchange = await startExchange({ awaitReady: false, env: { BACKEND: "grpc", ...env } })
    exchanges.push(exchange)
    return exchange
  }
  const ready = (exchange: Exchange, is: (answer: Awaited<ReturnType<typeof call>>) => boolean) =>
    eventually("/ready", () => call(exchange, "GET", "/ready"), is, READY_MS)

  beforeAll(async () => {
    certificates(folder)
    port = await freePort()
    const env = { ...tls(folder, "backend") }
    backend = await startBackend({ dataDir: join(folder, "data"), port, env })
  })
  afterAll(async () => {
    for (const exchange of exchanges) await exchange.close()
    await backend?.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  it("serves a gateway with a certificate of the authority and the secret", async () => {
    const exchange = await gateway({ ...tls(folder, "gateway"), SEQUENCER_URL: `localhost:${port}` })
    await ready(exchange, ({ status }) => status === 200)
    // a gateway that catches up refuses reads for a moment
    const begin = () => funded(exchange).catch(() => undefined)
    const user = await eventually("a user", begin, (session) => session !== undefined)
    const order = await create(exchange, user!, "over-tls")
    assert.strictEqual(order.status, 200, JSON.stringify(order.body))
  })

  it("is reported as unhealthy by a gateway that reaches only the sequencer", async () => {
    const nobody = `localhost:${await freePort()}`
    const env = { ...tls(folder, "gateway"), SEQUENCER_URL: `localhost:${port}`, REFEREE_URL: nobody }
    const exchange = await gateway(env)
    const { body, status } = await ready(exchange, ({ body }) => body.sequencer.connected)
    assert.deepStrictEqual([status, body.referee.connected, body.database.connected], [503, false, true])
    const { body: metrics } = await eventually(
      "the sequencer up",
      () => call(exchange, "GET", "/metrics"),
      ({ body }) => body.includes('gateway_backend_up{backend="sequencer"} 1\n'),
      READY_MS
    )
    assert.include(metrics, 'gateway_backend_up{backend="referee"} 0\n')
    assert.include(metrics, "gateway_ready 0\n")
    assert.include(metrics, "gateway_database_up 1\n")
  })
})
