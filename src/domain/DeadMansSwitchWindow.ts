/**
 * The dead-man's switch of a sub-account. Source: docs/contract/orders.md#dead-mans-switch,
 * docs/contract/rest-trading.md#order-endpoints.
 */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { described, field } from "./Field.ts"

/** Shortest, longest and default window, in seconds. */
export const WINDOW_S_MIN = 3
export const WINDOW_S_MAX = 300
export const WINDOW_S_DEFAULT = 10

export const SwitchWindow = Schema.Int.check(
  Schema.isBetween({ minimum: WINDOW_S_MIN, maximum: WINDOW_S_MAX })
).annotate(
  described(
    `Time without a private connection until orders are canceled; ${WINDOW_S_DEFAULT} by default`,
    "s",
    WINDOW_S_DEFAULT
  )
)

export const Switch = Schema.Struct({
  sub_account_address: field(Address, "Sub-account"),
  enabled: field(Schema.Boolean, "Whether the switch is on"),
  time_window: SwitchWindow
}).annotate({ identifier: "Switch" })
export type Switch = typeof Switch.Type
