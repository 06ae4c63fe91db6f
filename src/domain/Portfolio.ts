/**
 * The portfolio of a user. Its numbers are JSON numbers, written as exact decimals. Internally they are decimal text;
 * only the encoder omits the quotes.
 * Source: docs/contract/rest-user.md#portfolio.
 */
import type { Address } from "./Address.ts"

/** Internal form: decimal text in every money field. */
export interface Portfolio {
  readonly positions: ReadonlyArray<{
    readonly epoch: number
    readonly funding_index: string
    readonly margin: string
    readonly price: string
    /**
     * Position of its last event. The referee reports the seq of all events; the API reports that of the user's
     * stream, as /position/list does.
     */
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
