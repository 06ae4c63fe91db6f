import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { indexCandle, indexCandles } from "../../../src/backend/engine/referee/IndexCandles.ts"
import { simulatedIndex } from "../../../src/backend/engine/referee/Prices.ts"
import { bucketEnd, bucketStart, intervals } from "../../../src/domain/Candles.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/domain/Time.ts"
import { Bench, BTC } from "../Bench.ts"

const ETH = "ETH-USDC"

const stage = (indexSource: "simulated" | "manual" = "simulated") => {
  const bench = new Bench({ indexSource })
  bench.tick()
  const market = (symbol: string) => bench.state.marketOf.get(symbol)!
  return { bench, market, range: { start_ms: 0, end_ms: bench.now + 1, limit: 0 } as const }
}

describe("candles of the index before the start", () => {
  it("have the prices of every second", () => {
    const { bench, market } = stage()
    for (const [symbol, interval, back] of [
      [BTC, "1", 0],
      [BTC, "1", 7],
      [ETH, "3", 1],
      [BTC, "60", 2],
      [ETH, "240", 1]
    ] as const) {
      const { indexBase, rules } = market(symbol)
      let start = bucketStart(interval, bench.now)
      for (let i = 0; i < back; i++) start = bucketStart(interval, start - 1)
      const prices: Array<bigint> = []
      for (let at = start; at < bucketEnd(interval, start); at += 1000)
        prices.push(simulatedIndex(indexBase, rules.price.step, at / 1000))
      const text = (price: bigint) => Decimal.format(price)
      assert.deepStrictEqual(indexCandle(market(symbol), interval, start), {
        start_ms: start,
        open: text(prices[0]!),
        high: text(prices.reduce(Decimal.max)),
        low: text(prices.reduce(Decimal.min)),
        close: text(prices.at(-1)!)
      })
    }
  })

  it("have the highest second of each minute, whether the index rises or falls", () => {
    const { bench, market } = stage()
    const { indexBase, rules } = market(BTC)
    let start = bucketStart("1", bench.now)
    for (let i = 0; i < 200; i++) {
      start = bucketStart("1", start - 1)
      const prices = Array.from({ length: 60 }, (_, second) =>
        simulatedIndex(indexBase, rules.price.step, start / 1000 + second)
      )
      const { high, low } = indexCandle(market(BTC), "1", start)
      assert.deepStrictEqual([high, low], [prices.reduce(Decimal.max), prices.reduce(Decimal.min)].map(Decimal.format))
    }
  })

  it("are closed, contiguous and at most 30 days old", () => {
    const { bench, market, range } = stage()
    const hours = indexCandles(bench.state, market(BTC), { ...range, interval: "60" })
    assert.strictEqual(hours.length, 30 * 24 - (bench.now % HOUR_MS === 0 ? 0 : 1))
    hours.forEach(({ start_ms }, i) => assert.strictEqual(start_ms, hours[0]!.start_ms - i * HOUR_MS))
    assert.isAtMost(bucketEnd("60", hours[0]!.start_ms), bench.now)
    assert.isAtLeast(hours.at(-1)!.start_ms, bench.now - 30 * DAY_MS - 1000)
  })

  it("keep to the range and the limit", () => {
    const { bench, market, range } = stage()
    const end_ms = bucketStart("1", bench.now) - 10 * MINUTE_MS
    const starts = indexCandles(bench.state, market(BTC), {
      ...range,
      interval: "1",
      start_ms: end_ms - 5 * MINUTE_MS,
      end_ms
    }).map(({ start_ms }) => (end_ms - start_ms) / MINUTE_MS)
    assert.deepStrictEqual(starts, [1, 2, 3, 4, 5])
    assert.strictEqual(indexCandles(bench.state, market(BTC), { ...range, interval: "1", limit: 3 }).length, 3)
    for (const limit of [0, 1001, 5000])
      assert.strictEqual(indexCandles(bench.state, market(BTC), { ...range, interval: "1", limit }).length, 1001)
  })

  it("do not exist where the index is set by hand", () => {
    const { bench, market, range } = stage("manual")
    assert.isEmpty(indexCandles(bench.state, market(BTC), { ...range, interval: "60" }))
  })
  it("are computed once, because a closed candle never changes", () => {
    const { bench, market, range } = stage()
    const read = (interval: (typeof intervals)[number]) =>
      indexCandles(bench.state, market(BTC), { ...range, interval, limit: 1000 })
    for (const interval of intervals) {
      const first = read(interval)
      read(interval).forEach((candle, i) => assert.strictEqual(candle, first[i]))
    }
  })

  it("equal computed ones in every range, whichever was read before", () => {
    const { bench, market } = stage()
    const minutes = (max: number) => fc.integer({ min: 0, max }).map((count) => count * MINUTE_MS)
    const query = fc.record({
      symbol: fc.constantFrom(BTC, ETH),
      interval: fc.constantFrom(...intervals),
      back: minutes(31 * 24 * 60),
      length: fc.oneof(minutes(2_000), fc.constant(31 * DAY_MS)),
      limit: fc.integer({ min: 0, max: 1001 })
    })
    fc.assert(
      fc.property(fc.array(query, { minLength: 1, maxLength: 6, size: "max" }), (queries) => {
        for (const { back, interval, length, limit, symbol } of queries) {
          const end_ms = bench.now - back
          const range = { interval, start_ms: end_ms - length, end_ms, limit }
          const candles = indexCandles(bench.state, market(symbol), range)
          assert.deepStrictEqual(
            candles,
            candles.map(({ start_ms }) => indexCandle(market(symbol), interval, start_ms))
          )
        }
      }),
      { numRuns: 50 }
    )
  })
})
