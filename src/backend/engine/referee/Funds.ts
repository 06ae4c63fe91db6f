/**
 * Sub-accounts and the money that comes to them and moves between them. Source: docs/contract/rest-account.md,
 * docs/contract/rest-user.md#sub-accounts, docs/contract/exchange.md#deposits-and-withdrawals.
 */
import { parseAddress, subAccountAddress } from "../../../domain/Address.ts"
import * as Decimal from "../../../domain/Decimal.ts"
import type {
  Command,
  CommandResult,
  CreateSubAccount,
  CreditReward,
  DepositFunds,
  SetSubAccount,
  TransferFunds,
  WithdrawFunds
} from "../../../proto/gateway/v1/sequencer.ts"
import { BalanceReason, type Transfer, TransferStatus } from "../../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import { noAccount, ownAccount } from "../sequencer/Lookup.ts"
import { findTransfer, rememberTransfer } from "../Retention.ts"
import { type Account, ASSET, type State, SUB_ACCOUNTS_MAX, type User } from "../State.ts"
import { acknowledge, Code, emit, invalidField, refuse, type StepContext } from "../StepContext.ts"
import * as Accounts from "./Accounts.ts"
import { emitBalance } from "./PositionEvents.ts"

const DAY_MS = 86_400_000
/** Time that a withdrawal is on its way. Source: docs/contract/exchange.md#deposits-and-withdrawals. */
const WITHDRAWAL_MS = 5000

const userOf = (state: State, id: string): User => {
  let user = state.users.get(id)
  if (user === undefined) {
    user = { id, accounts: [], nextIndex: 0, faucetDay: 0, faucetGiven: 0n }
    state.users.set(id, user)
  }
  return user
}

const announceAccount = (turn: StepContext, account: Account): void => {
  emit(turn, account, undefined, () => ({
    $case: "sub_account_changed",
    value: { sub_account: Records.subAccount(account) }
  }))
}

/** Opens the sub-account of this index. */
export const openAccount = (turn: StepContext, userId: string, root: string, subIndex: number): Account => {
  const { state, at } = turn
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
  announceAccount(turn, account)
  return account
}

const subAccountAck = (turn: StepContext, command: Command, account: Account): CommandResult =>
  acknowledge(turn, command, [], { result: { $case: "sub_account", value: Records.subAccount(account) } })

/** An index that exists answers the existing one; without an index, the next. */
export const createSubAccount = (turn: StepContext, command: Command, request: CreateSubAccount): CommandResult => {
  const { state } = turn
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
      ? subAccountAck(turn, command, existing)
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
  return subAccountAck(turn, command, openAccount(turn, command.user_id, root, index))
}

export const setSubAccount = (turn: StepContext, command: Command, request: SetSubAccount): CommandResult => {
  const account = ownAccount(turn.state, command)
  if (account === undefined) return noAccount(command)
  if (account.frozen !== request.frozen) {
    account.frozen = request.frozen
    announceAccount(turn, account)
  }
  return subAccountAck(turn, command, account)
}

/** Takes a deleted account out of the state. */
const forgetAccount = (state: State, account: Account): void => {
  const lists = [state.accounts, userOf(state, account.userId).accounts]
  for (const list of lists) list.splice(list.indexOf(account), 1)
  state.accountOf.delete(account.address)
}

/** Only an empty one; the first stays. */
export const deleteSubAccount = (turn: StepContext, command: Command): CommandResult => {
  const account = ownAccount(turn.state, command)
  if (account === undefined) return noAccount(command)
  if (account.subIndex === 0) return invalidField(command, "sub_account_address", "the first sub-account stays")
  const no = (reason: string, message: string) => refuse(command, Code.FAILED_PRECONDITION, reason, message)
  const holdings = account.holdings.filter((holding) => holding !== undefined)
  if (holdings.some(({ lots }) => lots !== 0)) return no("PositionExists", "close the position first")
  if (holdings.some(({ conditional, orders }) => orders.size + conditional.size > 0))
    return no("OpenOrdersExist", "cancel the open orders first")
  if (account.wallet !== 0n) return no("NotEmpty", "the sub-account still holds a balance")
  account.deleted = true
  forgetAccount(turn.state, account)
  announceAccount(turn, account)
  return subAccountAck(turn, command, account)
}

const AMOUNT = /^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u

const amountOf = (command: Command, asset: string, text: string): Decimal.Scaled | CommandResult => {
  if (asset !== ASSET) return invalidField(command, "asset", `the only asset is ${ASSET}`)
  if (!AMOUNT.test(text))
    return refuse(command, Code.INVALID_ARGUMENT, "InvalidDecimal", "amount is not a decimal string", {
      field: "amount"
    })
  const amount = Decimal.parse(text)
  if (amount > 0n) return amount
  return refuse(command, Code.INVALID_ARGUMENT, "OutOfRange", "amount must be positive", { field: "amount" })
}

const isAmount = (value: Decimal.Scaled | CommandResult): value is Decimal.Scaled => typeof value === "bigint"

