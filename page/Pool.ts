/** The insurance pool of the market, and whether positions are being deleveraged. */
import { fact, h, place, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import type { Market } from "./Market.ts"

export const mount = (market: Market): void => {
  const equity = fact("Equity", "Cash, and what it holds at the mark price")
  const result = fact("Result", "All results of the pool since the start")
  const holds = fact("Holds", "What it took over and has not sold yet")
  const adl = fact("Deleveraging", "Whether positions of this market are being closed against profitable ones")
  const ratio = fact("Result ratio", "Result of the pool against its best of 8 hours")
  const facts = [equity, result, holds, adl, ratio]
  place("pool").append(h("h2", {}, "Insurance pool"), h("dl", {}, ...facts.map(({ element }) => element)))
  drawn([market.pool, market.alert, market.instrument], () => {
    const [pool, alert] = [market.pool.value, market.alert.value]
    setText(equity.value, pool === undefined ? "–" : Format.money(pool.equity))
    setText(result.value, pool === undefined ? "–" : Format.gain(pool.realized_pnl_cum))
    const held = pool?.inventory.map(
      ({ side, size, symbol }) => `${side === "Buy" ? "long" : "short"} ${size} ${symbol}`
    )
    setText(holds.value, held === undefined ? "–" : held.length === 0 ? "nothing" : held.join(", "))
    const state = alert ?? pool
    const isActive = state !== undefined && state.adl_mode !== "Inactive"
    const why = state === undefined || state.adl_trigger_reason === "NoTrigger" ? "" : ` (${state.adl_trigger_reason})`
    setText(adl.value, state === undefined ? "–" : `${state.adl_mode}${why}`)
    setClass(adl.value, "warning", isActive)
    setText(ratio.value, state === undefined ? "–" : Format.percent(state.latest_pnl_ratio, 2))
  })
}
