/** Balances and movements of money. Source: docs/contract/rest-account.md. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { Decimal, SignedDecimal } from "./Decimal.ts"
import { Period, TransferStatus } from "./Enumerations.ts"
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
  sub_account_address: Address,
  asset: Asset,
  asset_addr: Address,
  wallet_balance: SignedDecimal,
  equity: SignedDecimal,
  available_balance: Decimal,
  margin_used: Decimal.annotate({ description: "Initial margin of Cross positions, and isolated_margin" }),
  order_margin: Decimal,
  maintenance_margin: Decimal.annotate({ description: "Of all positions, Isolated ones included" }),
  unrealised_pnl: SignedDecimal,
  isolated_margin: SignedDecimal.annotate({ description: "The part of margin_used that Isolated positions hold" }),
  withdrawable: Decimal,
  updated_time: Millis
}

/** A balance as the backend reports it. */
export const BalanceState = Schema.Struct(state)
export type BalanceState = typeof BalanceState.Type

/** A balance as the API reports it: `seq` is the user-stream position of its last event. */
export const Balance = Schema.Struct({
  ...state,
  seq: Schema.Int.annotate({ description: "User-stream position of the last event of this balance" })
}).annotate({ identifier: "Balance" })
export type Balance = typeof Balance.Type

export const Deposit = Schema.Struct({
  deposit_id: Uuid,
  sub_account_address: Address,
  asset: Asset,
  amount: Decimal,
  status: TransferStatus,
  source: Schema.Literals(["faucet", "rail"]),
  created_time: Millis,
  updated_time: Millis
}).annotate({ identifier: "Deposit" })
export type Deposit = typeof Deposit.Type

export const Withdrawal = Schema.Struct({
  withdrawal_id: Uuid,
  sub_account_address: Address,
  asset: Asset,
  amount: Decimal,
  status: TransferStatus,
  destination: Schema.String.annotate({ description: "Address or party id, as the user's rail has it" }),
  created_time: Millis,
  updated_time: Millis
}).annotate({ identifier: "Withdrawal" })
export type Withdrawal = typeof Withdrawal.Type

export const Transfer = Schema.Struct({
  transfer_id: Uuid,
  from_sub_account_address: Address,
  to_sub_account_address: Address,
  asset: Asset,
  amount: Decimal,
  status: TransferStatus,
  created_time: Millis,
  updated_time: Millis
}).annotate({ identifier: "Transfer" })
export type Transfer = typeof Transfer.Type

/** A movement of money as the backend reports it. A deposit has no source, a withdrawal no target. */
export interface Movement {
  readonly transfer_id: string
  readonly user_id: string
  readonly kind: "deposit" | "withdrawal" | "transfer" | "reward"
  readonly from_sub_account_address: string | undefined
  readonly to_sub_account_address: string | undefined
  readonly asset: string
  readonly amount: string
  readonly status: TransferStatus
  /** Deposits: `faucet` or `rail`; withdrawals: the destination. */
  readonly reference: string
  readonly created_time: number
  readonly updated_time: number
}

export const Statistics = Schema.Struct({
  volume: Decimal.annotate({ description: "Σ exec_value of all fills" }),
  maker_volume: Decimal,
  taker_volume: Decimal,
  trade_count: Schema.Int.annotate({ description: "Fills" }),
  fees_paid: SignedDecimal.annotate({ description: "Fees of fills; negative: more rebates than fees" }),
  liquidation_fee: SignedDecimal.annotate({
    description: "Paid to insurance pools by liquidations, not in fees_paid; negative: the pools paid more"
  }),
  funding_paid: SignedDecimal.annotate({ description: "Negative: more received than paid" }),
  realised_pnl: SignedDecimal.annotate({ description: "Exit less entry, before fees and funding" }),
  win_count: Schema.Int.annotate({ description: "Closing orders in profit, fees in" }),
  loss_count: Schema.Int.annotate({ description: "Closing orders in loss, fees in" }),
  max_drawdown: Decimal.annotate({
    description:
      "Largest fall of the result (realised PnL less fees, funding and liquidation fees) from its peak within the period, in USDC; of several sub-accounts the largest of theirs"
  }),
  period: Period,
  from_ms: Millis.annotate({ description: "Start of the period, at a full hour; 0 for all" }),
  to_ms: Millis
}).annotate({ identifier: "Statistics" })
export type Statistics = typeof Statistics.Type
