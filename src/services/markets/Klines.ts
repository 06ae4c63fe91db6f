/**
 * Policy: candles as the API lists them: newest first, without gaps, including the open one.
 * Source: docs/contract/rest-market.md.
 *
 * Time is that of the engine, so a candle is reported as closed only when it can no longer change.
 */
import { Context, Effect, Layer } from "effect"
import { fill } from "../../domain/Candles.ts"
import type { Interval } from "../../domain/Enumerations.ts"
import type { Candle } from "../../domain/Market.ts"
import type { CandleKind } from "../../domain/Projection.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { MarketView } from "./MarketView.ts"

export interface KlineQuery {
  readonly kind: CandleKind
  readonly symbol: string
  readonly interval: Interval
  /** Start of the oldest candle, inclusive; `undefined`: `limit` bounds the list. */
  readonly start_time: number | undefined
  /** Candles start before this time; `undefined`: now. */
  readonly end_time: number | undefined
  readonly limit: number
}

export class Klines extends Context.Service<
  Klines,
  { readonly list: (query: KlineQuery) => Effect.Effect<ReadonlyArray<Candle>, HistoryUnavailable> }
>()("gateway/services/Klines") {
  static readonly layer: Layer.Layer<Klines, never, History | MarketView> = Layer.effect(
    Klines,
    Effect.gen(function* () {
      const history = yield* History
      const view = yield* MarketView
      return Klines.of({
        list: ({ kind, symbol, interval, start_time, end_time, limit }) => {
          const now = view.now()
          const start = start_time ?? 0
          const end = end_time ?? now + 1
          if (start >= end) return Effect.succeed([])
          // one more than the limit: the oldest gap repeats the close before it
          return Effect.map(history.candles({ kind, symbol, interval, start: 0, end, limit: limit + 1 }), (candles) =>
            fill(candles, { interval, start, end, now, limit })
          )
        }
      })
    })
  )
}
