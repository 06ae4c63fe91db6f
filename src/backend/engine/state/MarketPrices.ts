/** Sets the index and the mark of a market, together with the values derived from them. */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import type { MarketState } from "./State.ts"

export const setIndex = (market: MarketState, price: Decimal.Scaled): void => {
  market.indexPrice = price
  market.indexText = Decimal.format(price)
  market.indexTicks = Grid.floor(market.rules.price, price)
}

/**
 * Sets the mark, and the price band that follows from it. Source: docs/contract/orders.md#price-band, #market-orders.
 */
export const setMark = (market: MarketState, ticks: number): void => {
  const { rules, band } = market
  market.markTicks = ticks
  market.markPrice = Grid.scaled(rules.price, ticks)
  market.markText = Grid.text(rules.price, ticks)
  const buy = Number(Decimal.divide(BigInt(ticks) * (Decimal.ONE + band), Decimal.ONE, "down"))
  const sell = Number(Decimal.divide(BigInt(ticks) * (Decimal.ONE - band), Decimal.ONE, "up"))
  market.bandBuyTicks = Math.min(buy, rules.maxTicks)
  market.bandSellTicks = Math.max(sell, rules.minTicks)
}
