/** A PostgreSQL whose standby is promoted, as gateways see it that read changes of credentials. */
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { afterEach, assert, describe, it } from "vitest"
import type { SqlClient } from "effect/sql"
import { lost } from "../../../src/layers/sql/DatabaseTimeout.ts"
import * as Promotions from "../../../src/layers/sql/Promotions.ts"
import * as NodePostgres from "../../../src/layers/sql/NodePostgres.ts"
import * as SqlCredentialChangeStore from "../../../src/layers/sql/SqlCredentialChangeStore.ts"
import { CredentialChangeStore } from "../../../src/services/identity/CredentialChangeStore.ts"
import { FaultProxy } from "../../../verification/harness/FaultProxy.ts"
import { PostgresCluster } from "../../../verification/harness/PostgresCluster.ts"
import { isPostgresInstalled, urlOf } from "../../../verification/harness/PostgresServer.ts"
import { until } from "../../../verification/harness/Wait.ts"

const { SEEN_WITHIN_MS } = Promotions
const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const cluster = async () => {
  const servers = await PostgresCluster.start(2)
  closing.push(() => servers.remove())
  const way = await FaultProxy.start(servers.primary.port)
  closing.push(() => way.close())
  const promote = async () => {
    await servers.failOver()
    way.retarget(servers.primary.port)
    way.cut()
  }
  return { servers, way, promote }
}
type Store = CredentialChangeStore["Service"]

/** The store of a gateway, while `use` runs. */
const withStore = <A>(way: FaultProxy, use: (store: Store) => Promise<A>): Promise<A> =>
  Effect.runPromise(
    Effect.gen(function* (): Effect.fn.Return<A, unknown, Scope.Scope> {
      const database = NodePostgres.layer({ url: Redacted.make(urlOf("public", way.port)), silence_ms: 20_000 })
      const context = yield* Layer.build(SqlCredentialChangeStore.layer.pipe(Layer.provide(database)))
      return yield* Effect.promise(() => use(Context.get(context, CredentialChangeStore)))
    }).pipe(Effect.scoped)
  )
const untrusted = async (store: Store): Promise<number> =>
  (await Effect.runPromise(store.changes(undefined))).untrusted_until_ms
/** The same, once the store can be read again. */
const untrustedLater = (store: Store): Promise<number> =>
  until("the promoted server", () =>
    untrusted(store).then(
      (until_ms) => ({ until_ms }),
      () => false as const
    )
  ).then(({ until_ms }) => until_ms)

describe("a promotion whose row is not written at the first attempt", () => {
  it.each([
    [true, false],
    [false, true]
  ])("is judged by the former timeline, synchronous %s, not by its own", async (wasSynchronous, isSynchronous) => {
    let isDown = false
    const sql = (() =>
      Effect.suspend(() => (isDown ? Effect.fail(lost("lost", "execute")) : Effect.succeed([])))) as unknown
    const state = Promotions.make(sql as SqlClient.SqlClient)
    const known = { timeline: "00000001", isSynchronous: wasSynchronous, seen_ms: 1_000 }
    const server = { known, untrusted_until_ms: 0 }
    const before = { ...server, timeline: "00000001", isSynchronous: wasSynchronous }
    assert.strictEqual(await Effect.runPromise(state(before, 2_000)), 0)
    const after = { ...server, timeline: "00000002", isSynchronous }
    isDown = true
    await Effect.runPromise(Effect.flip(state(after, 3_000)))
    isDown = false
    assert.strictEqual(await Effect.runPromise(state(after, 4_000)), wasSynchronous ? 0 : 4_000 + SEEN_WITHIN_MS)
  })
})

