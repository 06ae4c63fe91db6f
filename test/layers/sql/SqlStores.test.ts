import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { DAY_MS, HOUR_MS } from "../../../src/domain/Time.ts"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeSqlite from "../../../src/layers/sql/NodeSqlite.ts"
import * as SqlAccessCodes from "../../../src/layers/sql/SqlAccessCodes.ts"
import * as SqlAccounts from "../../../src/layers/sql/SqlAccounts.ts"
import * as SqlAuditStore from "../../../src/layers/sql/SqlAuditStore.ts"
import * as SqlBanStore from "../../../src/layers/sql/SqlBanStore.ts"
import * as SqlCompetitionStore from "../../../src/layers/sql/SqlCompetitionStore.ts"
import * as SqlCredentialChangeStore from "../../../src/layers/sql/SqlCredentialChangeStore.ts"
import * as SqlDeadMansSwitchStore from "../../../src/layers/sql/SqlDeadMansSwitchStore.ts"
import * as SqlWithdrawalAddressStore from "../../../src/layers/sql/SqlWithdrawalAddressStore.ts"
import * as SqlNonceStore from "../../../src/layers/sql/SqlNonceStore.ts"
import * as SqlReferralStore from "../../../src/layers/sql/SqlReferralStore.ts"
import * as SqlRewardStore from "../../../src/layers/sql/SqlRewardStore.ts"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { CredentialChangeStore } from "../../../src/services/identity/CredentialChangeStore.ts"
import { CompetitionStore, type Entry, placeOf } from "../../../src/services/rewards/CompetitionStore.ts"
import { NonceStore } from "../../../src/services/identity/NonceStore.ts"
import { WithdrawalAddressStore } from "../../../src/services/trading/WithdrawalAddressStore.ts"
import { stillClock } from "../../doubles/StillClock.ts"
import * as AccessCodesContract from "../../contracts/AccessCodesContract.ts"
import * as AccountsContract from "../../contracts/AccountsContract.ts"
import * as AuditStoreContract from "../../contracts/AuditStoreContract.ts"
import * as CredentialChangeStoreContract from "../../contracts/CredentialChangeStoreContract.ts"
import * as CompetitionStoreContract from "../../contracts/CompetitionStoreContract.ts"
import * as NonceStoreContract from "../../contracts/NonceStoreContract.ts"
import * as ReferralStoreContract from "../../contracts/ReferralStoreContract.ts"
import * as RewardStoreContract from "../../contracts/RewardStoreContract.ts"
import * as SwitchStoreContract from "../../contracts/SwitchStoreContract.ts"
import * as WithdrawalAddressStoreContract from "../../contracts/WithdrawalAddressStoreContract.ts"

const memory = NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })

AccountsContract.suite("SQLite", Layer.provide(SqlAccounts.layer, memory))
AuditStoreContract.suite("SQLite", Layer.provide(SqlAuditStore.layer, memory))
CredentialChangeStoreContract.suite(
  "SQLite",
  Layer.mergeAll(SqlAccounts.layer, SqlBanStore.layer, SqlCredentialChangeStore.layer).pipe(
    Layer.provide(Layer.fresh(memory))
  )
)
CompetitionStoreContract.suite("SQLite", Layer.provide(SqlCompetitionStore.layer, memory))
ReferralStoreContract.suite("SQLite", Layer.provide(SqlReferralStore.layer, memory))
RewardStoreContract.suite("SQLite", Layer.provide(SqlRewardStore.layer, memory))
AccessCodesContract.suite(
  "SQLite",
  SqlAccessCodes.layer.pipe(Layer.provideMerge(SqlAccounts.layer), Layer.provide(Layer.fresh(memory)))
)
SwitchStoreContract.suite("SQLite", Layer.provide(SqlDeadMansSwitchStore.layer, memory))
WithdrawalAddressStoreContract.suite("SQLite", Layer.provide(SqlWithdrawalAddressStore.layer, memory))
NonceStoreContract.suite("SQLite", Layer.provide(SqlNonceStore.layer(), memory))
NonceStoreContract.suite(
  "SQLite, by space",
  NonceStore.routed({
    forever: Layer.provide(SqlNonceStore.layer(), Layer.fresh(memory)),
    windowed: Layer.provide(SqlNonceStore.layer(), Layer.fresh(memory))
  })
)

