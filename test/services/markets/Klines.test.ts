import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { Projecting } from "../../../src/domain/Projection.ts"
import { DAY_MS, MINUTE_MS } from "../../../src/domain/Time.ts"
import { History } from "../../../src/services/History.ts"
import { Referee, RefereeUnavailable } from "../../../src/services/Referee.ts"
import { flat } from "../../../src/domain/Candles.ts"
import { type KlineQuery, Klines } from "../../../src/services/markets/Klines.ts"
import { MarketState } from "../../../src/services/markets/MarketState.ts"
import { MarketView } from "../../../src/services/markets/MarketView.ts"
import { body, event, START, symbol } from "../../../verification/harness/Records.ts"

const at = (minutes: number) => START + minutes * MINUTE_MS
const query: KlineQuery = {
  kind: "trade",
  symbol,
  interval: "1",
  start_time: undefined,
  end_time: undefined,
  limit: 200
}

/** Reads of candles of the index. */
let indexReads = 0
/** Time of the engine. */
let now = at(8) + 1_000

/** Trades in minutes 0, 3 and 7; the engine is in minute 8. */
const stage = Klines.layer.pipe(
  Layer.provideMerge(
    Layer.effect(
      MarketView,
      Effect.map(Clock.Clock, (clock) => ({ ...new MarketState(clock).view, now: () => now }))
    )
  ),
  Layer.provideMerge(Layer.fresh(SqliteStores.history)),
  Layer.provideMerge(
    Layer.mock(Referee)({
      indexCandles: ({ end, interval, limit, symbol: of }) =>
        Effect.suspend(() => {
          indexReads++
          return of === symbol
            ? Effect.succeed(
                Array.from({ length: Math.min(limit, 5) }, (_, i) =>
                  flat(interval, end - (i + 1) * MINUTE_MS, "77", true)
                )
              )
            : Effect.fail(new RefereeUnavailable())
        })
    })
  )
)
const seeded = <A, E>(run: (list: Klines["Service"]["list"]) => Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const history = yield* History
    const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
    const events = [
      event(1, body.trades({ timestamp: at(0), price: "10" })),
      event(2, body.trades({ timestamp: at(3), price: "13" })),
      event(3, body.trades({ timestamp: at(7), price: "17" })),
      event(4, body.prices({ ts_ms: at(8) + 1_000, mark_price: "99" }))
    ]
    for (const each of events) yield* history.commit(projecting.next("e1", [each]))
    const klines = yield* Klines
    return yield* run(klines.list)
  }).pipe(Effect.provide(stage))

describe("Klines", () => {
  it.effect("lists every bucket, newest first, with the open one and filled gaps", () =>
    seeded((list) =>
      Effect.gen(function* () {
        const candles = yield* list(query)
        assert.deepStrictEqual(
          candles.map((c) => [(c.start_time - START) / MINUTE_MS, c.close, c.volume, c.confirm]),
          [
            [8, "17", "0", false],
            [7, "17", "0.2", true],
            [6, "13", "0", true],
            [5, "13", "0", true],
            [4, "13", "0", true],
            [3, "13", "0.2", true],
            [2, "10", "0", true],
            [1, "10", "0", true],
            [0, "10", "0.2", true]
          ]
        )
      })
    )
  )

  it.effect("cuts by limit from the newest, and by times: start inclusive, end exclusive", () =>
    seeded((list) =>
      Effect.gen(function* () {
        const starts = (part: Partial<KlineQuery>) =>
          Effect.map(list({ ...query, ...part }), (all) => all.map((c) => (c.start_time - START) / MINUTE_MS))
        assert.deepStrictEqual(yield* starts({ limit: 2 }), [8, 7])
        assert.deepStrictEqual(yield* starts({ start_time: at(2), end_time: at(5) }), [4, 3, 2])
        assert.deepStrictEqual(yield* starts({ start_time: at(2) + 1, end_time: at(5) }), [4, 3])
        assert.deepStrictEqual(yield* starts({ end_time: at(2), limit: 1 }), [1])
        assert.deepStrictEqual(yield* starts({ end_time: at(0) }), [])
        assert.deepStrictEqual(yield* starts({ start_time: at(9) + DAY_MS }), [])
        assert.deepStrictEqual(yield* starts({ start_time: at(5), end_time: at(5) }), [])
        assert.deepStrictEqual(yield* starts({ interval: "M" }), [0])
        assert.deepStrictEqual(yield* starts({ symbol: "ETH-USDC" }), [])
      })
    )
  )

  it.effect("has the candle that begins now", () =>
    seeded((list) =>
      Effect.gen(function* () {
        now = at(9)
        const [newest] = yield* list({ ...query, limit: 1 })
        assert.deepStrictEqual([newest!.start_time, newest!.confirm], [at(9), false])
      })
    ).pipe(Effect.ensuring(Effect.sync(() => void (now = at(8) + 1_000))))
  )

  it.effect("continues marks with the candles of the index before the first recorded one", () =>
    seeded((list) =>
      Effect.gen(function* () {
        const marks = { ...query, kind: "mark" } as const
        const closes = (part: Partial<KlineQuery>) =>
          Effect.map(list({ ...marks, ...part }), (all) =>
            all.map((c) => [(c.start_time - START) / MINUTE_MS, c.close])
          )
        assert.deepStrictEqual(yield* closes({ limit: 3 }), [
          [8, "99"],
          [7, "77"],
          [6, "77"]
        ])
        assert.deepStrictEqual(yield* closes({ start_time: at(7) }), [
          [8, "99"],
          [7, "77"]
        ])
        assert.deepStrictEqual(yield* closes({ end_time: at(5), limit: 2 }), [
          [4, "77"],
          [3, "77"]
        ])
        // without the referee, the recorded ones
        assert.deepStrictEqual(yield* closes({ symbol: "ETH-USDC" }), [])
        const [day] = yield* list({ ...marks, interval: "D" })
        assert.strictEqual(day!.close, "99")
        assert.strictEqual(day!.end_time, START + DAY_MS)
      })
    )
  )

  it.effect("reads no candles of the index where the recorded ones are enough", () =>
    seeded((list) =>
      Effect.gen(function* () {
        const reads = (part: Partial<KlineQuery>) =>
          Effect.suspend(() => {
            const before = indexReads
            return Effect.map(list({ ...query, kind: "mark", ...part }), () => indexReads - before)
          })
        assert.strictEqual(yield* reads({ start_time: at(8) }), 0, "from the first recorded one")
        assert.strictEqual(yield* reads({ start_time: at(8) - 1 }), 1)
        assert.strictEqual(yield* reads({ kind: "trade" }), 0)
      })
    )
  )

  it.effect("refuses a start after the end, and has no candles yet after now", () =>
    seeded((list) =>
      Effect.gen(function* () {
        for (const kind of ["trade", "mark", "index"] as const) {
          const refused = yield* Effect.flip(list({ ...query, kind, start_time: at(5) + 1, end_time: at(5) }))
          assert.strictEqual(refused._tag === "Refused" && refused.reason, "OutOfRange")
          assert.deepStrictEqual(yield* list({ ...query, kind, start_time: at(5), end_time: at(5) }), [])
          assert.deepStrictEqual(yield* list({ ...query, kind, start_time: at(60) }), [])
        }
      })
    )
  )
})
