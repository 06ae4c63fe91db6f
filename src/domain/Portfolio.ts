/**
 * The portfolio of a user. Its numbers are JSON numbers, as the specification says, written as exact decimal text:
 * inside they are decimal text, and only the encoder drops the quotes. Source: specification, Portfolio;
 * docs/contract/rest-user.md#portfolio.
 */
import type { Address } from "./Address.ts"

/** Inside: decimal text in every money field. */
export interface Portfolio {
  readonly positions: ReadonlyArray<{
    readonly epoch: number
    readonly funding_index: string
    readonly margin: string
    readonly price: string
    /** Of its last event: the referee counts all events, the API those of the user's stream, as /position/list does. */
    readonly seq: number
    readonly size: string
    readonly timestamp: number
    readonly timestamp_ms: number
    readonly market_addr: Address
    readonly sid: Address
  }>
  readonly summary: {
    readonly collateral_notional: string
    readonly maintenance_margin_required: string
    readonly total_available_balance: string
    readonly total_balance: string
    readonly total_margin_used: string
    readonly total_positions: number
    readonly total_vaults: number
    readonly unrealized_funding_total: string
    readonly unrealized_pnl_total: string
  }
  readonly vault_balances: ReadonlyArray<{
    readonly asset_addr: Address
    readonly balance: string
    readonly id: Address
  }>
}
