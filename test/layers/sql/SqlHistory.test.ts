import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Projecting } from "../../../src/domain/Projection.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import { History } from "../../../src/services/History.ts"
import { suite } from "../../contracts/HistoryContract.ts"
import { body, event } from "../../doubles/events.ts"

const on = (filename: string) =>
  SqlHistory.layer.pipe(Layer.provide(NodeSqlite.layer({ filename, synchronous: "NORMAL" })))

suite("SQLite", on(":memory:"))

describe("SqlHistory on a file", () => {
  it.effect("goes on where it stood after the process ended", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "history-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
      )
      const layer = on(join(folder, "history.sqlite"))
      const run = <A, E>(body: Effect.Effect<A, E, History>) => body.pipe(Effect.provide(Layer.fresh(layer)))
      yield* run(
        Effect.gen(function* () {
          const history = yield* History
          const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
          yield* history.commit(projecting.next("e1", [event(1, body.order()), event(2, body.balance())]))
        })
      )
      const [position, heads] = yield* run(
        Effect.gen(function* () {
          const history = yield* History
          return [yield* history.position, yield* history.streamHeads] as const
        })
      )
      assert.strictEqual(position!.seq, 2)
      assert.strictEqual(heads[0]!.seq, 2)
    })
  )
})
