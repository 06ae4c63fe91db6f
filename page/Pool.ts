/** The insurance pool of the market and the state of auto-deleveraging. */
import { fact, h, place, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import type { Market } from "./Market.ts"

export const mount = (market: Market): void => {
  const equity = fact("Equity", "Cash plus positions at the mark price")
  const result = fact("Realised PnL", "Realised PnL of the pool since the start")
  const holds = fact("Positions", "Positions taken over and not sold yet")
  const adl = fact("Auto-deleveraging", "Whether liquidated positions are closed against profitable positions")
  const ratio = fact("PnL ratio", "PnL of the pool relative to its 8-hour high")
  const facts = [equity, result, holds, adl, ratio]
  place("pool").append(h("h2", {}, "Insurance pool"), h("dl", {}, ...facts.map(({ element }) => element)))
  drawn([market.pool, market.alert, market.instrument], () => {
    const [pool, alert] = [market.pool.value, market.alert.value]
    setText(equity.value, pool === undefined ? "–" : Format.money(pool.equity))
    setText(result.value, pool === undefined ? "–" : Format.gain(pool.realized_pnl_cum))
    const held = pool?.inventory.map(
      ({ side, size, symbol }) => `${side === "Buy" ? "long" : "short"} ${size} ${symbol}`
    )
    setText(holds.value, held === undefined ? "–" : held.length === 0 ? "none" : held.join(", "))
    const state = alert ?? pool
    const isActive = state !== undefined && state.adl_mode !== "Inactive"
    const why = state === undefined || state.adl_trigger_reason === "NoTrigger" ? "" : ` (${state.adl_trigger_reason})`
    setText(adl.value, state === undefined ? "–" : `${state.adl_mode}${why}`)
    setClass(adl.value, "warning", isActive)
    setText(ratio.value, state === undefined ? "–" : Format.percent(state.latest_pnl_ratio, 2))
  })
}
