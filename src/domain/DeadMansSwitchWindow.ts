/**
 * The dead-man's switch of a sub-account. Source: docs/contract/orders.md#dead-mans-switch,
 * docs/contract/rest-trading.md#order-endpoints.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"

/** Shortest, longest and default window, in seconds. */
export const WINDOW_S_MIN = 3
export const WINDOW_S_MAX = 300
export const WINDOW_S_DEFAULT = 10

export const SwitchWindow = Schema.Int.check(
  Schema.isBetween({ minimum: WINDOW_S_MIN, maximum: WINDOW_S_MAX })
).annotate({
  description: `Seconds without a private connection after which orders are canceled; ${WINDOW_S_DEFAULT} by default`,
  examples: [WINDOW_S_DEFAULT]
})

export const Switch = Schema.Struct({
  sub_account_address: Address,
  enabled: Schema.Boolean,
  time_window: SwitchWindow
}).annotate({ identifier: "Switch" })
export type Switch = typeof Switch.Type
