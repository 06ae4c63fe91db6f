/**
 * Closed PnL: the result of an order that reduced a position, summed over its fills.
 * Source: docs/contract/rest-trading.md#closed-pnl.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import * as Decimals from "./Decimal.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { ExecType, OrderType, Side } from "./Enumerations.ts"
import type { Closing, Execution } from "./Execution.ts"
import { Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

export const ClosedPnl = Schema.Struct({
  symbol: MarketSymbol,
  sub_account_address: Address,
  order_id: Uuid,
  side: Side.annotate({ description: "Of the closing order" }),
  qty: Decimal.annotate({ description: "Of the order" }),
  closed_size: Decimal.annotate({ description: "The part that reduced the position, in the base asset" }),
  order_price: Decimal.annotate({ description: "0 for Market" }),
  order_type: OrderType,
  exec_type: ExecType,
  cum_entry_value: Decimal.annotate({ description: "Entry value of what was closed, in the quote asset" }),
  avg_entry_price: Decimal,
  cum_exit_value: Decimal.annotate({ description: "What was closed at the prices of the fills" }),
  avg_exit_price: Decimal,
  closed_pnl: SignedDecimal.annotate({
    description: "Exit less entry (a short: entry less exit), less open_fee and close_fee; funding apart"
  }),
  open_fee: SignedDecimal.annotate({ description: "Share of the fees that opening had cost" }),
  close_fee: SignedDecimal.annotate({ description: "Fees of closing; negative for a rebate" }),
  liquidation_fee: SignedDecimal.annotate({
    description: "Paid to the insurance pool for this order, not in closed_pnl; negative: the pool paid"
  }),
  fill_count: Schema.Int,
  leverage: Decimal,
  created_time: Millis.annotate({ description: "First fill that closed" }),
  updated_time: Millis.annotate({ description: "Last fill that closed" })
}).annotate({ identifier: "ClosedPnl" })
export type ClosedPnl = typeof ClosedPnl.Type

/** The part of a position that one fill closed, in integers of 18 places. */
export interface Closed {
  readonly size: Decimals.Scaled
  readonly entryValue: Decimals.Scaled
  readonly exitValue: Decimals.Scaled
  readonly openFee: Decimals.Scaled
  /** Share of the fill's fee. It is the whole fee unless the fill also opened the opposite side. */
  readonly closeFee: Decimals.Scaled
  readonly pnl: Decimals.Scaled
}

export const closedBy = (execution: Execution, closing: Closing): Closed => {
  const { mul, mulDiv, parse } = Decimals
  const size = parse(execution.closed_size ?? "0")
  const qty = parse(execution.exec_qty)
  const fee = parse(execution.base_fee)
  const openFee = parse(closing.open_fee)
  const closeFee = size === qty ? fee : mulDiv(fee, size, qty, "up")
  return {
    size,
    entryValue: parse(closing.entry_value),
    exitValue: mul(parse(execution.exec_price), size, "toward-zero"),
    openFee,
    closeFee,
    pnl: parse(closing.realised_pnl) - openFee - closeFee
  }
}

/** The record of an order after another closing fill; `before` is its previous record. */
export const add = (before: ClosedPnl | undefined, execution: Execution, closing: Closing): ClosedPnl => {
  const { div, format, parse } = Decimals
  const fill = closedBy(execution, closing)
  const sum = (text: string | undefined, more: Decimals.Scaled) => parse(text ?? "0") + more
  const size = sum(before?.closed_size, fill.size)
  const entry = sum(before?.cum_entry_value, fill.entryValue)
  const exit = sum(before?.cum_exit_value, fill.exitValue)
  const price = (value: Decimals.Scaled) => (size === 0n ? "0" : format(div(value, size, "toward-zero")))
  const at = Number(execution.exec_time)
  return {
    symbol: execution.symbol,
    sub_account_address: execution.sub_account_address,
    order_id: execution.order_id,
    side: execution.side,
    qty: Decimals.canonical(execution.order_qty),
    closed_size: format(size),
    order_price: Decimals.canonical(execution.order_price),
    order_type: execution.order_type,
    exec_type: execution.exec_type,
    cum_entry_value: format(entry),
    avg_entry_price: price(entry),
    cum_exit_value: format(exit),
    avg_exit_price: price(exit),
    closed_pnl: format(sum(before?.closed_pnl, fill.pnl)),
    open_fee: format(sum(before?.open_fee, fill.openFee)),
    close_fee: format(sum(before?.close_fee, fill.closeFee)),
    liquidation_fee: before?.liquidation_fee ?? "0",
    fill_count: (before?.fill_count ?? 0) + 1,
    leverage: Decimals.canonical(closing.leverage),
    created_time: before?.created_time ?? at,
    updated_time: at
  }
}
