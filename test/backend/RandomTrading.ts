/** Random trading on an engine: orders, closes, moves of the index, deposits, and hours that pass. */
import { MarginMode } from "../../src/proto/gateway/v1/types.ts"
import { HOUR_MS } from "../../src/domain/Time.ts"
import { Bench, BTC, BUY, SELL, type Trader, trader } from "./Bench.ts"
import { pick, random } from "./Invariants.ts"

export const isolate = (bench: Bench, who: Trader, symbol = BTC) =>
  bench.send(who, {
    $case: "set_margin_mode",
    value: { symbol, margin_mode: MarginMode.MARGIN_MODE_ISOLATED, leverage: undefined }
  })

/** Two of the five traders use isolated margin. `after` is called after each step. */
export const randomTrading = (seed: number, steps: number, after: (bench: Bench, step: number) => void = () => {}) => {
  const next = random(seed)
  const bench = new Bench()
  const traders = ["a", "b", "c", "d", "e"].map((name) => trader(name))
  bench.tick()
  bench.index(BTC, "60000")
  for (const who of traders) bench.open(who, String(2000 + Math.floor(next() * 3000)))
  for (const who of traders.slice(0, 2)) isolate(bench, who)
  let index = 60_000
  for (let i = 0; i < steps; i++) {
    const dice = next()
    if (dice < 0.75) {
      bench.place(pick(next, traders), {
        side: next() < 0.5 ? BUY : SELL,
        qty: String((1 + Math.floor(next() * 150)) / 1000),
        ...(next() < 0.2 ? {} : { price: (index * (1 + (next() - 0.5) * 0.01)).toFixed(1) }),
        reduce_only: next() < 0.1
      })
    } else if (dice < 0.8) {
      index *= 1 + (next() - 0.5) * 0.04
      bench.index(BTC, index.toFixed(1))
    } else if (dice < 0.83) bench.deposit(pick(next, traders), String(1 + Math.floor(next() * 900)))
    else bench.tick(Math.floor(next() * 2 * HOUR_MS))
    after(bench, i)
  }
  return { bench, traders }
}
