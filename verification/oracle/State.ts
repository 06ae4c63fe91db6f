/** What the model keeps: lists of plain records. Nothing is derived and kept. */
import type { Fraction } from "./Fraction.ts"
import type { Direction, Side, SmpType, TimeInForce, TpslMode, TriggerBy } from "./Requests.ts"

export interface Tier {
  readonly limit: Fraction
  readonly initial: Fraction
  readonly maintenance: Fraction
  readonly deduction: Fraction
}

export interface Market {
  readonly symbol: string
  readonly tick: Fraction
  readonly step: Fraction
  readonly maxQty: Fraction
  readonly maxMarketQty: Fraction
  readonly minPrice: Fraction
  readonly maxPrice: Fraction
  readonly band: Fraction
  readonly maxLeverage: Fraction
  readonly base: Fraction
  readonly maker: Fraction
  readonly taker: Fraction
  readonly tiers: ReadonlyArray<Tier>
  held: Fraction | undefined
  index: Fraction
  mark: Fraction
  last: Fraction | undefined
  basis: Array<{ readonly second: number; readonly value: Fraction }>
  premiums: Array<Fraction>
  /** last settled */
  rate: Fraction
  fundingIndex: Fraction
  pool: Pool
}

export interface Peak {
  readonly minute: number
  readonly pnl: Fraction
  readonly group: Fraction
}

export interface Pool {
  readonly base: Fraction
  /** its account: the wallet is realized_pnl_cum */
  readonly holding: Holding
  received: Fraction
  paid: Fraction
  obligation: Fraction
  /** what the group paid in this round */
  redistributed: Fraction
  mode: "Inactive" | "Warning" | "Active"
  reason: "NoTrigger" | "PnlDrawdown" | "EquityDepleted" | "GroupObligation"
  ratio: Fraction
  samples: Array<Peak>
  /** why it last deleveraged */
  deleveraged: Pool["reason"]
}

export interface Account {
  readonly user: string
  readonly root: string
  readonly index: number
  readonly address: string
  readonly house: boolean
  frozen: boolean
  deleted: boolean
  wallet: Fraction
  readonly holdings: Array<Holding>
}

export interface Holding {
  readonly account: Account
  readonly market: Market
  leverage: Fraction
  isolated: boolean
  margin: Fraction
  /** signed */
  size: Fraction
  entry: Fraction
  openFee: Fraction
  /** of this position, fees and funding in */
  current: Fraction
  /** of all positions of the symbol */
  realised: Fraction
  /** what liquidations of this position have paid to the pool; below 0 where the pool paid */
  liquidationFee: Fraction
  rank: number
}

export interface LegPrice {
  readonly by: TriggerBy
  readonly price: Fraction
}

export interface Exits {
  readonly mode: TpslMode
  readonly takeProfit: LegPrice | undefined
  readonly stopLoss: LegPrice | undefined
}

export interface Trigger {
  readonly by: TriggerBy
  readonly direction: Direction
  readonly price: Fraction
}

export type StopType = "" | "Stop" | "TakeProfit" | "StopLoss" | "PartialTakeProfit" | "PartialStopLoss"

export interface Order {
  /** order of acceptance */
  readonly number: number
  readonly holding: Holding
  readonly side: Side
  readonly type: "Limit" | "Market"
  readonly timeInForce: TimeInForce
  readonly postOnly: boolean
  reduceOnly: boolean
  readonly closeOnTrigger: boolean
  readonly smp: SmpType
  readonly expireMs: number | undefined
  readonly link: string | undefined
  readonly stopType: StopType
  readonly createType: string
  readonly parent: Order | undefined
  sibling: Order | undefined
  trigger: Trigger | undefined
  tpsl: Exits | undefined
  /** what its fills have opened, and how much of that its exits guard */
  opened: Fraction
  guarded: Fraction
  /** limit; of a Market order the protective price */
  price: Fraction
  qty: Fraction
  leaves: Fraction
  filled: Fraction
  value: Fraction
  fees: Fraction
  closedPnl: Fraction | undefined
  status: string
  cancelType: string
  reason: string
  version: number
  /** sequence in which orders came to rest; 0: not in the book */
  queue: number
}
