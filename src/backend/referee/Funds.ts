/** Sub-accounts and the money that comes to them and moves between them. Source: contract 3.7, 3.8, 9.9. */
import { parseAddress, subAccountAddress } from "../../domain/Address.ts"
import * as Decimal from "../../domain/Decimal.ts"
import * as Margin from "../../domain/Margin.ts"
import type {
  Command,
  CommandResult,
  CreateSubAccount,
  DepositFunds,
  SetSubAccount,
  TransferFunds
} from "../../proto/gateway/v1/sequencer.ts"
import { BalanceReason, type Transfer, TransferStatus } from "../../proto/gateway/v1/types.ts"
import * as Records from "../Records.ts"
import { noAccount, ownAccount } from "../sequencer/Orders.ts"
import { type Account, ASSET, rememberTransfer, type State, SUB_ACCOUNTS_MAX, type User } from "../State.ts"
import { acknowledge, Code, emit, invalidField, refuse, type Turn } from "../Turn.ts"
import * as Accounts from "./Accounts.ts"

const DAY_MS = 86_400_000

const userOf = (state: State, id: string): User => {
  let user = state.users.get(id)
  if (user === undefined) {
    user = { id, accounts: [], nextIndex: 0, faucetDay: 0, faucetGiven: 0n, transfers: new Map() }
    state.users.set(id, user)
  }
  return user
}

const announceAccount = (turn: Turn, account: Account): void => {
  emit(turn, account, undefined, {
    $case: "sub_account_changed",
    value: { sub_account: Records.subAccount(account) }
  })
}

/** Opens the sub-account of this index. */
export const openAccount = (turn: Turn, userId: string, root: string, subIndex: number): Account => {
  const { state, at } = turn
  const user = userOf(state, userId)
  const account: Account = {
    index: state.accounts.length,
    address: subAccountAddress(root, subIndex),
    userId,
    root,
    subIndex,
    createdMs: at,
    frozen: false,
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

const subAccountAck = (turn: Turn, command: Command, account: Account): CommandResult =>
  acknowledge(turn, command, [], { result: { $case: "sub_account", value: Records.subAccount(account) } })

/** An index that exists answers the existing one; without an index, the next. */
export const createSubAccount = (turn: Turn, command: Command, request: CreateSubAccount): CommandResult => {
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

export const setSubAccount = (turn: Turn, command: Command, request: SetSubAccount): CommandResult => {
  const account = ownAccount(turn.state, command)
  if (account === undefined) return noAccount(command)
  if (account.frozen !== request.frozen) {
    account.frozen = request.frozen
    announceAccount(turn, account)
  }
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
  turn: Turn,
  account: Account,
  amount: Decimal.Scaled,
  transfer: Transfer,
  reason: BalanceReason
) => {
  emit(turn, account, undefined, {
    $case: "balance_changed",
    value: {
      balance: Records.balance(account, Accounts.totalsOf(account)),
      reason,
      amount: Decimal.format(amount),
      fee: "0",
      realised_pnl: "0",
      transfer_id: transfer.transfer_id
    }
  })
}

const announceTransfer = (turn: Turn, account: Account, transfer: Transfer): void => {
  emit(turn, account, undefined, { $case: "transfer_changed", value: { transfer } })
}

/** Brings money from outside into a wallet. */
export const deposit = (turn: Turn, account: Account, id: string, amount: Decimal.Scaled, source: string): Transfer => {
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
  Accounts.credit(state, account, amount, at)
  state.deposits += amount
  announceTransfer(turn, account, transfer)
  announceMove(turn, account, amount, transfer, BalanceReason.BALANCE_REASON_DEPOSIT)
  return transfer
}

const transferAck = (turn: Turn, command: Command, transfer: Transfer): CommandResult =>
  acknowledge(turn, command, [], { result: { $case: "transfer", value: transfer } })

/** A repeated id: the first result for the same content, a conflict for another. */
const repeated = (
  turn: Turn,
  command: Command,
  first: Transfer,
  asked: Pick<Transfer, "kind" | "from_sub_account_address" | "to_sub_account_address" | "amount" | "reference">
): CommandResult =>
  first.kind === asked.kind &&
  first.from_sub_account_address === asked.from_sub_account_address &&
  first.to_sub_account_address === asked.to_sub_account_address &&
  first.amount === asked.amount &&
  first.reference === asked.reference
    ? transferAck(turn, command, first)
    : refuse(command, Code.ALREADY_EXISTS, "DuplicateRequestId", "the id was used with other content")

export const depositFunds = (turn: Turn, command: Command, request: DepositFunds): CommandResult => {
  const { state, at } = turn
  const account = ownAccount(state, command)
  if (account === undefined) return noAccount(command)
  if (request.deposit_id === "")
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "deposit_id is missing", { field: "deposit_id" })
  const amount = amountOf(command, request.asset, request.amount)
  if (!isAmount(amount)) return amount
  if (request.source !== "faucet" && request.source !== "rail" && request.source !== "maker")
    return invalidField(command, "source", "source is faucet or rail")
  const user = userOf(state, account.userId)
  const first = user.transfers.get(request.deposit_id)
  if (first !== undefined)
    return repeated(turn, command, first, {
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

export const transferFunds = (turn: Turn, command: Command, request: TransferFunds): CommandResult => {
  const { state, at } = turn
  const from = ownAccount(state, command)
  const to = state.accountOf.get(request.to_sub_account_address)
  if (from === undefined || to === undefined || to.userId !== command.user_id) return noAccount(command)
  if (from === to) return invalidField(command, "to_sub_account_address", "source and target are the same")
  if (request.transfer_id === "")
    return refuse(command, Code.INVALID_ARGUMENT, "MissingField", "transfer_id is missing", { field: "transfer_id" })
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
  const first = user.transfers.get(request.transfer_id)
  if (first !== undefined) return repeated(turn, command, first, content)
  const free = Margin.withdrawable(from.wallet, Accounts.totalsOf(from))
  if (amount > free)
    return refuse(
      command,
      Code.FAILED_PRECONDITION,
      "InsufficientBalance",
      `only ${Decimal.format(free)} ${ASSET} can be moved`,
      { max: Decimal.format(free) }
    )
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
  Accounts.credit(state, from, -amount, at)
  Accounts.credit(state, to, amount, at)
  announceTransfer(turn, from, transfer)
  announceMove(turn, from, -amount, transfer, BalanceReason.BALANCE_REASON_TRANSFER_OUT)
  announceMove(turn, to, amount, transfer, BalanceReason.BALANCE_REASON_TRANSFER_IN)
  return transferAck(turn, command, transfer)
}
