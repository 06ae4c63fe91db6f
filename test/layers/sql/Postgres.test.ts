/** Every SQL adapter passes its contract suite on PostgreSQL too. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
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
import { History } from "../../../src/services/History.ts"
import { body, event } from "../../../verification/harness/Records.ts"
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
