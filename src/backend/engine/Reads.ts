/** Reads of the two services from the state, as records of the gRPC boundary. `as_of_seq` is always {@link headSeq}. */
import * as Decimal from "../../domain/Decimal.ts"
import * as Grid from "../../domain/Grid.ts"
import * as Margin from "../../domain/Margin.ts"
import type {
  GetAccountResponse,
  GetPortfolioResponse,
  GetAdlAlertResponse,
  GetInsurancePoolResponse,
  ListAdlAlertHistoryResponse,
  ListFundingRatesResponse,
  ListInsurancePoolHistoryResponse,
  PortfolioPosition,
  PreviewMarginResponse
} from "../../proto/gateway/v1/referee.ts"
import type { GetOrderBookResponse } from "../../proto/gateway/v1/sequencer.ts"
import {
  type FeeRate,
  type Instrument,
  type Order as OrderRecord,
  type Position,
  type Prices,
  type RiskTier,
  Side,
  type SubAccount
} from "../../proto/gateway/v1/types.ts"
import * as Accounts from "./accounts/Accounts.ts"
import * as OrderBook from "./book/OrderBook.ts"
import * as Records from "./events/Records.ts"
import * as Funding from "./referee/Funding.ts"
import * as Pools from "./referee/Pools.ts"
import * as Ids from "./state/Ids.ts"
import { positionOf } from "./state/MarketPosition.ts"
import { findLink } from "./state/Retention.ts"
import { type Account, ASSET, type MarketState, type Pool, type State } from "./state/State.ts"

/** Seq of the last event; 0 before the first. */
export const headSeq = (state: State): number => state.seq

/** Levels, best first; depth 0 returns all. `undefined`: the market does not exist. */
export const orderBook = (state: State, symbol: string, depth: number): GetOrderBookResponse | undefined => {
  const market = state.marketOf.get(symbol)
  if (market === undefined) return undefined
  const { price, qty } = market.rules
  const side = (side: Side) =>
    OrderBook.levels(market.book, side, depth).map(({ ticks, lots }) => ({
      price: Grid.text(price, ticks),
      qty: Grid.text(qty, lots)
    }))
  return {
    bids: side(Side.SIDE_BUY),
    asks: side(Side.SIDE_SELL),
    book_seq: market.bookSeq,
    mts: market.bookMs,
    as_of_seq: state.seq
  }
}

/** Open orders, resting and untriggered, oldest first. */
export const openOrders = (
  state: State,
  filter: { readonly sub_account_address?: string | undefined; readonly symbol?: string | undefined } = {}
): Array<OrderRecord> => {
  const { sub_account_address, symbol } = filter
  const account = sub_account_address === undefined ? undefined : state.accountOf.get(sub_account_address)
  if (sub_account_address !== undefined && account === undefined) return []
  const source =
    account === undefined
      ? state.orders.all()
      : account.holdings.flatMap((holding) =>
          holding === undefined ? [] : [...holding.orders.values(), ...holding.conditional.values()]
        )
  return source
    .filter((order) => symbol === undefined || order.holding.market.market.symbol === symbol)
    .sort((a, b) => a.number - b.number)
    .map(Records.order)
}

/** An open order by id, or by sub-account and order_link_id. Closed orders are in the gateway's history. */
export const order = (
  state: State,
  ref: {
    readonly order_id?: string | undefined
    readonly sub_account_address?: string | undefined
    readonly order_link_id?: string | undefined
  }
): OrderRecord | undefined => {
  const account = ref.sub_account_address ? state.accountOf.get(ref.sub_account_address) : undefined
  const link = ref.order_link_id ?? ""
  const id = ref.order_id ? ref.order_id : account === undefined ? undefined : findLink(state, account, link)
  const handle = id === undefined ? undefined : Ids.read(state.orderSeed, id)
  const found = handle === undefined ? undefined : state.orders.find(handle)
  return found !== undefined && found.id === id && (account === undefined || found.account === account)
    ? Records.order(found)
    : undefined
}

export const instruments = (state: State): Array<Instrument> => state.markets.map(Records.instrument)

/** Sub-accounts of all users or of one, in creation order, without deleted ones. */
export const subAccounts = (state: State, userId?: string): Array<SubAccount> =>
  (userId === undefined ? state.accounts : (state.users.get(userId)?.accounts ?? [])).map(Records.subAccount)

