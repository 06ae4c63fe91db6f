import { Effect, Logger } from "effect"
import { assert, describe, it } from "vitest"
import { EventLog } from "../../../src/backend/journal/EventLog.ts"
import type { JournalPort } from "../../../src/backend/journal/Journal.ts"
import type { Taken } from "../../../src/backend/journal/Recovery.ts"
import * as BackendMetrics from "../../../src/backend/server/BackendMetrics.ts"
import { SNAPSHOT_ENTRIES, SnapshotSchedule } from "../../../src/backend/server/SnapshotSchedule.ts"

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A schedule over a journal that grows, and a snapshotter that ends its snapshots where a test says so. */
const world = () => {
  const journal = { position: 7 }
  const at = { now_ms: 1_000 }
  const asked: Array<{ readonly position: number; readonly done: PromiseWithResolvers<Taken> }> = []
  const { text, ...metrics } = Effect.runSync(Effect.scoped(BackendMetrics.make))
  const schedule = new SnapshotSchedule({
    journal: journal as JournalPort,
    log: new EventLog("e"),
    snapshotter: {
      take: ({ position }) => {
        const done = Promise.withResolvers<Taken>()
        asked.push({ position, done })
        return done.promise
      },
      stop: () => {}
    },
    metrics,
    monotonic: () => at.now_ms,
    context: Effect.runSync(Effect.provide(Effect.context<never>(), Logger.layer([])))
  })
  const grow = (entries: number) => {
    journal.position += entries
    schedule.takeIfDue()
  }
  const taken = (dump_ms = 0): Taken => ({
    head: { epoch: "e", rules: "r", position: journal.position, at_ms: 0, chain: 0, state_hash: "" },
    dump_ms
  })
  const counts = () =>
    ["backend_snapshot_seconds_count", "backend_snapshot_failures_total"].map((name) =>
      Number(new RegExp(`^${name} (\\d+)$`, "mu").exec(text())?.[1])
    )
  return { asked, at, counts, grow, positions: () => asked.map(({ position }) => position), taken }
}

describe("the schedule of snapshots", () => {
  it("takes one after 5,000 entries since the last one was due, and none while one is in progress", async () => {
    const { asked, counts, grow, positions, taken } = world()
    grow(SNAPSHOT_ENTRIES - 1)
    assert.deepStrictEqual(positions(), [])
    grow(1)
    assert.deepStrictEqual(positions(), [7 + SNAPSHOT_ENTRIES])
    grow(SNAPSHOT_ENTRIES)
    assert.lengthOf(asked, 1)
    asked[0]!.done.resolve(taken())
    await settled()
    assert.deepStrictEqual(counts(), [1, 0])
    grow(SNAPSHOT_ENTRIES - 1)
    assert.lengthOf(asked, 1)
    grow(1)
    assert.deepStrictEqual(positions(), [7 + SNAPSHOT_ENTRIES, 7 + 3 * SNAPSHOT_ENTRIES])
  })

  it("pauses for twenty times the time that the state of the last one took", async () => {
    const { asked, at, grow, taken } = world()
    grow(SNAPSHOT_ENTRIES)
    at.now_ms = 5_000
    asked[0]!.done.resolve(taken(50))
    await settled()
    at.now_ms = 5_999
    grow(SNAPSHOT_ENTRIES)
    assert.lengthOf(asked, 1)
    at.now_ms = 6_000
    grow(SNAPSHOT_ENTRIES)
    assert.lengthOf(asked, 2)
  })

  it("counts a failed one, and takes the next one when it is due", async () => {
    const { asked, counts, grow } = world()
    grow(SNAPSHOT_ENTRIES)
    asked[0]!.done.reject(new Error("the disk is full"))
    await settled()
    assert.deepStrictEqual(counts(), [0, 1])
    grow(SNAPSHOT_ENTRIES)
    assert.lengthOf(asked, 2)
  })
})
