/** The commands for sub-accounts. Source: docs/contract/rest-user.md#sub-accounts. */
import { parseAddress, subAccountAddress } from "../../../domain/Address.ts"
import type { Command, CommandResult, CreateSubAccount, SetSubAccount } from "../../../proto/gateway/v1/sequencer.ts"
import { acknowledge, Code, invalidField, refuse } from "../events/CommandResults.ts"
import * as Records from "../events/Records.ts"
import { emit, type StepContext } from "../events/StepContext.ts"
import { noAccount, ownAccount } from "../sequencer/Lookup.ts"
import { type Account, type State, SUB_ACCOUNTS_MAX, type User } from "../state/State.ts"

/** Returns a user; creates it on first use. */
export const userOf = (state: State, id: string): User => {
  let user = state.users.get(id)
  if (user === undefined) {
    user = { id, accounts: [], nextIndex: 0, faucetDay: 0, faucetGiven: 0n }
    state.users.set(id, user)
  }
  return user
}

const announceAccount = (ctx: StepContext, account: Account): void => {
  emit(ctx, account, undefined, () => ({
    $case: "sub_account_changed",
    value: { sub_account: Records.subAccount(account) }
  }))
}

/** Creates the sub-account with this index. */
export const openAccount = (ctx: StepContext, userId: string, root: string, subIndex: number): Account => {
  const { state, at } = ctx
  const user = userOf(state, userId)
  const account: Account = {
    index: state.accountNumber++,
    address: subAccountAddress(root, subIndex),
    userId,
    root,
    subIndex,
    createdMs: at,
    frozen: false,
    deleted: false,
    wallet: 0n,
    updatedMs: at,
    holdings: []
  }
  state.accounts.push(account)
  state.accountOf.set(account.address, account)
  user.accounts.push(account)
  user.nextIndex = Math.max(user.nextIndex, subIndex + 1)
  announceAccount(ctx, account)
  return account
}

const subAccountAck = (ctx: StepContext, command: Command, account: Account): CommandResult =>
  acknowledge(ctx, command, [], { result: { $case: "sub_account", value: Records.subAccount(account) } })

/** Creates a sub-account at the given index, or at the next one. Returns the existing one where the index is used. */
export const createSubAccount = (ctx: StepContext, command: Command, request: CreateSubAccount): CommandResult => {
  const { state } = ctx
  if (command.user_id === "") return invalidField(command, "user_id", "a sub-account belongs to a user")
  const root = parseAddress(request.root_address)
  if (root === undefined || root !== request.root_address)
    return invalidField(command, "root_address", "root_address is not a canonical address")
  const user = state.users.get(command.user_id)
  const next = user?.nextIndex ?? 0
  const index = request.index ?? next
  const existing = state.accountOf.get(subAccountAddress(root, index))
  if (existing !== undefined)
    return existing.userId === command.user_id
      ? subAccountAck(ctx, command, existing)
      : invalidField(command, "root_address", "root_address belongs to another user")
  if (user !== undefined && user.accounts.length > 0 && user.accounts[0]!.root !== root)
    return invalidField(command, "root_address", "the user has another root_address")
  if (index < next) return invalidField(command, "index", "the sub-account was deleted")
  if (index !== next) return invalidField(command, "index", `the next index is ${next}`)
  if (user !== undefined && user.accounts.length >= SUB_ACCOUNTS_MAX)
    return refuse(
      command,
      Code.FAILED_PRECONDITION,
      "LimitReached",
      `a user has at most ${SUB_ACCOUNTS_MAX} sub-accounts`,
      { max: String(SUB_ACCOUNTS_MAX) }
    )
  return subAccountAck(ctx, command, openAccount(ctx, command.user_id, root, index))
}

export const setSubAccount = (ctx: StepContext, command: Command, request: SetSubAccount): CommandResult => {
  const account = ownAccount(ctx.state, command)
  if (account === undefined) return noAccount(command)
  if (account.frozen !== request.frozen) {
    account.frozen = request.frozen
    announceAccount(ctx, account)
  }
  return subAccountAck(ctx, command, account)
}

/** Removes a deleted account from the state. */
const forgetAccount = (state: State, account: Account): void => {
  const lists = [state.accounts, userOf(state, account.userId).accounts]
  for (const list of lists) list.splice(list.indexOf(account), 1)
  state.accountOf.delete(account.address)
}

/** Deletes an empty sub-account; the first one cannot be deleted. */
export const deleteSubAccount = (ctx: StepContext, command: Command): CommandResult => {
  const account = ownAccount(ctx.state, command)
  if (account === undefined) return noAccount(command)
  if (account.subIndex === 0) return invalidField(command, "sub_account_address", "the first sub-account stays")
  const no = (reason: string, message: string) => refuse(command, Code.FAILED_PRECONDITION, reason, message)
  const holdings = account.holdings.filter((holding) => holding !== undefined)
  if (holdings.some(({ lots }) => lots !== 0)) return no("PositionExists", "close the position first")
  if (holdings.some(({ conditional, orders }) => orders.size + conditional.size > 0))
    return no("OpenOrdersExist", "cancel the open orders first")
  if (account.wallet !== 0n) return no("NotEmpty", "the sub-account still holds a balance")
  account.deleted = true
  forgetAccount(ctx.state, account)
  announceAccount(ctx, account)
  return subAccountAck(ctx, command, account)
}