/** Balances and open positions of a sub-account. */
export const account = (state: State, address: string): GetAccountResponse | undefined => {
  const found = state.accountOf.get(address)
  if (found === undefined) return undefined
  const totals = Accounts.totalsOf(found)
  return {
    balances: [Records.balance(found, totals)],
    positions: Accounts.openHoldings(found).map((holding) => Records.position(holding, totals)),
    as_of_seq: state.seq
  }
}

const accountsOf = (
  state: State,
  filter: { user_id?: string | undefined; sub_account_address?: string | undefined }
) => {
  const { user_id, sub_account_address } = filter
  const all = user_id ? (state.users.get(user_id)?.accounts ?? []) : state.accounts
  return sub_account_address === undefined ? all : all.filter(({ address }) => address === sub_account_address)
}

/** Open positions; with a symbol, one record per sub-account, flat or not. */
export const positions = (
  state: State,
  filter: {
    readonly user_id?: string | undefined
    readonly sub_account_address?: string | undefined
    readonly symbol?: string | undefined
  }
): Array<Position> => {
  const market = filter.symbol === undefined ? undefined : state.marketOf.get(filter.symbol)
  if (filter.symbol !== undefined && market === undefined) return []
  return accountsOf(state, filter).flatMap((found) => {
    const totals = Accounts.totalsOf(found)
    const holdings = market === undefined ? Accounts.openHoldings(found) : [positionOrFlat(found, market)]
    return holdings.map((holding) => Records.position(holding, totals))
  })
}

/** The position, or a flat one that is not stored: a read does not change the state. */
const positionOrFlat = (account: Account, market: MarketState) =>
  account.holdings[market.index] ?? positionOf({ ...account, holdings: [] }, market)

/**
 * Number of the funding period since Unix time 0 at the last settlement; before the first one, at the time when the
 * last would have been.
 */
const epochOf = (state: State, market: MarketState): number => {
  const settled = market.fundings.at(-1)?.funding_time_ms ?? Math.max(0, state.second) * 1000
  return Math.floor(settled / (market.market.funding_interval_minutes * 60_000))
}

export const portfolio = (state: State, userId: string): GetPortfolioResponse => {
  const accounts = accountsOf(state, { user_id: userId })
  const list: Array<PortfolioPosition> = []
  let collateral = 0n
  let maintenance = 0n
  let available = 0n
  let equity = 0n
  let used = 0n
  let pnl = 0n
  let funding = 0n
  for (const found of accounts) {
    const totals = Accounts.totalsOf(found)
    collateral += found.wallet
    maintenance += totals.maintenanceMargin + totals.isolatedMaintenance
    available += Margin.available(totals)
    equity += totals.equity
    used += totals.initialMargin + totals.isolatedMargin + totals.orderMargin
    pnl += totals.unrealisedPnl
    for (const holding of Accounts.openHoldings(found)) {
      const { market, lots } = holding
      const size = Grid.scaled(market.rules.qty, lots)
      funding -= Funding.paymentOf(holding, market.predictedRate)
      list.push({
        epoch: epochOf(state, market),
        funding_index: Decimal.format(market.fundingIndex),
        margin: Decimal.format(holding.isolated ? holding.isolatedMargin : Accounts.figuresOf(holding).initialMargin),
        price: Decimal.format(Margin.averagePrice(size, holding.entryValue)),
        size: Grid.text(market.rules.qty, lots),
        seq: holding.seq,
        timestamp_ms: holding.updatedMs,
        symbol: market.market.symbol,
        sub_account_address: found.address
      })
    }
  }
  const text = Decimal.format
  return {
    positions: list,
    summary: {
      collateral_notional: text(collateral),
      maintenance_margin_required: text(maintenance),
      total_available_balance: text(available),
      total_balance: text(equity),
      total_margin_used: text(used),
      total_positions: list.length,
      total_vaults: accounts.length,
      unrealized_funding_total: text(funding),
      unrealized_pnl_total: text(pnl)
    },
    vault_balances: accounts.map(({ address, wallet }) => ({
      asset: ASSET,
      balance: text(wallet),
      sub_account_address: address
    })),
    as_of_seq: state.seq
  }
}

const marketsOf = (state: State, symbols: ReadonlyArray<string>): Array<MarketState> =>
  symbols.length === 0
    ? [...state.markets]
    : symbols.map((symbol) => state.marketOf.get(symbol)).filter((market) => market !== undefined)

/** Prices of the named markets, or of all; unknown symbols are skipped. */
export const prices = (state: State, symbols: ReadonlyArray<string> = []): Array<Prices> =>
  marketsOf(state, symbols).map((market) => Records.prices(state, market))

