/** An order as the sequencer works with it: integers of ticks and lots, money in scaled bigint. */
import type { Scaled } from "../../../domain/Decimal.ts"
import type {
  CancelType,
  CreateType,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  SmpType,
  StopOrderType,
  TimeInForce,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../../proto/gateway/v1/types.ts"
import type { Account, MarketPosition } from "../State.ts"

/** What a conditional order waits for. */
export interface Trigger {
  readonly by: TriggerBy
  readonly direction: TriggerDirection
  readonly ticks: number
}

/** One exit that an order brings along. */
export interface Leg {
  readonly by: TriggerBy
  readonly ticks: number
}

/** The exits that an order attaches to what it opens. */
export interface Tpsl {
  readonly mode: TpslMode
  readonly takeProfit: Leg | undefined
  readonly stopLoss: Leg | undefined
}

export interface Order {
  /** counts orders; the id is made of it and of the slot */
  readonly number: number
  /** place among the open orders and in the book; another order's once this one has ended */
  readonly slot: number
  readonly id: string
  readonly link: string | undefined
  readonly account: Account
  readonly holding: MarketPosition
  readonly side: Side
  readonly type: OrderType
  readonly timeInForce: TimeInForce
  readonly postOnly: boolean
  /** close_on_trigger sets it at the trigger */
  reduceOnly: boolean
  readonly closeOnTrigger: boolean
  readonly smp: SmpType
  readonly createdMs: number
  readonly lastPriceOnCreated: number
  readonly createType: CreateType
  /** unspecified but for conditional orders and exits */
  readonly stopType: StopOrderType
  /** GTT: when it ends, Unix ms */
  readonly expireMs: number | undefined
  /** exits: id of the order that brought it along */
  readonly parent: string | undefined
  /** exits: the other exit of the pair, which this one's trigger ends; it may have ended before */
  sibling: Order | undefined
  trigger: Trigger | undefined
  tpsl: Tpsl | undefined
  /** lots by which its fills opened or increased the position that is there */
  opened: number
  /** those of them that its exits guard, or have guarded */
  attached: number
  /** limit price; of a Market order the protective price */
  ticks: number
  lots: number
  leaves: number
  filled: number
  filledValue: Scaled
  fees: Scaled
  closedPnl: Scaled | undefined
  status: OrderStatus
  /** status that its last event told */
  told: OrderStatus
  cancelType: CancelType
  rejectReason: RejectReason
  rejectMessage: string | undefined
  version: number
  updatedMs: number
  /** whether it is in the book */
  resting: boolean
}
