/** The state before the first input. */
import * as Decimal from "../../../domain/Decimal.ts"
import { rateOf } from "../../../domain/FundingRate.ts"
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import * as OrderRules from "../../../domain/OrderRules.ts"
import { AdlMode, AdlTriggerReason } from "../../../proto/gateway/v1/types.ts"
import type { Market } from "../../markets/File.ts"
import * as OpenOrders from "../book/OpenOrders.ts"
import * as OrderBook from "../book/OrderBook.ts"
import * as TrackedBook from "../book/TrackedBook.ts"
import { type ClientIdIndex, memoryClientIdIndex } from "./ClientIdIndex.ts"
import * as Heap from "./Heap.ts"
import * as Ids from "./Ids.ts"
import { POOL_ACCOUNT, positionOf } from "./MarketPosition.ts"
import { setIndex, setMark } from "./MarketPrices.ts"
import * as PriceThresholdIndex from "./PriceThresholdIndex.ts"
import { type Account, type EngineConfig, type MarketState, type Pool, type State } from "./State.ts"
import * as TriggerQueues from "./TriggerQueues.ts"

/** Leverage of a position until the user sets one. Source: docs/contract/exchange.md#markets. */
export const DEFAULT_LEVERAGE = Decimal.parse("10")

const marketState = (market: Market, index: number): MarketState => {
  const rules = OrderRules.make(market)
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
    book: TrackedBook.track(OrderBook.make()),
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
    predictedRate: rateOf(0n, n(market.funding_cap)),
    fundingRate: 0n,
    fundingIndex: 0n,
    fundings: [],
    openLots: 0,
    netLots: 0,
    holders: new Set(),
    longHolders: 0,
    triggers: Array.from({ length: TriggerQueues.TRIGGER_QUEUES }, () => Heap.make()),
    quoted: undefined
  }
  setIndex(state, base)
  setMark(state, Grid.round(rules.price, base))
  return state
}

const poolOf = (market: MarketState, base: Decimal.Scaled): Pool => {
  const account: Account = {
    index: POOL_ACCOUNT,
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
    alertedRatio: 0n,
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
    liquidationRanges: PriceThresholdIndex.make(markets.length),
    announcementRanges: PriceThresholdIndex.make(markets.length),
    markets,
    marketOf: new Map(markets.map((market) => [market.market.symbol, market])),
    accounts: [],
    accountOf: new Map(),
    users: new Map(),
    outdated: [],
    waiting: new Set(),
    orders: OpenOrders.make(),
    expiries: Heap.make(),
    met: Heap.make(),
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