export const riskTiers = (state: State, symbol?: string): Array<RiskTier> =>
  marketsOf(state, symbol === undefined ? [] : [symbol]).flatMap(Records.riskTiers)

export const feeRates = (state: State, symbol?: string): Array<FeeRate> =>
  marketsOf(state, symbol === undefined ? [] : [symbol]).map(Records.feeRate)

/** Maximum number of history items in a response. */
export const PAGE_HISTORY_MAX = 1000

/**
 * Settlements of a market within [start, end], newest first. A page token is the time of the last item of the page
 * before.
 */
export const fundingRates = (
  state: State,
  range: { readonly symbol: string; readonly start_ms: number; readonly end_ms: number; readonly page_token?: string }
): ListFundingRatesResponse | undefined => {
  const market = state.marketOf.get(range.symbol)
  if (market === undefined) return undefined
  const before = range.page_token ? Number(range.page_token) : Number.POSITIVE_INFINITY
  const found = market.fundings.filter(
    ({ funding_time_ms }) =>
      funding_time_ms >= range.start_ms &&
      (range.end_ms === 0 || funding_time_ms <= range.end_ms) &&
      funding_time_ms < before
  )
  const rates = found.slice(-PAGE_HISTORY_MAX).reverse()
  return { rates, next_page_token: found.length > rates.length ? String(rates.at(-1)!.funding_time_ms) : "" }
}

/** The pool of a market, as in its last event. */
export const insurancePool = (state: State, symbol: string): GetInsurancePoolResponse | undefined => {
  const market = state.marketOf.get(symbol)
  return market === undefined ? undefined : { pool: Pools.lastState(state.pools[market.index]!) }
}

export const adlAlert = (state: State, symbol: string): GetAdlAlertResponse | undefined => {
  const market = state.marketOf.get(symbol)
  return market === undefined ? undefined : { alert: Pools.lastAlert(state.pools[market.index]!) }
}

interface HistoryRange {
  readonly symbol?: string | undefined
  readonly start_ms: number
  readonly end_ms: number
  readonly limit: number
}

/** Records of one market or of all within [start, end], newest first. */
const history = <A extends { readonly updated_time_ms: number }>(
  state: State,
  range: HistoryRange,
  of: (pool: Pool) => ReadonlyArray<A>
): Array<A> => {
  const limit = range.limit > 0 ? Math.min(range.limit, PAGE_HISTORY_MAX) : PAGE_HISTORY_MAX
  return marketsOf(state, range.symbol === undefined ? [] : [range.symbol])
    .flatMap((market) => of(state.pools[market.index]!).toReversed())
    .filter(({ updated_time_ms: at }) => at >= range.start_ms && (range.end_ms === 0 || at <= range.end_ms))
    .sort((a, b) => b.updated_time_ms - a.updated_time_ms)
    .slice(0, limit)
}

/** States of the pools: one per minute and one per change. */
export const insurancePoolHistory = (state: State, range: HistoryRange): ListInsurancePoolHistoryResponse => ({
  pools: history(state, range, (pool) => pool.states)
})

export const adlAlertHistory = (state: State, range: HistoryRange): ListAdlAlertHistoryResponse => ({
  alerts: history(state, range, (pool) => pool.alerts)
})

/**
 * The margin that a leverage would reserve in a market, and whether the account can cover it. `undefined`: the account
 * or market does not exist.
 */
export const previewMargin = (
  state: State,
  address: string,
  symbol: string,
  leverage: Decimal.Scaled
): PreviewMarginResponse | undefined => {
  const found = state.accountOf.get(address)
  const market = state.marketOf.get(symbol)
  if (found === undefined || market === undefined) return undefined
  const holding = positionOrFlat(found, market)
  const changed = { ...holding, leverage, figures: undefined }
  const before = Accounts.figuresOf(holding)
  const after = Accounts.figuresOf(changed)
  const { free } = Accounts.totalsOf(found)
  // an Isolated position is covered by its own margin, which the free balance does not include
  const spare = holding.isolated && holding.lots !== 0 ? Accounts.excessMarginOf(changed) : undefined
  const usable = free + before.orderMargin + (spare === undefined ? before.initialMargin : 0n)
  const left = usable - after.orderMargin - (spare === undefined ? after.initialMargin : 0n)
  const isolatedExcess = spare === undefined ? 0n : spare + after.initialMargin
  return {
    required: Decimal.format(after.initialMargin + after.orderMargin),
    available: Decimal.format(Decimal.max(0n, usable) + Decimal.max(0n, isolatedExcess)),
    ok: (left >= 0n || left >= free) && (spare === undefined || spare >= 0n)
  }
}
