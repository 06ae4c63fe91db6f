/**
 * Everything the embedded backend knows, in memory.
 *
 * Plain data: the journal of inputs is its only durable form, and the hash of `StateHash.ts` its fingerprint. Derived figures (a
 * holding's margin) are kept beside what they come from and left out of the hash.
 */
import * as Decimal from "../../domain/Decimal.ts"
import * as Grid from "../../domain/Grid.ts"
import * as Margin from "../../domain/Margin.ts"
import type { OrderRules } from "../../domain/OrderRules.ts"
import {
  AdlMode,
  type AdlAlert,
  AdlTriggerReason,
  type FundingRate,
  type InsurancePool,
  type OrderStatus,
  PositionStatus,
  Side
} from "../../proto/gateway/v1/types.ts"
import { type ClientIdIndex, memoryClientIdIndex } from "./ClientIdIndex.ts"
import { type Market, rulesOf } from "./MarketRules.ts"
import * as Watch from "./referee/PriceThresholdIndex.ts"
import * as Ids from "./sequencer/Ids.ts"
import * as BookChanges from "./sequencer/BookChanges.ts"
import * as OpenOrders from "./sequencer/OpenOrders.ts"
import type { Order } from "./sequencer/Order.ts"
import * as OrderBook from "./sequencer/OrderBook.ts"
import * as TriggerQueues from "./sequencer/TriggerQueues.ts"

/** What decides results besides the inputs. Plain JSON: the journal keeps it. */
export interface EngineConfig {
  readonly markets: ReadonlyArray<Market>
  /** whether the simulated maker quotes (docs/contract/exchange.md#simulated-maker) */
  readonly simMaker: boolean
  /** "manual": the index stands at its base until it is set */
  readonly indexSource: "simulated" | "manual"
  /** USDC a UTC day and user */
  readonly faucetDailyLimit: string
  readonly poolBaseEquity: string
  /** open orders of all users together, at most {@link OpenOrders.OPEN_ORDERS_MAX} */
  readonly openOrdersMax: number
  /** identity of the event numbering; also the seed of ids */
  readonly epoch: string
}

/** Sub-accounts a user. Source: docs/contract/rest-user.md#sub-accounts. */
export const SUB_ACCOUNTS_MAX = 20
/** Seconds of (mid − index) samples behind the mark. Source: docs/contract/exchange.md#mark. */
export const BASIS_SECONDS = 150
/** Leverage of a holding before it is set. Source: docs/contract/exchange.md#markets. */
export const DEFAULT_LEVERAGE = Decimal.parse("10")
/**
 * Funding rate where nothing pulls it: that of an interval without a premium.
 * Source: docs/contract/exchange.md#funding.
 */
export const INTEREST_RATE = Decimal.parse("0.0001")
/** The only collateral. */
export const ASSET = "USDC"

