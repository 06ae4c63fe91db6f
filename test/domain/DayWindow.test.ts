import { assert, it } from "@effect/vitest"
import * as FastCheck from "fast-check"
import { flat } from "../../src/domain/Candles.ts"
import { DayWindow } from "../../src/domain/DayWindow.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import type { Candle } from "../../src/domain/Market.ts"
import { DAY_MS, MINUTE_MS } from "../../src/domain/Time.ts"

/** A candle after one more trade. */
const traded = (candle: Candle, price: number, qty: number): Candle => ({
  ...candle,
  high: String(Math.max(Number(candle.high), price)),
  low: String(Math.min(Number(candle.low), price)),
  close: String(price),
  volume: String(Number(candle.volume) + qty),
  turnover: String(Number(candle.turnover) + qty * price)
})

/** The numbers of all candles, looked through from end to end. */
const recounted = (candles: ReadonlyArray<Candle>, now: number, last: Decimal.Scaled) => {
  const isGone = ({ start_time }: Candle) => start_time + MINUTE_MS <= now - DAY_MS
  const [gone, kept] = [candles.filter(isGone), candles.filter((each) => !isGone(each))]
  const of = (field: "high" | "low" | "volume" | "turnover") => kept.map((each) => Decimal.parse(each[field]))
  const sum = (values: ReadonlyArray<Decimal.Scaled>) => values.reduce((a, b) => a + b, 0n)
  const before = gone.at(-1)?.close ?? kept[0]?.open
  return {
    previous: before === undefined ? last : Decimal.parse(before),
    high: kept.length === 0 ? last : of("high").reduce(Decimal.max),
    low: kept.length === 0 ? last : of("low").reduce(Decimal.min),
    volume: sum(of("volume")),
    turnover: sum(of("turnover"))
  }
}

/** Minutes since the last trade, its price and its quantity. */
const trade = FastCheck.tuple(
  FastCheck.oneof(
    FastCheck.constant(0),
    FastCheck.integer({ min: 1, max: 5 }),
    FastCheck.integer({ min: 1, max: 900 })
  ),
  FastCheck.integer({ min: 1, max: 9 }),
  FastCheck.integer({ min: 1, max: 9 })
)

it("the window has the numbers that its minutes give, however they come, change and go", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.array(trade, { maxLength: 40 }), (trades) => {
      const window = new DayWindow()
      const candles: Array<Candle> = []
      const last = Decimal.parse("7")
      let minute = 30_000_000
      assert.deepStrictEqual(window.numbers(last), recounted(candles, 0, last))
      for (const [minutes, price, qty] of trades) {
        minute += minutes
        const open = minutes === 0 ? candles.pop() : undefined
        const next = traded(open ?? flat("1", minute * MINUTE_MS, String(price), false), price, qty)
        candles.push(next)
        window.put(next)
        window.advance(minute * MINUTE_MS)
        assert.deepStrictEqual(window.numbers(last), recounted(candles, minute * MINUTE_MS, last))
      }
      const later = minute * MINUTE_MS + DAY_MS + MINUTE_MS
      assert.strictEqual(window.advance(later), candles.length > 0)
      assert.isFalse(window.advance(later))
      assert.deepStrictEqual(window.numbers(last), recounted(candles, later, last))
    })
  )
})

it("the high and the low leave the window each by itself", () => {
  const at = (minute: number, price: number): Candle => flat("1", minute * MINUTE_MS, String(price), true)
  const extremes = (prices: ReadonlyArray<number>) => {
    const window = new DayWindow()
    for (const [i, price] of prices.entries()) window.put(at(i, price))
    window.numbers(0n)
    // the first minute leaves
    window.advance(DAY_MS + MINUTE_MS)
    const { high, low } = window.numbers(0n)
    return [Decimal.format(high), Decimal.format(low)]
  }
  assert.deepStrictEqual(extremes([1, 5, 3]), ["5", "3"], "the low leaves")
  assert.deepStrictEqual(extremes([5, 1, 3]), ["3", "1"], "the high leaves")
  assert.deepStrictEqual(extremes([3, 1, 5]), ["5", "1"], "neither leaves")
})
