/** Events of the sequencer's stream, as domain types. Source: docs/contract/boundary.md#commands-and-events. */
import type { BalanceState } from "./Account.ts"
import type { Movement } from "./Movement.ts"
import type { BalanceReason } from "./Enumerations.ts"
import type { Closing, Execution } from "./Execution.ts"
import type { FundingRate } from "./Funding.ts"
import type { AdlAlert, InsurancePool } from "./InsurancePool.ts"
import type { Instrument, Level, Prices, PublicTrade } from "./Market.ts"
import type { Order } from "./Order.ts"
import type { PositionState } from "./Position.ts"
import type { SubAccountState } from "./User.ts"

/**
 * A position in the stream: `seq` is gapless from 1 within an `epoch`. Fork and checksum identify the history up to it; absent
 * where the backend has none. Source: docs/contract/boundary.md#one-event-stream.
 */
export interface StreamPosition {
  readonly epoch: string
  readonly seq: number
  readonly fork?: string | undefined
  readonly checksum?: number | undefined
}

/** Whether two positions may be on one history: they do not differ in what both name. */
export const mayAgree = (a: StreamPosition, b: StreamPosition): boolean =>
  a.epoch === b.epoch &&
  (a.fork === undefined || b.fork === undefined || a.fork === b.fork) &&
  (a.seq !== b.seq || a.checksum === undefined || b.checksum === undefined || a.checksum === b.checksum)

export type EventBody =
  | { readonly type: "order"; readonly order: Order }
  | { readonly type: "execution"; readonly execution: Execution; readonly closing: Closing | undefined }
  | {
      readonly type: "trades"
      readonly symbol: string
      /** Fills of one taker, in order. */
      readonly trades: ReadonlyArray<PublicTrade>
      /** Open interest of the market after the trades; absent: the next price sample has it. */
      readonly open_interest?: string | undefined
    }
  | {
      readonly type: "book"
      readonly symbol: string
      readonly book_seq: number
      /** `book_seq` of the previous change; absent: `book_seq` − 1. */
      readonly prev_book_seq?: number | undefined
      /** Changed levels with their new totals; "0" removes a level. */
      readonly bids: ReadonlyArray<Level>
      readonly asks: ReadonlyArray<Level>
    }
  | { readonly type: "position"; readonly position: PositionState }
  | {
      readonly type: "balance"
      readonly balance: BalanceState
      readonly reason: BalanceReason
      /**
       * Signed change of the wallet. For funding: the amount received, including the change of the isolated margin.
       */
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
  /** An event type that this version does not use. It keeps the numbering gapless. */
  | { readonly type: "other"; readonly name: string }

export interface Event {
  readonly seq: number
  /** Engine time, Unix ms. */
  readonly ts_ms: number
  /** Events of one engine step have the same number. */
  readonly step: number
  readonly command_id: string | undefined
  readonly user_id: string | undefined
  readonly sub_account_address: string | undefined
  readonly body: EventBody
}
