/**
 * The stores of a gateway over an SQLite database in memory: the adapters that ship, without a file. The stores of one
 * composition share a database. `Layer.fresh` around the composition, or another build of it, opens an empty one.
 */
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlAccessCodes from "../../src/layers/sql/SqlAccessCodes.ts"
import * as SqlAccounts from "../../src/layers/sql/SqlAccounts.ts"
import * as SqlAuditStore from "../../src/layers/sql/SqlAuditStore.ts"
import * as SqlBanStore from "../../src/layers/sql/SqlBanStore.ts"
import * as SqlCompetitionStore from "../../src/layers/sql/SqlCompetitionStore.ts"
import * as SqlCredentialChangeStore from "../../src/layers/sql/SqlCredentialChangeStore.ts"
import * as SqlDeadMansSwitchStore from "../../src/layers/sql/SqlDeadMansSwitchStore.ts"
import * as SqlHistory from "../../src/layers/sql/SqlHistory.ts"
import * as SqlNonceStore from "../../src/layers/sql/SqlNonceStore.ts"
import * as SqlReferralStore from "../../src/layers/sql/SqlReferralStore.ts"
import * as SqlRewardStore from "../../src/layers/sql/SqlRewardStore.ts"
import * as SqlWithdrawalAddressStore from "../../src/layers/sql/SqlWithdrawalAddressStore.ts"
import { NonceStore, NonceStoreUnavailable } from "../../src/services/identity/NonceStore.ts"

const database = NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })

/** A database that cannot be opened or migrated is a defect of the test. */
const inMemory = <A, E, R>(store: Layer.Layer<A, E, R | SqlClient.SqlClient>) =>
  store.pipe(Layer.provide(database), Layer.orDie)

export const accounts = inMemory(SqlAccounts.layer)
export const accessCodes = inMemory(SqlAccessCodes.layer)
export const audit = inMemory(SqlAuditStore.layer)
export const bans = inMemory(SqlBanStore.layer)
/** What writes and what reads changes of credentials, in one database. */
export const credentials = inMemory(
  Layer.mergeAll(SqlAccounts.layer, SqlBanStore.layer, SqlCredentialChangeStore.layer)
)
export const competitions = inMemory(SqlCompetitionStore.layer)
export const deadMansSwitches = inMemory(SqlDeadMansSwitchStore.layer)
export const history = inMemory(SqlHistory.layer)
export const nonces = inMemory(SqlNonceStore.layer())
export const referrals = inMemory(SqlReferralStore.layer)
export const rewards = inMemory(SqlRewardStore.layer)
export const withdrawalAddresses = inMemory(SqlWithdrawalAddressStore.layer)

/** A nonce store whose database is down. */
export const noNonces = Layer.succeed(
  NonceStore,
  NonceStore.of({ claim: () => Effect.fail(new NonceStoreUnavailable({})) })
)
