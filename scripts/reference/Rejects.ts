/**
 * Cause and cure of each `reject_reason`: of an acknowledged order that is `Rejected`, or of a refused amend.
 *
 * `undefined`: reserved for other backends. The embedded backend never returns it.
 * Source: docs/contract/conventions.md#enumerations, docs/contract/orders.md#refusals.
 */
import type { RejectReason } from "../../src/domain/Enumerations.ts"
import type { Cure } from "./Cures.ts"

const because = (cause: string, cure: string): Cure => ({ cause, cure })

export const rejects: Readonly<Record<RejectReason, Cure | undefined>> = {
  EcNoError: because("No rejection.", "None needed."),
  EcNoImmediateQtyToFill: because(
    "An IOC or Market order found no counterparty within its price.",
    "Check the book. A Market order fills within the price band only."
  ),
  EcNoEnoughQtyToFill: because("The book could not fill the FOK order completely.", "Lower the quantity, or use IOC."),
  EcPostOnlyWillTakeLiquidity: because(
    "A post-only order would have taken. It is never repriced.",
    "Quote farther from the other side."
  ),
  EcBySelfMatch: because(
    "The order would have matched your own order. `smp_type` selects which one is canceled.",
    "Cancel your order on the other side first."
  ),
  EcReachRiskPriceLimit: because(
    "The price is outside the market's `price_band` around the mark price.",
    "Buy lower, sell higher, or wait until the mark price moves."
  ),
  EcReachRiskLimit: because(
    "Position and orders together would exceed the last risk tier.",
    "See `/market/risk-limit`. Reduce the position or cancel orders."
  ),
  EcReachMaxOrderNum: because(
    "Too many open orders: of the sub-account in the market (`max_open_orders`, `max_conditional_orders`), or of the exchange (`OPEN_ORDERS_MAX`). While more than 80 % of the latter are in use, one user may hold at most 1 %.",
    "Cancel orders."
  ),
  EcInsufficientBalance: because(
    "The available margin was too small at the order's turn.",
    "Read `available_balance`. Lower the quantity, raise the leverage or add money."
  ),
  EcReduceOnlyNoPosition: because(
    "There was no position to reduce.",
    "None needed if another order closed the position first."
  ),
  EcReduceOnlySameSide: because("The order would have increased the position.", "Use the other side."),
  EcInvalidSymbolStatus: because(
    "The market accepts reduce-only orders only.",
    "Close your position. See `status` of the instrument."
  ),
  EcTriggerAlreadyMet: because(
    "The reference price was already at or beyond the trigger; or, for a Market order, at or beyond the trigger of an attached leg, which `reject_message` names.",
    "Send it without a trigger. Set take-profit and stop-loss on their sides of the reference."
  ),
  EcInvalidQty: because(
    "The new quantity of an amend does not exceed the filled quantity, or the order closes a whole position and has no quantity.",
    "Cancel the order instead."
  ),
  EcInvalidPriceScale: undefined,
  EcOthers: undefined,
  EcDuplicatedClOrdId: undefined,
  EcOrigClOrdIdDoesNotExist: undefined,
  EcTooLateToCancel: undefined,
  EcLimitOrderInvalidPrice: undefined,
  EcMarketOrderCannotBePostOnly: undefined,
  EcQtyCannotBeZero: undefined,
  EcReachMaxTradeNum: undefined,
  EcOrderNotExist: undefined,
  EcPositionInLiquidation: undefined,
  EcOrderVersionMismatch: undefined
}
