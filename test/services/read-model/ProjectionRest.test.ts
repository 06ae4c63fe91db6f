import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Event } from "../../../src/domain/Event.ts"
import { Projecting } from "../../../src/domain/Projection.ts"
import { toEvent } from "../../../src/layers/grpc/WireEvents.ts"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import { History } from "../../../src/services/History.ts"
import { projectionRest } from "../../../src/services/read-model/ProjectionRest.ts"
import { random } from "../../../verification/harness/Random.ts"
import { body, event } from "../../../verification/harness/Records.ts"
import { differencesOf } from "../../../verification/rebuild/Rebuild.ts"
import { randomTrading } from "../../backend/RandomTrading.ts"

type Row = Readonly<Record<string, unknown>>

/** An empty history, and the rows of all its tables. */
const emptyHistory = Effect.gen(function* () {
  const context = yield* Layer.build(
    Layer.fresh(
      SqlHistory.layer.pipe(Layer.provideMerge(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })))
    )
  )
  const sql = Context.get(context, SqlClient.SqlClient)
  const tables = Effect.gen(function* () {
    const names = yield* sql<{ name: string }>`SELECT name FROM sqlite_schema WHERE type = 'table'`
    const rows = yield* Effect.forEach(names, ({ name }) => sql.unsafe<Row>(`SELECT * FROM "${name}"`))
    return new Map(names.map(({ name }, i) => [name, rows[i]!]))
  })
  return { history: Context.get(context, History), tables }
})

const model = (history: History["Service"]) =>
  Effect.all({
    position: history.position,
    heads: history.streamHeads,
    candles: history.lastCandles,
    ledger: history.ledger
  })

/** Projects events after what a history holds. */
const projectionAfter = (history: History["Service"], events: ReadonlyArray<Event>) =>
  Effect.map(model(history), (state) => new Projecting(state).next("e1", events))

describe("the rest of a projection", () => {
  it.effect.each([1, 2, 3])("leaves the rows of an undivided history, wherever it is divided (seed %i)", (seed) =>
    Effect.gen(function* () {
      const events = randomTrading(seed, 400).bench.events.map(toEvent)
      const next = random(seed)
      const [whole, divided] = [yield* emptyHistory, yield* emptyHistory]
      let divisions = 0
      for (let from = 0; from < events.length;) {
        const batch = events.slice(from, from + 1 + Math.floor(next() * 200))
        yield* whole.history.commit(yield* projectionAfter(whole.history, batch))
        const shown = yield* projectionAfter(divided.history, batch)
        const written = Math.floor(next() * batch.length)
        if (written > 0) {
          yield* divided.history.commit(yield* projectionAfter(divided.history, batch.slice(0, written)))
          divisions++
        }
        const { heads, position } = yield* model(divided.history)
        yield* divided.history.commit(written === 0 ? shown : projectionRest(shown, position!, heads))
        from += batch.length
      }
      assert.isAbove(divisions, 20)
      const rows = yield* whole.tables
      for (const name of ["orders", "executions", "closed_pnls", "transactions", "funding_payments", "movements"])
        assert.isAbove(rows.get(name)!.length, 0, name)
      assert.deepStrictEqual(differencesOf(rows, yield* divided.tables), [])
      // and none of a user's events twice
      const kept = yield* divided.tables
      const lines = kept.get("user_events")!.flatMap(({ events: text }) => (text as string).split("\n"))
      const numbered = kept.get("stream_heads")!.reduce((sum, { seq }) => sum + (seq as number), 0)
      assert.strictEqual(lines.length, numbered)
    })
  )

  it("has the alerts of later events", () => {
    const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
    const projection = projecting.next("e1", [event(1, body.adl()), event(2, body.adl()), event(3, body.adl())])
    const rest = projectionRest(projection, { epoch: "e1", seq: 2 }, [])
    assert.deepStrictEqual(
      rest.alerts.map(({ seq }) => seq),
      [3]
    )
    assert.strictEqual(rest.after?.seq, 2)
  })
})
