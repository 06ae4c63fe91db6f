/** Movements of money, as the backend reports them, and the records in which the API shows them. */
import type { Deposit, Transfer, Withdrawal } from "./Account.ts"
import type { TransferStatus } from "./Enumerations.ts"

/** A movement of money. A deposit has no source, a withdrawal no target. */
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

/** The record of a movement of the kind `transfer`. */
export const transferOf = (movement: Movement): Transfer => ({
  transfer_id: movement.transfer_id,
  from_sub_account_address: movement.from_sub_account_address!,
  to_sub_account_address: movement.to_sub_account_address!,
  asset: movement.asset,
  amount: movement.amount,
  status: movement.status,
  created_time: movement.created_time,
  updated_time: movement.updated_time
})

/** The record of a movement of the kind `deposit`. */
export const depositOf = (movement: Movement): Deposit => ({
  deposit_id: movement.transfer_id,
  sub_account_address: movement.to_sub_account_address!,
  asset: movement.asset,
  amount: movement.amount,
  status: movement.status,
  source: movement.reference === "faucet" ? "faucet" : "rail",
  created_time: movement.created_time,
  updated_time: movement.updated_time
})

/** The record of a movement of the kind `withdrawal`. */
export const withdrawalOf = (movement: Movement): Withdrawal => ({
  withdrawal_id: movement.transfer_id,
  sub_account_address: movement.from_sub_account_address!,
  asset: movement.asset,
  amount: movement.amount,
  status: movement.status,
  destination: movement.reference,
  created_time: movement.created_time,
  updated_time: movement.updated_time
})
