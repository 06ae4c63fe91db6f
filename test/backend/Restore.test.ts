/** A restore that is interrupted: no start may begin a new exchange in its place, and nothing that it copied or moved is lost. */
import { mkdirSync, readdirSync, renameSync } from "node:fs"
import { join } from "node:path"
import { Effect, Logger } from "effect"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { reads } from "../../src/backend/EngineReads.ts"
import * as Backup from "../../src/backend/journal/Backup.ts"
import * as Directory from "../../src/backend/journal/Directory.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { restore } from "../../src/backend/Restore.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import { serve } from "../../src/backend/server/Serve.ts"
import { GATEWAY_LOCK, tryLock } from "../../src/node/FileLock.ts"
import { temporary } from "../doubles/FakeBackend.ts"

vi.mock(import("../../src/backend/journal/Directory.ts"), { spy: true })

/** The value of an effect, or its error as text. */
const outcome = <A, E>(effect: Effect.Effect<A, E>): Promise<A | string> => Effect.runPromise(effect).catch(String)

describe("a restore", () => {
  let place: ReturnType<typeof temporary>
  let directory: string
  let saved: string

  /** Starts a backend of the directory and stops it; returns the epoch of its history. */
  const start = () =>
    outcome(
      serve({
        machine,
        reads,
        config: {
          markets: shippedMarkets,
          simMaker: false,
          simTakers: false,
          indexSource: "manual",
          faucetDailyLimit: "1000",
          openOrdersMax: 100,
          poolBaseEquity: "0"
        },
        directory,
        host: "127.0.0.1",
        port: 0,
        secret: undefined,
        tls: undefined
      }).pipe(
        Effect.map(({ epoch }) => epoch),
        Effect.scoped,
        Effect.provide(Logger.layer([]))
      )
    )
  const restoring = () => readdirSync(directory).filter((name) => name.startsWith("restoring"))

  beforeEach(async () => {
    place = temporary()
    directory = join(place.directory, "data")
    saved = join(place.directory, "backup")
    await start()
    await Effect.runPromise(Backup.backup(directory, saved))
  })
  afterEach(() => {
    vi.mocked(Directory.sync).mockReset()
    place.remove()
  })

  it("keeps a start refused from an interruption until it succeeds, also after an attempt that fails", async () => {
    // what an earlier build left when it was killed between its two moves
    await Effect.runPromise(Backup.backup(saved, join(directory, "restoring")))
    mkdirSync(join(directory, "replaced"))
    renameSync(join(directory, "backend"), join(directory, "replaced", "backend"))
    // the copy that an earlier attempt had not finished
    mkdirSync(join(directory, "restoring-2026-11-28.partial"))
    for (const source of [join(place.directory, "missing"), directory])
      assert.match(`${await outcome(restore(directory, source))}`, /the restore failed: there is no journal in/u)
    assert.deepStrictEqual(restoring(), ["restoring"])
    assert.match(await start(), /was interrupted: run it again/u)

    const restored = await Effect.runPromise(restore(directory, saved))
    assert.deepStrictEqual(restoring(), [])
    assert.strictEqual(await start(), restored.epoch)
  })

  it("does not begin while a backend uses the directory, and says what to stop", async () => {
    const journal = Journal.open(journalPath(directory), () => assert.fail("there is a journal"))
    try {
      assert.match(`${await outcome(restore(directory, saved))}`, /Error: another backend is using .*; stop it or/u)
    } finally {
      journal.close()
    }
    assert.deepStrictEqual(restoring(), [])
    await Effect.runPromise(restore(directory, saved))
  })

  it("does not begin while a gateway uses the directory, also beside a backend that has stopped", async () => {
    const release = tryLock(join(directory, GATEWAY_LOCK))!
    try {
      assert.match(`${await outcome(restore(directory, saved))}`, /Error: a gateway is using .*; stop it or/u)
    } finally {
      release()
    }
    await Effect.runPromise(restore(directory, saved))
  })

  it("keeps its copy until another one is complete", async () => {
    const { sync } = await vi.importActual<typeof Directory>("../../src/backend/journal/Directory.ts")
    vi.mocked(Directory.sync).mockImplementation((path) => {
      if (path.includes("replaced-")) throw new Error("the power fails")
      sync(path)
    })
    assert.match(`${await outcome(restore(directory, directory))}`, /the restore failed: the power fails/u)
    vi.mocked(Directory.sync).mockReset()
    assert.match(await start(), /was interrupted: run it again/u)

    assert.match(`${await outcome(restore(directory, directory))}`, /there is no journal in/u)
    const copy = restoring().find((name) => name !== "restoring")!
    Journal.read(journalPath(join(directory, copy))).close()
    const restored = await Effect.runPromise(restore(directory, join(directory, copy)))
    assert.deepStrictEqual(restoring(), [])
    assert.strictEqual(await start(), restored.epoch)
  })

  it("names the folder of what it replaced, where there was something", async () => {
    const { replaced } = await Effect.runPromise(restore(directory, saved))
    assert.deepStrictEqual(readdirSync(replaced!), ["backend"])
    const fresh = await Effect.runPromise(restore(join(place.directory, "fresh"), saved))
    assert.isNull(fresh.replaced)
  })

  it("removes its marker durably before its copies: after a loss of power, a refused start could need them", async () => {
    const seen: Array<ReadonlyArray<string>> = []
    vi.mocked(Directory.sync).mockImplementation((path) => {
      if (path === directory) seen.push(restoring().toSorted())
    })
    await Effect.runPromise(restore(directory, saved))
    const [moved, ended] = seen.slice(-2)
    assert.strictEqual(moved![0], "restoring")
    assert.strictEqual(ended!.length, 1)
    assert.deepStrictEqual(ended, moved!.slice(1))
    assert.deepStrictEqual(restoring(), [])
  })
})
