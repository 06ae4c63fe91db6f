/**
 * Everything the embedded backend knows, in memory.
 *
 * Plain data: the journal of inputs is its only durable form, and {@link hash} its fingerprint. Derived figures (a
 * holding's margin) are kept beside what they come from and left out of the hash.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import * as Decimal from "../domain/Decimal.ts"
import * as Grid from "../domain/Grid.ts"
import * as Margin from "../domain/Margin.ts"
import type { OrderRules } from "../domain/OrderRules.ts"
import {
  AdlMode,
  type AdlAlert,
  AdlTriggerReason,
  type FundingRate,
  type InsurancePool,
  type OrderStatus,
  PositionStatus,
  Side,
  type Transfer
} from "../proto/gateway/v1/types.ts"
import { type Market, rulesOf } from "./Markets.ts"
import * as Watch from "./referee/Watch.ts"
import * as Ids from "./sequencer/Ids.ts"
import * as BookChanges from "./sequencer/BookChanges.ts"
import * as OpenOrders from "./sequencer/OpenOrders.ts"
import type { Order } from "./sequencer/Order.ts"
import * as OrderBook from "./sequencer/OrderBook.ts"
import * as Queues from "./sequencer/Queues.ts"

/** What decides results besides the inputs. Plain JSON: the journal keeps it. */
export interface EngineConfig {
  readonly markets: ReadonlyArray<Market>
  /** whether the simulated maker quotes (contract 9.2) */
  readonly simMaker: boolean
  /** "manual": the index stands at its base until it is set */
  readonly indexSource: "simulated" | "manual"
  /** USDC a UTC day and user */
  readonly faucetDailyLimit: string
  readonly poolBaseEquity: string
  /** identity of the event numbering; also the seed of ids */
  readonly epoch: string
}

