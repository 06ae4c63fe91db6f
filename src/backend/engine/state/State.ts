/**
 * The types of the engine's state. They refer to each other, so they share one file; functions over them are beside it.
 *
 * The state is plain data in memory. The journal of inputs is its only durable form, and `StateHash.ts` computes its hash.
 * Values derived from other fields (the margin figures of a position) are cached beside their source and not hashed.
 */
import type * as Decimal from "../../../domain/Decimal.ts"
import type * as Margin from "../../../domain/Margin.ts"
import type { OrderRules } from "../../../domain/OrderRules.ts"
import type {
  AdlAlert,
  AdlMode,
  AdlTriggerReason,
  CancelType,
  CreateType,
  FundingRate,
  InsurancePool,
  OrderStatus,
  OrderType,
  PositionStatus,
  RejectReason,
  Side,
  SmpType,
  StopOrderType,
  TimeInForce,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../../proto/gateway/v1/types.ts"
import type { Market } from "../../markets/File.ts"
import type { OpenOrders } from "../book/OpenOrders.ts"
import type { TrackedBook } from "../book/TrackedBook.ts"
import type { ClientIdIndex } from "./ClientIdIndex.ts"
import type { Heap } from "./Heap.ts"
import type { PriceThresholdIndex } from "./PriceThresholdIndex.ts"

/** The configuration that decides results besides the inputs. Plain JSON, because the journal keeps it. */
export interface EngineConfig {
  readonly markets: ReadonlyArray<Market>
  /** whether the simulated maker quotes (docs/contract/exchange.md#simulated-maker) */
  readonly simMaker: boolean
  /** whether the simulated takers trade with it (docs/contract/exchange.md#simulated-takers); absent in older journals */
  readonly simTakers?: boolean
  /** "manual": the index stays at its base until SetIndexPrice sets it */
  readonly indexSource: "simulated" | "manual"
  /** USDC per user and UTC day */
  readonly faucetDailyLimit: string
  readonly poolBaseEquity: string
  /** open orders of all users together; at most OPEN_ORDERS_MAX */
  readonly openOrdersMax: number
  /** identifies the event numbering; also the seed of ids */
  readonly epoch: string
}

/** Maximum number of sub-accounts of a user. Source: docs/contract/rest-user.md#sub-accounts. */
export const SUB_ACCOUNTS_MAX = 20
/** Seconds of (mid − index) samples that the mark averages. Source: docs/contract/exchange.md#mark. */
export const BASIS_SECONDS = 150
/** The only collateral. */
export const ASSET = "USDC"

/** A market: its rules, prices, book, funding and positions. */
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
  readonly book: TrackedBook
  /** market sequence; rises with each fill, each funding record and each step that changed the book or traded */
  seq: number
  /** market sequence of the last step that changed the book or traded */
  bookSeq: number
  /** engine time of that step */
  bookMs: number
  indexPrice: Decimal.Scaled
  /** override of the index price; `undefined`: the configured source sets it */
  heldIndex: Decimal.Scaled | undefined
  markTicks: number
  /** mark price, scaled and as text */
  markPrice: Decimal.Scaled
  markText: string
  indexText: string
  indexTicks: number
  /** price band: highest price of a Buy, lowest price of a Sell; mark × (1 ± band), rounded inward to the tick */
  bandBuyTicks: number
  bandSellTicks: number
  lastTicks: number | undefined
  /** (mid − index) samples by second, oldest first, and their sum */
  readonly basis: Array<{ readonly second: number; readonly value: Decimal.Scaled }>
  basisSum: Decimal.Scaled
  /** Σ i P_i of the premium samples of the current funding interval, and their count */
  premiumSum: Decimal.Scaled
  premiumCount: number
  /** funding rate that follows from the samples so far */
  predictedRate: Decimal.Scaled
  /** last settled funding rate; 0 before the first */
  fundingRate: Decimal.Scaled
  /** Σ F × m of all settlements */
  fundingIndex: Decimal.Scaled
  /** settlements, oldest first, at most FUNDING_HISTORY_MAX */
  readonly fundings: Array<FundingRate>
  /** sum of long positions, including the pool's, in lots */
  openLots: number
  /** sum of signed positions, including the pool's; always 0 */
  netLots: number
  /** open positions of users */
  readonly holders: Set<MarketPosition>
  /** number of long positions in `holders` */
  longHolders: number
  /** conditional orders by reference price and direction; derived from the orders */
  readonly triggers: ReadonlyArray<Heap<Order>>
  /** current quotes of the simulated maker, and the price that they surround */
  quoted:
    | {
        readonly index: Decimal.Scaled
        readonly orders: ReadonlyArray<{ readonly order: Order; readonly leaves: number }>
      }
    | undefined
}

