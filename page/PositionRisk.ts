/** What a position is worth now, and how near its liquidation is, by the newest mark price. Values are decimals scaled by 10^18. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { Scaled } from "../src/domain/Decimal.ts"
import type { Position } from "../src/domain/Position.ts"
import type { BalanceRecord } from "../src/ws/api/TopicData.ts"

/** Newest mark price of a market, as text; `undefined`: not known yet. */
export type MarkOf = (symbol: string) => string | undefined

const sizeOf = ({ side, size }: Position): Scaled => (side === "Sell" ? -Decimal.parse(size) : Decimal.parse(size))

/** Unrealised PnL at the newest mark price: that of the record, plus the size times the move of the mark since. */
export const pnlNow = (position: Position, mark: string | undefined): Scaled => {
  const recorded = Decimal.parse(position.unrealised_pnl)
  if (mark === undefined) return recorded
  return recorded + Decimal.mul(sizeOf(position), Decimal.parse(mark) - Decimal.parse(position.mark_price), "down")
}

/** Return on the initial margin at the entry: 0.1 is 10 %. */
export const roeNow = (position: Position, pnl: Scaled): Scaled => {
  const value = Decimal.mul(Decimal.parse(position.size), Decimal.parse(position.avg_price), "up")
  return value === 0n ? 0n : Decimal.divide(pnl * Decimal.parse(position.leverage), value, "down")
}

const isIsolated = ({ margin_mode }: Position): boolean => margin_mode === "Isolated"

/** Equity that an isolated position has of its own. */
const ownEquity = (position: Position, mark: string | undefined): Scaled =>
  Decimal.parse(position.isolated_margin ?? "0") + pnlNow(position, mark)

/**
 * Maintenance margin divided by the equity that backs the position: that of the position (isolated), or of all cross positions. 1 is
 * the liquidation. `undefined`: the balance is not known yet.
 */
export const marginRatio = (
  position: Position,
  positions: ReadonlyArray<Position>,
  balance: BalanceRecord | undefined,
  markOf: MarkOf
): Scaled | undefined => {
  if (isIsolated(position))
    return ratio(Decimal.parse(position.position_mm), ownEquity(position, markOf(position.symbol)))
  if (balance === undefined) return undefined
  let [equity, maintenance] = [Decimal.parse(balance.wallet_balance), 0n]
  for (const each of positions) {
    if (isIsolated(each)) continue
    equity += pnlNow(each, markOf(each.symbol))
    maintenance += Decimal.parse(each.position_mm)
  }
  return ratio(maintenance, equity)
}

const ratio = (maintenance: Scaled, equity: Scaled): Scaled =>
  equity <= 0n ? Decimal.ONE : Decimal.min(Decimal.ONE, Decimal.div(maintenance, equity, "up"))

/** Part of the way from the entry to the liquidation price that the mark price has gone, in percent: 0 to 100. */
export const wayToLiquidation = (position: Position, mark: string | undefined): number => {
  if (position.liq_price === "") return 0
  const [entry, end] = [Decimal.parse(position.avg_price), Decimal.parse(position.liq_price)]
  const at = Decimal.parse(mark ?? position.mark_price)
  const isLong = position.side === "Buy"
  const [way, gone] = isLong ? [entry - end, entry - at] : [end - entry, at - entry]
  // after losses elsewhere the liquidation price can be beyond the entry: only the rest of the way counts then
  if (way <= 0n) return (isLong ? at <= end : at >= end) ? 100 : 0
  return Number(Decimal.max(0n, Decimal.min(100n, (gone * 100n) / way)))
}

export type Danger = "calm" | "watch" | "danger"

/** Ratios from which the margin ratio is amber and red, in percent. */
export const WATCH_PERCENT = 50
export const DANGER_PERCENT = 80

/** Colour of a margin ratio, given the way to the liquidation too. */
export const dangerOf = (marginPart: Scaled | undefined, wayPercent: number): Danger => {
  const percent = Math.max(wayPercent, marginPart === undefined ? 0 : Number((marginPart * 100n) / Decimal.ONE))
  return percent >= DANGER_PERCENT ? "danger" : percent >= WATCH_PERCENT ? "watch" : "calm"
}