/** Closed orders whose status is remembered at most; at least half of them always are. */
export const CLOSED_ORDERS_MAX = 1_000_000
/** Sub-accounts a user. Source: contract 3.8. */
export const SUB_ACCOUNTS_MAX = 20
/** Seconds of (mid − index) samples behind the mark. Source: contract 9.2. */
export const BASIS_SECONDS = 150
/** States of an insurance pool that are remembered, and as many ADL alerts. */
export const POOL_HISTORY_MAX = 10_000
/** Funding settlements of a market that are remembered. */
export const FUNDING_HISTORY_MAX = 10_000
/** Leverage of a holding before it is set. Source: contract 9.1. */
export const DEFAULT_LEVERAGE = Decimal.parse("10")
/** Funding rate where nothing pulls it: that of an interval without a premium. Source: contract 9.5. */
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
  /** one more for each step that changed the book or traded in it */
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
  readonly holders: Set<Holding>
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
export interface Holding {
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
  /** second of engine time of the last one that the mark alone caused; −1 before the first */
  toldSecond: number
  /** opening orders: lots, and Σ ticks × lots */
  buyLots: number
  buyUnits: bigint
  sellLots: number
  sellUnits: bigint
  /** resting reduce-only orders, in lots */
  reduceBuyLots: number
  reduceSellLots: number
  /** resting orders by number, oldest first */
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

/** The insurance pool of a market. Source: contract 9.7, 9.8. */
export interface Pool {
  /** the inventory, as an account of the house holds it; that account's wallet is `realized_pnl_cum` */
  readonly holding: Holding
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

export const isHouse = ({ account }: Holding): boolean => account.index === HOUSE

export interface Account {
  readonly index: number
  readonly address: string
  readonly userId: string
  readonly root: string
  readonly subIndex: number
  readonly createdMs: number
  frozen: boolean
  /** for ever; its index is not used again */
  deleted: boolean
  wallet: Decimal.Scaled
  updatedMs: number
  /** by index of the market; absent until it is first used */
  readonly holdings: Array<Holding | undefined>
}

/**
 * What is known for ever by an id that a client gave: orders by order_link_id, transfers by their id. Too many for memory, so
 * that they may lie in an index beside the journal. It may know what was given after the state of now: during a replay it
 * does.
 */
export interface Links {
  readonly find: (account: number, link: string) => string | undefined
  readonly add: (account: number, link: string, order_id: string) => void
  /** A transfer of a user as it was last remembered before the event `seq`. */
  readonly findTransfer: (user_id: string, transfer_id: string, seq: number) => Transfer | undefined
  /** Remembers a transfer, or how it stands now, after the event `seq`. */
  readonly addTransfer: (user_id: string, seq: number, transfer: Transfer) => void
}

/** Links in memory. */
export const memoryLinks = (): Links => {
  const ids = new Map<string, string>()
  const transfers = new Map<string, Map<number, Transfer>>()
  const key = (owner: number | string, id: string): string => `${owner} ${id}`
  return {
    find: (account, link) => ids.get(key(account, link)),
    add: (account, link, order_id) => void ids.set(key(account, link), order_id),
    findTransfer: (user_id, transfer_id, seq) => {
      const stands = transfers.get(key(user_id, transfer_id)) ?? []
      return [...stands].findLast(([after]) => after < seq)?.[1]
    },
    addTransfer: (user_id, seq, transfer) => {
      const name = key(user_id, transfer.transfer_id)
      const stands = transfers.get(name)
      if (stands === undefined) transfers.set(name, new Map([[seq, transfer]]))
      else stands.set(seq, transfer)
    }
  }
}

export interface User {
  readonly id: string
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
  readonly links: Links
  /** between which marks positions surely stand, and need not be told anew; derived from the positions */
  readonly standing: Watch.Watch
  readonly telling: Watch.Watch
  readonly markets: ReadonlyArray<MarketState>
  readonly marketOf: Map<string, MarketState>
  readonly accounts: Array<Account>
  readonly accountOf: Map<string, Account>
  readonly users: Map<string, User>
  /** open orders, resting and waiting */
  readonly orders: OpenOrders.OpenOrders
  /** open GTT orders, the next to end last; derived from the orders */
  readonly expiries: Array<Order>
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
    triggers: Array.from({ length: Queues.TRIGGER_QUEUES }, () => []),
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

/** Sets the mark and what follows from it. Source: contract 2.4, Price band and Market. */
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
    holding: holdingOf(account, market),
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
export const initial = (config: EngineConfig, links: Links = memoryLinks()): State => {
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
    orders: OpenOrders.make(),
    expiries: [],
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

/** The holding of an account in a market, made on first use. */
export const holdingOf = (account: Account, market: MarketState): Holding => {
  const held = account.holdings[market.index]
  if (held !== undefined) return held
  while (account.holdings.length < market.index) account.holdings.push(undefined)
  const holding: Holding = {
    account,
    market,
    leverage: market.defaultLeverage,
    isolated: false,
    isolatedMargin: 0n,
    lots: 0,
    entryValue: 0n,
    openFee: 0n,
    currentRealised: 0n,
    realised: 0n,
    status: PositionStatus.POSITION_STATUS_NORMAL,
    adlRank: 0,
    createdMs: 0,
    updatedMs: 0,
    seq: 0,
    toldTicks: 0,
    toldStep: 0,
    toldSecond: -1,
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

const orderLine = (order: Order): ReadonlyArray<unknown> => [
  order.number,
  order.slot,
  order.link,
  order.account.index,
  order.holding.market.index,
  order.side,
  order.type,
  order.timeInForce,
  order.postOnly,
  order.reduceOnly,
  order.closeOnTrigger,
  order.smp,
  order.createdMs,
  order.lastPriceOnCreated,
  order.ticks,
  order.lots,
  order.leaves,
  order.filled,
  order.filledValue,
  order.fees,
  order.closedPnl,
  order.status,
  order.told,
  order.createType,
  order.stopType,
  order.expireMs,
  order.parent,
  order.sibling?.number,
  order.trigger,
  order.tpsl,
  order.attached,
  order.cancelType,
  order.rejectReason,
  order.rejectMessage,
  order.version,
  order.updatedMs,
  order.resting
]

const holdingLine = (holding: Holding): unknown => {
  const {
    market: _market,
    orders: _orders,
    conditional: _conditional,
    account: _account,
    figures: _figures,
    figuresMark: _mark,
    ...rest
  } = holding
  return rest
}

/** JSON without a replacer is several times faster, so bigints become text first. */
const plain = (value: unknown): unknown =>
  typeof value === "bigint"
    ? `${value}n`
    : typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([key, part]) => [key, plain(part)])
      : value

/** Characters that are hashed at once. */
const HASH_CHUNK = 1 << 16

/**
 * SHA-256, in hex, over a canonical text of the state: equal histories have equal hashes. It costs as much as there are
 * open orders and accounts; what only grows is in the {@link Trail}, since a checkpoint may not take longer every day.
 */
export const hash = (state: State): string => {
  const digest = sha256.create()
  let chunk = ""
  const line = (...parts: ReadonlyArray<unknown>) => {
    chunk += `${JSON.stringify(parts.map(plain))}\n`
    if (chunk.length < HASH_CHUNK) return
    digest.update(utf8ToBytes(chunk))
    chunk = ""
  }
  line("config", JSON.stringify(state.config))
  line(
    "head",
    state.time,
    state.second,
    state.seq,
    state.step,
    state.orderNumber,
    state.fillNumber,
    state.depositNumber,
    state.fees,
    state.deposits,
    state.wallets,
    state.entries,
    state.poolMinute,
    state.closed.size,
    state.closedBefore.size,
    state.trail.left,
    state.trail.right
  )
  for (const market of state.markets) {
    const { bookSeq, bookMs, indexPrice, heldIndex, markTicks, lastTicks, basis, openLots, netLots, quoted } = market
    line(
      "market",
      market.market.symbol,
      bookSeq,
      bookMs,
      indexPrice,
      heldIndex,
      markTicks,
      lastTicks,
      market.premiumSum,
      market.premiumCount,
      market.fundingRate,
      market.fundingIndex,
      openLots,
      netLots
    )
    for (const { second, value } of basis) line("basis", second, value)
    if (quoted !== undefined)
      line("quoted", quoted.index, ...quoted.orders.flatMap(({ order, leaves }) => [order.number, leaves]))
    for (const order of restingOrders(state, market)) line("order", ...orderLine(order))
  }
  for (const pool of state.pools) {
    const { received, paid, obligation, mode, reason, ratio, toldRatio, updatedMs, changed } = pool
    line("pool", received, paid, obligation, mode, reason, ratio, toldRatio, updatedMs, changed)
    line("inventory", pool.holding.account.wallet, pool.holding.account.updatedMs, holdingLine(pool.holding))
    for (const { minute, value } of pool.peaks) line("peak", minute, value)
  }
  for (const { account, transferId, dueMs } of state.withdrawals) line("withdrawal", account.index, transferId, dueMs)
  for (const { minute, value } of state.groupPeaks) line("group", minute, value)
  for (const account of state.accounts) {
    line(
      "account",
      account.address,
      account.userId,
      account.root,
      account.subIndex,
      account.createdMs,
      account.frozen,
      account.deleted,
      account.wallet,
      account.updatedMs
    )
    for (const holding of account.holdings) {
      if (holding === undefined) continue
      line("holding", holding.market.index, holdingLine(holding), [...holding.orders.keys()])
      for (const order of holding.conditional.values()) line("conditional", ...orderLine(order))
    }
  }
  for (const { id, accounts, nextIndex, faucetDay, faucetGiven } of state.users.values())
    line("user", id, nextIndex, faucetDay, faucetGiven, ...accounts.map((account) => account.index))
  return bytesToHex(digest.update(utf8ToBytes(chunk)).digest())
}
