/** Random unified calls with random arguments: each succeeds, or fails with an error class of CCXT. */
import { pick, type Random } from "../harness/Random.ts"
import type { Any } from "./Ccxt.ts"
import { SYMBOL } from "./Session.ts"

/** Time limit of a call, in ms: a `watch` method without an event does not end. */
const CALL_MS = 500

const VALUES: ReadonlyArray<unknown> = [
  SYMBOL,
  SYMBOL,
  "ETH/USDC:USDC",
  "NO/SUCH",
  "BTC-USDC",
  "USDC",
  "buy",
  "sell",
  "limit",
  "market",
  "cross",
  "isolated",
  "1m",
  "1h",
  "00000000-0000-7000-8000-000000000000",
  "",
  "🦊",
  "x".repeat(300),
  "60000",
  "1e5",
  "NaN",
  0,
  1,
  5,
  0.01,
  -1,
  1e21,
  1e-9,
  Number.NaN,
  Infinity,
  2 ** 53,
  1795412202604,
  null,
  undefined,
  true,
  [],
  [SYMBOL],
  [1, null],
  {},
  { clientOrderId: "a" },
  { triggerPrice: 61000 },
  { stopLossPrice: "x" },
  { takeProfit: {} },
  { sub_account_address: "0x1" },
  { until: 5 },
  { trigger: true },
  { cursor: "abc" }
]

/** Calls a random one of these methods so many times; returns the errors that are not of CCXT, and counts. */
export const fuzz = async (ccxt: Any, exchange: Any, methods: ReadonlyArray<string>, calls: number, next: Random) => {
  const foreign: Array<string> = []
  const counts = { answered: 0, refused: 0, waiting: 0 }
  const kinds = new Map<string, number>()
  for (let i = 0; i < calls; i++) {
    const name = pick(next, methods)
    // many calls have their symbol and little else, so that they reach the gateway
    const args = Array.from({ length: Math.floor(next() ** 2 * 7) }, (_, place) =>
      place === 0 && next() < 0.6 ? SYMBOL : pick(next, VALUES)
    )
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<"waiting">((resolve) => (timer = setTimeout(resolve, CALL_MS, "waiting")))
    const call = (async () => exchange[name](...args))()
    call.catch(() => {}) // a late one is nobody's any more
    try {
      counts[(await Promise.race([call, late])) === "waiting" ? "waiting" : "answered"]++
    } catch (error) {
      counts.refused++
      const kind = error instanceof Error ? error.constructor.name : typeof error
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      if (!(error instanceof ccxt.BaseError)) foreign.push(`${name}(${JSON.stringify(args)}): ${String(error)}`)
    } finally {
      clearTimeout(timer)
    }
  }
  return { foreign, ...counts, kinds: Object.fromEntries(kinds) }
}
