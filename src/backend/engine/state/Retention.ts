/**
 * Bounded histories: closed orders, used ids, pool states, ADL alerts and funding rates. Each record is also added to
 * the history digest, which represents all of them in the state hash.
 */
import type { AdlAlert, FundingRate, InsurancePool, OrderStatus, Transfer } from "../../../proto/gateway/v1/types.ts"
import * as Ids from "./Ids.ts"
import type { Account, ClosedOrder, MarketState, Pool, State, HistoryDigest, User, Order } from "./State.ts"

/** Maximum number of closed orders whose status is kept; at least half of them are always available. */
const CLOSED_ORDERS_MAX = 1_000_000
/** Maximum number of states of an insurance pool, and of its ADL alerts. */
const POOL_HISTORY_MAX = 10_000
/** Maximum number of funding settlements of a market. */
const FUNDING_HISTORY_MAX = 10_000

const addToDigest = (trail: HistoryDigest, text: string): void => {
  let { left, right } = trail
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    left = Math.imul(left ^ unit, 0x01000193)
    right = Math.imul(right ^ unit, 0x5bd1e995)
    right ^= right >>> 15
  }
  // also hash the end of the record, so that its boundary counts
  trail.left = Math.imul(left ^ 0x100, 0x01000193)
  trail.right = Math.imul(right ^ left, 0x5bd1e995)
}

/** Above the largest value of OrderStatus. */
const STATUSES_MAX = 32

/** Keeps the final status of an order, within {@link CLOSED_ORDERS_MAX}. */
export const retainClosedOrder = (state: State, order: Order): void => {
  if (state.closed.size >= CLOSED_ORDERS_MAX / 2) {
    state.closedBefore = state.closed
    state.closed = new Map()
  }
  state.closed.set(order.number, order.account.index * STATUSES_MAX + order.status)
  addToDigest(state.trail, `closed ${order.number} ${order.status} ${order.account.index}`)
}

/** Marks an order_link_id of a sub-account as used, permanently. */
export const retainOrderLinkId = (state: State, account: Account, link: string, id: string): void => {
  state.links.add(account.index, link, id)
  addToDigest(state.trail, `link ${account.index} ${link} ${id}`)
}

/** Keeps a state of a pool, within {@link POOL_HISTORY_MAX}. */
export const retainPoolState = (state: State, pool: Pool, record: InsurancePool): void => {
  if (pool.states.length >= POOL_HISTORY_MAX) pool.states.shift()
  pool.states.push(record)
  addToDigest(state.trail, `pool ${JSON.stringify(record)}`)
}

/** Keeps an alert, within {@link POOL_HISTORY_MAX}. */
export const retainAdlAlert = (state: State, pool: Pool, record: AdlAlert): void => {
  if (pool.alerts.length >= POOL_HISTORY_MAX) pool.alerts.shift()
  pool.alerts.push(record)
  addToDigest(state.trail, `alert ${JSON.stringify(record)}`)
}

/** Keeps a settlement, within {@link FUNDING_HISTORY_MAX}. */
export const retainFundingRate = (state: State, market: MarketState, funding: FundingRate): void => {
  if (market.fundings.length >= FUNDING_HISTORY_MAX) market.fundings.shift()
  market.fundings.push(funding)
  addToDigest(state.trail, `funding ${JSON.stringify(funding)}`)
}

/** The id of the order that used an order_link_id of a sub-account. */
export const findLink = (state: State, account: Account, link: string): string | undefined => {
  const id = state.links.find(account.index, link)
  return id !== undefined && Ids.read(state.orderSeed, id)!.number <= state.orderNumber ? id : undefined
}

/** A transfer or deposit of a user by the client's id. */
export const findTransfer = (state: State, user: User, transfer_id: string): Transfer | undefined =>
  state.links.findTransfer(user.id, transfer_id, state.seq)

/**
 * Marks a transfer id of a user as used, permanently, or stores a new version of the transfer. The caller must emit an
 * event afterwards.
 */
export const retainTransfer = (state: State, user: User, transfer: Transfer): void => {
  state.links.addTransfer(user.id, state.seq, transfer)
  addToDigest(state.trail, `transfer ${user.id} ${JSON.stringify(transfer)}`)
}

export const closedOrder = (state: State, number: number): ClosedOrder | undefined => {
  const packed = state.closed.get(number) ?? state.closedBefore.get(number)
  if (packed === undefined) return undefined
  return { status: (packed % STATUSES_MAX) as OrderStatus, account: Math.floor(packed / STATUSES_MAX) }
}
