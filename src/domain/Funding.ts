/**
 * Funding: the rates that markets settled and the payments of positions.
 * Source: docs/contract/rest-market.md, docs/contract/rest-account.md, docs/contract/exchange.md#funding.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import * as Decimals from "./Decimal.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { Side } from "./Enumerations.ts"
import type { Execution } from "./Execution.ts"
import { field, measure } from "./Field.ts"
import { MarketSymbol } from "./Market.ts"
import { iso, Millis } from "./Time.ts"

const time = {
  funding_time: field(Schema.String, "Settlement time, ISO 8601", "2026-01-01T08:00:00.000Z"),
  funding_time_ms: field(Millis, "Settlement time")
}

export const FundingRate = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  funding_rate: measure(SignedDecimal, "Rate of the interval; positive: longs paid", "ratio"),
  mark_price: measure(Decimal, "Mark price", "quote asset"),
  ...time
}).annotate({ identifier: "FundingRate" })
export type FundingRate = typeof FundingRate.Type

export const FundingPayment = Schema.Struct({
  symbol: field(MarketSymbol, "Market"),
  sub_account_address: field(Address, "Sub-account"),
  side: field(Side, "Side of the position"),
  size: measure(Decimal, "Size of the position, without a sign", "base asset"),
  mark_price: measure(Decimal, "Mark price", "quote asset"),
  funding_rate: measure(SignedDecimal, "Funding rate of an interval", "ratio"),
  payment: measure(SignedDecimal, "Payment; negative: paid", "settlement asset"),
  ...time
}).annotate({ identifier: "FundingPayment" })
export type FundingPayment = typeof FundingPayment.Type

/** The payment of an execution of type Funding, settled at `time`. */
export const paymentOf = (execution: Execution, time: number): FundingPayment => {
  const { canonical, format, parse } = Decimals
  return {
    symbol: execution.symbol,
    sub_account_address: execution.sub_account_address,
    side: execution.side,
    size: canonical(execution.exec_qty),
    mark_price: canonical(execution.mark_price),
    funding_rate: canonical(execution.fee_rate),
    payment: format(-parse(execution.base_fee)),
    funding_time: iso(time),
    funding_time_ms: time
  }
}
