/** The thread that replays old events: what it says of a journal, and where the system fails. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { assert, describe, it, onTestFinished } from "vitest"
import type { ReplayMessage, ReplayRequest } from "../../src/backend/ReplayThread.ts"
import { temporaryFolder } from "../../verification/harness/Programs.ts"

const entry = new URL("../../src/backend/ReplayThread.ts", import.meta.url)

/** The first message of a replay of the journal at a path. */
const replayOf = (path: string): Promise<ReplayMessage> => {
  const workerData: ReplayRequest = { path, from: { seq: 1, checksum: undefined }, taken: new SharedArrayBuffer(4) }
  const worker = new Worker(entry, { workerData })
  onTestFinished(async () => void (await worker.terminate()))
  return new Promise((resolve, reject) => {
    worker.once("message", resolve)
    worker.once("error", reject)
  })
}
const journal = (): string => {
  const folder = temporaryFolder("replay-thread")
  onTestFinished(() => folder.remove())
  return join(folder.path, "journal.sqlite")
}

describe("a replay of old events", () => {
  it("is lost where the journal was moved or cannot be opened, which says nothing of its events", async () => {
    const path = journal()
    assert.hasAllKeys(await replayOf(path), ["lost"])
    // not even a file can be read there
    mkdirSync(path)
    assert.hasAllKeys(await replayOf(path), ["lost"])
  })

  it("fails for good where the journal is damaged", async () => {
    const path = journal()
    writeFileSync(path, "no database".repeat(1_000))
    assert.hasAllKeys(await replayOf(path), ["error"])
  })
})
