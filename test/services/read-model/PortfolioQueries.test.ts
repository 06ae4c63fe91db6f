import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { BalanceState } from "../../../src/domain/Account.ts"
import { marketAddress } from "../../../src/domain/Address.ts"
import type { FeeRate, Ticker } from "../../../src/domain/Market.ts"
import { LIMIT_DEFAULT } from "../../../src/domain/Page.ts"
import type { PositionState } from "../../../src/domain/Position.ts"
import type { Caller } from "../../../src/domain/User.ts"
import type { LastRecord } from "../../../src/services/History.ts"
import { PortfolioQueries } from "../../../src/services/read-model/PortfolioQueries.ts"
import { UserStreams } from "../../../src/services/read-model/UserStreams.ts"
import { type Doubles, emptyPortfolio, foreign, policies, tokenCaller, v0, v1, well } from "../../http/Fixture.ts"

const balance = (sub_account_address: string, wallet_balance: string) =>
  ({
    sub_account_address,
    asset: "USDC",
    asset_addr: sub_account_address,
    wallet_balance,
    equity: wallet_balance,
    available_balance: "1",
    margin_used: "2",
    order_margin: "3",
    maintenance_margin: "0.75",
    unrealised_pnl: "-0.25"
  }) as BalanceState
const position = (sub_account_address: string, symbol: string, created_time: number, size = "0.2") =>
  ({
    sub_account_address,
    symbol,
    created_time,
    updated_time: 5,
    size,
    side: size === "0" ? "" : "Buy",
    avg_price: "60000",
    position_im: "1200",
    position_value: "12000",
    unrealised_pnl: "-0.25"
  }) as PositionState

const held = {
  epoch: 61_362,
  funding_index: "1.5",
  margin: "1200",
  price: "60000",
  seq: 3,
  size: "0.2",
  timestamp: 5,
  timestamp_ms: 5,
  market_addr: marketAddress("BTC-USDC")
}

const record = (topic: LastRecord["topic"], seq: number, state: PositionState | BalanceState): LastRecord => ({
  user_id: tokenCaller.user_id,
  topic,
  sub_account_address: state.sub_account_address,
  subject: "symbol" in state ? state.symbol : state.asset,
  seq,
  record: JSON.stringify({ ...state, seq, ...(topic === "account_balance" ? { reason: "trade" } : {}) })
})
const records = [
  record("account_balance", 2, balance(v0, "100")),
  record("account_balance", 3, balance(v1, "0.000000000000000001")),
  record("position", 1, position(v0, "BTC-USDC", 5)),
  record("position", 3, position(v1, "BTC-USDC", 7)),
  record("position", 4, position(v1, "ETH-USDC", 5)),
  record("position", 5, position(v0, "ETH-USDC", 5, "0"))
]

const ofTopic = (list: ReadonlyArray<LastRecord>, topic: LastRecord["topic"] | undefined) =>
  list.filter((each) => topic === undefined || each.topic === topic)

const world = (more: Doubles = {}): Doubles => ({
  ...more,
  referee: {
    portfolio: () =>
      Effect.succeed({
        as_of_seq: 9,
        portfolio: {
          ...emptyPortfolio,
          positions: ["BTC-USDC", "ETH-USDC"].map((symbol) => ({
            ...held,
            seq: 4_711,
            size: "1",
            market_addr: marketAddress(symbol),
            sid: v0
          }))
        }
      }),
    ...more.referee
  },
  history: {
    lastRecords: (_user, topic) => Effect.succeed(ofTopic(records, topic)),
    ...more.history
  }
})
const bound: Caller = { ...tokenCaller, bound_to: new Set([v1]) }