describe("nonces in two stores", () => {
  it.effect("are kept for ever where they belong to a login or an activation, and for a window otherwise", () => {
    const claims: Array<string> = []
    const recording = (store: string) =>
      Layer.succeed(NonceStore, { claim: (space) => Effect.sync(() => void claims.push(`${space}: ${store}`)) })
    const stores = { forever: recording("forever"), windowed: recording("windowed") }
    return Effect.gen(function* () {
      const nonces = yield* NonceStore
      for (const space of ["login", "activation", "rest", "ws"] as const) {
        yield* nonces.claim(space, new Uint8Array(32), "nonce-0001")
      }
      assert.deepStrictEqual(claims, ["login: forever", "activation: forever", "rest: windowed", "ws: windowed"])
    }).pipe(Effect.provide(NonceStore.routed(stores)))
  })
})

/** Entries of the measured leaderboard; `LEADERBOARD=100000` prints the times of a large one. */
const ENTRIES = Number(process.env["LEADERBOARD"] ?? 2_000)

describe("SqlCompetitionStore", () => {
  it.effect(
    "finds a page and a rank by index, independent of the number of participants",
    () =>
      Effect.gen(function* () {
        const store = yield* CompetitionStore
        const sql = yield* SqlClient.SqlClient
        const { competition, entry, fromTheFirst, idOf } = CompetitionStoreContract
        const id = idOf(1)
        yield* store.create(competition(1), fromTheFirst)
        const entries: Array<Entry> = Array.from({ length: ENTRIES }, (_, i) =>
          entry(`0x${((i * 7_919) % ENTRIES).toString(16).padStart(64, "0")}`, { score: `${i}.5`, user_id: `u${i}` })
        )
        for (let at = 0; at < ENTRIES; at += 5_000) {
          const revision = at / 5_000 + 1
          yield* store.advance(
            id,
            { ...fromTheFirst, revision, eligible_total: "1", settling: false },
            entries.slice(at, at + 5_000)
          )
        }
        const timed = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
          Effect.gen(function* () {
            const start = performance.now()
            const found = yield* effect
            if (process.env["LEADERBOARD"] !== undefined)
              console.log(`${ENTRIES} entries, ${name}: ${(performance.now() - start).toFixed(2)} ms`)
            return found
          })
        const middle = entries[Math.floor(ENTRIES / 2)]!
        const last = entries[0]!
        const after = placeOf(middle)!
        assert.strictEqual((yield* timed("first page", store.ranked(id, undefined, 20))).length, 20)
        const page = yield* timed("page in the middle", store.ranked(id, after, 20))
        assert.strictEqual(page[0]!.score, `${Math.floor(ENTRIES / 2) - 1}.5`)
        assert.strictEqual(yield* timed("rank in the middle", store.ahead(id, after)), Math.ceil(ENTRIES / 2) - 1)
        assert.strictEqual(yield* timed("rank of the last", store.ahead(id, placeOf(last)!)), ENTRIES - 1)
        assert.strictEqual((yield* timed("entries of a user", store.entriesOf(id, middle.user_id))).length, 1)

        const planOf = (statement: Effect.Effect<ReadonlyArray<{ readonly detail: string }>, unknown>) =>
          Effect.map(statement, (rows) => rows.map(({ detail }) => detail).join("; "))
        const ranked = yield* planOf(sql`EXPLAIN QUERY PLAN SELECT * FROM competition_entries
          WHERE competition_id = ${id} AND place IS NOT NULL AND place > ${after} ORDER BY place LIMIT ${20}`)
        const ahead = yield* planOf(sql`EXPLAIN QUERY PLAN SELECT COUNT(*) AS n FROM competition_entries
          WHERE competition_id = ${id} AND place IS NOT NULL AND place >= ${""} AND place < ${after}`)
        assert.include(ranked, "USING INDEX competition_places")
        assert.notInclude(ranked, "TEMP B-TREE")
        assert.include(ahead, "USING COVERING INDEX competition_places")
      }).pipe(Effect.provide(SqlCompetitionStore.layer.pipe(Layer.provideMerge(Layer.fresh(memory))))),
    600_000
  )
})

