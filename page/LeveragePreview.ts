/** What a change of leverage or margin mode does to an account, before it is sent. Values are decimals scaled by 10^18. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import type { MarginMode } from "../src/domain/Enumerations.ts"
import * as Margin from "../src/domain/Margin.ts"
import type { Instrument } from "../src/domain/Market.ts"
import { type AccountState, figuresOf, openOrders, reserved, signedSize } from "./OrderPreview.ts"

export interface LeveragePreview {
  /** Initial margin of the position, and margin of the open orders. */
  readonly positionMargin: Scaled
  readonly orderMargin: Scaled
  readonly availableAfter: Scaled
  /** Largest value of position and orders at this leverage: the limit of the last tier that allows it. */
  readonly valueMax: Scaled
  /** Why the exchange would refuse the change; `undefined`: nothing that is known. */
  readonly refusal: string | undefined
}

/** The largest value that a leverage allows. */
const valueMaxOf = (tiers: Margin.RiskTiers, leverage: Scaled): Scaled =>
  tiers.reduce(
    (most, tier) => (Margin.effectiveLeverage(leverage, tier) < leverage ? most : Decimal.max(most, tier.limit)),
    0n
  )

export const leveragePreview = (
  instrument: Instrument,
  tiers: Margin.RiskTiers,
  state: AccountState,
  leverage: Scaled,
  mode: MarginMode
): LeveragePreview => {
  const held = state.positions.find((each) => each.symbol === instrument.symbol)
  const orders = openOrders(state.orders, instrument.symbol)
  const hasOrders = state.orders.some(({ symbol }) => symbol === instrument.symbol)
  const figures = (at: Scaled) => figuresOf(instrument, tiers, state, signedSize(held), at, orders)
  const [now, then] = [figures(state.leverage), figures(leverage)]
  const change = reserved(then, mode) - reserved(now, state.mode)
  const isLimited = Margin.effectiveLeverage(leverage, tiers[then.exposureTier]!) < leverage
  const refusal = (): string | undefined => {
    if (mode !== state.mode && (held !== undefined || hasOrders))
      return `Close the position and cancel all orders of ${instrument.symbol} to change the margin mode.`
    if (isLimited) return "The position and its orders are too large for this leverage."
    if (change > 0n && change > state.available) return "The available balance does not cover the higher margin."
    const backing =
      held?.isolated_margin === undefined
        ? undefined
        : Decimal.parse(held.isolated_margin) + Decimal.min(0n, Decimal.parse(held.unrealised_pnl))
    return backing !== undefined && backing < then.initialMargin
      ? "The isolated margin does not cover the higher initial margin: add margin first."
      : undefined
  }
  return {
    positionMargin: then.initialMargin,
    orderMargin: then.orderMargin,
    availableAfter: state.available - change,
    valueMax: valueMaxOf(tiers, leverage),
    refusal: refusal()
  }
}
