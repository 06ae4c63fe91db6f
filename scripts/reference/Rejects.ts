/**
 * Why an order that was acknowledged is `Rejected`, or an amend changes nothing: `reject_reason`, with its cause and cure.
 *
 * `undefined`: the embedded backend never says it; the word is kept for others.
 * Source: docs/contract/conventions.md#enumerations, docs/contract/orders.md#refusals.
 */
import type { RejectReason } from "../../src/domain/Enumerations.ts"
import type { Cure } from "./Cures.ts"

const because = (cause: string, cure: string): Cure => ({ cause, cure })

export const rejects: Readonly<Record<RejectReason, Cure | undefined>> = {
  EcNoError: because("Nothing was refused.", "Nothing."),
  EcNoImmediateQtyToFill: because(
    "An IOC or Market order found nobody within its price.",
    "Look at the book; a Market order goes no farther than the price band."
  ),
  EcNoEnoughQtyToFill: because("The book could not fill an FOK order whole.", "Ask for less, or use IOC."),
  EcPostOnlyWillTakeLiquidity: because(
    "A post-only order would have met another one at once. It is never repriced.",
    "Quote farther from the other side."
  ),
  EcBySelfMatch: because(
    "The order met one of your own; `smp_type` says which was canceled.",
    "Cancel your other side first."
  ),
  EcReachRiskPriceLimit: because(
    "The price lies outside the market's `price_band` around the mark.",
    "Buy lower, sell higher, or wait for the mark."
  ),
  EcReachRiskLimit: because(
    "Position and orders together would go beyond the last risk tier.",
    "See `/market/risk-limit`; close or cancel something."
  ),
  EcReachMaxOrderNum: because(
    "Too many orders are open: of the sub-account in the market (`max_open_orders`, `max_conditional_orders`), or of the exchange (`OPEN_ORDERS_MAX`), of which one user has at most 1 % while more than 80 % are taken.",
    "Cancel some."
  ),
  EcInsufficientBalance: because(
    "The margin for the order was not there at its turn.",
    "Read `available_balance`; lower the quantity, raise the leverage or add money."
  ),
  EcReduceOnlyNoPosition: because("There was no position to reduce.", "Nothing, where an exit was faster."),
  EcReduceOnlySameSide: because("The order would have enlarged the position.", "Turn its side."),
  EcInvalidSymbolStatus: because(
    "The market takes reduce-only orders only.",
    "Close what you have; see `status` of the instrument."
  ),
  EcTriggerAlreadyMet: because(
    "The reference price was at or beyond the trigger already; or, of a Market order, at or beyond that of an attached exit, which `reject_message` names.",
    "Send it without a trigger; set exits on their own sides of the reference."
  ),
  EcInvalidQty: because(
    "An amend asked for no more than is filled, or for a quantity of an order that closes a whole position.",
    "Cancel the order in place of it."
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