describe("SqlWithdrawalAddressStore", () => {
  it.effect("writes an attempt so that gateways of an earlier version count it for 10 s", () =>
    Effect.gen(function* () {
      const store = yield* WithdrawalAddressStore
      const sql = yield* SqlClient.SqlClient
      yield* TestClock.setTime(5_000)
      yield* store.begin("alice", "one")
      assert.deepStrictEqual(yield* sql`SELECT until_ms FROM withdrawal_attempts`.values, [[15_000]])
    }).pipe(Effect.provide(SqlWithdrawalAddressStore.layer.pipe(Layer.provideMerge(Layer.fresh(memory)))))
  )
})

const owner = new Uint8Array(32).fill(7)

describe("SqlNonceStore", () => {
  it.effect("deletes expired API-key nonces in batches, and no other nonces", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      const sql = yield* SqlClient.SqlClient
      const count = Effect.map(
        sql<{ readonly n: number }>`SELECT
          (SELECT COUNT(*) FROM windowed_nonces) + 10000 * (SELECT COUNT(*) FROM login_nonces) AS n`,
        ([row]) => row!.n
      )
      for (let i = 0; i < 1500; i++) yield* store.claim("rest", owner, `nonce-${i}`)
      yield* store.claim("login", owner, "nonce-0000")
      assert.strictEqual(yield* count, 11_500)
      yield* TestClock.adjust("59 seconds")
      yield* store.claim("ws", owner, "nonce-late")
      assert.strictEqual(yield* count, 11_501)
      // rows stay a minute longer than they count, and the watermark row remains
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* count, 11_501)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* count, 10_002)
    }).pipe(Effect.provide(SqlNonceStore.layer().pipe(Layer.provideMerge(memory))))
  )

  it.effect("gives each of many concurrent claims its own result, and refuses claims beyond its limit", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      const sql = yield* SqlClient.SqlClient
      // every third pair was claimed before, every fifth is claimed twice
      for (let i = 0; i < 300; i += 3) yield* store.claim("rest", owner, `nonce-${i}`)
      const claims = Array.from({ length: 300 }, (_, i) => i).flatMap((i) => (i % 5 === 0 ? [i, i] : [i]))
      const results = yield* Effect.forEach(claims, (i) => Effect.result(store.claim("rest", owner, `nonce-${i}`)), {
        concurrency: "unbounded"
      })
      const won = claims.filter((_, at) => results[at]!._tag === "Success")
      assert.deepStrictEqual(
        won,
        Array.from({ length: 300 }, (_, i) => i).filter((i) => i % 3 !== 0)
      )

      const many = yield* Effect.forEach(
        Array.from({ length: 5000 }, (_, i) => i),
        (i) => Effect.result(store.claim("ws", owner, `nonce-${i}`)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(many.filter((result) => result._tag === "Success").length, 4096)
      assert.isTrue(
        many.slice(4096).every((result) => result._tag === "Failure" && result.failure._tag === "NonceStoreUnavailable")
      )
      const [stored] = yield* sql<{
        readonly n: number
      }>`SELECT COUNT(*) AS n FROM windowed_nonces WHERE space = ${"ws"}`
      assert.strictEqual(stored!.n, 4096)
      yield* store.claim("ws", owner, "nonce-5000")
    }).pipe(Effect.provide(SqlNonceStore.layer().pipe(Layer.provideMerge(memory))))
  )

  it.effect("admits no nonce twice at gateways whose clocks are 30 s ahead and behind", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const start = 1_767_225_600_000
      const gateway = (off_ms: number) =>
        Effect.gen(function* () {
          const clock = stillClock(start + off_ms)
          const built = Layer.build(Layer.fresh(SqlNonceStore.layer())).pipe(
            Effect.provideService(SqlClient.SqlClient, sql)
          )
          const store = Context.get(yield* built.pipe(Effect.provide(clock.layer)), NonceStore)
          const claim = Effect.result(store.claim("rest", owner, "nonce-0001")).pipe(Effect.provide(clock.layer))
          return { pass: clock.pass, claim }
        })
      const slow = yield* gateway(-30_000)
      assert.strictEqual((yield* slow.claim)._tag, "Success")
      for (let passed = 0; passed < 60_000; passed += 15_000) {
        yield* slow.pass(15_000)
        // a gateway that starts deletes rows that are expired by its clock
        yield* gateway(30_000 + passed + 15_000)
        // by its own clock the signature may be a window ahead, and stays valid for another window
        assert.strictEqual((yield* slow.claim)._tag, "Failure", `${passed}`)
      }
    }).pipe(Effect.provide(Layer.fresh(memory)))
  )

  it.effect("takes claims again after thousands of them failed in an outage", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE windowed_nonces RENAME TO away`
      for (let round = 0; round < 3; round++) {
        const failed = yield* Effect.forEach(
          Array.from({ length: 2_000 }, (_, i) => i),
          (i) => Effect.result(store.claim("rest", owner, `nonce-${i}`)),
          { concurrency: "unbounded" }
        )
        assert.isTrue(failed.every((result) => result._tag === "Failure"))
      }
      yield* sql`ALTER TABLE away RENAME TO windowed_nonces`
      yield* store.claim("rest", owner, "nonce-0")
    }).pipe(Effect.provide(SqlNonceStore.layer().pipe(Layer.provideMerge(memory))))
  )

  it.effect(
    "accepts keys again at once after a clock was a day ahead for some minutes, and forgets none of its nonces",
    () =>
      Effect.gen(function* () {
        const store = yield* NonceStore
        const start = yield* Clock.currentTimeMillis
        const ahead = start + DAY_MS
        yield* store.claim("rest", owner, "nonce-before")
        yield* TestClock.setTime(ahead)
        yield* store.claim("rest", owner, "nonce-ahead")
        yield* TestClock.adjust("5 minutes")
        const sql = yield* SqlClient.SqlClient
        const left = yield* sql`SELECT 1 FROM windowed_nonces WHERE space = ${"rest"}`
        assert.strictEqual(left.length, 0, "the nonces are deleted")

        // the time of the first nonce, which is deleted too, passes within the retention
        yield* TestClock.setTime(start + 60_001)
        yield* store.claim("rest", owner, "nonce-after")
        yield* TestClock.setTime(ahead - HOUR_MS)
        yield* store.claim("rest", owner, "nonce-later")
        // its signature is valid around this time; a refused claim is kept too
        for (const at of [ahead - 30_000, ahead, ahead + 30_000]) {
          yield* TestClock.setTime(at)
          yield* Effect.flip(store.claim("rest", owner, "nonce-ahead"))
          const fresh = yield* Effect.flip(store.claim("rest", owner, `nonce-${at}`))
          assert.strictEqual(fresh._tag, "NonceStoreUnavailable")
        }
        yield* TestClock.setTime(ahead + 60_001)
        yield* store.claim("rest", owner, "nonce-then")
      }).pipe(Effect.provide(Layer.fresh(SqlNonceStore.layer().pipe(Layer.provideMerge(memory)))))
  )

  it.effect("refuses the times of the oldest marks after they became one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [begin, range_ms, marks] = [1_767_225_600_000, 600_000, 5_001]
      // makes the tables
      yield* Effect.scoped(Layer.build(Layer.fresh(SqlNonceStore.layer())))
      const digestOf = (range: number) => {
        const digest = new Uint8Array(8)
        new DataView(digest.buffer).setBigUint64(0, BigInt(begin + range * range_ms))
        return digest
      }
      const mark = (range: number) => ({
        space: "forgotten",
        digest: digestOf(range),
        expires_at_ms: begin + range * range_ms + 300_000
      })
      const all = Array.from({ length: marks }, (_, range) => mark(range))
      for (const some of Arr.chunksOf(all, 500)) yield* sql`INSERT INTO windowed_nonces ${sql.insert(some)}`
      // the mark of this nonce is one too many
      const expires_at_ms = begin + marks * range_ms + 1_000
      yield* sql`INSERT INTO windowed_nonces ${sql.insert({ space: "rest", digest: new Uint8Array(32), expires_at_ms })}`
      yield* TestClock.setTime(expires_at_ms + HOUR_MS)
      const store = Context.get(yield* Layer.build(Layer.fresh(SqlNonceStore.layer())), NonceStore)
      const left = sql`SELECT 1 FROM windowed_nonces WHERE space = ${"rest"}`
      for (let i = 0; (yield* left).length > 0; i++) {
        assert.isBelow(i, 1_000, "the expired nonce was not deleted")
        yield* Effect.yieldNow
      }
      const oldest = yield* sql`SELECT 1 FROM windowed_nonces WHERE digest IN (${digestOf(0)}, ${digestOf(1)})`
      assert.lengthOf(oldest, 0, "they became one")
      for (const at of [begin, begin + 500_000, begin + range_ms + 300_000]) {
        yield* TestClock.setTime(at)
        const refused = yield* Effect.flip(store.claim("rest", owner, `nonce-${at}`))
        assert.strictEqual(refused._tag, "NonceStoreUnavailable")
      }
      yield* TestClock.setTime(begin + range_ms + 300_001)
      yield* store.claim("rest", owner, "nonce-after")
    }).pipe(Effect.provide(Layer.fresh(memory)))
  )

  it.effect("keeps the mark of a gateway that deleted more, when another one deletes less after it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // the begin of a range of ten minutes, whose mark both gateways write
      const begin = 1_767_225_600_000
      const clock = stillClock(begin + 180_000)
      // makes the tables
      yield* Layer.build(Layer.fresh(SqlNonceStore.layer()))
      const row = (space: string, digest: Uint8Array, expires_at_ms: number) =>
        sql`INSERT INTO windowed_nonces ${sql.insert({ space, digest, expires_at_ms })}`
      const range = new Uint8Array(8)
      new DataView(range.buffer).setBigUint64(0, BigInt(begin))
      // a gateway whose clock is ahead has deleted nonces; an older one of this gateway has expired
      yield* row("forgotten", range, begin + 400_000)
      yield* row("rest", new Uint8Array(32), begin + 60_000)
      const built = Layer.build(Layer.fresh(SqlNonceStore.layer())).pipe(Effect.provide(clock.layer))
      const store = Context.get(yield* built, NonceStore)
      const claim = (nonce: string) => store.claim("rest", owner, nonce).pipe(Effect.provide(clock.layer))
      const expired = Effect.map(
        sql`SELECT 1 FROM windowed_nonces WHERE space = ${"rest"} AND expires_at_ms = ${begin + 60_000}`,
        (rows) => rows.length
      )
      for (let i = 0; (yield* expired) > 0; i++) {
        assert.isBelow(i, 1_000, "the expired nonce was not deleted")
        yield* Effect.yieldNow
      }
      // what was deleted may have been any of these
      for (const nonce of ["nonce-0001", "nonce-0002"]) {
        assert.strictEqual((yield* Effect.flip(claim(nonce)))._tag, "NonceStoreUnavailable")
      }
      yield* clock.pass(220_001)
      yield* claim("nonce-0003")
    }).pipe(Effect.provide(Layer.fresh(memory)))
  )

  it.effect("fails as unavailable without its tables", () =>
    Effect.gen(function* () {
      const store = yield* NonceStore
      const sql = yield* SqlClient.SqlClient
      yield* sql`DROP TABLE login_nonces`
      yield* sql`DROP TABLE windowed_nonces`
      for (const space of ["login", "rest"] as const) {
        const error = yield* Effect.flip(store.claim(space, owner, "nonce-0001"))
        assert.strictEqual(error._tag, "NonceStoreUnavailable")
      }
    }).pipe(Effect.provide(SqlNonceStore.layer().pipe(Layer.provideMerge(memory))))
  )
})

describe("SqlAccounts", () => {
  it.effect("gives a user another referral code if the first one is taken", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sql = yield* SqlClient.SqlClient
      const one = { user_id: "u1", root_address: "0x1", rail: "address" as const, party_id: undefined }
      const first = yield* accounts.ensureUser(one)
      yield* sql`DELETE FROM users`
      yield* accounts.ensureUser({ ...one, user_id: "u2", root_address: "0x2" })
      yield* sql`UPDATE users SET referral_code = ${first.user.referral_code}`
      const second = yield* accounts.ensureUser(one)
      assert.isTrue(second.created)
      assert.notStrictEqual(second.user.referral_code, first.user.referral_code)
    }).pipe(Effect.provide(SqlAccounts.layer.pipe(Layer.provideMerge(memory))))
  )

  it.effect("fails as unavailable without its tables", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const sql = yield* SqlClient.SqlClient
      yield* sql`DROP TABLE users`
      assert.strictEqual((yield* Effect.flip(accounts.user("u1")))._tag, "AccountsUnavailable")
    }).pipe(Effect.provide(SqlAccounts.layer.pipe(Layer.provideMerge(memory))))
  )
})

describe("after kill -9", () => {
  for (const synchronous of ["FULL", "NORMAL"] as const) {
    it.live(`claims and revocations are kept, with synchronous ${synchronous}`, () =>
      Effect.gen(function* () {
        const directory = mkdtempSync(join(tmpdir(), "gateway-nonces-"))
        const filename = join(directory, "gateway.sqlite")
        yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(directory, { recursive: true })))
        const child = spawn(
          process.execPath,
          [new URL("../../doubles/claim-nonces.ts", import.meta.url).pathname, filename, synchronous],
          { stdio: ["ignore", "pipe", "inherit"] }
        )
        let text = ""
        child.stdout.setEncoding("utf8")
        yield* Effect.callback<void>((resume) => {
          child.stdout.on("data", (chunk: string) => {
            text += chunk
            // the child keeps claiming until it is killed
            if (text.split("\n").length > 20) resume(Effect.void)
          })
        })
        child.kill("SIGKILL")
        yield* Effect.promise(() => once(child, "close"))
        const claimed = text.split("\n").slice(0, -1)
        assert.isAbove(claimed.length, 19)

        const stores = Layer.mergeAll(
          SqlNonceStore.layer({ retention: "1 hour" }),
          SqlCredentialChangeStore.layer
        ).pipe(Layer.provide(NodeSqlite.layer({ filename, synchronous })))
        yield* Effect.gen(function* () {
          const store = yield* NonceStore
          const { tokens } = yield* (yield* CredentialChangeStore).changes(undefined)
          for (const nonce of claimed) {
            for (const space of ["login", "rest"] as const) {
              const error = yield* Effect.flip(store.claim(space, owner, nonce))
              assert.strictEqual(error._tag, "NonceReused")
            }
            assert.isTrue(tokens.some(({ jti }) => jti === nonce))
          }
          yield* store.claim("login", owner, "never-claimed")
        }).pipe(Effect.provide(stores))
      })
    )
  }
})
