/** The gateway's stores in a database, except nonces. */
import { Layer } from "effect"
import { UserEventsKept } from "../../services/History.ts"
import type { Settings } from "../Settings.ts"
import * as SqlAccessCodes from "./SqlAccessCodes.ts"
import * as SqlAccounts from "./SqlAccounts.ts"
import * as SqlAuditStore from "./SqlAuditStore.ts"
import * as SqlBanStore from "./SqlBanStore.ts"
import * as SqlCompetitionStore from "./SqlCompetitionStore.ts"
import * as SqlCredentialChangeStore from "./SqlCredentialChangeStore.ts"
import * as SqlHistory from "./SqlHistory.ts"
import * as SqlReferralStore from "./SqlReferralStore.ts"
import * as SqlRewardStore from "./SqlRewardStore.ts"
import * as SqlDeadMansSwitchStore from "./SqlDeadMansSwitchStore.ts"
import * as SqlWithdrawalAddressStore from "./SqlWithdrawalAddressStore.ts"

/** The gateway's own data. All share one client, so that one transaction can use a code and admit a wallet. */
export const layer = Layer.mergeAll(
  SqlAccessCodes.layer,
  SqlAuditStore.layer,
  SqlBanStore.layer,
  SqlCompetitionStore.layer,
  SqlReferralStore.layer,
  SqlRewardStore.layer,
  SqlDeadMansSwitchStore.layer,
  SqlWithdrawalAddressStore.layer
).pipe(Layer.provideMerge(SqlAccounts.layer))

/** The changes of credentials. Build it above {@link layer}, which migrates the tables. */
export const credentialChanges = SqlCredentialChangeStore.layer

/** The read model. */
export const history = ({ userEventsKept: count, userEventsKeptMs: ms }: Settings) =>
  SqlHistory.layer.pipe(Layer.provide(Layer.succeed(UserEventsKept, { count, ms })))
