/** The backend as a separate process: snapshots, kill -9, damage, backup and restore. */
import { readdirSync, truncateSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { credentials } from "@grpc/grpc-js"
import * as Snapshots from "../../src/backend/journal/Snapshots.ts"
import type { Verified } from "../../src/backend/JournalCheck.ts"
import { SNAPSHOT_ENTRIES } from "../../src/backend/server/SnapshotSchedule.ts"
import { SequencerClient, type StreamEventsResponse } from "../../src/proto/gateway/v1/sequencer.ts"
import { submitAll, temporary } from "../doubles/FakeBackend.ts"
import { Users } from "../../verification/harness/SimulatedUsers.ts"
import {
  backendCommand,
  type BackendProcess,
  startBackend,
  verifyJournal
} from "../../verification/harness/BackendProcess.ts"
import { random } from "../../verification/harness/Random.ts"

const clientOf = ({ port }: BackendProcess) => new SequencerClient(`127.0.0.1:${port}`, credentials.createInsecure())

/** Seq of the first event of a subscription. */
const firstSeq = (client: SequencerClient, from_seq: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const call = client.streamEvents({ epoch: "", from_seq, fork: "", checksum: undefined })
    call.on("error", reject)
    call.on("data", ({ events }: StreamEventsResponse) => {
      if (events.length === 0) return
      resolve(events[0]!.seq)
      call.cancel()
    })
  })

describe("a backend that takes snapshots", () => {
  it("starts from the newest one after kill -9, verifies, is copied while it runs, and starts from the copy", async () => {
    const { directory, remove } = temporary()
    const snapshots = join(directory, "backend", "snapshots")
    let backend = await startBackend({ dataDir: directory })
    let client = clientOf(backend)
    const users = new Users(random(1), 20)
    while (Snapshots.list(snapshots).length === 0) {
      const commands = Array.from({ length: 500 }, () => users.one())
      for (const result of (await submitAll(client, [commands])).values()) users.received(result)
    }

    const copy = join(directory, "copy")
    backendCommand(directory, ["backup", copy])
    const killed = verifyJournal(directory)
    assert.isAbove(killed.snapshots.length, 0)
    client.close()
    await backend.kill()

    assert.isAtLeast(killed.entries, SNAPSHOT_ENTRIES)
    backend = await startBackend({ dataDir: directory })
    client = clientOf(backend)
    const { head_seq } = await new Promise<{ head_seq: number }>((resolve, reject) =>
      client.getHead({}, (error, head) => (error ? reject(error) : resolve(head)))
    )
    assert.isAtLeast(head_seq, killed.head_seq)
    // from memory, and by a replay of the journal
    for (const seq of [head_seq - 9000, 1]) assert.strictEqual(await firstSeq(client, seq), seq)
    client.close()
    assert.strictEqual(await backend.stop(), 0)

    const stopped = verifyJournal(directory)
    assert.strictEqual(stopped.snapshots.at(-1), stopped.entries)
    for (const name of readdirSync(snapshots)) truncateSync(join(snapshots, name), 100)
    assert.throws(() => verifyJournal(directory), /cannot be used: its checksum.*-- replay/)
    const cured = backendCommand(directory, ["replay"]) as Verified
    assert.deepStrictEqual(cured, { ...stopped, snapshots: [stopped.entries] })
    const restored = await startBackend({ dataDir: copy })
    assert.strictEqual(await restored.stop(), 0)
    assert.throws(() => backendCommand(directory, ["nonsense"]), /usage/)
    remove()
  }, 120_000)
})
