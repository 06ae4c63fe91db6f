/** The project's additions to the PostgreSQL driver, and leader election. */
import { assert, describe, it } from "@effect/vitest"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { Context, Duration, Effect, Exit, Layer, Logger, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as NodePostgres from "../../../src/layers/sql/NodePostgres.ts"
import * as PostgresLeadership from "../../../src/layers/sql/PostgresLeadership.ts"
import { Leadership } from "../../../src/services/operations/Leadership.ts"
import * as Postgres from "../../doubles/Postgres.ts"
import { FaultProxy } from "../../../verification/harness/FaultProxy.ts"
import { PostgresServer, urlOf } from "../../../verification/harness/PostgresServer.ts"

const server = Postgres.throwaway()

/** Waits in real time until a condition holds, for 20 s: less than the time limit of a test, so that the wait reports first. */
const until = (what: string, condition: () => boolean) =>
  Effect.gen(function* () {
    for (let i = 0; i < 2_000; i++) {
      if (condition()) return
      yield* Effect.sleep("10 millis")
    }
    assert.fail(`it never came to this: ${what}`)
  })

describe.skipIf(!Postgres.isThere)("PostgreSQL", () => {
  it.live("returns integers exactly, or an error", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const n of [0, -1, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER]) {
        assert.deepStrictEqual(yield* sql`SELECT ${n}::BIGINT AS n`, [{ n }])
      }
      const beyond = yield* Effect.flip(sql`SELECT 9007199254740992::BIGINT AS n`)
      assert.strictEqual(beyond._tag, "SqlError")
      assert.deepStrictEqual(yield* sql`SELECT 1 AS n`, [{ n: 1 }], "the connection serves on")
      // decimals are text and remain text
      assert.deepStrictEqual(yield* sql`SELECT 12345678901234567890.123456789012345678::NUMERIC AS d`, [
        { d: "12345678901234567890.123456789012345678" }
      ])
    }).pipe(Effect.provide(server.fresh))
  )

  it.live("does not report a transaction with a failed statement as committed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE t (n INTEGER)`
      const body = Effect.andThen(sql`INSERT INTO t VALUES (1)`, Effect.ignore(sql`SELECT 1 / 0`))
      const failed = yield* Effect.flip(sql.withTransaction(body))
      assert.strictEqual(failed._tag, "SqlError")
      assert.deepStrictEqual(yield* sql`SELECT * FROM t`, [])
    }).pipe(Effect.provide(server.fresh))
  )

  it.live("sets limits for every session, and opens no more connections than allowed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const limits = sql`
        SELECT current_setting('statement_timeout') AS statement,
          current_setting('idle_in_transaction_session_timeout') AS idle, pg_backend_pid() AS pid, pg_sleep(0.05) IS NULL AS slept`
      const rows = yield* Effect.forEach(Array.from({ length: 30 }), () => limits, { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(rows.map(([row]) => `${row!["statement"]} ${row!["idle"]}`)), new Set(["4s 5s"]))
      const connections = new Set(rows.map(([row]) => row!["pid"])).size
      assert.isAbove(connections, 1)
      assert.isAtMost(connections, 10)
    }).pipe(Effect.provide(server.fresh))
  )

  it.live("waits 5 s for a result, also where the server itself sets no limit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const long = sql.withTransaction(
        Effect.andThen(sql`SET LOCAL statement_timeout = 0`, sql`SELECT pg_sleep(20) IS NULL AS slept`)
      )
      const [took, failed] = yield* Effect.timed(Effect.flip(long))
      assert.strictEqual(failed.message, "PostgreSQL does not respond")
      assert.isAtLeast(Duration.toMillis(took), 4_900)
      assert.deepStrictEqual(yield* sql`SELECT 1 AS n`, [{ n: 1 }], "another connection serves on")
    }).pipe(Effect.provide(server.fresh))
  )
})

describe.skipIf(!Postgres.isThere)("an unresponsive PostgreSQL", () => {
  it.live(
    "is detected by its probe: pending queries fail, new ones fail at once, and it serves again when it responds",
    () =>
      Effect.gen(function* () {
        const way = yield* Effect.acquireRelease(
          Effect.promise(() => FaultProxy.start(server.port())),
          (proxy) => Effect.promise(() => proxy.close())
        )
        const said: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => void said.push(String(message)))
        const url = Redacted.make(server.url("public", way.port))
        const context = yield* Layer.build(
          NodePostgres.layer({ url, silence_ms: 1_000 }).pipe(Layer.provide(Logger.layer([logger])))
        )
        const sql = Context.get(context, SqlClient.SqlClient)
        const serves = Effect.map(Effect.result(sql`SELECT 1 AS n`), ({ _tag }) => _tag === "Success")
        while (!(yield* serves)) yield* Effect.sleep("50 millis")
        way.swallow()
        assert.isFalse(yield* serves)
        const reports = () => said.filter((line) => line.includes("does not respond")).length
        yield* until("the silence is reported", () => reports() > 0)
        assert.isFalse(yield* serves)
        way.open()
        // its connections went silent in the middle of something: what was swallowed is gone
        way.cut()
        yield* until("the server responds again", () => said.some((line) => line.includes("responds again")))
        while (!(yield* serves)) yield* Effect.sleep("50 millis")
      })
  )
})

describe.skipIf(!Postgres.isThere)("an address that leads to a standby for a while", () => {
  it.live("opens no session there, so that none of them stays in the pool", () =>
    Effect.gen(function* () {
      const started = (primary?: PostgresServer) =>
        Effect.acquireRelease(
          Effect.promise(() => PostgresServer.start(primary)),
          (one) => Effect.promise(() => one.remove())
        )
      const primary = yield* started()
      const standby = yield* started(primary)
      const way = yield* Effect.acquireRelease(
        Effect.promise(() => FaultProxy.start(standby.port)),
        (proxy) => Effect.promise(() => proxy.close())
      )
      const url = Redacted.make(urlOf("public", way.port))
      const context = yield* Layer.build(NodePostgres.layer({ url, silence_ms: 20_000 }))
      const sql = Context.get(context, SqlClient.SqlClient)
      const refused = yield* Effect.flip(sql`SELECT 1 AS n`)
      assert.strictEqual(refused.message, "PostgreSQL is a standby, or read-only")
      // connections that are open stay open
      way.retarget(primary.port)
      yield* sql`CREATE TABLE t (n INTEGER)`
    })
  )
})

describe.skipIf(!Postgres.isThere)("a transaction whose PostgreSQL is lost", () => {
  const ways = ["swallow", "stall", "cut"] as const
  const nested = [false, true]
  it.live.each(ways.flatMap((way) => nested.map((isNested) => [way, isNested] as const)))(
    "fails with an error that callers can handle: %s, nested: %s",
    ([way, isNested]) =>
      Effect.gen(function* () {
        const proxy = yield* Effect.acquireRelease(
          Effect.promise(() => FaultProxy.start(server.port())),
          (opened) => Effect.promise(() => opened.close())
        )
        const url = Redacted.make(server.url("public", proxy.port))
        const context = yield* Layer.build(NodePostgres.layer({ url, connections: 1, silence_ms: 250 }))
        const sql = Context.get(context, SqlClient.SqlClient)
        const statements = Effect.gen(function* () {
          yield* sql`SELECT 1 AS n`
          proxy[way]()
          return yield* sql`SELECT 2 AS n`
        })
        const failed = yield* Effect.exit(sql.withTransaction(isNested ? sql.withTransaction(statements) : statements))
        assert(Exit.isFailure(failed))
        assert.deepStrictEqual(
          failed.cause.reasons.map(({ _tag }) => _tag),
          ["Fail"]
        )
        proxy.open()
        // what was swallowed is gone, and what was stalled arrives
        if (way === "swallow") proxy.cut()
        // later statements have transactions of their own
        const id = Effect.retry(sql`SELECT pg_current_xact_id()::text AS id`, {
          times: 100,
          schedule: Schedule.spaced("50 millis")
        })
        assert.notDeepEqual(yield* id, yield* id)
      })
  )
})

describe.skipIf(!Postgres.isThere)("a PostgreSQL that accepts connections and never responds", () => {
  it.live("is reported as silent before the liveness probe has a session", () =>
    Effect.gen(function* () {
      const proxy = yield* Effect.acquireRelease(
        Effect.promise(() => FaultProxy.start(server.port())),
        (proxy) => Effect.promise(() => proxy.close())
      )
      proxy.swallow()
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const url = Redacted.make(server.url("public", proxy.port))
      const context = yield* Layer.build(
        NodePostgres.layer({ url, silence_ms: 250 }).pipe(Layer.provide(Logger.layer([logger])))
      )
      const sql = Context.get(context, SqlClient.SqlClient)
      yield* until("the silence is reported", () => lines.some((line) => line.includes("does not respond")))
      const [elapsed, result] = yield* Effect.timed(Effect.result(sql`SELECT 1 AS n`))
      assert.strictEqual(result._tag, "Failure")
      assert.isBelow(Duration.toMillis(elapsed), 250)
      proxy.open()
      // the bytes that the proxy swallowed are lost, so its connections are of no use any more
      proxy.cut()
      yield* until("the server responds again", () => lines.some((line) => line.includes("responds again")))
      yield* sql`SELECT 1 AS n`
    })
  )
})

describe.skipIf(!Postgres.isThere)("leader election by a lock of PostgreSQL", () => {
  const candidate = (port: number, loggers: ReadonlyArray<Logger.Logger<unknown, void>> = []) =>
    Effect.map(
      Layer.build(
        Layer.fresh(PostgresLeadership.layer({ url: Redacted.make(server.url("public", port)) })).pipe(
          Layer.provide(Logger.layer(loggers))
        )
      ),
      Context.get(Leadership)
    )

  it.live("warns once of a server that is away, however often it tries", () =>
    Effect.gen(function* () {
      let tries = 0
      const away = createServer((socket) => {
        tries++
        socket.destroy()
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => away.listen(0, "127.0.0.1", resolve))),
        () => Effect.sync(() => away.close())
      )
      const lines: Array<unknown> = []
      const collect = Logger.make(({ message }) => void lines.push(message))
      const { term } = yield* candidate((away.address() as AddressInfo).port, [collect])
      yield* until("it has tried again and again", () => tries >= 4)
      assert.lengthOf(lines, 1)
      assert.isUndefined(term())
    })
  )

  it.live("has one leader, and elects another when the leader's session ends or falls silent", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const way = yield* Effect.acquireRelease(
        Effect.promise(() => FaultProxy.start(server.port())),
        (proxy) => Effect.promise(() => proxy.close())
      )
      const a = yield* candidate(way.port)
      yield* until("the first leads", () => a.term() === 1)
      const b = yield* candidate(server.port())
      const ended = sql`
        SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted`
      yield* ended
      yield* until("the session is lost, and so is the lead", () => a.term() !== 1)
      yield* until("one leads", () => a.term() !== undefined || b.term() !== undefined)
      assert.isTrue(a.term() === undefined || b.term() === undefined, "both hold one lock")
      // the session of b is ended until a is elected
      for (let i = 0; i < 100 && a.term() === undefined; i++) {
        yield* ended
        yield* Effect.sleep("400 millis")
      }
      assert.isDefined(a.term())
      way.swallow()
      yield* until("the server ends the silent connection", () => b.term() !== undefined)
      yield* until("who gets no answer knows", () => a.term() === undefined)
    }).pipe(Effect.provide(server.client("public")))
  )

  it.live("elects another when the leader resigns, and accepts the one that resigned again later, in a new term", () =>
    Effect.gen(function* () {
      const a = yield* candidate(server.port())
      yield* until("the first leads", () => a.term() === 1)
      // after two resignations either could lead: their pauses end at the same time
      let resigned_ms = 0
      yield* Effect.scoped(
        Effect.gen(function* () {
          const b = yield* candidate(server.port())
          resigned_ms = performance.now()
          yield* a.resign
          yield* until("the second leads", () => b.term() === 1)
          assert.isUndefined(a.term())
        })
      )
      yield* until("the first leads again", () => a.term() === 2)
      // others had the time to take the lead
      assert.isAtLeast(performance.now() - resigned_ms, 4_900)
    }).pipe(Effect.provide(server.client("public")))
  )
})