export interface MarketState {
  readonly index: number
  readonly market: Market
  readonly rules: OrderRules
  readonly tiers: Margin.RiskTiers
  readonly limits: Margin.PriceLimits
  readonly makerFee: Decimal.Scaled
  readonly takerFee: Decimal.Scaled
  readonly band: Decimal.Scaled
  readonly defaultLeverage: Decimal.Scaled
  readonly indexBase: Decimal.Scaled
  readonly book: BookChanges.TrackedBook
  /** market sequence: one more for each fill, each funding record and each step that changed the book or traded in it */
  seq: number
  /** that of the last step that changed the book or traded in it */
  bookSeq: number
  /** engine time of that step */
  bookMs: number
  indexPrice: Decimal.Scaled
  /** holds the index; `undefined`: the source decides */
  heldIndex: Decimal.Scaled | undefined
  markTicks: number
  /** the mark, scaled and as text */
  markPrice: Decimal.Scaled
  markText: string
  indexText: string
  indexTicks: number
  /** what a Buy may pay and a Sell may take at most: mark × (1 ± band), inward to the tick */
  bandBuyTicks: number
  bandSellTicks: number
  lastTicks: number | undefined
  /** (mid − index) by second, oldest first, and their sum */
  readonly basis: Array<{ readonly second: number; readonly value: Decimal.Scaled }>
  basisSum: Decimal.Scaled
  /** Σ i P_i of the premium samples of the running funding interval, and their count */
  premiumSum: Decimal.Scaled
  premiumCount: number
  /** funding rate that the samples so far would give */
  predictedRate: Decimal.Scaled
  /** last settled funding rate; 0 before the first */
  fundingRate: Decimal.Scaled
  /** Σ F × m of all settlements */
  fundingIndex: Decimal.Scaled
  /** settlements, oldest first, at most {@link FUNDING_HISTORY_MAX} */
  readonly fundings: Array<FundingRate>
  /** Σ of long positions, the pool's too, in lots */
  openLots: number
  /** Σ of signed positions, the pool's too; always 0 */
  netLots: number
  /** users' holdings with a position */
  readonly holders: Set<MarketPosition>
  /** how many of them are long */
  longHolders: number
  /** conditional orders by reference and direction, the next to be met last; derived from the holdings */
  readonly triggers: ReadonlyArray<Array<Order>>
  /** what the simulated maker quotes here */
  quoted:
    | {
        readonly index: Decimal.Scaled
        readonly orders: ReadonlyArray<{ readonly order: Order; readonly leaves: number }>
      }
    | undefined
}

/** The position and the open orders of one account in one market. */
export interface MarketPosition {
  readonly account: Account
  readonly market: MarketState
  leverage: Decimal.Scaled
  isolated: boolean
  /** margin that stands behind this position alone; 0 in Cross */
  isolatedMargin: Decimal.Scaled
  /** signed */
  lots: number
  entryValue: Decimal.Scaled
  openFee: Decimal.Scaled
  /** of the position that is open, or of the last one: fees in */
  currentRealised: Decimal.Scaled
  /** of the same position: paid to the insurance pool by its liquidation, negative where the pool paid */
  liquidationFee: Decimal.Scaled
  realised: Decimal.Scaled
  status: PositionStatus
  /** place in the queue of deleveraging, as last ranked: 5 first, 0 without a position */
  adlRank: number
  createdMs: number
  updatedMs: number
  /** seq of the last position event */
  seq: number
  /** the mark that it told of, and how far from it 1 % of the initial margin lies, in ticks */
  toldTicks: number
  toldStep: number
  /** the risk tier of the exposure, by which the initial margin is */
  toldTier: number
  /** second of engine time of the last event that the mark alone caused; −1 before the first */
  toldSecond: number
  /** its record has changed by what happened elsewhere, and no event has carried the change yet */
  outdated: boolean
  /** second of the last event for such a change; −1 before the first */
  outdatedSecond: number
  /** opening orders: lots, and Σ ticks × lots */
  buyLots: number
  buyUnits: bigint
  sellLots: number
  sellUnits: bigint
  /** resting reduce-only orders, in lots */
  reduceBuyLots: number
  reduceSellLots: number
  /** resting orders by number; in the order in which they first came to rest, so that the last is the newest */
  readonly orders: Map<number, Order>
  /** conditional orders and exits that wait for their price, by number, oldest first */
  readonly conditional: Map<number, Order>
  /** derived; holds for this mark only */
  figures: Margin.Figures | undefined
  figuresMark: number
}

/** Largest value of a minute. Values that a later, larger one covers are dropped. */
export interface Peak {
  readonly minute: number
  readonly value: Decimal.Scaled
}

