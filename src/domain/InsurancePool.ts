/**
 * Insurance pools and auto-deleveraging in the API.
 * Source: specification; docs/contract/rest-market.md, docs/contract/exchange.md#insurance-pool, #adl.
 */
import { Schema } from "effect"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { AdlMode, AdlTriggerReason, Side } from "./Enumerations.ts"
import { MarketSymbol } from "./Market.ts"
import { Millis } from "./Time.ts"

const alert = {
  adl_mode: AdlMode,
  adl_trigger_reason: AdlTriggerReason,
  latest_pnl_ratio: SignedDecimal.annotate({
    description: "Result of the pool against its maximum of 8 hours, over the largest equity of the group"
  }),
  updated_time: Millis
}
const pool = {
  pool_id: Schema.String,
  pool_group_id: Schema.String
}

export const InsurancePool = Schema.Struct({
  ...pool,
  cash_balance: SignedDecimal.annotate({ description: "Cash, the seed included" }),
  realized_pnl_cum: SignedDecimal.annotate({ description: "All results since the start, fees in" }),
  unrealized_pnl: SignedDecimal.annotate({ description: "Inventory at the mark price" }),
  base_equity: Decimal.annotate({ description: "The seed" }),
  equity: SignedDecimal.annotate({ description: "cash_balance + unrealized_pnl" }),
  group_redistribution_in: Decimal.annotate({ description: "Received from the group so far" }),
  group_redistribution_out: Decimal.annotate({ description: "Paid to the group so far" }),
  group_adl_obligation: Decimal.annotate({ description: "Deficit that the group could not cover; 0 otherwise" }),
  ...alert,
  inventory: Schema.Array(
    Schema.Struct({
      symbol: MarketSymbol,
      side: Side,
      size: Decimal,
      avg_price: Decimal,
      mark_price: Decimal,
      unrealized_pnl: SignedDecimal
    })
  ).annotate({ description: "What the pool took over and still holds; empty when flat" })
}).annotate({ identifier: "InsurancePool" })
export type InsurancePool = typeof InsurancePool.Type

export const AdlAlert = Schema.Struct({
  ...pool,
  symbol: MarketSymbol,
  equity: SignedDecimal.annotate({ description: "Of the pool" }),
  ...alert
}).annotate({ identifier: "AdlAlert" })
export type AdlAlert = typeof AdlAlert.Type
