/** Accounts of users that the engine itself simulates: opened on first use, funded by deposits. */
import { type Address, NAMESPACE, subAccountAddress, uuidV5 } from "../../../domain/Address.ts"
import type * as Decimal from "../../../domain/Decimal.ts"
import * as Accounts from "../accounts/Accounts.ts"
import type { StepContext } from "../events/StepContext.ts"
import type { Account } from "../state/State.ts"
import * as Funds from "./Funds.ts"
import * as SubAccounts from "./SubAccounts.ts"

export interface SimulatedUser {
  /** source of its deposits, and part of their ids */
  readonly name: string
  readonly root: Address
  readonly userId: string
  readonly deposit: Decimal.Scaled
  /** available balance below which the next deposit follows */
  readonly depositBelow: Decimal.Scaled
}

/** The account of a simulated user with this index, with money. A frozen one gets none. */
export const simulatedAccount = (ctx: StepContext, user: SimulatedUser, index: number): Account => {
  const { state } = ctx
  const address = subAccountAddress(user.root, index)
  const account = state.accountOf.get(address) ?? SubAccounts.openAccount(ctx, user.userId, user.root, index)
  if (!account.frozen && Accounts.totalsOf(account).free < user.depositBelow) {
    const id = uuidV5(NAMESPACE, `sim-${user.name}-deposit:${++state.depositNumber}`)
    Funds.deposit(ctx, account, id, user.deposit, user.name)
  }
  return account
}