/** The insurance pool of a market. Source: docs/contract/exchange.md#insurance-pool, #adl. */
export interface Pool {
  /** the inventory, as an account of the house holds it; that account's wallet is `realized_pnl_cum` */
  readonly holding: MarketPosition
  /** the seed */
  readonly base: Decimal.Scaled
  /** what the group gave, and what it was given; cumulative */
  received: Decimal.Scaled
  paid: Decimal.Scaled
  /** deficit that the group could not cover */
  obligation: Decimal.Scaled
  mode: AdlMode
  reason: AdlTriggerReason
  ratio: Decimal.Scaled
  /** ratio of the last alert */
  toldRatio: Decimal.Scaled
  /** maxima of realised + unrealised PnL, oldest and largest first */
  readonly peaks: Array<Peak>
  updatedMs: number
  /** whether this step booked anything here; false between steps */
  changed: boolean
  /** oldest first, at most {@link POOL_HISTORY_MAX} */
  readonly states: Array<InsurancePool>
  readonly alerts: Array<AdlAlert>
}

/** Index of an account of the house, which is no user's and has no events. */
const HOUSE = -1

export const isHouse = ({ account }: MarketPosition): boolean => account.index === HOUSE

export interface Account {
  readonly index: number
  readonly address: string
  readonly userId: string
  readonly root: string
  readonly subIndex: number
  readonly createdMs: number
  frozen: boolean
  /** for ever: the state holds it no longer, and its index is not used again */
  deleted: boolean
  wallet: Decimal.Scaled
  updatedMs: number
  /** by index of the market; absent until it is first used */
  readonly holdings: Array<MarketPosition | undefined>
}

export interface User {
  readonly id: string
  /** those that are not deleted; the first never is */
  readonly accounts: Array<Account>
  nextIndex: number
  /** what the faucet gave on this UTC day */
  faucetDay: number
  faucetGiven: Decimal.Scaled
}

/** A closed order: its status and whose it was. Many are kept, so each is packed into one number. */
export interface ClosedOrder {
  readonly status: OrderStatus
  readonly account: number
}

/** A withdrawal on its way. */
export interface Withdrawal {
  readonly account: Account
  readonly transferId: string
  readonly dueMs: number
}

export interface State {
  readonly config: EngineConfig
  readonly links: ClientIdIndex
  /** between which marks positions surely stand, and need not be told anew; derived from the positions */
  readonly standing: Watch.PriceThresholdIndex
  readonly telling: Watch.PriceThresholdIndex
  readonly markets: ReadonlyArray<MarketState>
  readonly marketOf: Map<string, MarketState>
  /** sub-accounts that are not deleted, in the order they were opened */
  readonly accounts: Array<Account>
  readonly accountOf: Map<string, Account>
  readonly users: Map<string, User>
  /** positions that became outdated in this step; empty between steps */
  readonly outdated: Array<MarketPosition>
  /** outdated positions that had an event for such a change in this second: the next second's first Tick emits theirs */
  readonly waiting: Set<MarketPosition>
  /** open orders, resting and waiting */
  readonly orders: OpenOrders.OpenOrders
  /** open GTT orders, the next to end last; derived from the orders */
  readonly expiries: Array<Order>
  /** orders whose trigger is met, the next to fire last; all fire before the next input */
  readonly met: Array<Order>
  /** two generations of closed orders, packed; the older is dropped as a whole */
  closed: Map<number, number>
  closedBefore: Map<number, number>
  readonly faucetLimit: Decimal.Scaled
  readonly orderSeed: number
  readonly executionSeed: number
  readonly tradeSeed: number
  /** engine time of the last step that changed anything */
  time: number
  /** last whole second that a Tick was seen in; −1 before the first */
  second: number
  seq: number
  step: number
  /** sub-accounts that were ever opened */
  accountNumber: number
  orderNumber: number
  fillNumber: number
  depositNumber: number
  /** the fee account: every fee, signed */
  fees: Decimal.Scaled
  /** deposits − withdrawals */
  deposits: Decimal.Scaled
  /** withdrawals on their way, the first due first */
  readonly withdrawals: Array<Withdrawal>
  /** by index of the market */
  readonly pools: ReadonlyArray<Pool>
  /** maxima of the group's equity, as those of a pool */
  readonly groupPeaks: Array<Peak>
  /** minute that the pools were last told in by a Tick; −1 before the first */
  poolMinute: number
  /** Σ wallets, isolated margins and realised results of the pools */
  wallets: Decimal.Scaled
  /** Σ signed entry values of all markets */
  entries: Decimal.Scaled
  /** running digest of what is only ever appended: closed orders, order_link_ids, transfers */
  readonly trail: Trail
}