/** The condition that activates a conditional order. */
export interface Trigger {
  readonly by: TriggerBy
  readonly direction: TriggerDirection
  readonly ticks: number
}

/** A take-profit or stop-loss attached to an order. */
export interface Leg {
  readonly by: TriggerBy
  readonly ticks: number
}

/** The take-profit and stop-loss that an order attaches to the position it opens. */
export interface Tpsl {
  readonly mode: TpslMode
  readonly takeProfit: Leg | undefined
  readonly stopLoss: Leg | undefined
}

export interface Order {
  /** ordinal of the order; the id encodes it together with the slot */
  readonly number: number
  /** index in the order table and in the book; reused after the order has ended */
  readonly slot: number
  readonly id: string
  readonly link: string | undefined
  readonly account: Account
  readonly holding: MarketPosition
  readonly side: Side
  readonly type: OrderType
  readonly timeInForce: TimeInForce
  readonly postOnly: boolean
  /** set at the trigger where `closeOnTrigger` is true */
  reduceOnly: boolean
  readonly closeOnTrigger: boolean
  readonly smp: SmpType
  readonly createdMs: number
  readonly lastPriceOnCreated: number
  readonly createType: CreateType
  /** set for conditional orders and take-profit or stop-loss orders only */
  readonly stopType: StopOrderType
  /** GTT: expiry, Unix ms */
  readonly expireMs: number | undefined
  /** take-profit or stop-loss: id of the order that it was attached to */
  readonly parent: string | undefined
  /**
   * take-profit or stop-loss: the other order of the pair, canceled when this one triggers; it may have ended before
   */
  sibling: Order | undefined
  trigger: Trigger | undefined
  tpsl: Tpsl | undefined
  /** lots by which fills of this order opened or increased the current position */
  opened: number
  /** part of `opened` that attached exits cover or have covered */
  attached: number
  /** limit price; for a Market order the worst accepted price */
  ticks: number
  lots: number
  leaves: number
  filled: number
  filledValue: Decimal.Scaled
  fees: Decimal.Scaled
  closedPnl: Decimal.Scaled | undefined
  status: OrderStatus
  /** status in the last event of the order */
  announcedStatus: OrderStatus
  cancelType: CancelType
  rejectReason: RejectReason
  rejectMessage: string | undefined
  version: number
  updatedMs: number
  /** whether the order is in the book */
  resting: boolean
}

/** The position and the open orders of one account in one market. */
export interface MarketPosition {
  readonly account: Account
  readonly market: MarketState
  leverage: Decimal.Scaled
  isolated: boolean
  /** margin reserved for this position alone; 0 in Cross */
  isolatedMargin: Decimal.Scaled
  /** signed */
  lots: number
  entryValue: Decimal.Scaled
  openFee: Decimal.Scaled
  /** realised PnL of the current or last position, fees included */
  currentRealised: Decimal.Scaled
  /** fee of the same position's liquidation to the insurance pool; negative where the pool paid */
  liquidationFee: Decimal.Scaled
  realised: Decimal.Scaled
  status: PositionStatus
  /** ADL indicator of the last ranking: 5 is first in line, 0 means no position */
  adlRank: number
  createdMs: number
  updatedMs: number
  /** seq of the last position event */
  seq: number
  /**
   * mark of the last position event, and the distance in ticks at which the PnL has moved by 1 % of the initial margin
   */
  announcedTicks: number
  announcedStep: number
  /** risk tier of the last position event; it decides the initial margin rate */
  announcedTier: number
  /** engine second of the last event caused by the mark alone; −1 before the first */
  announcedSecond: number
  /** the record has changed for a reason outside its market, and no event has shown the change yet */
  outdated: boolean
  /** engine second of the last event for such a change; −1 before the first */
  outdatedSecond: number
  /** open orders that are not reduce-only: lots, and Σ ticks × lots */
  buyLots: number
  buyUnits: bigint
  sellLots: number
  sellUnits: bigint
  /** resting reduce-only orders, in lots */
  reduceBuyLots: number
  reduceSellLots: number
  /** resting orders by number, in the order in which they first entered the book: the last is the newest */
  readonly orders: Map<number, Order>
  /** untriggered conditional, take-profit and stop-loss orders by number, oldest first */
  readonly conditional: Map<number, Order>
  /** cached margin figures, valid for `figuresMark` only */
  figures: Margin.Figures | undefined
  figuresMark: number
}

/** Highest value of a minute. A later and higher value removes earlier ones. */
export interface PeakSample {
  readonly minute: number
  readonly value: Decimal.Scaled
}

