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
import { field, measure } from "./Field.ts"
import { Uuid } from "./Identity.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

export const ClosedPnl = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  sub_account_address: field(Address, "Sub-account"),
  order_id: field(Uuid, "Order id"),
  side: field(Side, "Side of the closing order"),
  qty: measure(Decimal, "Quantity of the order", "base asset"),
  closed_size: measure(Decimal, "Part of the order that reduced the position", "base asset"),
  order_price: measure(Decimal, "Price of the order; 0 for a market order", "quote asset"),
  order_type: OrderType,
  exec_type: ExecType,
  cum_entry_value: measure(Decimal, "Entry value of the closed part", "quote asset"),
  avg_entry_price: measure(Decimal, "Average entry price", "quote asset"),
  cum_exit_value: measure(Decimal, "Exit value of the closed part", "quote asset"),
  avg_exit_price: measure(Decimal, "Average exit price", "quote asset"),
  closed_pnl: measure(
    SignedDecimal,
    "Exit less entry (a short: entry less exit), less open_fee and close_fee; without funding",
    "settlement asset"
  ),
  open_fee: measure(SignedDecimal, "Share of the fees of the entry", "settlement asset"),
  close_fee: measure(SignedDecimal, "Fees of the exit; negative: a rebate", "settlement asset"),
  liquidation_fee: measure(
    SignedDecimal,
    "Paid to the insurance pool for this order, not in closed_pnl; negative: the pool paid",
    "settlement asset"
  ),
  fill_count: measure(Schema.Int, "Number of fills", "count"),
  leverage: measure(Decimal, "Leverage", "ratio"),
  created_time: field(Millis, "Time of the first closing fill"),
  updated_time: field(Millis, "Time of the last closing fill")
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
