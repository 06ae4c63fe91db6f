/** Gateways of two versions of the read model, in front of one database. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import { History, ReadModelVersion } from "../../../src/services/History.ts"
import { BackendHealth } from "../../../src/services/operations/BackendHealth.ts"
import { Leadership } from "../../../src/services/operations/Leadership.ts"
import { CurrentMetricsRegistry, MetricsRegistry } from "../../../src/services/operations/MetricsRegistry.ts"
import { HistoryWriter } from "../../../src/services/read-model/HistoryWriter.ts"
import { Projector } from "../../../src/services/read-model/Projector.ts"
import { UserStreams } from "../../../src/services/read-model/UserStreams.ts"
import { body, event, order, userOf, uuid } from "../../../verification/harness/Records.ts"
import { eventually } from "../../doubles/Eventually.ts"
import { ScriptedBackend } from "../../doubles/ScriptedBackend.ts"
import { ScriptedFeed } from "../../doubles/ScriptedFeed.ts"

const alice = userOf(1)
const database = NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })

/** Two events of the first day of the exchange, and one more. */
const events = [
  event(1, body.order({ order_id: uuid(5) })),
  event(2, body.order({ order_id: uuid(5), order_status: "Canceled" })),
  event(3, body.balance())
]

/** Which gateway may write, as an election decides it. */
class Election {
  leader: number | undefined
  resigned = 0
  readonly of = (gateway: number) => ({
    term: () => (this.leader === gateway ? 1 : undefined),
    resign: Effect.sync(() => {
      this.resigned++
      this.leader = undefined
    })
  })
}

/** A gateway of a version over the database of the context. */
const start = Effect.fnUntraced(function* (version: number, { elect = new Election(), first_seq = 1, name = 0 } = {}) {
  const feed = new ScriptedFeed()
  const backend = new ScriptedBackend()
  const lines: Array<string> = []
  const metrics = new MetricsRegistry()
  backend.head = { epoch: "e1", head_seq: 3, first_seq }
  backend.as_of_seq = 3
  backend.openOrders = [{ user_id: alice.user_id, order: order({ order_id: uuid(7) }) }]
  feed.log.push(...events)
  elect.leader ??= name
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const services = yield* Layer.buildWithScope(
    Layer.fresh(
      Projector.layer().pipe(
        Layer.provideMerge(HistoryWriter.layer()),
        Layer.provideMerge(SqlHistory.layer),
        Layer.provideMerge(BackendHealth.layer),
        Layer.provide([
          feed.layer,
          backend.layer,
          Layer.succeed(ReadModelVersion, version),
          Layer.succeed(Leadership, elect.of(name)),
          Layer.succeed(CurrentMetricsRegistry, metrics),
          Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
        ])
      )
    ),
    scope
  )
  return {
    feed,
    lines,
    metrics,
    elect,
    history: Context.get(services, History),
    projector: Context.get(services, Projector),
    streams: Context.get(services, UserStreams),
    health: Context.get(services, BackendHealth),
    stop: Scope.close(scope, Exit.void)
  }
})
type Started = Effect.Success<ReturnType<typeof start>>

const shows = ({ projector }: Started, seq: number) =>
  eventually(`event ${seq} is shown`, () => projector.position()?.seq === seq)
const stored = ({ history }: Started) => Effect.map(history.position, (at) => [at?.version, at?.seq])
const reads = ({ history }: Started, id: number) =>
  Effect.map(
    history.order({
      user_id: alice.user_id,
      sub_account_address: alice.account(0),
      order_id: uuid(id),
      order_link_id: undefined
    }),
    (found) => found?.order_status
  )
/** Waits until the history holds everything. */
const written = Effect.fnUntraced(function* (gateway: Started, seq: number) {
  for (let i = 0; i < 100 && (yield* gateway.history.position)?.seq !== seq; i++) yield* TestClock.adjust("100 millis")
  assert.strictEqual((yield* gateway.history.position)?.seq, seq)
})

