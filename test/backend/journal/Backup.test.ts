/** A backup under the loss of power: its name says that it is complete. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { Effect } from "effect"
import { afterEach, assert, describe, it, vi } from "vitest"
import * as Backup from "../../../src/backend/journal/Backup.ts"
import * as Directory from "../../../src/backend/journal/Directory.ts"
import { start, temporary } from "../../doubles/FakeBackend.ts"

vi.mock(import("../../../src/backend/journal/Directory.ts"), { spy: true })
afterEach(() => void vi.resetAllMocks())

describe("a backup", () => {
  it("receives its name when its files and folders are durable, and the name is durable when it returns", async () => {
    const place = temporary()
    const dataDir = join(place.directory, "data")
    await (await start(dataDir)).stop()
    writeFileSync(join(dataDir, "jwt-key.json"), "{}")
    const eras = join(dataDir, "backend", "eras")
    mkdirSync(eras)
    writeFileSync(join(eras, "000000000000001.snapshot"), "")
    const target = join(place.directory, "backup")
    const before = new Set<string>()
    const after = new Set<string>()
    const seen = (path: string) => {
      ;(existsSync(target) ? after : before).add(relative(place.directory, path).replace("backup.partial", "copy"))
    }
    vi.mocked(Directory.sync).mockImplementation(seen)
    vi.mocked(Directory.syncFile).mockImplementation(seen)
    const { files } = await Effect.runPromise(Backup.backup(dataDir, target))
    const folders = ["copy", "copy/backend", "copy/backend/snapshots", "copy/backend/eras"]
    assert.deepStrictEqual([...before].toSorted(), [...folders, ...files.map((name) => `copy/${name}`)].toSorted())
    assert.deepStrictEqual([...after], [""])
    place.remove()
  })

  it("is readable only by its owner, also where the files that it copies are open to others", async () => {
    const place = temporary()
    const dataDir = join(place.directory, "data")
    await (await start(dataDir)).stop()
    writeFileSync(join(dataDir, "jwt-key.json"), "{}")
    for (const name of ["jwt-key.json", join("backend", "journal.sqlite")]) chmodSync(join(dataDir, name), 0o644)
    const target = join(place.directory, "backup")
    const { files } = await Effect.runPromise(Backup.backup(dataDir, target))
    assert.includeMembers([...files], ["jwt-key.json", join("backend", "journal.sqlite")])
    for (const name of files) assert.strictEqual(statSync(join(target, name)).mode & 0o777, 0o600, name)
    for (const name of ["", "backend"]) assert.strictEqual(statSync(join(target, name)).mode & 0o777, 0o700, name)
    place.remove()
  })

  it("that fails leaves nothing, so that it does not keep a disk full", async () => {
    const place = temporary()
    const dataDir = join(place.directory, "data")
    await (await start(dataDir)).stop()
    writeFileSync(join(dataDir, "nonces.sqlite"), "damaged".repeat(1_000))
    const error = await Effect.runPromise(Effect.flip(Backup.backup(dataDir, join(place.directory, "backup"))))
    assert.match(error.message, /the backup failed: cannot copy .*nonces\.sqlite: file is not a database/u)
    assert.deepStrictEqual(readdirSync(place.directory), ["data"])
    place.remove()
  })
})
