/** An order as the sequencer works with it: integers of ticks and lots, money in scaled bigint. */
import type { Scaled } from "../../domain/Decimal.ts"
import type {
  CancelType,
  OrderStatus,
  OrderType,
  RejectReason,
  Side,
  SmpType,
  TimeInForce
} from "../../proto/gateway/v1/types.ts"
import type { Account, Holding } from "../State.ts"
import type { PriceLevel } from "./PriceLevel.ts"

export interface Order {
  /** counts orders; the id is made of it */
  readonly number: number
  readonly id: string
  readonly link: string | undefined
  readonly account: Account
  readonly holding: Holding
  readonly side: Side
  readonly type: OrderType
  readonly timeInForce: TimeInForce
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly closeOnTrigger: boolean
  readonly smp: SmpType
  readonly createdMs: number
  readonly lastPriceOnCreated: number
  /** limit price; of a Market order the protective price */
  ticks: number
  lots: number
  leaves: number
  filled: number
  filledValue: Scaled
  fees: Scaled
  closedPnl: Scaled | undefined
  status: OrderStatus
  cancelType: CancelType
  rejectReason: RejectReason
  rejectMessage: string | undefined
  version: number
  updatedMs: number
  /** place in the book; `undefined` while it does not rest */
  level: PriceLevel | undefined
  previous: Order | undefined
  next: Order | undefined
}