describe("holdings", () => {
  it.effect("are the records of the user stream, with its positions", () =>
    Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      const balances = yield* holdings.balances(tokenCaller, undefined)
      assert.deepInclude(balances, { stream_id: "s1", seq: 7 })
      // the record of the topic, without the reason of its event
      assert.deepStrictEqual(balances.list, [
        { ...balance(v0, "100"), seq: 2 },
        { ...balance(v1, "0.000000000000000001"), seq: 3 }
      ])
      assert.lengthOf((yield* holdings.balances(bound, undefined)).list, 1)
      assert.deepInclude(yield* Effect.flip(holdings.balances(bound, v0)), { reason: "SubAccountNotFound" })
      assert.deepInclude(yield* Effect.flip(holdings.balances(tokenCaller, foreign)), { reason: "SubAccountNotFound" })
    }).pipe(Effect.provide(policies(world())))
  )

  it.effect("name the position that the history held before, where they lack what was shown", () =>
    Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      assert.deepInclude(yield* holdings.balances(tokenCaller, undefined), { stream_id: "s1", seq: 4 })
      assert.deepInclude(yield* holdings.positions(tokenCaller, {}), { stream_id: "s1", seq: 4 })
    }).pipe(
      Effect.provide(
        policies(
          world({
            written: {
              head: () => 4,
              lastRecords: (_user, topic) => Effect.succeed({ rows: ofTopic(records, topic), isComplete: false })
            }
          })
        )
      )
    )
  )

  it.effect("name the position from before the read, for what is shown meanwhile may be missing", () => {
    let head = 7
    const streams = Layer.mock(UserStreams)({
      streamId: () => "s1",
      head: () => head,
      follow: () => () => {},
      onRestart: () => () => {}
    })
    const doubles = world({
      history: {
        lastRecords: (_user, topic) =>
          Effect.sync(() => {
            head++
            return ofTopic(records, topic)
          })
      }
    })
    const layer = PortfolioQueries.layer.pipe(Layer.fresh, Layer.provide(streams), Layer.provide(policies(doubles)))
    return Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      assert.deepInclude(yield* holdings.balances(tokenCaller, undefined), { stream_id: "s1", seq: 7 })
      assert.deepInclude(yield* holdings.positions(tokenCaller, {}), { stream_id: "s1", seq: 8 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("page through positions, newest first, each once", () =>
    Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      const seen: Array<string> = []
      let cursor: string | undefined
      do {
        const page = yield* holdings.positions(tokenCaller, { limit: 1, ...(cursor === undefined ? {} : { cursor }) })
        assert.lengthOf(page.list, 1)
        for (const record of page.list) seen.push(`${record.created_time} ${record.symbol} ${record.seq}`)
        cursor = page.next_page_cursor
      } while (cursor !== "")
      assert.strictEqual(seen[0], "7 BTC-USDC 3")
      assert.sameMembers(seen, ["7 BTC-USDC 3", "5 BTC-USDC 1", "5 ETH-USDC 4"])
      const flat = yield* holdings.positions(tokenCaller, { symbol: "BTC-USDC", sub_account_address: v0 })
      assert.deepStrictEqual(
        flat.list.map(({ seq }) => seq),
        [1]
      )
      assert.lengthOf((yield* holdings.positions(bound, {})).list, 2)
      assert.deepInclude(yield* Effect.flip(holdings.positions(tokenCaller, { symbol: "X-Y" })), {
        reason: "SymbolNotFound"
      })
    }).pipe(Effect.provide(policies(world())))
  )

  it.effect("fill a page of positions up to the default limit where the request names none", () => {
    const many = Array.from({ length: LIMIT_DEFAULT + 1 }, (_, i) => record("position", i, position(v0, `M${i}`, i)))
    return Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      const { list, next_page_cursor } = yield* holdings.positions(tokenCaller, {})
      assert.lengthOf(list, LIMIT_DEFAULT)
      const rest = yield* holdings.positions(tokenCaller, { cursor: next_page_cursor })
      assert.deepStrictEqual(
        rest.list.map(({ symbol }) => symbol),
        ["M0"]
      )
      assert.strictEqual(rest.next_page_cursor, "")
    }).pipe(Effect.provide(policies(world({ history: { lastRecords: () => Effect.succeed(many) } }))))
  })

  it.effect("call no market unknown before the markets are loaded", () =>
    Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      for (const read of [
        holdings.positions(tokenCaller, { symbol: "BTC-USDC" }),
        holdings.feeRates(tokenCaller, "BTC-USDC")
      ]) {
        assert.deepInclude(yield* Effect.flip<unknown, unknown, never>(read), { reason: "BackendUnavailable" })
      }
    }).pipe(Effect.provide(policies({ markets: { instrument: () => undefined, instruments: () => [] } })))
  )

  it.effect("leave out of a bound key's portfolio what it does not see, sums too", () =>
    Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      const { positions, summary, vault_balances } = yield* holdings.portfolio(bound)
      // counted as /position/list counts: by the events of the user, not by those of the exchange
      assert.deepStrictEqual(positions, [
        { ...held, sid: v1 },
        { ...held, sid: v1, seq: 4, market_addr: marketAddress("ETH-USDC") }
      ])
      assert.deepStrictEqual(
        vault_balances.map(({ id }) => id),
        [v1]
      )
      assert.deepStrictEqual(summary, {
        collateral_notional: "0.000000000000000001",
        maintenance_margin_required: "0.75",
        total_available_balance: "1",
        total_balance: "0.000000000000000001",
        total_margin_used: "5",
        total_positions: 2,
        total_vaults: 1,
        unrealized_funding_total: "0",
        unrealized_pnl_total: "-0.25"
      })
      const all = yield* holdings.portfolio(tokenCaller)
      assert.lengthOf(all.vault_balances, 2)
      assert.deepStrictEqual(
        all.positions.map(({ seq }) => seq),
        [1, 3, 4]
      )
      const late: Caller = { ...tokenCaller, bound_to: new Set([v1, foreign]) }
      assert.strictEqual((yield* holdings.portfolio(late)).summary.total_vaults, 1, "one named by the key is gone")
    }).pipe(Effect.provide(policies(world())))
  )

  it.effect("are of one moment in a portfolio, whatever is filled while it is read", () => {
    let reads = 0
    const filled = [record("account_balance", 5, { ...balance(v0, "90"), margin_used: "0" })]
    const layer = policies(
      world({
        history: {
          lastRecords: (_user, topic) =>
            Effect.sync(() => ofTopic(reads++ === 0 ? [records[0]!, records[2]!] : filled, topic))
        }
      })
    )
    return Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      const { positions, summary } = yield* holdings.portfolio({ ...tokenCaller, bound_to: new Set([v0]) })
      // 2 and 3 of the balance of before the fill
      assert.deepInclude(summary, { collateral_notional: "100", total_margin_used: "5", total_positions: 1 })
      assert.deepStrictEqual(
        positions.map(({ seq }) => seq),
        [1]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("are read again in a portfolio if the referee has closed a position meanwhile", () => {
    const [balanceBefore, , positionBefore] = records
    let found = [balanceBefore!, positionBefore!]
    let reads = 0
    const layer = policies(
      world({
        history: {
          lastRecords: (_user, topic) => {
            reads++
            return Effect.sync(() => ofTopic(found, topic))
          }
        },
        referee: { portfolio: () => Effect.succeed({ as_of_seq: 9, portfolio: emptyPortfolio }) }
      })
    )
    return Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      const reading = yield* Effect.forkChild(holdings.portfolio({ ...tokenCaller, bound_to: new Set([v0]) }), {
        startImmediately: true
      })
      const before = reads
      found = [record("account_balance", 5, { ...balance(v0, "90"), margin_used: "0" })]
      yield* TestClock.adjust("50 millis")
      assert.isAbove(reads, before)
      const { positions, summary } = yield* Fiber.join(reading)
      assert.deepInclude(summary, { collateral_notional: "90", total_margin_used: "3", total_positions: 0 })
      assert.deepStrictEqual(positions, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("wait for all commands that this gateway has acknowledged", () => {
    let waited = 0
    const awaitAll = Effect.sync(() => void waited++)
    return Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      yield* holdings.balances(tokenCaller, undefined)
      yield* holdings.positions(tokenCaller, {})
      yield* holdings.portfolio(tokenCaller)
      assert.strictEqual(waited, 3)
    }).pipe(Effect.provide(policies(world({ readYourWrites: { awaitAll } }))))
  })

  it.effect(
    "take a flat position of before its first event from the referee, unless an event has come meanwhile",
    () => {
      let written = 10
      let found: ReadonlyArray<LastRecord> = []
      const layer = policies(
        world({
          referee: {
            positions: () =>
              Effect.succeed({ positions: [v0, v1].map((v) => position(v, "BTC-USDC", 0, "0")), as_of_seq: 11 })
          },
          history: { lastRecords: () => Effect.sync(() => found) },
          written: { reached: (seq) => Effect.map(Effect.sleep("50 millis"), () => written >= seq) }
        })
      )
      return Effect.gen(function* () {
        const holdings = yield* PortfolioQueries
        const asked = { symbol: "BTC-USDC", sub_account_address: v0 }
        const asking = yield* Effect.forkChild(Effect.flip(holdings.positions(tokenCaller, asked)))
        yield* TestClock.adjust("2 seconds")
        assert.deepInclude(yield* Fiber.join(asking), { reason: "BackendLagging" })
        written = 11
        const answering = yield* Effect.forkChild(holdings.positions(tokenCaller, asked), { startImmediately: true })
        yield* TestClock.adjust("50 millis")
        assert.deepStrictEqual((yield* Fiber.join(answering)).list, [{ ...position(v0, "BTC-USDC", 0, "0"), seq: 0 }])
        written = 10
        const waiting = yield* Effect.forkChild(holdings.positions(tokenCaller, asked), { startImmediately: true })
        yield* TestClock.adjust("40 millis")
        found = [record("position", 1, position(v0, "BTC-USDC", 5))]
        written = 11
        yield* TestClock.adjust("60 millis")
        assert.deepStrictEqual((yield* Fiber.join(waiting)).list, [{ ...position(v0, "BTC-USDC", 5), seq: 1 }])
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("are refused while the referee is unhealthy, whatever the sequencer does", () =>
    Effect.gen(function* () {
      const holdings = yield* PortfolioQueries
      for (const read of [
        holdings.balances(tokenCaller, undefined),
        holdings.positions(tokenCaller, {}),
        holdings.portfolio(tokenCaller)
      ]) {
        assert.deepInclude(yield* Effect.flip(read as Effect.Effect<unknown, unknown>), {
          reason: "BackendUnavailable"
        })
      }
    }).pipe(
      Effect.provide(policies(world({ health: { referee: () => ({ ...well, connected: false, unhealthy: true }) } })))
    )
  )

  it.effect("sum up the next funding, which a long pays at a positive rate, and show isolated margin", () => {
    const held = [
      record("position", 1, position(v0, "BTC-USDC", 5)),
      record("position", 2, {
        ...position(v1, "BTC-USDC", 6),
        side: "Sell",
        position_value: "5000",
        isolated_margin: "900"
      })
    ]
    const layer = policies({
      ...world({
        history: { lastRecords: (_user, topic) => Effect.succeed(ofTopic([...records.slice(0, 2), ...held], topic)) }
      }),
      markets: { ticker: () => ({ funding_rate: "0.001" }) as Ticker }
    })
    return Effect.gen(function* () {
      const { positions, summary } = yield* (yield* PortfolioQueries).portfolio(tokenCaller)
      assert.deepStrictEqual(
        positions.map(({ margin, size }) => [size, margin]),
        [
          ["0.2", "1200"],
          ["-0.2", "900"]
        ]
      )
      assert.strictEqual(summary.unrealized_funding_total, "-7")
      assert.strictEqual(summary.total_margin_used, "10")
    }).pipe(Effect.provide(layer))
  })

  it.effect("show the fee rates of one market or of all", () => {
    const rates = ["BTC-USDC", "ETH-USDC"].map((symbol) => ({ symbol }) as FeeRate)
    return Effect.gen(function* () {
      const { feeRates } = yield* PortfolioQueries
      assert.deepStrictEqual(yield* feeRates(tokenCaller, "BTC-USDC"), rates.slice(0, 1))
      assert.deepStrictEqual(yield* feeRates(tokenCaller, undefined), rates)
    }).pipe(Effect.provide(policies({ referee: { feeRates: () => Effect.succeed(rates) } })))
  })
})
