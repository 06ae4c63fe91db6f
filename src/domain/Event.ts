/**
 * What the sequencer's event stream carries, in the words of the domain.
 * Source: docs/contract/boundary.md#commands-and-events.
 */
import type { BalanceState, Movement } from "./Account.ts"
import type { BalanceReason } from "./Enumerations.ts"
import type { Closing, Execution } from "./Execution.ts"
import type { FundingRate } from "./Funding.ts"
import type { AdlAlert, InsurancePool } from "./InsurancePool.ts"
import type { Instrument, Level, Prices, PublicTrade } from "./Market.ts"
import type { Order } from "./Order.ts"
import type { PositionState } from "./Position.ts"
import type { SubAccountState } from "./User.ts"

/** A place in the stream: `seq` is gapless from 1 within an `epoch`. */
export interface StreamPosition {
  readonly epoch: string
  readonly seq: number
}

export type EventBody =
  | { readonly type: "order"; readonly order: Order }
  | { readonly type: "execution"; readonly execution: Execution; readonly closing: Closing | undefined }
  | {
      readonly type: "trades"
      readonly symbol: string
      /** Fills of one taker, in order. */
      readonly trades: ReadonlyArray<PublicTrade>
      /** Of the market after them; absent: the next sample of prices has it. */
      readonly open_interest?: string | undefined
    }
  | {
      readonly type: "book"
      readonly symbol: string
      readonly book_seq: number
      /** That of the change before; absent: `book_seq` − 1. */
      readonly prev_book_seq?: number | undefined
      /** Changed levels with their new totals; "0": gone. */
      readonly bids: ReadonlyArray<Level>
      readonly asks: ReadonlyArray<Level>
    }
  | { readonly type: "position"; readonly position: PositionState }
  | {
      readonly type: "balance"
      readonly balance: BalanceState
      readonly reason: BalanceReason
      /** Signed change of the wallet; of funding, what was received, from the isolated margin too. */
      readonly amount: string
      readonly fee: string
      readonly realised_pnl: string
      readonly order_id: string | undefined
      readonly exec_id: string | undefined
      readonly transfer_id: string | undefined
      /** Market of a fill, a funding payment or a liquidation fee. */
      readonly symbol?: string | undefined
    }
  | { readonly type: "prices"; readonly prices: ReadonlyArray<Prices> }
  | { readonly type: "sub_account"; readonly sub_account: SubAccountState }
  | { readonly type: "instrument"; readonly instrument: Instrument }
  | { readonly type: "movement"; readonly movement: Movement }
  | { readonly type: "funding"; readonly funding: FundingRate }
  | { readonly type: "pool"; readonly symbol: string; readonly pool: InsurancePool }
  | { readonly type: "adl"; readonly alert: AdlAlert }
  /** An event that this version does not know, or has no use for yet; it keeps the numbering whole. */
  | { readonly type: "other"; readonly name: string }

export interface Event {
  readonly seq: number
  /** Engine time, Unix ms. */
  readonly ts_ms: number
  /** Events of one step of the engine share it. */
  readonly step: number
  readonly command_id: string | undefined
  readonly user_id: string | undefined
  readonly sub_account_address: string | undefined
  readonly body: EventBody
}