const announceMove = (
  turn: StepContext,
  account: Account,
  amount: Decimal.Scaled,
  transfer: Transfer,
  reason: BalanceReason
) => {
  emitBalance(turn, account, undefined, () => ({
    reason,
    amount: Decimal.format(amount),
    transfer_id: transfer.transfer_id
  }))
}

const announceTransfer = (turn: StepContext, account: Account, transfer: Transfer): void => {
  emit(turn, account, undefined, () => ({ $case: "transfer_changed", value: { transfer } }))
}

/** Brings money from outside into a wallet. */
export const deposit = (
  turn: StepContext,
  account: Account,
  id: string,
  amount: Decimal.Scaled,
  source: string
): Transfer => {
  const { state, at } = turn
  const transfer: Transfer = {
    transfer_id: id,
    user_id: account.userId,
    kind: BalanceReason.BALANCE_REASON_DEPOSIT,
    to_sub_account_address: account.address,
    asset: ASSET,
    amount: Decimal.format(amount),
    status: TransferStatus.TRANSFER_STATUS_COMPLETED,
    reference: source,
    created_time_ms: at,
    updated_time_ms: at
  }
  rememberTransfer(state, userOf(state, account.userId), transfer)
  Accounts.credit(state, account, amount)
  state.deposits += amount
  announceTransfer(turn, account, transfer)
  announceMove(turn, account, amount, transfer, BalanceReason.BALANCE_REASON_DEPOSIT)
  return transfer
}

/** The refusal of a request that lacks one of these texts. */
const missingField = <K extends string>(
  command: Command,
  request: { readonly [key in K]: string },
  keys: ReadonlyArray<K>
): CommandResult | undefined => {
  const field = keys.find((key) => request[key] === "")
  return field === undefined
    ? undefined
    : refuse(command, Code.INVALID_ARGUMENT, "MissingField", `${field} is missing`, { field })
}

const transferAck = (turn: StepContext, command: Command, transfer: Transfer): CommandResult =>
  acknowledge(turn, command, [], { result: { $case: "transfer", value: transfer } })

/** A repeated id: the first result for the same content, a conflict for another. */
const repeated = (
  turn: StepContext,
  command: Command,
  first: Transfer,
  field: string,
  asked: Pick<Transfer, "kind" | "from_sub_account_address" | "to_sub_account_address" | "amount" | "reference">
): CommandResult =>
  first.kind === asked.kind &&
  first.from_sub_account_address === asked.from_sub_account_address &&
  first.to_sub_account_address === asked.to_sub_account_address &&
  first.amount === asked.amount &&
  first.reference === asked.reference
    ? transferAck(turn, command, first)
    : refuse(command, Code.ALREADY_EXISTS, "DuplicateRequestId", `${field} was used before with other content`, {
        field
      })

export const depositFunds = (turn: StepContext, command: Command, request: DepositFunds): CommandResult => {
  const { state, at } = turn
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  const missing = missingField(command, request, ["deposit_id"])
  if (missing !== undefined) return missing
  const amount = amountOf(command, request.asset, request.amount)
  if (!isAmount(amount)) return amount
  if (request.source !== "faucet" && request.source !== "rail" && request.source !== "maker")
    return invalidField(command, "source", "source is faucet or rail")
  const user = userOf(state, account.userId)
  const first = findTransfer(state, user, request.deposit_id)
  if (first !== undefined)
    return repeated(turn, command, first, "deposit_id", {
      kind: BalanceReason.BALANCE_REASON_DEPOSIT,
      from_sub_account_address: undefined,
      to_sub_account_address: account.address,
      amount: Decimal.format(amount),
      reference: request.source
    })
  if (request.source === "faucet") {
    const day = Math.floor(at / DAY_MS)
    const given = user.faucetDay === day ? user.faucetGiven : 0n
    if (given + amount > state.faucetLimit)
      return refuse(
        command,
        Code.FAILED_PRECONDITION,
        "FaucetLimit",
        `the faucet gives at most ${Decimal.format(state.faucetLimit)} ${ASSET} a day`,
        { max: Decimal.format(state.faucetLimit), remaining: Decimal.format(state.faucetLimit - given) }
      )
    user.faucetDay = day
    user.faucetGiven = given + amount
  }
  return transferAck(turn, command, deposit(turn, account, request.deposit_id, amount, request.source))
}

/** The refusal of more than may leave an account. */
const beyondFree = (command: Command, account: Account, amount: Decimal.Scaled): CommandResult | undefined => {
  const free = Accounts.withdrawableOf(account)
  if (amount <= free) return undefined
  const text = Decimal.format(free)
  return refuse(command, Code.FAILED_PRECONDITION, "InsufficientBalance", `only ${text} ${ASSET} can be moved`, {
    max: text
  })
}

