import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DAY_MS, MINUTE_MS } from "../../../src/domain/Time.ts"
import type { RiskTier } from "../../../src/domain/Market.ts"
import type { MarketQuery, MarketsQuery } from "../../../src/services/History.ts"
import { MarketHistory } from "../../../src/services/markets/MarketHistory.ts"
import { alert, pool } from "../../../verification/harness/Records.ts"
import { btc, policies, well } from "../../http/Fixture.ts"

const now = 1_767_225_600_000
const { symbol } = btc

describe("the history of a market", () => {
  it.effect("pages settlements and open interest, each by its own cursor", () => {
    const asked: Array<MarketQuery & { readonly interval?: string }> = []
    const read = (query: MarketQuery & { readonly interval?: string }) => {
      asked.push(query)
      return Effect.succeed({ rows: [], next: query.after === undefined ? { time: 9, id: 4 } : undefined })
    }
    const layer = policies({ history: { fundingRates: read, openInterest: read } })
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const history = yield* MarketHistory
      const funding = yield* history.fundingRates({ symbol })
      yield* history.fundingRates({ symbol, cursor: funding.value.next_page_cursor })
      assert.deepStrictEqual(
        asked.map(({ after, limit }) => [after, limit]),
        [
          [undefined, 100],
          [{ time: 9, id: 4 }, 100]
        ]
      )
      const hourly = yield* history.openInterest({ symbol, interval: "60", start_time: now - DAY_MS })
      assert.deepInclude(asked.at(-1)!, { interval: "60", start_time: now - DAY_MS, end_time: now + 1 })
      for (const cursor of [funding.value.next_page_cursor, hourly.value.next_page_cursor, "x"]) {
        const other = yield* Effect.flip(history.openInterest({ symbol, cursor }))
        assert.deepInclude(other, { reason: "InvalidCursor" })
      }
      // the cursor of one interval, and of one market
      const { value } = yield* history.openInterest({ symbol, interval: "60" })
      assert.deepInclude(yield* Effect.flip(history.openInterest({ symbol, cursor: value.next_page_cursor })), {
        reason: "InvalidCursor"
      })
      yield* history.openInterest({ symbol })
      assert.deepInclude(asked.at(-1)!, { interval: "5" }, "by default")
      // the cursor bounds the work, so a span has no maximum
      yield* history.fundingRates({ symbol, start_time: 0 })
      assert.deepInclude(asked.at(-1)!, { start_time: 0, end_time: now + 1 })
      const unknown = yield* Effect.flip(history.fundingRates({ symbol: "NO-PE" }))
      assert.deepInclude(unknown, { reason: "SymbolNotFound" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("lists pools of one market or of all, and none while the referee is unavailable", () => {
    const asked: Array<MarketsQuery> = []
    let unhealthy = false
    const layer = policies({
      health: { referee: () => ({ ...well, unhealthy, connected: !unhealthy }) },
      history: {
        pools: (query) => {
          asked.push(query)
          return Effect.succeed([pool()])
        }
      }
    })
    return Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const history = yield* MarketHistory
      assert.strictEqual((yield* history.pools({})).value.length, 1)
      yield* history.pools({ symbol, limit: 7, end_time: now })
      assert.deepStrictEqual(asked, [
        { symbol: undefined, start_time: undefined, end_time: undefined, limit: 100 },
        { symbol, start_time: now - 7 * DAY_MS, end_time: now, limit: 7 }
      ])
      unhealthy = true
      const reads: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        history.pools({}),
        history.adlAlerts({}),
        history.pool(symbol),
        history.adlAlert(symbol)
      ]
      for (const read of reads) {
        assert.deepInclude((yield* Effect.flip(read)) as object, { reason: "BackendUnavailable" })
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses the cursor of another market", () => {
    const read = () => Effect.succeed({ rows: [], next: { time: 9, id: 4 } })
    const layer = policies({ history: { fundingRates: read }, markets: { instrument: () => btc } })
    return Effect.gen(function* () {
      const history = yield* MarketHistory
      const { value } = yield* history.fundingRates({ symbol })
      const other = history.fundingRates({ symbol: "ETH-USDC", cursor: value.next_page_cursor })
      assert.deepInclude(yield* Effect.flip(other), { reason: "InvalidCursor" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("lists the risk tiers of one market or of all", () => {
    const tier = (of: string) => ({ symbol: of }) as RiskTier
    const layer = policies({ referee: { riskTiers: Effect.succeed([tier(symbol), tier("ETH-USDC")]) } })
    return Effect.gen(function* () {
      const history = yield* MarketHistory
      const symbols = (of: string | undefined) =>
        Effect.map(history.riskTiers(of), ({ value }) => value.map((each) => each.symbol))
      assert.deepStrictEqual(yield* symbols(symbol), [symbol])
      assert.deepStrictEqual(yield* symbols(undefined), [symbol, "ETH-USDC"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("returns the pool and the alert of the topics, and those of the referee before there are any", () =>
    Effect.gen(function* () {
      const referee = {
        pool: () => Effect.succeed(pool({ cash_balance: "1" })),
        adlAlert: () => Effect.succeed(alert({ latest_pnl_ratio: "0.1" }))
      }
      const read = Effect.gen(function* () {
        const history = yield* MarketHistory
        const [held, state] = [yield* history.pool(symbol), yield* history.adlAlert(symbol)]
        return [held.value.cash_balance, state.value.latest_pnl_ratio]
      })
      assert.deepStrictEqual(yield* Effect.provide(read, policies({ referee })), ["1", "0.1"])
      const markets = {
        pool: () => pool({ cash_balance: "2" }),
        alert: () => alert({ latest_pnl_ratio: "0.2" })
      }
      assert.deepStrictEqual(yield* Effect.provide(read, policies({ markets, referee })), ["2", "0.2"])
    })
  )

  it.effect("returns the age of its data while the sequencer is unavailable", () => {
    const layer = policies({ health: { sequencer: () => ({ ...well, unhealthy: true, age_ms: 4_000 }) } })
    return Effect.gen(function* () {
      const history = yield* MarketHistory
      assert.strictEqual((yield* history.adlAlerts({})).age_ms, 4_000)
    }).pipe(Effect.provide(layer))
  })

  it.effect("fills the gaps of a price with its last close, without volumes", () => {
    const candle = {
      start_time: now - 2 * MINUTE_MS,
      end_time: now - MINUTE_MS,
      open: "1",
      high: "3",
      low: "1",
      close: "2",
      volume: "0",
      turnover: "0",
      trade_count: 0,
      confirm: true
    }
    const kinds: Array<string> = []
    const layer = policies({
      history: {
        candles: ({ kind }) => {
          kinds.push(kind)
          return Effect.succeed([candle])
        }
      }
    })
    return Effect.gen(function* () {
      const history = yield* MarketHistory
      const { value } = yield* history.priceCandles({ kind: "mark", symbol, interval: "1", limit: 2 })
      assert.deepStrictEqual(value, [
        { start_time: now, end_time: now + MINUTE_MS, open: "2", high: "2", low: "2", close: "2", confirm: false },
        { start_time: now - MINUTE_MS, end_time: now, open: "2", high: "2", low: "2", close: "2", confirm: true }
      ])
      yield* history.priceCandles({ kind: "index", symbol, interval: "1", limit: 2 })
      assert.deepStrictEqual(kinds, ["mark", "index"])
    }).pipe(Effect.provide(layer))
  })
})