/** Two 32-bit lanes that every appended record is folded into. */
export interface Trail {
  left: number
  right: number
}

const marketState = (market: Market, index: number): MarketState => {
  const rules = rulesOf(market)
  const n = Decimal.parse
  const maxLeverage = n(market.max_leverage)
  const base = n(market.index_base)
  const state: MarketState = {
    index,
    market,
    rules,
    tiers: Margin.tiersOf(
      market.risk_tiers.map((tier) => ({
        limit: n(tier.risk_limit_value),
        initialRate: n(tier.initial_margin_rate),
        maintenanceRate: n(tier.maintenance_margin_rate)
      }))
    ),
    limits: { tick: rules.price.step, min: n(market.min_price), max: n(market.max_price) },
    makerFee: market.maker_fee_rate.startsWith("-") ? -n(market.maker_fee_rate.slice(1)) : n(market.maker_fee_rate),
    takerFee: n(market.taker_fee_rate),
    band: n(market.price_band),
    defaultLeverage: Decimal.min(DEFAULT_LEVERAGE, maxLeverage),
    indexBase: base,
    book: BookChanges.track(OrderBook.make()),
    seq: 0,
    bookSeq: 0,
    bookMs: 0,
    indexPrice: 0n,
    heldIndex: undefined,
    markTicks: 0,
    markPrice: 0n,
    markText: "0",
    indexText: "0",
    indexTicks: 0,
    bandBuyTicks: 0,
    bandSellTicks: 0,
    lastTicks: undefined,
    basis: [],
    basisSum: 0n,
    premiumSum: 0n,
    premiumCount: 0,
    predictedRate: INTEREST_RATE,
    fundingRate: 0n,
    fundingIndex: 0n,
    fundings: [],
    openLots: 0,
    netLots: 0,
    holders: new Set(),
    longHolders: 0,
    triggers: Array.from({ length: TriggerQueues.TRIGGER_QUEUES }, () => []),
    quoted: undefined
  }
  setIndex(state, base)
  setMark(state, Grid.round(rules.price, base))
  return state
}

export const setIndex = (market: MarketState, price: Decimal.Scaled): void => {
  market.indexPrice = price
  market.indexText = Decimal.format(price)
  market.indexTicks = Grid.floor(market.rules.price, price)
}

/** Sets the mark and what follows from it. Source: docs/contract/orders.md#price-band, #market-orders. */
export const setMark = (market: MarketState, ticks: number): void => {
  const { rules, band } = market
  market.markTicks = ticks
  market.markPrice = Grid.scaled(rules.price, ticks)
  market.markText = Grid.text(rules.price, ticks)
  const buy = Number(Decimal.divide(BigInt(ticks) * (Decimal.ONE + band), Decimal.ONE, "down"))
  const sell = Number(Decimal.divide(BigInt(ticks) * (Decimal.ONE - band), Decimal.ONE, "up"))
  market.bandBuyTicks = Math.min(buy, rules.maxTicks)
  market.bandSellTicks = Math.max(sell, rules.minTicks)
}

