/** What the gateway keeps in databases, nonces aside. */
import { Layer } from "effect"
import { UserEventsKept } from "../../services/History.ts"
import type { Settings } from "../Settings.ts"
import * as SqlAccessCodes from "./SqlAccessCodes.ts"
import * as SqlAccounts from "./SqlAccounts.ts"
import * as SqlAuditStore from "./SqlAuditStore.ts"
import * as SqlBanStore from "./SqlBanStore.ts"
import * as SqlCompetitionStore from "./SqlCompetitionStore.ts"
import * as SqlHistory from "./SqlHistory.ts"
import * as SqlReferralStore from "./SqlReferralStore.ts"
import * as SqlRewardStore from "./SqlRewardStore.ts"
import * as SqlDeadMansSwitchStore from "./SqlDeadMansSwitchStore.ts"
import * as SqlWithdrawalAddressStore from "./SqlWithdrawalAddressStore.ts"

/** The gateway's own data. One client, so that one transaction uses a code and admits a wallet. */
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

/** The read model. */
export const history = ({ userEventsKept: count, userEventsKeptMs: ms }: Settings) =>
  SqlHistory.layer.pipe(Layer.provide(Layer.succeed(UserEventsKept, { count, ms })))
