/** Gateways of a fleet migrate the tables that they share, one at a time. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type AddressInfo, createServer } from "node:net"
import { AbsenceWait, LOCK_WAIT_MS, MigrationWait, migrations } from "../../../src/layers/sql/Migrations.ts"
import * as NodePostgres from "../../../src/layers/sql/NodePostgres.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import * as SqlNonceStore from "../../../src/layers/sql/SqlNonceStore.ts"
import * as SqlStores from "../../../src/layers/sql/SqlStores.ts"
import { PostgresServer, urlOf } from "../../../verification/harness/PostgresServer.ts"
import { freePort } from "../../../verification/harness/Programs.ts"
import * as Postgres from "../../doubles/Postgres.ts"

const server = Postgres.throwaway()

/** Every store of a gateway, with connections of its own. */
const gateway = (schema: string) =>
  Layer.build(
    Layer.fresh(
      Layer.mergeAll(SqlHistory.layer, SqlStores.credentialChanges.pipe(Layer.provideMerge(SqlStores.layer))).pipe(
        Layer.provideMerge(SqlNonceStore.layer()),
        Layer.provide(server.client(schema))
      )
    )
  ).pipe(Effect.scoped)

/** Holds a lock on a table in a transaction until the returned effect runs. */
const hold = Effect.fnUntraced(function* (table: string, mode: string) {
  const sql = yield* SqlClient.SqlClient
  const [held, released] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const holder = yield* sql
    .withTransaction(
      sql`SET LOCAL idle_in_transaction_session_timeout = 0`.pipe(
        Effect.andThen(sql.unsafe(`LOCK TABLE ${table} IN ${mode} MODE`)),
        Effect.andThen(Deferred.succeed(held, undefined)),
        Effect.andThen(Deferred.await(released))
      )
    )
    .pipe(Effect.forkScoped)
  yield* Deferred.await(held)
  return Effect.andThen(Deferred.succeed(released, undefined), Fiber.join(holder))
})

/** Collects log lines, and completes a signal at the first one with a text. */
const lines = (text: string) => {
  const found = Deferred.makeUnsafe<void>()
  const all: Array<string> = []
  const logger = Logger.make(({ message }) => {
    const line = String(Array.isArray(message) ? message[0] : message)
    all.push(line)
    if (line.includes(text)) Deferred.doneUnsafe(found, Effect.void)
  })
  return { all, found: Deferred.await(found), layer: Logger.layer([logger]) }
}
const WAITING = "waits for the migrations of the database"

/** The message with which PostgreSQL refuses a connection. */
const errorResponse = (code: string): Buffer => {
  const fields = Buffer.from(`SFATAL\0C${code}\0Mrefused\0\0`)
  const head = Buffer.from("E\0\0\0\0", "latin1")
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

/** A migration that takes as long as an effect, and counts its runs. */
const slow = (during: Effect.Effect<void>) => {
  let runs = 0
  const migrate = migrations("migrations_slow", {
    "1_slow": Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      runs++
      yield* sql`SET LOCAL idle_in_transaction_session_timeout = 0`
      yield* sql`CREATE TABLE slow (n INTEGER)`
      yield* during
    })
  })
  return { migrate, runs: () => runs }
}

