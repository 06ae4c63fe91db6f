/**
 * Trading fees: value × rate, at 18 places, against the account. Source: docs/contract/conventions.md#decimals,
 * docs/contract/exchange.md#matching.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import type { MarketState } from "../state/State.ts"

/** The signed fee: a debit is rounded away from zero, a rebate toward it. */
export const feeOf = (market: MarketState, value: Decimal.Scaled, isMaker: boolean): Decimal.Scaled =>
  Decimal.mul(value, isMaker ? market.makerFee : market.takerFee, "up")