/** The insurance pool of a market. Source: docs/contract/exchange.md#insurance-pool, #adl. */
export interface Pool {
  /** inventory of the pool, held by an internal account whose wallet is `realized_pnl_cum` */
  readonly holding: MarketPosition
  /** seed capital */
  readonly base: Decimal.Scaled
  /** money received from and paid to other pools of the group; cumulative */
  received: Decimal.Scaled
  paid: Decimal.Scaled
  /** deficit that the other pools could not cover */
  obligation: Decimal.Scaled
  mode: AdlMode
  reason: AdlTriggerReason
  ratio: Decimal.Scaled
  /** ratio of the last alert */
  alertedRatio: Decimal.Scaled
  /** rolling maxima of realised + unrealised PnL, oldest and largest first */
  readonly peaks: Array<PeakSample>
  updatedMs: number
  /** whether this step changed the pool; false between steps */
  changed: boolean
  /** oldest first; at most POOL_HISTORY_MAX */
  readonly states: Array<InsurancePool>
  readonly alerts: Array<AdlAlert>
}

/** A sub-account. */
export interface Account {
  readonly index: number
  readonly address: string
  readonly userId: string
  readonly root: string
  readonly subIndex: number
  readonly createdMs: number
  frozen: boolean
  /** permanent: the state drops the account and never reuses its index */
  deleted: boolean
  wallet: Decimal.Scaled
  updatedMs: number
  /** by market index; absent until the account first uses the market */
  readonly holdings: Array<MarketPosition | undefined>
}

/** A user with its sub-accounts. */
export interface User {
  readonly id: string
  /** sub-accounts that are not deleted; the first one cannot be deleted */
  readonly accounts: Array<Account>
  nextIndex: number
  /** day of the last faucet deposit (days since the Unix epoch, UTC), and the amount given on it */
  faucetDay: number
  faucetGiven: Decimal.Scaled
}

/** Final status of a closed order and the index of its account. Packed into one number, because many are kept. */
export interface ClosedOrder {
  readonly status: OrderStatus
  readonly account: number
}

/** A pending withdrawal. */
export interface Withdrawal {
  readonly account: Account
  readonly transferId: string
  readonly dueMs: number
}

/** The whole state of the engine. */
export interface State {
  readonly config: EngineConfig
  readonly links: ClientIdIndex
  /**
   * mark ranges within which no position needs a liquidation check or a position event;
   * derived from the positions
   */
  readonly liquidationRanges: PriceThresholdIndex<MarketPosition>
  readonly announcementRanges: PriceThresholdIndex<MarketPosition>
  readonly markets: ReadonlyArray<MarketState>
  readonly marketOf: Map<string, MarketState>
  /** sub-accounts that are not deleted, in the order they were opened */
  readonly accounts: Array<Account>
  readonly accountOf: Map<string, Account>
  readonly users: Map<string, User>
  /** positions whose record became outdated in this step; empty between steps */
  readonly outdated: Array<MarketPosition>
  /**
   * outdated positions that already had such an event in this second; the first Tick of the next second emits theirs
   */
  readonly waiting: Set<MarketPosition>
  /** open orders, resting and untriggered */
  readonly orders: OpenOrders<Order>
  /** open GTT orders by expiry; derived from the orders */
  readonly expiries: Heap<Order>
  /** triggered orders by acceptance; all activate before the next input */
  readonly met: Heap<Order>
  /** two generations of packed closed orders; the older one is dropped as a whole */
  closed: Map<number, number>
  closedBefore: Map<number, number>
  readonly faucetLimit: Decimal.Scaled
  readonly orderSeed: number
  readonly executionSeed: number
  readonly tradeSeed: number
  /** engine time of the last step that had an event */
  time: number
  /** last engine second with a Tick; −1 before the first */
  second: number
  seq: number
  step: number
  /** sub-accounts ever opened, including deleted ones */
  accountNumber: number
  orderNumber: number
  fillNumber: number
  depositNumber: number
  /** balance of the fee account: the sum of all signed fees, minus rewards */
  fees: Decimal.Scaled
  /** deposits − withdrawals */
  deposits: Decimal.Scaled
  /** pending withdrawals by due time, earliest first */
  readonly withdrawals: Array<Withdrawal>
  /** by index of the market */
  readonly pools: ReadonlyArray<Pool>
  /** rolling maxima of the group's equity */
  readonly groupPeaks: Array<PeakSample>
  /** minute of the last Tick that recorded the pools; −1 before the first */
  poolMinute: number
  /** sum of wallets, isolated margins and realised results of the pools */
  wallets: Decimal.Scaled
  /** sum of signed entry values of all markets */
  entries: Decimal.Scaled
  /** running digest of append-only records: closed orders, order_link_ids, transfers, histories */
  readonly trail: HistoryDigest
}

/** Two 32-bit lanes into which every appended record is hashed. */
export interface HistoryDigest {
  left: number
  right: number
}
