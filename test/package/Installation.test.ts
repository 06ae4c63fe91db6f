/** The installation of a folder that has a lockfile of its own. Its one package is a file, so that no registry is needed. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { install, isCurrent } from "../Installation.ts"

const LIMIT_MS = 30_000

describe("the installation of a folder", { timeout: 2 * LIMIT_MS }, () => {
  let folder: string
  /** Writes a package, and the lockfile that has it in this version. */
  const write = (version: string): void => {
    const files = join(folder, "package")
    mkdirSync(files, { recursive: true })
    writeFileSync(join(files, "package.json"), JSON.stringify({ name: "one", version }))
    const tarball = join(folder, `one-${version}.tgz`)
    execFileSync("tar", ["czf", tarball, "-C", folder, "package"])
    const all = { name: "all", version: "1.0.0", dependencies: { one: `file:${tarball}` } }
    writeFileSync(join(folder, "package.json"), JSON.stringify(all))
    const packages = { "": all, "node_modules/one": { version, resolved: `file:${tarball}` } }
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...all, lockfileVersion: 3, packages }))
  }
  const installed = (): unknown =>
    JSON.parse(readFileSync(join(folder, "node_modules/one/package.json"), "utf8")).version
  const parts = (): ReadonlyArray<string> => readdirSync(folder).filter((name) => name.startsWith(".node_modules"))
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "gateway-install-"))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it("follows the lockfile, also to another version", async () => {
    for (const version of ["1.0.0", "2.0.0"]) {
      write(version)
      assert.isFalse(isCurrent(folder))
      await install(folder, LIMIT_MS)
      assert.isTrue(isCurrent(folder))
      assert.strictEqual(installed(), version)
    }
    assert.isEmpty(parts())
  })

  it("succeeds in two processes at once", async () => {
    write("1.0.0")
    await Promise.all([install(folder, LIMIT_MS), install(folder, LIMIT_MS)])
    assert.strictEqual(installed(), "1.0.0")
    assert.isEmpty(parts())
  })

  it("reports why npm fails, and keeps what is installed", async () => {
    write("1.0.0")
    await install(folder, LIMIT_MS)
    rmSync(join(folder, "one-1.0.0.tgz"))
    const failure = await install(folder, LIMIT_MS).catch((error: Error) => error.message)
    assert.match(String(failure), /^npm ci: .*ENOENT/su)
    assert.strictEqual(installed(), "1.0.0")
  })

  it("ends at its time limit", async () => {
    write("1.0.0")
    const failure = await install(folder, 1).catch((error: Error) => error.message)
    assert.strictEqual(failure, "npm ci: more than 0.001 s")
    assert.isFalse(isCurrent(folder))
    assert.isEmpty(parts())
  })
})
