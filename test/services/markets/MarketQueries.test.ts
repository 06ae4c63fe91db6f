import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BackendAvailability } from "../../../src/services/operations/BackendAvailability.ts"
import { Cursors } from "../../../src/services/operations/Cursors.ts"
import { Klines } from "../../../src/services/markets/Klines.ts"
import { MarketQueries } from "../../../src/services/markets/MarketQueries.ts"
import { MarketView } from "../../../src/services/markets/MarketView.ts"
import type { Candle, Ticker } from "../../../src/domain/Market.ts"
import { instrument } from "../../../verification/harness/Records.ts"
import { signingKeys } from "../../doubles/Wallets.ts"

const instruments = ["SOL-USDC", "BTC-USDC", "ETH-USDC", "DOGE-USDC"].map((symbol) =>
  instrument({ symbol, status: symbol === "SOL-USDC" ? "Closed" : "Trading" })
)
const ticker = (symbol: string) => ({ symbol }) as Ticker
const AGE_MS = 1_234

/** Markets of which SOL-USDC has no ticker and no book yet. */
const layer = MarketQueries.layer.pipe(
  Layer.provide([
    Cursors.layer.pipe(Layer.provide(signingKeys(1))),
    Layer.mock(BackendAvailability)({ marketData: Effect.succeed(AGE_MS) }),
    Layer.mock(Klines)({
      list: ({ interval, kind, limit, symbol }) =>
        Effect.succeed([{ start: `${kind} ${symbol} ${interval} ${limit}` } as unknown as Candle])
    }),
    Layer.succeed(MarketView, {
      instruments: () => instruments,
      instrument: (symbol: string) => instruments.find((each) => each.symbol === symbol),
      ticker: (symbol: string) => (symbol === "SOL-USDC" ? undefined : ticker(symbol)),
      recentTrades: (symbol: string, limit: number) => [{ symbol, trade_id: String(limit) }],
      book: (symbol: string, depth = 0) =>
        symbol === "SOL-USDC" ? undefined : { symbol, bids: [], asks: [], seq: depth, mts: 1 }
    } as unknown as MarketView["Service"])
  ])
)

describe("reads of markets", () => {
  it.effect("lists instruments by symbol, page by page, and the last page has no cursor", () =>
    Effect.gen(function* () {
      const markets = yield* MarketQueries
      const pagesOf = Effect.fnUntraced(function* (limit: number) {
        const pages: Array<ReadonlyArray<string>> = []
        let cursor: string | undefined
        do {
          const request = { limit, ...(cursor === undefined ? {} : { cursor }) }
          const { age_ms, value } = yield* markets.instruments(request)
          assert.strictEqual(age_ms, AGE_MS)
          pages.push(value.list.map(({ symbol }) => symbol))
          cursor = value.next_page_cursor === "" ? undefined : value.next_page_cursor
        } while (cursor !== undefined)
        return pages
      })
      const sorted = ["BTC-USDC", "DOGE-USDC", "ETH-USDC", "SOL-USDC"]
      assert.deepStrictEqual(yield* pagesOf(2), [sorted.slice(0, 2), sorted.slice(2)])
      assert.deepStrictEqual(yield* pagesOf(3), [sorted.slice(0, 3), sorted.slice(3)])
      assert.deepStrictEqual(yield* pagesOf(4), [sorted])
    }).pipe(Effect.provide(layer))
  )

  it.effect("filters instruments, and refuses the cursor of another list", () =>
    Effect.gen(function* () {
      const { instruments: list } = yield* MarketQueries
      const of = (request: Partial<Parameters<typeof list>[0]>) =>
        Effect.map(list({ limit: 10, ...request }), ({ value }) => value.list.map(({ symbol }) => symbol))
      assert.deepStrictEqual(yield* of({ status: "Closed" }), ["SOL-USDC"])
      assert.deepStrictEqual(yield* of({ symbol: "ETH-USDC" }), ["ETH-USDC"])
      assert.deepStrictEqual(yield* of({ symbol: "ETH-USDC", status: "Closed" }), [])
      const { value } = yield* list({ limit: 1 })
      const cursor = value.next_page_cursor
      assert.strictEqual((yield* Effect.flip(of({ status: "Closed", cursor }))).reason, "InvalidCursor")
    }).pipe(Effect.provide(layer))
  )

  it.effect("reads the tickers that are loaded, and refuses the one of a market that is not", () =>
    Effect.gen(function* () {
      const { tickers } = yield* MarketQueries
      const symbols = (symbol: string | undefined) =>
        Effect.map(tickers(symbol), ({ value }) => value.map((each) => each.symbol))
      assert.deepStrictEqual(yield* symbols(undefined), ["BTC-USDC", "ETH-USDC", "DOGE-USDC"])
      assert.deepStrictEqual(yield* symbols("ETH-USDC"), ["ETH-USDC"])
      assert.strictEqual((yield* Effect.flip(symbols("SOL-USDC"))).reason, "BackendUnavailable")
      assert.strictEqual((yield* Effect.flip(symbols("NONE-USDC"))).reason, "SymbolNotFound")
    }).pipe(Effect.provide(layer))
  )

  it.effect("reads a book of the asked depth, as many trades as asked, and candles of trades", () =>
    Effect.gen(function* () {
      const { book, candles, recentTrades } = yield* MarketQueries
      const [trade] = (yield* recentTrades("BTC-USDC", 7)).value
      assert.deepInclude(trade, { symbol: "BTC-USDC", trade_id: "7" })
      assert.strictEqual((yield* book("BTC-USDC", 50)).value.seq, 50)
      assert.strictEqual((yield* Effect.flip(book("SOL-USDC", 50))).reason, "BackendUnavailable")
      const { value } = yield* candles({ symbol: "BTC-USDC", interval: "5", limit: 7 })
      assert.deepStrictEqual(value as unknown, [{ start: "trade BTC-USDC 5 7" }])
    }).pipe(Effect.provide(layer))
  )
})
