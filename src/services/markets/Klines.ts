/**
 * Policy: candles as the API lists them: newest first, without gaps, including the open one.
 * Source: docs/contract/rest-market.md.
 *
 * Time is that of the engine, so a candle is reported as closed only when it can no longer change. Candles of mark and
 * index from before the recorded ones come from the referee; while it is unavailable, the list ends with the recorded ones.
 */
import { Context, Effect, Layer } from "effect"
import { fill } from "../../domain/Candles.ts"
import type { Interval } from "../../domain/Enumerations.ts"
import type { Candle } from "../../domain/Market.ts"
import type { CandleKind } from "../../domain/Projection.ts"
import type { DomainError } from "../DomainError.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import { startsAfter } from "../operations/Paging.ts"
import { Referee } from "../Referee.ts"
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
  {
    /** Fails where the given start is after the given end. A start after now has no candles yet. */
    readonly list: (
      query: KlineQuery
    ) => Effect.Effect<ReadonlyArray<Candle>, DomainError<"OutOfRange"> | HistoryUnavailable>
  }
>()("gateway/services/Klines") {
  static readonly layer: Layer.Layer<Klines, never, History | MarketView | Referee> = Layer.effect(
    Klines,
    Effect.gen(function* () {
      const history = yield* History
      const view = yield* MarketView
      const referee = yield* Referee
      /** Candles of the index before the recorded ones: without trades, mark and index are equal. */
      const before = (recorded: ReadonlyArray<Candle>, query: Parameters<Referee["Service"]["indexCandles"]>[0]) => {
        const oldest = recorded.at(-1)?.start_time ?? query.end
        const missing = query.limit - recorded.length
        return missing <= 0 || oldest <= query.start
          ? Effect.succeed([])
          : Effect.orElseSucceed(
              referee.indexCandles({ ...query, end: oldest, limit: missing }),
              (): ReadonlyArray<Candle> => []
            )
      }
      return Klines.of({
        list: ({ kind, symbol, interval, start_time, end_time, limit }) => {
          if (start_time !== undefined && end_time !== undefined && start_time > end_time) {
            return Effect.fail(startsAfter(end_time))
          }
          const now = view.now()
          const start = start_time ?? 0
          const end = end_time ?? now + 1
          if (start >= end) return Effect.succeed([])
          return Effect.gen(function* () {
            // one more than the limit: the oldest gap repeats the close before it
            const recorded = yield* history.candles({ kind, symbol, interval, start: 0, end, limit: limit + 1 })
            const earlier = kind === "trade" ? [] : yield* before(recorded, { symbol, interval, start, end, limit })
            return fill([...recorded, ...earlier], { interval, start, end, now, limit })
          })
        }
      })
    })
  )
}
