import { createHash } from "node:crypto"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import * as Directory from "../../../src/backend/journal/Directory.ts"
import * as Snapshots from "../../../src/backend/journal/Snapshots.ts"

vi.mock(import("../../../src/backend/journal/Directory.ts"), { spy: true })

const snapshotAt = (position: number): Snapshots.Snapshot => ({
  head: { epoch: "e", rules: "r", position, at_ms: 0, chain: 0, state_hash: "" },
  events: { head_seq: 0, blocks: [], bytes: new Uint8Array() },
  state: Buffer.from("state")
})

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "snapshots-"))
})
afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

describe("a snapshot", () => {
  it("has a durable name before an older one is removed", () => {
    const seen: Array<ReadonlyArray<number>> = []
    vi.mocked(Directory.sync).mockImplementation((synced) => {
      if (synced === directory) seen.push(Snapshots.list(directory))
    })
    for (const position of [1, 2, 3]) Snapshots.write(directory, snapshotAt(position))
    assert.deepStrictEqual(seen, [[1], [2, 1], [3, 2, 1]])
    assert.deepStrictEqual(Snapshots.list(directory), [3, 2])
    assert.isTrue(existsSync(join(directory, Snapshots.nameOf(3))))
  })

  it("whose file cannot be opened fails with that cause, though there is no temporary file to remove", () => {
    vi.mocked(Directory.make).mockImplementationOnce(() => {})
    const failedCall = () => {
      try {
        Snapshots.write(join(directory, "removed"), snapshotAt(1))
      } catch (cause) {
        return (cause as NodeJS.ErrnoException).syscall
      }
      return undefined
    }
    assert.strictEqual(failedCall(), "open")
  })

  it("of a format that an earlier program wrote is read, and one of a later format is refused", () => {
    const head = { epoch: "e", rules: "r", position: 1, at_ms: 5, chain: 6, state_hash: "h" }
    const blocks = [[8, 9, 6]] as const
    const written = (format: number) => {
      const line = { format, head, head_seq: 9, blocks, events_bytes: 6, state_bytes: 5 }
      const bytes = Buffer.from(`${JSON.stringify(line)}\neventsstate`)
      writeFileSync(
        join(directory, Snapshots.nameOf(1)),
        Buffer.concat([bytes, createHash("sha256").update(bytes).digest()])
      )
    }
    const read = () => {
      const { events, state, ...rest } = Snapshots.read(directory, 1)
      return { ...rest, ...events, bytes: Buffer.from(events.bytes).toString(), state: Buffer.from(state).toString() }
    }
    for (const format of [3, 2]) {
      written(format)
      assert.deepStrictEqual(read(), { head, head_seq: 9, blocks, bytes: "events", state: "state" })
    }
    // its events have no checksums
    written(1)
    assert.deepStrictEqual(read(), { head, head_seq: 9, blocks: [], bytes: "", state: "state" })
    written(4)
    assert.throws(read, /it has format 4, this program reads formats 1 to 3/u)
  })
})