describe("versions of the read model", () => {
  it.effect("build the rows of an older version again from the first event", () =>
    Effect.gen(function* () {
      const older = yield* start(1)
      yield* shows(older, 3)
      yield* written(older, 3)
      assert.deepStrictEqual(yield* stored(older), [1, 3])
      yield* older.stop
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE orders SET record = ${"{}"}, status = ${"written by the older version"}`
      const newer = yield* start(2)
      yield* shows(newer, 3)
      yield* written(newer, 3)
      assert.deepStrictEqual(yield* stored(newer), [2, 3])
      assert.strictEqual(yield* reads(newer, 5), "Canceled")
      assert.notStrictEqual(newer.streams.streamId(), older.streams.streamId())
      assert.deepStrictEqual(
        newer.feed.followed.map((at) => at?.seq),
        [0]
      )
      assert.lengthOf(
        newer.lines.filter((line) => line.includes("the read model has version 1, this gateway has version 2")),
        1
      )
      assert.include(yield* newer.metrics.text, 'gateway_read_model_rebuilds_total{reason="Version"} 1')
    }).pipe(Effect.scoped, Effect.provide(database))
  )

  it.effect("keep the histories, and read the open state, where the backend no longer has the first events", () =>
    Effect.gen(function* () {
      const older = yield* start(1)
      yield* shows(older, 3)
      yield* written(older, 3)
      yield* older.stop
      const newer = yield* start(2, { first_seq: 3 })
      yield* shows(newer, 3)
      assert.deepStrictEqual(yield* stored(newer), [2, 3])
      assert.strictEqual(yield* reads(newer, 5), "Canceled")
      assert.strictEqual(yield* reads(newer, 7), "New")
    }).pipe(Effect.scoped, Effect.provide(database))
  )

  it.effect("let a newer gateway take the read model over from an older one that leads", () =>
    Effect.gen(function* () {
      const elect = new Election()
      const older = yield* start(1, { elect, name: 1 })
      yield* shows(older, 3)
      yield* written(older, 3)
      const newer = yield* start(2, { elect, name: 2 })
      yield* shows(newer, 3)
      older.feed.tell(event(4, body.order({ order_id: uuid(6) })))
      newer.feed.tell(event(4, body.order({ order_id: uuid(6) })))
      yield* eventually("the older gateway resigns", () => elect.resigned === 1)
      elect.leader = 2
      yield* shows(newer, 4)
      yield* written(newer, 4)
      assert.deepStrictEqual(yield* stored(newer), [2, 4])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* stored(newer), [2, 4])
      assert.isTrue(older.health.sequencer().unhealthy)
      assert.lengthOf(
        older.lines.filter((line) => line.includes("the read model has version 2, this gateway has version 1")),
        1
      )
    }).pipe(Effect.scoped, Effect.provide(database))
  )

  it.effect("keep an older gateway from writing, until the way back is taken", () =>
    Effect.gen(function* () {
      const newer = yield* start(2)
      yield* shows(newer, 3)
      yield* written(newer, 3)
      yield* newer.stop
      const older = yield* start(1)
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(older.feed.followed, 0)
      assert.deepStrictEqual(yield* stored(older), [2, 3])
      assert.lengthOf(older.lines, 1)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE history_position SET version = 0`
      older.elect.leader = 0
      yield* shows(older, 3)
      yield* written(older, 3)
      assert.deepStrictEqual(yield* stored(older), [1, 3])
      // the next upgrade is reported as the first one was
      const again = yield* start(2, { elect: older.elect, name: 2 })
      yield* shows(again, 3)
      older.feed.tell(event(4, body.order({ order_id: uuid(6) })))
      const report = "the read model has version 2, this gateway has version 1"
      const reports = () => older.lines.filter((line) => line.includes(report)).length
      yield* eventually("it is reported", () => reports() === 2)
    }).pipe(Effect.scoped, Effect.provide(database))
  )
})
