/** Every SQL adapter passes its contract suite on PostgreSQL too. */
import { assert, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import * as SqlAccessCodes from "../../../src/layers/sql/SqlAccessCodes.ts"
import * as SqlAccounts from "../../../src/layers/sql/SqlAccounts.ts"
import * as SqlAuditStore from "../../../src/layers/sql/SqlAuditStore.ts"
import * as SqlBanStore from "../../../src/layers/sql/SqlBanStore.ts"
import * as SqlCredentialChangeStore from "../../../src/layers/sql/SqlCredentialChangeStore.ts"
import * as SqlCompetitionStore from "../../../src/layers/sql/SqlCompetitionStore.ts"
import * as SqlHistory from "../../../src/layers/sql/SqlHistory.ts"
import * as SqlNonceStore from "../../../src/layers/sql/SqlNonceStore.ts"
import * as SqlReferralStore from "../../../src/layers/sql/SqlReferralStore.ts"
import * as SqlRewardStore from "../../../src/layers/sql/SqlRewardStore.ts"
import * as SqlStores from "../../../src/layers/sql/SqlStores.ts"
import * as SqlDeadMansSwitchStore from "../../../src/layers/sql/SqlDeadMansSwitchStore.ts"
import * as SqlWithdrawalAddressStore from "../../../src/layers/sql/SqlWithdrawalAddressStore.ts"
import * as AccessCodesContract from "../../contracts/AccessCodesContract.ts"
import * as AccountsContract from "../../contracts/AccountsContract.ts"
import * as AuditStoreContract from "../../contracts/AuditStoreContract.ts"
import * as CredentialChangeStoreContract from "../../contracts/CredentialChangeStoreContract.ts"
import * as CompetitionStoreContract from "../../contracts/CompetitionStoreContract.ts"
import * as HistoryContract from "../../contracts/HistoryContract.ts"
import * as NonceStoreContract from "../../contracts/NonceStoreContract.ts"
import * as ReferralStoreContract from "../../contracts/ReferralStoreContract.ts"
import * as RewardStoreContract from "../../contracts/RewardStoreContract.ts"
import * as SwitchStoreContract from "../../contracts/SwitchStoreContract.ts"
import * as WithdrawalAddressStoreContract from "../../contracts/WithdrawalAddressStoreContract.ts"
import { DAY_MS } from "../../../src/domain/Time.ts"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { BanStore } from "../../../src/services/identity/BanStore.ts"
import { CredentialChangeStore } from "../../../src/services/identity/CredentialChangeStore.ts"
import { NonceStore } from "../../../src/services/identity/NonceStore.ts"
import { History } from "../../../src/services/History.ts"
import { body, event } from "../../../verification/harness/Records.ts"
import { shiftedClock } from "../../doubles/ShiftedClock.ts"
import * as Postgres from "../../doubles/Postgres.ts"

const { client, fresh: postgres } = Postgres.throwaway()

describe.skipIf(!Postgres.isThere)("on PostgreSQL", () => {
  HistoryContract.suite("PostgreSQL", Layer.provide(SqlHistory.layer, postgres))
  AccountsContract.suite("PostgreSQL", Layer.provide(SqlAccounts.layer, postgres))
  AuditStoreContract.suite("PostgreSQL", Layer.provide(SqlAuditStore.layer, postgres))
  CredentialChangeStoreContract.suite(
    "PostgreSQL",
    SqlCredentialChangeStore.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(SqlAccounts.layer, SqlBanStore.layer)),
      Layer.provide(postgres)
    )
  )
  CompetitionStoreContract.suite("PostgreSQL", Layer.provide(SqlCompetitionStore.layer, postgres))
  ReferralStoreContract.suite("PostgreSQL", Layer.provide(SqlReferralStore.layer, postgres))
  RewardStoreContract.suite("PostgreSQL", Layer.provide(SqlRewardStore.layer, postgres))
  AccessCodesContract.suite(
    "PostgreSQL",
    SqlAccessCodes.layer.pipe(Layer.provideMerge(SqlAccounts.layer), Layer.provide(postgres))
  )
  SwitchStoreContract.suite("PostgreSQL", Layer.provide(SqlDeadMansSwitchStore.layer, postgres))
  WithdrawalAddressStoreContract.suite("PostgreSQL", Layer.provide(SqlWithdrawalAddressStore.layer, postgres))
  NonceStoreContract.suite("PostgreSQL", Layer.provide(SqlNonceStore.layer(), postgres))

  const owner = new Uint8Array(32).fill(7)
  const nonceStore = Effect.map(Layer.build(Layer.fresh(SqlNonceStore.layer())), Context.get(NonceStore))

  it.live("keeps the nonces of all gateways while the clock of one is a day ahead", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const right = yield* nonceStore
      yield* right.claim("rest", owner, "nonce-0001")
      const expired = { space: "rest", digest: new Uint8Array(1), expires_at_ms: 1 }
      yield* sql`INSERT INTO windowed_nonces ${sql.insert(expired)}`
      yield* Effect.provideServiceEffect(
        nonceStore,
        Clock.Clock,
        shiftedClock(() => DAY_MS)
      )
      const left = sql`SELECT 1 FROM windowed_nonces WHERE expires_at_ms = 1 AND space = 'rest'`
      while ((yield* left).length > 0) yield* Effect.yieldNow
      assert.strictEqual((yield* Effect.flip(right.claim("rest", owner, "nonce-0001")))._tag, "NonceReused")
      yield* right.claim("rest", owner, "nonce-0002")
    }).pipe(Effect.provide(postgres))
  )

  it.live("claims the same nonces at two gateways in any order, without a deadlock", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* nonceStore, yield* nonceStore]
      for (let round = 0; round < 20; round++) {
        const names = Array.from({ length: 64 }, (_, i) => `nonce-${round}-${i}`)
        const claims = (store: typeof one, order: ReadonlyArray<string>) =>
          Effect.forEach(order, (name) => Effect.result(store.claim("rest", owner, name)), { concurrency: "unbounded" })
        const results = yield* Effect.all([claims(one, names), claims(two, names.toReversed())], {
          concurrency: "unbounded"
        })
        const failures = results.flat().flatMap((result) => (result._tag === "Failure" ? [result.failure._tag] : []))
        assert.deepStrictEqual(
          failures,
          Array.from({ length: 64 }, () => "NonceReused")
        )
      }
    }).pipe(Effect.provide(postgres))
  )

  it.live("stamps changes of credentials by its own clock where it is later than the gateway's", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { changes } = yield* CredentialChangeStore
      const accounts = yield* Accounts
      const bans = yield* BanStore
      const { read_ms } = yield* changes(undefined)
      const key = CredentialChangeStoreContract.key(1)
      const ban = { root_address: "0x1", user_id: "u1", banned: true, reason: "", changed_time: 1 }
      yield* Effect.gen(function* () {
        yield* accounts.createApiKey(key, 50)
        yield* accounts.changeApiKey(key.api_key_id, { revoked: true })
        yield* accounts.revokeToken("token", Number.MAX_SAFE_INTEGER)
        assert.isAtLeast((yield* bans.put(ban)).changed_time, read_ms)
      }).pipe(
        Effect.provideServiceEffect(
          Clock.Clock,
          shiftedClock(() => -DAY_MS)
        )
      )
      const changed = yield* changes(read_ms)
      assert.deepStrictEqual([changed.keys.length, changed.tokens.length, changed.bans.length], [1, 1, 1])
      const ahead = yield* Effect.provideServiceEffect(
        changes(undefined),
        Clock.Clock,
        shiftedClock(() => DAY_MS)
      )
      const [now] = yield* sql<{ readonly ms: number }>`SELECT (extract(epoch FROM now()) * 1000)::bigint AS ms`
      assert.isAtLeast(ahead.read_ms, read_ms)
      assert.isAtMost(ahead.read_ms, now!.ms)
    }).pipe(
      Effect.provide(
        SqlCredentialChangeStore.layer.pipe(
          Layer.provideMerge(Layer.mergeAll(SqlAccounts.layer, SqlBanStore.layer)),
          Layer.provideMerge(postgres)
        )
      )
    )
  )

  it.effect("sorts text by its bytes in every table, whatever the locale of the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = yield* sql<{ readonly name: string; readonly collation: string | null }>`
        SELECT table_name || '.' || column_name AS name, collation_name AS collation FROM information_schema.columns
        WHERE table_schema = current_schema() AND data_type = 'text' AND table_name NOT LIKE '%migrations%'`
      assert.isAbove(columns.length, 100)
      assert.deepStrictEqual(
        columns.filter(({ collation }) => collation !== "C"),
        []
      )
    }).pipe(
      Effect.provide(
        Layer.mergeAll(SqlHistory.layer, SqlStores.layer, SqlNonceStore.layer()).pipe(Layer.provideMerge(postgres))
      )
    )
  )

  it.effect("reads one snapshot while another gateway commits", () =>
    Effect.gen(function* () {
      const historyOf = Effect.map(
        Layer.build(Layer.fresh(Layer.provide(SqlHistory.layer, client("moment")))),
        Context.get(History)
      )
      const [ours, other] = [yield* historyOf, yield* historyOf]
      const commit = (...events: Parameters<typeof HistoryContract.commit>) =>
        HistoryContract.commit(...events).pipe(Effect.provideService(History, other))
      yield* commit([event(1, body.balance())])
      const outside = yield* Effect.context<never>()
      yield* ours.moment(
        Effect.gen(function* () {
          assert.strictEqual((yield* ours.position)!.seq, 1)
          yield* Effect.promise(() => Effect.runPromiseWith(outside)(commit([event(2, body.balance())])))
          assert.strictEqual((yield* ours.position)!.seq, 1)
          assert.strictEqual((yield* ours.streamHeads)[0]!.seq, 1)
        })
      )
      assert.strictEqual((yield* ours.position)!.seq, 2)
    })
  )
})
