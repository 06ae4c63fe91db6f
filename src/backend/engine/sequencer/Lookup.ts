/** Resolves the sub-account, market and order of a command, or refuses it. */
import type { Command, CommandResult } from "../../../proto/gateway/v1/sequencer.ts"
import { type OrderRef, OrderStatus } from "../../../proto/gateway/v1/types.ts"
import { Code, invalidField, refuse } from "../events/CommandResults.ts"
import * as Ids from "../state/Ids.ts"
import { closedOrder, findLink } from "../state/Retention.ts"
import type { Account, MarketState, State, Order } from "../state/State.ts"

/** Wire names of the final statuses. */
const FINAL: Readonly<Record<number, string>> = {
  [OrderStatus.ORDER_STATUS_REJECTED]: "Rejected",
  [OrderStatus.ORDER_STATUS_PARTIALLY_FILLED_CANCELED]: "PartiallyFilledCanceled",
  [OrderStatus.ORDER_STATUS_FILLED]: "Filled",
  [OrderStatus.ORDER_STATUS_CANCELED]: "Canceled",
  [OrderStatus.ORDER_STATUS_DEACTIVATED]: "Deactivated",
  [OrderStatus.ORDER_STATUS_EXPIRED]: "Expired"
}

/** The sub-account of the command, if its user owns it. A foreign sub-account counts as missing. */
export const ownAccount = (state: State, command: Command): Account | undefined => {
  const account = state.accountOf.get(command.sub_account_address)
  return account?.userId === command.user_id ? account : undefined
}

export const noAccount = (command: Command): CommandResult =>
  refuse(command, Code.NOT_FOUND, "SubAccountNotFound", "no such sub-account")

export const noSymbol = (command: Command, symbol: string): CommandResult =>
  refuse(command, Code.NOT_FOUND, "SymbolNotFound", `no market ${symbol}`)

export const frozen = (command: Command): CommandResult =>
  refuse(command, Code.FAILED_PRECONDITION, "SubAccountFrozen", "the sub-account is frozen")

export type Found = { readonly order: Order } | { readonly refusal: CommandResult }

/** Finds the open order of a command, or refuses it. */
export const find = (
  state: State,
  command: Command,
  account: Account,
  market: MarketState,
  ref: OrderRef | undefined
): Found => {
  const missing: Found = { refusal: refuse(command, Code.NOT_FOUND, "OrderNotFound", "no such order") }
  const link = ref?.order_link_id
  const id =
    ref === undefined || ref.order_id === ""
      ? link === undefined
        ? undefined
        : findLink(state, account, link)
      : ref.order_id
  if (id === undefined) return missing
  const handle = Ids.read(state.orderSeed, id)
  if (handle === undefined) return missing
  const order = state.orders.find(handle)
  if (order === undefined) {
    const closed = closedOrder(state, handle.number)
    if (closed === undefined || closed.account !== account.index) return missing
    const status = FINAL[closed.status] ?? "Canceled"
    return {
      refusal: refuse(command, Code.FAILED_PRECONDITION, "OrderAlreadyClosed", `the order is ${status}`, {
        order_status: status
      })
    }
  }
  if (order.id !== id || order.account !== account || order.holding.market !== market) return missing
  if (link !== undefined && order.link !== link)
    return { refusal: invalidField(command, "order_link_id", "order_id and order_link_id name different orders") }
  return { order }
}
