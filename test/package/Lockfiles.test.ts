/** The lockfiles: whether `npm ci` accepts each, without a network. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

describe("npm ci", { timeout: 60_000 }, () => {
  let cache: string
  beforeAll(() => {
    cache = mkdtempSync(join(tmpdir(), "gateway-npm-cache-"))
  })
  afterAll(() => rmSync(cache, { recursive: true, force: true }))

  for (const folder of [".", "docs/site", "integrations/ccxt"])
    it(`accepts the lockfile of ${folder}`, () => {
      // an optional package of another platform that the lockfile omits would be fetched, and nothing can be
      const args = ["ci", "--dry-run", "--offline", "--ignore-scripts", "--cache", cache, "--prefix", folder]
      const { status, stderr } = spawnSync("npm", args, { cwd: root, encoding: "utf8" })
      assert.strictEqual(status, 0, stderr)
    })
})
