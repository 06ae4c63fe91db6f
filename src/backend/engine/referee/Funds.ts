/**
 * The commands for deposits, withdrawals, rewards and transfers. Source: docs/contract/rest-account.md,
 * docs/contract/exchange.md#deposits-and-withdrawals.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import { DAY_MS } from "../../../domain/Time.ts"
import type {
  Command,
  CommandResult,
  CreditReward,
  DepositFunds,
  TransferFunds,
  WithdrawFunds
} from "../../../proto/gateway/v1/sequencer.ts"
import { BalanceReason, type Transfer, TransferStatus } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { acknowledge, Code, invalidField, refuse } from "../events/CommandResults.ts"
import { emitBalance } from "../events/PositionEvents.ts"
import { emit, type StepContext } from "../events/StepContext.ts"
import { noAccount, ownAccount } from "../sequencer/Lookup.ts"
import { findTransfer, retainTransfer } from "../state/Retention.ts"
import { type Account, ASSET, type State } from "../state/State.ts"
import { userOf } from "./SubAccounts.ts"

/** Time until a withdrawal completes, in ms. Source: docs/contract/exchange.md#deposits-and-withdrawals. */
const WITHDRAWAL_MS = 5000

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
  ctx: StepContext,
  account: Account,
  amount: Decimal.Scaled,
  transfer: Transfer,
  reason: BalanceReason
) => {
  emitBalance(ctx, account, undefined, () => ({
    reason,
    amount: Decimal.format(amount),
    transfer_id: transfer.transfer_id
  }))
}

const announceTransfer = (ctx: StepContext, account: Account, transfer: Transfer): void => {
  emit(ctx, account, undefined, () => ({ $case: "transfer_changed", value: { transfer } }))
}

/** Deposits money into a wallet. */
export const deposit = (
  ctx: StepContext,
  account: Account,
  id: string,
  amount: Decimal.Scaled,
  source: string
): Transfer => {
  const { state, at } = ctx
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
  retainTransfer(state, userOf(state, account.userId), transfer)
  Accounts.credit(state, account, amount)
  state.deposits += amount
  announceTransfer(ctx, account, transfer)
  announceMove(ctx, account, amount, transfer, BalanceReason.BALANCE_REASON_DEPOSIT)
  return transfer
}

/** Refuses a request in which one of these fields is empty. */
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

const transferAck = (ctx: StepContext, command: Command, transfer: Transfer): CommandResult =>
  acknowledge(ctx, command, [], { result: { $case: "transfer", value: transfer } })

/** Answers a repeated id: the first result for the same content, a conflict for other content. */
const repeated = (
  ctx: StepContext,
  command: Command,
  first: Transfer,
  field: string,
  content: Pick<Transfer, "kind" | "from_sub_account_address" | "to_sub_account_address" | "amount" | "reference">
): CommandResult =>
  first.kind === content.kind &&
  first.from_sub_account_address === content.from_sub_account_address &&
  first.to_sub_account_address === content.to_sub_account_address &&
  first.amount === content.amount &&
  first.reference === content.reference
    ? transferAck(ctx, command, first)
    : refuse(command, Code.ALREADY_EXISTS, "DuplicateRequestId", `${field} was used before with other content`, {
        field
      })

export const depositFunds = (ctx: StepContext, command: Command, request: DepositFunds): CommandResult => {
  const { state, at } = ctx
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
    return repeated(ctx, command, first, "deposit_id", {
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
  return transferAck(ctx, command, deposit(ctx, account, request.deposit_id, amount, request.source))
}

/** Refuses an amount above the withdrawable balance. */
const beyondFree = (command: Command, account: Account, amount: Decimal.Scaled): CommandResult | undefined => {
  const free = Accounts.withdrawableOf(account)
  if (amount <= free) return undefined
  const text = Decimal.format(free)
  return refuse(command, Code.FAILED_PRECONDITION, "InsufficientBalance", `only ${text} ${ASSET} can be moved`, {
    max: text
  })
}

/** Debits a withdrawal immediately; it completes after {@link WITHDRAWAL_MS}. */
export const withdrawFunds = (ctx: StepContext, command: Command, request: WithdrawFunds): CommandResult => {
  const { state, at } = ctx
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
  if (first !== undefined) return repeated(ctx, command, first, "withdrawal_id", content)
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
  retainTransfer(state, user, transfer)
  state.withdrawals.push({ account, transferId: transfer.transfer_id, dueMs: at + WITHDRAWAL_MS })
  Accounts.credit(state, account, -amount)
  state.deposits -= amount
  announceTransfer(ctx, account, transfer)
  announceMove(ctx, account, -amount, transfer, BalanceReason.BALANCE_REASON_WITHDRAWAL)
  return transferAck(ctx, command, transfer)
}

/** Whether a withdrawal completes by this time. */
export const withdrawalDue = (state: State, at: number): boolean => (state.withdrawals[0]?.dueMs ?? Infinity) <= at

/** Completes the withdrawals that are due. */
export const completeWithdrawals = (ctx: StepContext): void => {
  const { state, at } = ctx
  while (withdrawalDue(state, at)) {
    const { account, transferId } = state.withdrawals.shift()!
    const user = userOf(state, account.userId)
    const transfer: Transfer = {
      ...findTransfer(state, user, transferId)!,
      status: TransferStatus.TRANSFER_STATUS_COMPLETED,
      updated_time_ms: at
    }
    retainTransfer(state, user, transfer)
    announceTransfer(ctx, account, transfer)
  }
}

/** Pays a reward from the fee account, whose balance can become negative. */
export const creditReward = (ctx: StepContext, command: Command, request: CreditReward): CommandResult => {
  const { state, at } = ctx
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
  if (first !== undefined) return repeated(ctx, command, first, "reward_id", content)
  const transfer: Transfer = {
    ...content,
    transfer_id: request.reward_id,
    user_id: account.userId,
    asset: ASSET,
    status: TransferStatus.TRANSFER_STATUS_COMPLETED,
    created_time_ms: at,
    updated_time_ms: at
  }
  retainTransfer(state, user, transfer)
  state.fees -= amount
  Accounts.credit(state, account, amount)
  announceTransfer(ctx, account, transfer)
  announceMove(ctx, account, amount, transfer, BalanceReason.BALANCE_REASON_REWARD)
  return transferAck(ctx, command, transfer)
}

export const transferFunds = (ctx: StepContext, command: Command, request: TransferFunds): CommandResult => {
  const { state, at } = ctx
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
  if (first !== undefined) return repeated(ctx, command, first, "transfer_id", content)
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
  retainTransfer(state, user, transfer)
  Accounts.credit(state, from, -amount)
  Accounts.credit(state, to, amount)
  announceTransfer(ctx, from, transfer)
  announceMove(ctx, from, -amount, transfer, BalanceReason.BALANCE_REASON_TRANSFER_OUT)
  announceMove(ctx, to, amount, transfer, BalanceReason.BALANCE_REASON_TRANSFER_IN)
  return transferAck(ctx, command, transfer)
}