describe("the timeline of a server", () => {
  /** Judges what reads find; `statements`: the values of each one that it ran. */
  const judging = () => {
    const statements: Array<ReadonlyArray<unknown>> = []
    const sql = (_: TemplateStringsArray, ...values: ReadonlyArray<unknown>) =>
      Effect.sync(() => {
        statements.push(values)
        return []
      })
    const state = Promotions.make(sql as unknown as SqlClient.SqlClient)
    const judge = (found: Promotions.ServerState, now_ms: number) => Effect.runPromise(state(found, now_ms))
    return { judge, statements }
  }
  const known = (isSynchronous: boolean, timeline = "00000001", seen_ms = 1_000) => ({
    timeline,
    isSynchronous,
    seen_ms
  })

  it("has the setting that its last read found, for gateways that start later", async () => {
    const { judge, statements } = judging()
    const found = { timeline: "00000001", known: known(true), untrusted_until_ms: 7 }
    assert.strictEqual(await judge({ ...found, isSynchronous: true }, 2_000), 7)
    assert.deepStrictEqual(statements, [])
    assert.strictEqual(await judge({ ...found, isSynchronous: false }, 3_000), 7)
    assert.deepStrictEqual(statements, [[false, "00000001"]])
  })

  it("is judged by what this gateway saw of the former one, which the promoted server may lack", async () => {
    const { judge, statements } = judging()
    const found = { known: known(true), untrusted_until_ms: 0 }
    await judge({ ...found, timeline: "00000001", isSynchronous: false }, 2_000)
    const until_ms = 3_000 + SEEN_WITHIN_MS
    assert.strictEqual(await judge({ ...found, timeline: "00000002", isSynchronous: true }, 3_000), until_ms)
    assert.deepStrictEqual(statements.at(-1), ["00000002", 3_000, true, until_ms])
  })

  it("becomes the newest one even where the clock is behind, and never shortens what is untrusted", async () => {
    const { judge, statements } = judging()
    const found = { timeline: "00000002", isSynchronous: false, known: known(false, "00000001", 9_000) }
    assert.strictEqual(await judge({ ...found, untrusted_until_ms: 8_000 }, 3_000), 8_000)
    assert.deepStrictEqual(statements, [["00000002", 9_001, false, 3_000 + SEEN_WITHIN_MS]])
  })

  it("changes nothing where the server does not name it", async () => {
    const { judge, statements } = judging()
    const found = { timeline: null, isSynchronous: false, known: known(true), untrusted_until_ms: 5 }
    assert.strictEqual(await judge(found, 2_000), 5)
    assert.deepStrictEqual(statements, [])
  })
})

describe.skipIf(!isPostgresInstalled)("a promoted standby of PostgreSQL", { timeout: 60_000 }, () => {
  it("is not trusted up to its promotion if commits did not wait for it, by every gateway, for ever", async () => {
    const { promote, servers, way } = await cluster()
    await servers.primary.query("ALTER SYSTEM SET synchronous_standby_names = ''")
    await servers.primary.query("SELECT pg_reload_conf()")
    const floor = await withStore(way, async (store) => {
      await until(
        "asynchronous commits",
        async () => (await servers.primary.query("SHOW synchronous_standby_names")) === ""
      )
      assert.strictEqual(await untrusted(store), 0)
      const before_ms = Date.now()
      await promote()
      const found = await untrustedLater(store)
      assert.isAtLeast(found, before_ms + SEEN_WITHIN_MS)
      assert.isAtMost(found, Date.now() + SEEN_WITHIN_MS)
      return found
    })
    // a gateway that starts later, and one that was there before
    assert.strictEqual(await withStore(way, untrusted), floor)
  })

  it("counts once where a restored dump names later timelines of another server", async () => {
    const { servers, way } = await cluster()
    await withStore(way, async (store) => {
      assert.strictEqual(await untrusted(store), 0)
      const later = Date.now() + 60_000
      for (const timeline of ["0000000E", "0000000F"])
        await servers.primary.query(`INSERT INTO server_timelines VALUES ('${timeline}', ${later}, false, 0)`)
    })
    const floor = await withStore(way, untrusted)
    assert.isAbove(floor, Date.now() - 60_000)
    await withStore(way, async (store) => {
      for (let i = 0; i < 3; i++) assert.strictEqual(await untrusted(store), floor)
    })
  })

  it("is trusted if commits waited for it", async () => {
    const { promote, way } = await cluster()
    await withStore(way, async (store) => {
      assert.strictEqual(await untrusted(store), 0)
      await promote()
      assert.strictEqual(await untrustedLater(store), 0)
    })
    assert.strictEqual(await withStore(way, untrusted), 0)
  })
})
