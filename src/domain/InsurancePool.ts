/**
 * Insurance pools and auto-deleveraging in the API.
 * Source: specification; docs/contract/rest-market.md, docs/contract/exchange.md#insurance-pool, #adl.
 */
import { Schema } from "effect"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { AdlMode, AdlTriggerReason, Side } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

const alert = {
  adl_mode: AdlMode,
  adl_trigger_reason: AdlTriggerReason,
  latest_pnl_ratio: measure(
    SignedDecimal,
    "Result of the pool against its maximum of 8 hours, over the largest equity of the group",
    "ratio"
  ),
  updated_time: field(Millis, "Time of the last change")
}
const pool = {
  pool_id: field(Schema.String, "Insurance pool"),
  pool_group_id: field(Schema.String, "Group of pools that share losses")
}

export const InsurancePool = Schema.Struct({
  ...pool,
  cash_balance: measure(SignedDecimal, "Cash, with the seed", "settlement asset"),
  realized_pnl_cum: measure(SignedDecimal, "All results since the start, after fees", "settlement asset"),
  unrealized_pnl: measure(SignedDecimal, "Profit and loss of the inventory at the mark price", "settlement asset"),
  base_equity: measure(Decimal, "Seed of the pool", "settlement asset"),
  equity: measure(SignedDecimal, "cash_balance + unrealized_pnl", "asset"),
  group_redistribution_in: measure(Decimal, "Received from the group so far", "settlement asset"),
  group_redistribution_out: measure(Decimal, "Paid to the group so far", "settlement asset"),
  group_adl_obligation: measure(Decimal, "Deficit that the group could not cover; 0 otherwise", "settlement asset"),
  ...alert,
  inventory: field(
    Schema.Array(
      Schema.Struct({
        symbol: field(MarketSymbol, "Market"),
        side: Side,
        size: measure(Decimal, "Size of the position, without a sign", "base asset"),
        avg_price: measure(Decimal, "Average price", "quote asset"),
        mark_price: measure(Decimal, "Mark price", "quote asset"),
        unrealized_pnl: measure(SignedDecimal, "Profit and loss at the mark price", "settlement asset")
      })
    ),
    "Positions that the pool took over; empty when flat"
  )
}).annotate({ identifier: "InsurancePool" })
export type InsurancePool = typeof InsurancePool.Type

export const AdlAlert = Schema.Struct({
  ...pool,
  symbol: field(MarketSymbol, "Market"),
  equity: measure(SignedDecimal, "Of the pool", "asset"),
  ...alert
}).annotate({ identifier: "AdlAlert" })
export type AdlAlert = typeof AdlAlert.Type