describe.skipIf(!Postgres.isThere)("migrations of a fleet on PostgreSQL", () => {
  it.live("let gateways start at once on an empty database", () =>
    Effect.gen(function* () {
      // two sessions cannot make a schema at once
      yield* SqlClient.SqlClient
      yield* Effect.all([gateway("together"), gateway("together")], { concurrency: "unbounded" })
    }).pipe(Effect.scoped, Effect.provide(server.client("together")))
  )

  it.live("let a gateway wait while another one migrates for longer than a statement may take", () => {
    const log = lines(WAITING)
    return Effect.gen(function* () {
      yield* SqlClient.SqlClient
      const release = yield* Deferred.make<void>()
      const { migrate, runs } = slow(Deferred.await(release))
      const [first, second] = [server.client("slow"), server.client("slow")].map((client) =>
        migrate.pipe(Effect.provide(client, { local: true }))
      )
      const starting = yield* Effect.forkScoped(first!)
      const other = yield* Effect.forkScoped(second!)
      yield* log.found
      // more attempts than one, longer together than the time limit of a statement
      yield* Effect.sleep(2 * LOCK_WAIT_MS + 500)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(starting)
      yield* Fiber.join(other)
      assert.strictEqual(runs(), 1)
      assert.lengthOf(
        log.all.filter((line) => line.includes(WAITING)),
        1
      )
    }).pipe(Effect.scoped, Effect.provide([server.client("slow"), log.layer]))
  })

  it.live("let a gateway wait until a transaction releases the tables that a migration changes", () => {
    const log = lines(WAITING)
    return Effect.gen(function* () {
      yield* gateway("held")
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM history_migrations WHERE migration_id >= 7`
      yield* sql`ALTER TABLE history_position DROP COLUMN version, DROP COLUMN checksum_seq`
      const release = yield* hold("history_position", "ACCESS SHARE")
      const starting = yield* Effect.forkScoped(gateway("held"))
      yield* log.found
      yield* release
      yield* Fiber.join(starting)
      assert.lengthOf(yield* sql`SELECT version FROM history_position`, 0, "the column is there")
    }).pipe(Effect.scoped, Effect.provide([server.client("held"), log.layer]))
  })

  it.live("start a gateway at once while a backup reads the tables, if nothing is to migrate", () =>
    Effect.gen(function* () {
      yield* gateway("backup")
      const release = yield* hold("history_migrations, migrations_accounts, history_position", "ACCESS SHARE")
      yield* gateway("backup")
      yield* release
    }).pipe(Effect.scoped, Effect.provide(server.client("backup")))
  )

  it.live("let a gateway start before its PostgreSQL does", () => {
    const log = lines("PostgreSQL does not respond")
    return Effect.gen(function* () {
      const later = yield* Effect.acquireRelease(
        Effect.promise(() => PostgresServer.start()),
        (server) => Effect.promise(() => server.remove())
      )
      yield* Effect.promise(() => later.kill())
      const client = NodePostgres.layer({ url: Redacted.make(urlOf("public", later.port)) })
      const { migrate } = slow(Effect.void)
      const starting = yield* Effect.forkScoped(migrate.pipe(Effect.provide(client)))
      yield* log.found
      yield* Effect.promise(() => later.begin())
      yield* Fiber.join(starting)
      assert.strictEqual(yield* Effect.promise(() => later.query("SELECT count(*) FROM slow")), "0")
      assert.lengthOf(log.all, 1, "one line, however many attempts")
    }).pipe(Effect.scoped, Effect.provide(log.layer))
  })

  it.live.each([
    { code: "57P03", why: "starts", waits: true },
    { code: "57P01", why: "stops", waits: true },
    { code: "28P01", why: "refuses the password", waits: false }
  ])("wait for a PostgreSQL that $why: $waits", ({ code, waits }) =>
    Effect.gen(function* () {
      let tries = 0
      const refusing = createServer((socket) => {
        tries++
        socket.on("error", () => {}).once("data", () => socket.end(errorResponse(code)))
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve))),
        () => Effect.sync(() => refusing.close())
      )
      // without the liveness probe, which opens connections of its own
      const { port } = refusing.address() as AddressInfo
      const client = PgClient.layer({ url: Redacted.make(urlOf("public", port)), maxConnections: 1 })
      const { migrate } = slow(Effect.void)
      yield* Effect.flip(migrate.pipe(Effect.provide(client), Effect.provideService(AbsenceWait, 600)))
      if (waits) assert.isAbove(tries, 1)
      else assert.strictEqual(tries, 1)
    })
  )

  it.live("end the start with the reason when PostgreSQL does not respond", () =>
    Effect.gen(function* () {
      const port = yield* Effect.promise(() => freePort())
      const client = NodePostgres.layer({ url: Redacted.make(urlOf("public", port)) })
      const { migrate } = slow(Effect.void)
      const error = yield* Effect.flip(
        migrate.pipe(Effect.provide(client), Effect.provideService(AbsenceWait, LOCK_WAIT_MS / 10))
      )
      assert.strictEqual(error._tag, "SqlError")
    })
  )

  it.live("end the start with the reason when the tables stay in use", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE used (n INTEGER)`
      const release = yield* hold("used", "ACCESS SHARE")
      const alter = migrations("migrations_used", { "1_used": sql`ALTER TABLE used ADD COLUMN m INTEGER` })
      const error = yield* Effect.flip(Effect.provideService(alter, MigrationWait, 1))
      assert.strictEqual(error._tag, "MigrationError")
      assert.include(error.message, "migrations_used: the tables were in use for 0.001 s")
      yield* release
      yield* alter
    }).pipe(Effect.scoped, Effect.provide(server.client("used")))
  )
})
