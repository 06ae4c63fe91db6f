import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "fast-check"
import * as Candles from "../../src/domain/Candles.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import type { Interval } from "../../src/domain/Enumerations.ts"
import type { Candle } from "../../src/domain/Market.ts"
import { DAY_MS, MINUTE_MS } from "../../src/domain/Time.ts"

const at = (text: string) => Date.parse(text)

describe("Candles", () => {
  it("starts buckets in UTC: weeks on Monday, months on their first day", () => {
    const moment = at("2026-03-04T13:47:58.123Z")
    const starts: Record<Interval, string> = {
      "1": "2026-03-04T13:47:00.000Z",
      "3": "2026-03-04T13:45:00.000Z",
      "5": "2026-03-04T13:45:00.000Z",
      "15": "2026-03-04T13:45:00.000Z",
      "30": "2026-03-04T13:30:00.000Z",
      "60": "2026-03-04T13:00:00.000Z",
      "120": "2026-03-04T12:00:00.000Z",
      "240": "2026-03-04T12:00:00.000Z",
      "360": "2026-03-04T12:00:00.000Z",
      "720": "2026-03-04T12:00:00.000Z",
      D: "2026-03-04T00:00:00.000Z",
      W: "2026-03-02T00:00:00.000Z",
      M: "2026-03-01T00:00:00.000Z"
    }
    for (const interval of Candles.intervals) {
      assert.strictEqual(new Date(Candles.bucketStart(interval, moment)).toISOString(), starts[interval], interval)
    }
    assert.strictEqual(Candles.bucketEnd("M", at("2024-02-01T00:00:00Z")), at("2024-03-01T00:00:00Z"))
    assert.strictEqual(Candles.bucketEnd("M", at("2026-12-01T00:00:00Z")), at("2027-01-01T00:00:00Z"))
    assert.strictEqual(Candles.bucketStart("W", at("1970-01-01T00:00:00Z")), at("1969-12-29T00:00:00Z"))
  })

  it("holds every moment in one bucket of each interval, from its start to its end", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 0, max: 4102444800000 }),
        FastCheck.constantFrom(...Candles.intervals),
        (moment, interval) => {
          const start = Candles.bucketStart(interval, moment)
          const end = Candles.bucketEnd(interval, start)
          assert.isTrue(start <= moment && moment < end)
          assert.strictEqual(Candles.bucketStart(interval, end), end)
          assert.strictEqual(Candles.bucketStart(interval, end - 1), start)
        }
      )
    )
  })

  const trade = FastCheck.record({
    // steps of up to three hours, so that buckets are crossed and skipped
    wait: FastCheck.oneof(
      FastCheck.integer({ min: 0, max: 500 }),
      FastCheck.integer({ min: 0, max: 3 * 60 * MINUTE_MS })
    ),
    price: FastCheck.integer({ min: 1, max: 99 }),
    qty: FastCheck.integer({ min: 1, max: 9 }),
    ask: FastCheck.boolean(),
    tick: FastCheck.boolean()
  })

  it("agrees with candles counted one by one, also after reads and restores", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(trade, { minLength: 1, maxLength: 60 }), (trades) => {
        let now = at("2026-01-30T22:00:00Z")
        const expected = new Map<
          string,
          { o: number; h: number; l: number; c: number; v: number; t: number; n: number }
        >()
        const seen = new Map<string, Candle>()
        let series = new Candles.Series()
        const take = () => {
          const change = series.take()
          for (const { interval, candle } of [...(change?.closed ?? []), ...(change?.last ?? [])]) {
            const key = `${interval}|${candle.start_time}`
            assert.isFalse(seen.get(key)?.confirm === true && !candle.confirm, "a closed candle opened again")
            seen.set(key, candle)
          }
          series = Candles.Series.from(series.last())
        }
        for (const { wait, price, qty, ask, tick } of trades) {
          now += wait
          if (tick) series.advance(now)
          series.trade(now, String(price), String(qty))
          for (const interval of Candles.intervals) {
            const key = `${interval}|${Candles.bucketStart(interval, now)}`
            const c = expected.get(key)
            if (c === undefined) {
              expected.set(key, { o: price, h: price, l: price, c: price, v: qty, t: price * qty, n: 1 })
            } else {
              c.h = Math.max(c.h, price)
              c.l = Math.min(c.l, price)
              c.c = price
              c.v += qty
              c.t += price * qty
              c.n += 1
            }
          }
          if (ask) take()
        }
        series.advance(now + 62 * DAY_MS)
        take()
        assert.strictEqual(seen.size, expected.size)
        for (const [key, e] of expected) {
          const c = seen.get(key)!
          assert.deepStrictEqual(
            [c.open, c.high, c.low, c.close, c.volume, c.turnover, c.trade_count, c.confirm],
            [e.o, e.h, e.l, e.c, e.v, e.t].map((n): unknown => String(n)).concat(e.n, true),
            key
          )
        }
      }),
      { numRuns: 40 }
    )
  })

  it("keeps prices as samples without volume", () => {
    const series = new Candles.Series()
    const start = at("2026-01-01T00:00:00Z")
    series.sample(start, "100.5")
    series.sample(start + 1_000, "101")
    const minute = series.take()!.last.find(({ interval }) => interval === "1")!.candle
    assert.deepStrictEqual(minute, {
      start_time: start,
      end_time: start + MINUTE_MS,
      open: "100.5",
      high: "101",
      low: "100.5",
      close: "101",
      volume: "0",
      turnover: "0",
      trade_count: 0,
      confirm: false
    })
    assert.isUndefined(series.take())
  })

  it("closes a candle whose time is over, and leaves out one from a clock ahead", () => {
    const start = at("2026-01-01T00:00:00Z")
    const candle = (minute: number, close: string, confirm: boolean): Candle => ({
      start_time: start + minute * MINUTE_MS,
      end_time: start + (minute + 1) * MINUTE_MS,
      open: "10",
      high: "12",
      low: "9",
      close,
      volume: "2",
      turnover: "20",
      trade_count: 1,
      confirm
    })
    const candles = [candle(1, "10", true), candle(2, "11", false), candle(4, "99", false)].toReversed()
    const filled = (now: number, limit = 10) =>
      Candles.fill(candles, {
        interval: "1",
        start: start + MINUTE_MS,
        end: start + 60 * MINUTE_MS,
        now,
        limit
      }).map(({ close, confirm, start_time, volume }) => [(start_time - start) / MINUTE_MS, close, volume, confirm])
    const during = start + 3 * MINUTE_MS - 1
    assert.deepStrictEqual(filled(during), [
      [2, "11", "2", false],
      [1, "10", "2", true]
    ])
    assert.deepStrictEqual(filled(during + 1), [
      [3, "11", "0", false],
      [2, "11", "2", true],
      [1, "10", "2", true]
    ])
    assert.deepStrictEqual(filled(during + 1, 2), [
      [3, "11", "0", false],
      [2, "11", "2", true]
    ])
  })

  it("fills gaps with the last close, newest first, and makes nothing up before the first candle", () => {
    const start = at("2026-01-01T00:00:00Z")
    const series = new Candles.Series()
    series.trade(start, "10", "2")
    series.trade(start + 3 * MINUTE_MS, "12", "1")
    series.advance(start + 4 * MINUTE_MS)
    const candles = series
      .take()!
      .closed.filter(({ interval }) => interval === "1")
      .map(({ candle }) => candle)
      .toReversed()
    const filled = Candles.fill(candles, {
      interval: "1",
      start: 0,
      end: start + 60 * MINUTE_MS,
      now: start + 5 * MINUTE_MS + 1,
      limit: 100
    })
    assert.deepStrictEqual(
      filled.map((c) => [(c.start_time - start) / MINUTE_MS, c.open, c.close, c.volume, c.confirm]),
      [
        [5, "12", "12", "0", false],
        [4, "12", "12", "0", true],
        [3, "12", "12", "1", true],
        [2, "10", "10", "0", true],
        [1, "10", "10", "0", true],
        [0, "10", "10", "2", true]
      ]
    )
    assert.deepStrictEqual(
      Candles.fill(candles, {
        interval: "1",
        start: start + 1,
        end: start + 3 * MINUTE_MS,
        now: start + DAY_MS,
        limit: 1
      }).map((c) => c.start_time),
      [start + 2 * MINUTE_MS]
    )
    assert.strictEqual(Decimal.format(Decimal.parse(candles[1]!.turnover)), "20")
  })
})
