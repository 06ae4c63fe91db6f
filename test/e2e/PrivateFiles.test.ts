/** Only the owner can read the files of a data directory. */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import { backup } from "../../src/backend/journal/Backup.ts"
import { startExchange } from "../../verification/harness/Exchange.ts"
import { funded } from "../../verification/harness/RestClient.ts"

/** Every file and directory below a directory, itself included, with its permission bits. */
const modes = (directory: string): ReadonlyArray<readonly [path: string, mode: string]> =>
  [".", ...readdirSync(directory, { recursive: true, encoding: "utf8" })].map((name) => {
    const path = join(directory, name)
    const stat = statSync(path)
    return [`${name}${stat.isDirectory() ? "/" : ""}`, (stat.mode & 0o777).toString(8)]
  })
const arePrivate = (directory: string): void => {
  const found = modes(directory)
  assert.deepStrictEqual(
    found.filter(([path, mode]) => mode !== (path.endsWith("/") ? "700" : "600")),
    []
  )
}

describe("a data directory", { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-private-"))
  const umask = process.umask(0o022)
  afterAll(() => {
    process.umask(umask)
    rmSync(folder, { recursive: true, force: true })
  })
  const dataDir = join(folder, "data")

  it("is created for its owner only, with every file in it, SQLite's log included", async () => {
    const exchange = await startExchange({ dataDir })
    try {
      await funded(exchange)
      const names = modes(dataDir).map(([name]) => name)
      for (const name of ["accounts.sqlite-wal", "history.sqlite-shm", "jwt-key.json", "backend/journal.sqlite-wal"])
        assert.include(names, name)
      arePrivate(dataDir)
      await Effect.runPromise(backup(dataDir, join(folder, "copy")))
      arePrivate(join(folder, "copy"))
    } finally {
      await exchange.close()
    }
    assert.isTrue(modes(dataDir).some(([name]) => name.endsWith(".snapshot")))
    arePrivate(dataDir)
  })

  it("that others can read is restricted at the next start", async () => {
    for (const [name] of modes(dataDir)) chmodSync(join(dataDir, name), name.endsWith("/") ? 0o755 : 0o644)
    const exchange = await startExchange({ dataDir })
    try {
      arePrivate(dataDir)
    } finally {
      await exchange.close()
    }
  })
})
