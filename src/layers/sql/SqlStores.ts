/** What the gateway keeps in a database of its own, besides the read model and nonces: all over one client. */
import { Layer } from "effect"
import * as SqlAccessCodes from "./SqlAccessCodes.ts"
import * as SqlAccounts from "./SqlAccounts.ts"
import * as SqlBanStore from "./SqlBanStore.ts"
import * as SqlCompetitionStore from "./SqlCompetitionStore.ts"
import * as SqlReferralStore from "./SqlReferralStore.ts"
import * as SqlRewardStore from "./SqlRewardStore.ts"
import * as SqlSwitchStore from "./SqlSwitchStore.ts"

/** One client, so that one transaction uses a code and admits a wallet. */
export const layer = Layer.mergeAll(
  SqlAccessCodes.layer,
  SqlBanStore.layer,
  SqlCompetitionStore.layer,
  SqlReferralStore.layer,
  SqlRewardStore.layer,
  SqlSwitchStore.layer
).pipe(Layer.provideMerge(SqlAccounts.layer))
