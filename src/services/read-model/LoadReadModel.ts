/** Reads the state from which the projector resumes after a start. */
import { Effect } from "effect"
import { DAY_MS, MINUTE_MS } from "../../domain/Time.ts"
import { History, TRADES_KEPT } from "../History.ts"

/** Candles of one minute read per market: the last day and a reserve. */
const MINUTES_READ = 1_500

/** Selects the last record of a market. */
const newest = (symbol: string) => ({ symbol, start_time: undefined, end_time: undefined, limit: 1 })

/** The read model on one consistent snapshot, because another gateway may be writing. */
export const loadReadModel = Effect.gen(function* () {
  const history = yield* History
  return yield* history.moment(
    Effect.gen(function* () {
      const [position, heads, candles, instruments, ledger] = yield* Effect.all([
        history.position,
        history.streamHeads,
        history.lastCandles,
        history.instruments,
        history.ledger
      ])
      const traded = candles.filter(({ kind }) => kind === "trade")
      const symbols = new Set([...instruments, ...traded].map(({ symbol }) => symbol))
      const dayStart = (position?.ts_ms ?? 0) - DAY_MS - MINUTE_MS
      // after a gap in the stream, stored pools and alerts can be outdated, so they are read from the backend
      const isWhole = (position?.began ?? 0) === 0
      const starts = yield* Effect.forEach([...symbols], (symbol) => {
        const minute = { kind: "trade", symbol, interval: "1" } as const
        return Effect.all({
          symbol: Effect.succeed(symbol),
          instrument: Effect.succeed(instruments.find((each) => each.symbol === symbol)),
          trades: history.trades(symbol, TRADES_KEPT),
          candles: Effect.succeed(traded.find((each) => each.symbol === symbol)?.last ?? []),
          minutes: Effect.zipWith(
            history.candles({ ...minute, start: dayStart, end: Number.MAX_SAFE_INTEGER, limit: MINUTES_READ }),
            history.candles({ ...minute, start: 0, end: dayStart, limit: 1 }),
            (day, before) => [...day, ...before]
          ),
          pool: isWhole ? Effect.map(history.pools(newest(symbol)), ([pool]) => pool) : Effect.undefined,
          alert: isWhole ? Effect.map(history.adlAlerts(newest(symbol)), ([alert]) => alert) : Effect.undefined
        })
      })
      return { position, heads, candles, ledger, starts }
    })
  )
})