const poolOf = (market: MarketState, base: Decimal.Scaled): Pool => {
  const account: Account = {
    index: HOUSE,
    address: "",
    userId: "",
    root: "",
    subIndex: 0,
    createdMs: 0,
    frozen: false,
    deleted: false,
    wallet: 0n,
    updatedMs: 0,
    holdings: []
  }
  return {
    holding: positionOf(account, market),
    base,
    received: 0n,
    paid: 0n,
    obligation: 0n,
    mode: AdlMode.ADL_MODE_INACTIVE,
    reason: AdlTriggerReason.ADL_TRIGGER_REASON_NO_TRIGGER,
    ratio: 0n,
    toldRatio: 0n,
    peaks: [],
    updatedMs: 0,
    changed: false,
    states: [],
    alerts: []
  }
}

/** The state before the first input. */
export const initial = (config: EngineConfig, links: ClientIdIndex = memoryClientIdIndex()): State => {
  const markets = config.markets.map(marketState)
  return {
    config,
    links,
    standing: Watch.make(markets.length),
    telling: Watch.make(markets.length),
    markets,
    marketOf: new Map(markets.map((market) => [market.market.symbol, market])),
    accounts: [],
    accountOf: new Map(),
    users: new Map(),
    outdated: [],
    waiting: new Set(),
    orders: OpenOrders.make(),
    expiries: [],
    met: [],
    closed: new Map(),
    closedBefore: new Map(),
    pools: markets.map((market) => poolOf(market, Decimal.parse(config.poolBaseEquity))),
    withdrawals: [],
    groupPeaks: [],
    poolMinute: -1,
    faucetLimit: Decimal.parse(config.faucetDailyLimit),
    orderSeed: Ids.seedOf(config.epoch, "order"),
    executionSeed: Ids.seedOf(config.epoch, "execution"),
    tradeSeed: Ids.seedOf(config.epoch, "trade"),
    time: 0,
    second: -1,
    seq: 0,
    step: 0,
    accountNumber: 0,
    orderNumber: 0,
    fillNumber: 0,
    depositNumber: 0,
    fees: 0n,
    deposits: 0n,
    wallets: 0n,
    entries: 0n,
    trail: { left: 0x9e3779b1, right: 0x85ebca6b }
  }
}

/** The holding of an account in a market, made on first use. */
export const positionOf = (account: Account, market: MarketState): MarketPosition => {
  const held = account.holdings[market.index]
  if (held !== undefined) return held
  while (account.holdings.length < market.index) account.holdings.push(undefined)
  const holding: MarketPosition = {
    account,
    market,
    leverage: market.defaultLeverage,
    isolated: false,
    isolatedMargin: 0n,
    lots: 0,
    entryValue: 0n,
    openFee: 0n,
    currentRealised: 0n,
    liquidationFee: 0n,
    realised: 0n,
    status: PositionStatus.POSITION_STATUS_NORMAL,
    adlRank: 0,
    createdMs: 0,
    updatedMs: 0,
    seq: 0,
    toldTicks: 0,
    toldStep: 0,
    toldTier: 0,
    toldSecond: -1,
    outdated: false,
    outdatedSecond: -1,
    buyLots: 0,
    buyUnits: 0n,
    sellLots: 0,
    sellUnits: 0n,
    reduceBuyLots: 0,
    reduceSellLots: 0,
    orders: new Map(),
    conditional: new Map(),
    figures: undefined,
    figuresMark: 0
  }
  account.holdings[market.index] = holding
  return holding
}

/** ticks × lots, exact. */
export const units = (ticks: number, lots: number): bigint => {
  const product = ticks * lots
  return Number.isSafeInteger(product) ? BigInt(product) : BigInt(ticks) * BigInt(lots)
}

/** Value of lots at a price, exact. */
export const valueOf = (market: MarketState, ticks: number, lots: number): Decimal.Scaled =>
  units(ticks, lots) * market.rules.unit

/** What rests in a market: bids before asks, in the order of their priority. */
export const restingOrders = (state: State, { book }: MarketState): ReadonlyArray<Order> => {
  const orders: Array<Order> = []
  for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const)
    for (let slot = book.first(side); slot !== OrderBook.NONE; slot = book.after(slot))
      orders.push(state.orders.at(slot))
  return orders
}
