/** The state from which the projector resumes is read from one moment of the history. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Candle } from "../../../src/domain/Market.ts"
import type { ModelPosition } from "../../../src/domain/Projection.ts"
import { DAY_MS, MINUTE_MS } from "../../../src/domain/Time.ts"
import { History } from "../../../src/services/History.ts"
import { loadReadModel } from "../../../src/services/read-model/LoadReadModel.ts"
import { alert, instrument, pool, START } from "../../../verification/harness/Records.ts"

const BTC = "BTC-USDC"
const ETH = "ETH-USDC"
const OLD = "OLD-USDC"
const at = (start_time: number): Candle => ({ start_time }) as Candle

/** The read model of a history, with the reads that were not of one moment. */
const loaded = (position: ModelPosition | undefined) => {
  let isMoment = false
  const outside: Array<string> = []
  const answer = <A>(name: string, value: A) =>
    Effect.sync(() => {
      if (!isMoment) outside.push(name)
      return value
    })
  const last = (kind: "trade" | "mark", symbol: string) => ({ kind, symbol, last: [{ interval: "1", of: symbol }] })
  const layer = Layer.mock(History)({
    moment: (read) =>
      Effect.suspend(() => {
        isMoment = true
        return Effect.ensuring(
          read,
          Effect.sync(() => void (isMoment = false))
        )
      }),
    position: answer("position", position),
    streamHeads: answer("heads", []),
    lastCandles: answer("candles", [last("mark", ETH), last("trade", BTC), last("trade", OLD)] as never),
    instruments: answer("instruments", [instrument({ symbol: BTC }), instrument({ symbol: ETH })]),
    ledger: answer("ledger", undefined as never),
    trades: () => answer("trades", []),
    // the minutes of the last day, and the one before them
    candles: ({ end, start }) => answer("candles", [at(start === 0 ? end - 1 : start)]),
    pools: ({ symbol = "" }) => answer("pools", [pool({ pool_id: symbol })]),
    adlAlerts: ({ symbol = "" }) => answer("alerts", [alert({ pool_id: symbol })])
  })
  return Effect.map(Effect.provide(loadReadModel, layer), ({ starts }) => ({ starts, outside }))
}

describe("a start of the projector", () => {
  it.effect("reads each market that is listed or was traded, in one moment", () =>
    Effect.gen(function* () {
      const { outside, starts } = yield* loaded({ epoch: "e", seq: 9, began: 0, ts_ms: START })
      assert.deepStrictEqual(outside, [])
      const day = START - DAY_MS - MINUTE_MS
      assert.deepStrictEqual(
        starts.map(({ alert, candles, instrument, minutes, pool, symbol }) => [
          symbol,
          instrument?.symbol,
          candles.length,
          minutes.map(({ start_time }) => start_time),
          pool?.pool_id,
          alert?.pool_id
        ]),
        [
          [BTC, BTC, 1, [day, day - 1], BTC, BTC],
          [ETH, ETH, 0, [day, day - 1], ETH, ETH],
          [OLD, undefined, 1, [day, day - 1], OLD, OLD]
        ]
      )
    })
  )

  it.effect("leaves pools and alerts to the backend after a gap in the stream", () =>
    Effect.gen(function* () {
      const { starts } = yield* loaded({ epoch: "e", seq: 49, began: 40, ts_ms: START })
      assert.deepStrictEqual(
        starts.map(({ alert, pool }) => [pool, alert]),
        [
          [undefined, undefined],
          [undefined, undefined],
          [undefined, undefined]
        ]
      )
    })
  )
})
