import { assert, describe, it } from "vitest"
import { CandleStore } from "../../page/CandleStore.ts"
import { reachOf } from "../../page/Depth.ts"
import { groupLevels, ownGroups } from "../../page/Grouping.ts"
import { movingAverage, vwap } from "../../page/Indicators.ts"
import { found } from "../../page/MarketBar.ts"
import type { Candle, PriceCandle } from "../../src/domain/Market.ts"
import { DAY_MS, MINUTE_MS } from "../../src/domain/Time.ts"

/** Market and interval of the bars. */
const OF = "BTC-USDC 1"
const at = (minute: number) => minute * MINUTE_MS
const mark = (minute: number, close: number): PriceCandle => ({
  start_time: at(minute),
  end_time: at(minute + 1),
  open: String(close),
  high: String(close + 1),
  low: String(close - 1),
  close: String(close),
  confirm: true
})
const trades = (minute: number, close: number, count = 1): Candle => ({
  ...mark(minute, close),
  volume: count === 0 ? "0" : "2",
  turnover: String(2 * close),
  trade_count: count
})

describe("the bars of the chart", () => {
  it("are the mark candles where nobody traded, and those of trades elsewhere", () => {
    const store = new CandleStore()
    store.load(OF, [mark(3, 103), mark(2, 102), mark(1, 101)], [trades(3, 203, 0), trades(2, 202)])
    assert.deepStrictEqual(
      store.bars.map(({ close, start }) => [start / MINUTE_MS, close]),
      [
        [1, 101],
        [2, 202],
        [3, 103]
      ]
    )
  })

  it("follow the mark until a trade makes the bar", () => {
    const store = new CandleStore()
    store.load(OF, [mark(1, 100)], [])
    store.mark(OF, at(1), 105)
    assert.deepInclude(store.newest!, { open: 100, high: 105, low: 99, close: 105 })
    store.mark(OF, at(2), 106)
    assert.deepInclude(store.newest!, { start: at(2), open: 106, close: 106 })
    store.trade(OF, trades(2, 300))
    assert.isUndefined(store.mark(OF, at(2), 107))
    assert.deepInclude(store.newest!, { close: 300, volume: 2 })
    assert.isUndefined(store.trade(OF, trades(3, 1, 0)), "a candle without a trade")
    assert.strictEqual(store.bars.length, 2)
  })

  it("take nothing of another market or interval until its candles are loaded", () => {
    const store = new CandleStore()
    store.load(OF, [mark(1, 60_000)], [])
    for (const other of ["ETH-USDC 1", "BTC-USDC 60"]) {
      assert.isUndefined(store.mark(other, at(2), 3_000))
      assert.isUndefined(store.trade(other, trades(2, 3_000)))
    }
    assert.deepStrictEqual(
      store.bars.map(({ close }) => close),
      [60_000]
    )
    store.load("ETH-USDC 1", [mark(1, 3_000)], [])
    assert.isDefined(store.trade("ETH-USDC 1", trades(2, 3_001)))
  })

  it("have the candles that arrive while a request for them is unanswered", () => {
    const store = new CandleStore()
    for (const before of ["", OF]) {
      store.load(before, [mark(1, 100)], [])
      store.expect(OF)
      // one closes after the exchange has read the list, the next one begins; the third is older than the list
      store.trade(OF, trades(2, 202, 7))
      store.trade(OF, trades(3, 203))
      store.trade(OF, trades(1, 201, 2))
      store.trade("ETH-USDC 1", trades(4, 3_000))
      store.load(OF, [mark(2, 102), mark(1, 101)], [trades(2, 192, 6), trades(1, 211, 3)])
      assert.deepStrictEqual(
        store.bars.map(({ close }) => close),
        [211, 202, 203]
      )
    }
  })

  it("take the last trade of a candle after the mark has begun the next one", () => {
    const store = new CandleStore()
    store.load(OF, [mark(2, 100), mark(1, 100)], [])
    store.mark(OF, at(3), 101)
    assert.isDefined(store.trade(OF, trades(2, 300)))
    assert.isUndefined(store.trade(OF, trades(0, 300)), "a candle before all bars")
    assert.deepStrictEqual(
      store.bars.map(({ close }) => close),
      [100, 300, 101]
    )
  })

  it("get older ones in front, each once", () => {
    const store = new CandleStore()
    store.load(OF, [mark(5, 5), mark(4, 4)], [])
    assert.strictEqual(store.prepend([mark(4, 9), mark(3, 3), mark(2, 2)], []), 2)
    assert.deepStrictEqual(
      store.bars.map(({ close }) => close),
      [2, 3, 4, 5]
    )
  })
})

describe("indicators", () => {
  const bars = [10, 20, 30, 40].map((close, i) => ({
    start: i * DAY_MS * 0.4,
    open: close,
    high: close,
    low: close,
    close,
    volume: i === 0 ? 0 : 2,
    turnover: i === 0 ? 0 : close * 2
  }))
  it("average the last closes", () => {
    assert.deepStrictEqual(movingAverage(3)(bars), [undefined, undefined, 20, 30])
  })
  it("weight prices with their volume, from 00:00 UTC on", () => {
    assert.deepStrictEqual(vwap(bars), [undefined, 20, 25, 40])
  })
})

describe("the book", () => {
  it("is grouped so that no price looks better than it is", () => {
    const bids = [
      ["100.9", "1"],
      ["100.1", "2"],
      ["99.9", "4"]
    ] as const
    const asks = [
      ["101.1", "1"],
      ["102", "2"],
      ["102.1", "4"]
    ] as const
    assert.deepStrictEqual(groupLevels(bids, "1", true), [
      ["100", "3"],
      ["99", "4"]
    ])
    assert.deepStrictEqual(groupLevels(asks, "1", false), [
      ["102", "3"],
      ["103", "4"]
    ])
  })
  it("has own orders at their groups, without those that have not triggered", () => {
    const order = { symbol: "BTC-USDC", side: "Buy", order_status: "New" } as const
    const orders = [
      { ...order, price: "100.9" },
      { ...order, side: "Sell", price: "102.1" },
      { ...order, price: "99", order_status: "Untriggered" },
      { ...order, price: "98", symbol: "ETH-USDC" }
    ] as const
    assert.deepStrictEqual([...ownGroups(orders, "BTC-USDC", "1")], ["100", "103"])
  })
  it("is drawn to its outliers, without them", () => {
    assert.strictEqual(reachOf(100, [99, 98, 97, 101, 102, 103]), 3)
    assert.strictEqual(reachOf(100, [99, 98, 97, 101, 102, 103, 10]), 3)
    assert.strictEqual(reachOf(100, [100]), 1)
  })
})

it("the market search puts favourites first", () => {
  const markets = ["BTC-USDC", "DOGE-USDC", "ETH-USDC"].map((symbol) => ({ symbol }))
  const symbols = (text: string, ...favourites: Array<string>) =>
    found(markets, text, new Set(favourites)).map(({ symbol }) => symbol)
  assert.deepStrictEqual(symbols("", "ETH-USDC"), ["ETH-USDC", "BTC-USDC", "DOGE-USDC"])
  assert.deepStrictEqual(symbols(" e", "ETH-USDC"), ["ETH-USDC", "DOGE-USDC"])
})
