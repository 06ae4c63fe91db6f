/** Balances and movements of money. Source: docs/contract/rest-account.md. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { Period, TransferStatus } from "./Enumerations.ts"
import { field, measure } from "./Field.ts"
import { Uuid } from "./Identity.ts"
import { Millis } from "./Time.ts"

/** Asset ticker; USDC is the collateral. */
export const Asset = Schema.String.check(
  Schema.isPattern(/^[A-Z0-9]{2,12}$/u, { message: "expected an asset ticker in upper case, such as USDC" })
).annotate({
  identifier: "Asset",
  description: "Asset ticker, upper case",
  examples: ["USDC"]
})

const state = {
  sub_account_address: field(Address, "Sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  asset_addr: field(Address, "Address of the asset"),
  wallet_balance: measure(SignedDecimal, "Wallet balance, without unrealized profit and loss", "asset"),
  equity: measure(SignedDecimal, "Sum of wallet balance, isolated_margin and unrealized profit and loss", "asset"),
  available_balance: measure(Decimal, "Amount available to new orders and positions", "asset"),
  margin_used: measure(Decimal, "Initial margin of Cross positions, and isolated_margin", "asset"),
  order_margin: measure(Decimal, "Initial margin of the open orders", "asset"),
  maintenance_margin: measure(Decimal, "Maintenance margin of all positions, isolated ones included", "asset"),
  unrealised_pnl: measure(SignedDecimal, "Profit and loss at the mark price", "settlement asset"),
  isolated_margin: measure(SignedDecimal, "Part of margin_used in isolated positions", "settlement asset"),
  withdrawable: measure(Decimal, "Maximum withdrawal", "asset"),
  updated_time: field(Millis, "Time of the last change")
}

/** A balance as the backend reports it. */
export const BalanceState = Schema.Struct(state)
export type BalanceState = typeof BalanceState.Type

/** A balance as the API reports it: `seq` is the user-stream position of its last event. */
export const Balance = Schema.Struct({
  ...state,
  seq: measure(Schema.Int, "User-stream position of the last event of this balance", "position")
}).annotate({ identifier: "Balance" })
export type Balance = typeof Balance.Type

export const Deposit = Schema.Struct({
  deposit_id: field(Uuid, "Deposit id"),
  sub_account_address: field(Address, "Sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  amount: measure(Decimal, "Amount", "asset"),
  status: TransferStatus,
  source: field(Schema.Literals(["faucet", "rail"]), "Source of the deposit"),
  created_time: field(Millis, "Creation time"),
  updated_time: field(Millis, "Time of the last change")
}).annotate({ identifier: "Deposit" })
export type Deposit = typeof Deposit.Type

export const Withdrawal = Schema.Struct({
  withdrawal_id: field(Uuid, "Withdrawal; you choose the id"),
  sub_account_address: field(Address, "Sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  amount: measure(Decimal, "Amount", "asset"),
  status: TransferStatus,
  destination: field(Schema.String, "Address or party id, by the rail of the user"),
  created_time: field(Millis, "Creation time"),
  updated_time: field(Millis, "Time of the last change")
}).annotate({ identifier: "Withdrawal" })
export type Withdrawal = typeof Withdrawal.Type

export const Transfer = Schema.Struct({
  transfer_id: field(Uuid, "Transfer; you choose the id"),
  from_sub_account_address: field(Address, "Source sub-account"),
  to_sub_account_address: field(Address, "Target sub-account"),
  asset: field(Asset, "Asset, by its ticker"),
  amount: measure(Decimal, "Amount", "asset"),
  status: TransferStatus,
  created_time: field(Millis, "Creation time"),
  updated_time: field(Millis, "Time of the last change")
}).annotate({ identifier: "Transfer" })
export type Transfer = typeof Transfer.Type

export const Statistics = Schema.Struct({
  volume: measure(Decimal, "Sum of exec_value over all fills", "quote asset"),
  maker_volume: measure(Decimal, "Maker volume", "quote asset"),
  taker_volume: measure(Decimal, "Taker volume", "quote asset"),
  trade_count: measure(Schema.Int, "Number of fills", "count"),
  fees_paid: measure(SignedDecimal, "Fees of fills; negative: more rebates than fees", "settlement asset"),
  liquidation_fee: measure(
    SignedDecimal,
    "Paid to insurance pools by liquidations, not in fees_paid; negative: the pools paid more",
    "settlement asset"
  ),
  funding_paid: measure(SignedDecimal, "Sum of the funding; negative: more received than paid", "settlement asset"),
  realised_pnl: measure(SignedDecimal, "Exit less entry, before fees and funding", "settlement asset"),
  win_count: measure(Schema.Int, "Closing orders with a profit after fees", "count"),
  loss_count: measure(Schema.Int, "Closing orders with a loss after fees", "count"),
  max_drawdown: measure(
    Decimal,
    "Largest fall of the result (realised PnL less fees, funding and liquidation fees) from its peak within the period, in USDC; of several sub-accounts the largest of theirs",
    "settlement asset"
  ),
  period: Period,
  from_ms: field(Millis, "Start of the period, at a full hour; 0 for all"),
  to_ms: field(Millis, "End of the period, exclusive")
}).annotate({ identifier: "Statistics" })
export type Statistics = typeof Statistics.Type