/** Takes money out at once; it is on its way for {@link WITHDRAWAL_MS}. */
export const withdrawFunds = (turn: StepContext, command: Command, request: WithdrawFunds): CommandResult => {
  const { state, at } = turn
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  const missing = missingField(command, request, ["withdrawal_id", "destination"])
  if (missing !== undefined) return missing
  const amount = amountOf(command, request.asset, request.amount)
  if (!isAmount(amount)) return amount
  const user = userOf(state, account.userId)
  const content = {
    kind: BalanceReason.BALANCE_REASON_WITHDRAWAL,
    from_sub_account_address: account.address,
    to_sub_account_address: undefined,
    amount: Decimal.format(amount),
    reference: request.destination
  } as const
  const first = findTransfer(state, user, request.withdrawal_id)
  if (first !== undefined) return repeated(turn, command, first, "withdrawal_id", content)
  const short = beyondFree(command, account, amount)
  if (short !== undefined) return short
  const transfer: Transfer = {
    ...content,
    transfer_id: request.withdrawal_id,
    user_id: account.userId,
    asset: ASSET,
    status: TransferStatus.TRANSFER_STATUS_PENDING,
    created_time_ms: at,
    updated_time_ms: at
  }
  rememberTransfer(state, user, transfer)
  state.withdrawals.push({ account, transferId: transfer.transfer_id, dueMs: at + WITHDRAWAL_MS })
  Accounts.credit(state, account, -amount)
  state.deposits -= amount
  announceTransfer(turn, account, transfer)
  announceMove(turn, account, -amount, transfer, BalanceReason.BALANCE_REASON_WITHDRAWAL)
  return transferAck(turn, command, transfer)
}

/** Whether a withdrawal has arrived by this time. */
export const withdrawalDue = (state: State, at: number): boolean => (state.withdrawals[0]?.dueMs ?? Infinity) <= at

/** Completes the withdrawals that have arrived. */
export const completeWithdrawals = (turn: StepContext): void => {
  const { state, at } = turn
  while (withdrawalDue(state, at)) {
    const { account, transferId } = state.withdrawals.shift()!
    const user = userOf(state, account.userId)
    const transfer: Transfer = {
      ...findTransfer(state, user, transferId)!,
      status: TransferStatus.TRANSFER_STATUS_COMPLETED,
      updated_time_ms: at
    }
    rememberTransfer(state, user, transfer)
    announceTransfer(turn, account, transfer)
  }
}

/** Pays a reward out of the fee account, which may fall below 0. */
export const creditReward = (turn: StepContext, command: Command, request: CreditReward): CommandResult => {
  const { state, at } = turn
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  const missing = missingField(command, request, ["reward_id"])
  if (missing !== undefined) return missing
  const amount = amountOf(command, request.asset, request.amount)
  if (!isAmount(amount)) return amount
  const user = userOf(state, account.userId)
  const content = {
    kind: BalanceReason.BALANCE_REASON_REWARD,
    from_sub_account_address: undefined,
    to_sub_account_address: account.address,
    amount: Decimal.format(amount),
    reference: ""
  } as const
  const first = findTransfer(state, user, request.reward_id)
  if (first !== undefined) return repeated(turn, command, first, "reward_id", content)
  const transfer: Transfer = {
    ...content,
    transfer_id: request.reward_id,
    user_id: account.userId,
    asset: ASSET,
    status: TransferStatus.TRANSFER_STATUS_COMPLETED,
    created_time_ms: at,
    updated_time_ms: at
  }
  rememberTransfer(state, user, transfer)
  state.fees -= amount
  Accounts.credit(state, account, amount)
  announceTransfer(turn, account, transfer)
  announceMove(turn, account, amount, transfer, BalanceReason.BALANCE_REASON_REWARD)
  return transferAck(turn, command, transfer)
}

export const transferFunds = (turn: StepContext, command: Command, request: TransferFunds): CommandResult => {
  const { state, at } = turn
  const from = ownAccount(state, command)
  const to = state.accountOf.get(request.to_sub_account_address)
  if (from === undefined || to === undefined || to.userId !== command.user_id) return noAccount(command)
  if (from === to) return invalidField(command, "to_sub_account_address", "source and target are the same")
  const missing = missingField(command, request, ["transfer_id"])
  if (missing !== undefined) return missing
  const amount = amountOf(command, request.asset, request.amount)
  if (!isAmount(amount)) return amount
  const user = userOf(state, from.userId)
  const content = {
    kind: BalanceReason.BALANCE_REASON_TRANSFER_OUT,
    from_sub_account_address: from.address,
    to_sub_account_address: to.address,
    amount: Decimal.format(amount),
    reference: ""
  } as const
  const first = findTransfer(state, user, request.transfer_id)
  if (first !== undefined) return repeated(turn, command, first, "transfer_id", content)
  const short = beyondFree(command, from, amount)
  if (short !== undefined) return short
  const transfer: Transfer = {
    ...content,
    transfer_id: request.transfer_id,
    user_id: from.userId,
    asset: ASSET,
    status: TransferStatus.TRANSFER_STATUS_COMPLETED,
    created_time_ms: at,
    updated_time_ms: at
  }
  rememberTransfer(state, user, transfer)
  Accounts.credit(state, from, -amount)
  Accounts.credit(state, to, amount)
  announceTransfer(turn, from, transfer)
  announceMove(turn, from, -amount, transfer, BalanceReason.BALANCE_REASON_TRANSFER_OUT)
  announceMove(turn, to, amount, transfer, BalanceReason.BALANCE_REASON_TRANSFER_IN)
  return transferAck(turn, command, transfer)
}
