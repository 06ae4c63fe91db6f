/**
 * What the state remembers of what is over: closed orders, ids that were spent, histories of pools and funding. Each record
 * is folded into the state's trail, which stands for all of them in its hash.
 */
import type { AdlAlert, FundingRate, InsurancePool, OrderStatus, Transfer } from "../../proto/gateway/v1/types.ts"
import * as Ids from "./sequencer/Ids.ts"
import type { Order } from "./sequencer/Order.ts"
import {
  type Account,
  type ClosedOrder,
  type MarketState,
  type Pool,
  type State,
  type Trail,
  type User
} from "./State.ts"

/** Closed orders whose status is remembered at most; at least half of them always are. */
const CLOSED_ORDERS_MAX = 1_000_000
/** States of an insurance pool that are remembered, and as many ADL alerts. */
const POOL_HISTORY_MAX = 10_000
/** Funding settlements of a market that are remembered. */
const FUNDING_HISTORY_MAX = 10_000

const fold = (trail: Trail, text: string): void => {
  let { left, right } = trail
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    left = Math.imul(left ^ unit, 0x01000193)
    right = Math.imul(right ^ unit, 0x5bd1e995)
    right ^= right >>> 15
  }
  // the end of a record counts too
  trail.left = Math.imul(left ^ 0x100, 0x01000193)
  trail.right = Math.imul(right ^ left, 0x5bd1e995)
}

/** More than there are statuses. */
const STATUSES_MAX = 32

/** Remembers how an order ended, within {@link CLOSED_ORDERS_MAX}. */
export const rememberClosed = (state: State, order: Order): void => {
  if (state.closed.size >= CLOSED_ORDERS_MAX / 2) {
    state.closedBefore = state.closed
    state.closed = new Map()
  }
  state.closed.set(order.number, order.account.index * STATUSES_MAX + order.status)
  fold(state.trail, `closed ${order.number} ${order.status} ${order.account.index}`)
}

/** Spends an order_link_id of a sub-account, for ever. */
export const rememberLink = (state: State, account: Account, link: string, id: string): void => {
  state.links.add(account.index, link, id)
  fold(state.trail, `link ${account.index} ${link} ${id}`)
}

/** Remembers a state of a pool, within {@link POOL_HISTORY_MAX}. */
export const rememberPool = (state: State, pool: Pool, record: InsurancePool): void => {
  if (pool.states.length >= POOL_HISTORY_MAX) pool.states.shift()
  pool.states.push(record)
  fold(state.trail, `pool ${JSON.stringify(record)}`)
}

/** Remembers an alert, within {@link POOL_HISTORY_MAX}. */
export const rememberAlert = (state: State, pool: Pool, record: AdlAlert): void => {
  if (pool.alerts.length >= POOL_HISTORY_MAX) pool.alerts.shift()
  pool.alerts.push(record)
  fold(state.trail, `alert ${JSON.stringify(record)}`)
}

/** Remembers a settlement, within {@link FUNDING_HISTORY_MAX}. */
export const rememberFunding = (state: State, market: MarketState, funding: FundingRate): void => {
  if (market.fundings.length >= FUNDING_HISTORY_MAX) market.fundings.shift()
  market.fundings.push(funding)
  fold(state.trail, `funding ${JSON.stringify(funding)}`)
}

/** The order that an order_link_id of a sub-account was spent for. */
export const findLink = (state: State, account: Account, link: string): string | undefined => {
  const id = state.links.find(account.index, link)
  return id !== undefined && Ids.read(state.orderSeed, id)!.number <= state.orderNumber ? id : undefined
}

/** A transfer or deposit of a user by the id that the client gave. */
export const findTransfer = (state: State, user: User, transfer_id: string): Transfer | undefined =>
  state.links.findTransfer(user.id, transfer_id, state.seq)

/** Spends the id of a transfer of a user, for ever, or tells how it stands now. An event of it must follow. */
export const rememberTransfer = (state: State, user: User, transfer: Transfer): void => {
  state.links.addTransfer(user.id, state.seq, transfer)
  fold(state.trail, `transfer ${user.id} ${JSON.stringify(transfer)}`)
}

export const closedOrder = (state: State, number: number): ClosedOrder | undefined => {
  const packed = state.closed.get(number) ?? state.closedBefore.get(number)
  if (packed === undefined) return undefined
  return { status: (packed % STATUSES_MAX) as OrderStatus, account: Math.floor(packed / STATUSES_MAX) }
}
