/** The ledger behind real engine steps: what the read model sums up is what the engine's own accounts say. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Decimal from "../../../src/domain/Decimal.ts"
import * as Grid from "../../../src/domain/Grid.ts"
import type { Execution } from "../../../src/domain/Execution.ts"
import { type AccountRow, type MarketRow, noFlows, step } from "../../../src/domain/HourlyStats.ts"
import type { Candle } from "../../../src/domain/Market.ts"
import type { RowKey } from "../../../src/domain/Page.ts"
import { Projecting } from "../../../src/domain/Projection.ts"
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/domain/Time.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import type { Caller, SubAccountState } from "../../../src/domain/User.ts"
import { toEvent } from "../../../src/layers/grpc/WireEvents.ts"
import { History } from "../../../src/services/History.ts"
import { TradingStatistics } from "../../../src/services/read-model/TradingStatistics.ts"
import { shippedMarkets } from "../../../src/backend/markets/ShippedMarkets.ts"
import * as Accounts from "../../../src/backend/engine/accounts/Accounts.ts"
import { Bench, BTC, BUY, SELL, START, type Trader, trader } from "../../backend/Bench.ts"
import { isolate, randomTrading } from "../../backend/RandomTrading.ts"
import { policies, tokenCaller, userId, v0, v1, well } from "../../http/Fixture.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"

const { format, parse } = Decimal

/** Writes the bench's events to the history, in commits of a few. */
const write = Effect.fnUntraced(function* (bench: Bench) {
  const history = yield* History
  const events = bench.events.map(toEvent)
  for (let at = 0; at < events.length; at += 37) {
    const projecting = new Projecting({
      position: yield* history.position,
      heads: yield* history.streamHeads,
      candles: yield* history.lastCandles,
      ledger: yield* history.ledger
    })
    yield* history.commit(projecting.next("e1", events.slice(at, at + 37)))
  }
})

const own = (user_id: string, fields: { readonly end_time?: number } = {}) => ({
  user_id,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: fields.end_time,
  limit: 10_000,
  after: undefined
})

/** A history that is filled from a bench, and the policy over it. */
const over = <A, E>(bench: Bench, body: Effect.Effect<A, E, History | TradingStatistics>) =>
  Effect.gen(function* () {
    const history = yield* History
    yield* write(bench)
    return yield* Effect.provide(body, Layer.fresh(policies({ history })))
  }).pipe(Effect.provide(Layer.fresh(SqliteStores.history)))

describe("the ledger of an engine", () => {
  it.effect.each([1, 2, 3, 4])("agrees with its accounts after random trading (seed %i)", (seed) => {
    const moments: Array<{ readonly at: number; readonly equity: ReadonlyMap<string, bigint> }> = []
    const { bench, traders } = randomTrading(seed, 500, (bench, i) => {
      if (i % 100 !== 99) return
      // the mark of a moment is that of the last full minute
      bench.tick(MINUTE_MS - (bench.now % MINUTE_MS))
      bench.tick(MINUTE_MS)
      bench.tick(1)
      moments.push({
        at: bench.now + 1,
        equity: new Map(bench.state.accounts.map((each) => [each.address, Accounts.totalsOf(each).equity]))
      })
      bench.tick(1_000)
    })
    return over(
      bench,
      Effect.gen(function* () {
        const history = yield* History
        const types = new Set<string>()
        const fills = new Set<string>()
        for (const who of traders) {
          const account = bench.state.accountOf.get(who.address)!
          const { rows } = yield* history.transactions({ ...own(who.user_id), type: undefined })
          let money = 0n
          for (const row of rows.toReversed()) {
            types.add(row.type)
            money += parse(row.amount)
            assert.strictEqual(row.balance_after, format(money), `${row.type} ${row.id}`)
          }
          const margins = account.holdings.reduce((sum, holding) => sum + (holding?.isolatedMargin ?? 0n), 0n)
          assert.strictEqual(money, account.wallet + margins)

          const { markets } = yield* history.hoursBefore({ user_id: who.user_id, hour: Number.MAX_SAFE_INTEGER })
          for (const { figures, symbol } of markets) {
            const market = bench.state.marketOf.get(symbol)!
            const holding = account.holdings[market.index]!
            assert.strictEqual(figures.size, Grid.scaled(market.rules.qty, holding.lots))
            assert.strictEqual(figures.cost, holding.lots < 0 ? -holding.entryValue : holding.entryValue)
          }
          const executions = (yield* history.executions({
            ...own(who.user_id),
            order_id: undefined,
            exec_type: undefined
          })).rows
          for (const { exec_type } of executions) fills.add(exec_type)
          const closed = (yield* history.closedPnls(own(who.user_id))).rows
          const orders = (yield* history.orders({
            ...own(who.user_id),
            order_id: undefined,
            order_link_id: undefined,
            statuses: undefined
          })).rows.filter((order) => order.closed_pnl !== undefined)
          assert.deepStrictEqual(
            new Map(closed.map((row) => [row.order_id, row.closed_pnl])),
            new Map(orders.map((order) => [order.order_id, order.closed_pnl!])),
            "each order that closed has a record, and they agree"
          )
          const page = yield* history.executionsAt({ ...own(who.user_id), offset: 0 })
          assert.strictEqual(page.total, executions.length)
          const payments = (yield* history.fundingPayments(own(who.user_id))).rows
          for (const { funding_time_ms } of payments) assert.strictEqual(funding_time_ms % (8 * HOUR_MS), 0)
        }
        for (const type of ["deposit", "fee", "realized_pnl", "funding"]) assert.isTrue(types.has(type), type)
        assert.isTrue(fills.has("Funding") && fills.has("Trade"))

        // equities at moments that no hour begins at: those that the engine had
        const performance = yield* TradingStatistics
        for (const { at, equity } of moments)
          for (const before of [0, 1]) {
            const days = yield* performance.days({
              user_ids: undefined,
              symbol: undefined,
              start: at - before * DAY_MS,
              end: at + DAY_MS,
              equity: true
            })
            for (const day of days.filter((each) => each.day === before)) {
              assert.strictEqual(day.equity, format(equity.get(day.sub_account_address)!))
            }
          }
        // days, wherever they begin, hold every fill that counts once
        const start = START + 123_456
        const end = bench.now + 1
        for (const [from, to] of [
          [start, end],
          [START, START + Math.ceil((end - START) / DAY_MS) * DAY_MS]
        ] as const) {
          const days = yield* performance.days({
            user_ids: undefined,
            symbol: BTC,
            start: from,
            end: to,
            equity: false
          })
          const sums = new Map<string, bigint>()
          for (const day of days) {
            assert.isUndefined(day.equity, "not asked for")
            const key = `${day.user_id}|${day.day}`
            sums.set(key, (sums.get(key) ?? 0n) + parse(day.volume))
            assert.isAtLeast(day.last_fill, from + day.day * DAY_MS)
            assert.isBelow(day.last_fill, from + (day.day + 1) * DAY_MS)
          }
          const wanted = new Map<string, bigint>()
          for (const who of traders) {
            for (const row of (yield* history.executions({
              ...own(who.user_id),
              order_id: undefined,
              exec_type: "Trade"
            })).rows) {
              const at = Number(row.exec_time)
              if (at < from || at >= to || row.create_type === "CreateByLiq") continue
              const key = `${who.user_id}|${Math.floor((at - from) / DAY_MS)}`
              wanted.set(key, (wanted.get(key) ?? 0n) + parse(row.exec_value))
            }
          }
          assert.isAbove(wanted.size, 5)
          assert.deepStrictEqual(new Map([...sums].sort()), new Map([...wanted].sort()))
        }
      })
    )
  })

  it.effect("counts a liquidation and a deleveraging as docs/contract/stories.md#liquidation-pool-adl does", () => {
    const markets = shippedMarkets.filter(({ symbol }) => symbol === BTC || symbol === "ETH-USDC")
    const bench = new Bench({ markets, poolBaseEquity: "100" })
    const { state } = bench
    // the ETH pool has lost 20 before
    state.pools[1]!.holding.account.wallet -= 20n * Decimal.ONE
    state.wallets -= 20n * Decimal.ONE
    state.deposits -= 20n * Decimal.ONE
    const [user, maker, x] = [trader("user"), trader("maker"), trader("x")]
    bench.tick()
    bench.index(BTC, "60000")
    bench.open(user, "10000")
    bench.open(maker, "100000")
    bench.open(x, "10000")
    bench.place(maker, { side: SELL, qty: "0.5", price: "60000" })
    bench.place(user, { side: BUY, qty: "0.5", price: "60000" })
    bench.index(BTC, "45000")
    bench.place(maker, { side: BUY, qty: "1", price: "45000" })
    bench.place(x, { side: SELL, qty: "1", price: "45000" })
    bench.index(BTC, "41000")
    for (const [price, qty] of [
      ["40390", "0.2"],
      ["40100", "0.1"],
      ["39900", "0.5"]
    ] as const)
      bench.place(maker, { side: BUY, qty, price })
    bench.index(BTC, "40400")
    bench.index(BTC, "39000")
    bench.tick()
    return over(
      bench,
      Effect.gen(function* () {
        const history = yield* History
        const closedOf = (who: Trader) =>
          Effect.map(history.closedPnls(own(who.user_id)), ({ rows }) =>
            rows.map((row) => [row.exec_type, row.closed_size, row.closed_pnl, row.close_fee, row.fill_count])
          )
        // 16.5 for opening 0.5: 9.9 for the 0.3 of the book, 6.6 for the pool's 0.2
        assert.deepStrictEqual(yield* closedOf(user), [
          ["BustTrade", "0.2", "-4000", "0", 1],
          ["Trade", "0.3", "-5921.9", "0", 2]
        ])
        const lost = yield* history.transactions({ ...own(user.user_id), type: "liquidation_fee" })
        assert.deepStrictEqual(
          lost.rows.map((row) => [row.amount, row.balance_after, row.symbol]),
          [["-60.44", "17.66", BTC]]
        )
        const [short] = yield* closedOf(x)
        assert.deepStrictEqual(short, ["AdlTrade", "0.2", "1178.89", "0", 1])
        const states = yield* history.adlAlerts({
          symbol: BTC,
          start_time: undefined,
          end_time: undefined,
          limit: 10
        })
        assert.include(
          states.map((state) => state.adl_mode),
          "Active"
        )
        const performance = yield* TradingStatistics
        yield* TestClock.setTime(bench.now)
        const seen = yield* performance.statistics(
          { ...tokenCaller, user_id: user.user_id },
          { sub_account_address: user.address, period: "all" }
        )
        assert.deepStrictEqual(
          [seen.realised_pnl, seen.fees_paid, seen.win_count, seen.loss_count, seen.max_drawdown],
          ["-9905.4", "16.5", 0, 2, "9982.34"]
        )
      })
    )
  })

  it.effect("counts funding of an isolated position, paid from its margin, and a path that recovers", () => {
    const bench = new Bench()
    const [user, maker] = [trader("user"), trader("maker")]
    bench.tick()
    bench.index(BTC, "60000")
    bench.open(user, "10000")
    bench.open(maker, "100000")
    isolate(bench, user)
    bench.place(maker, { side: SELL, qty: "0.5", price: "60000" })
    bench.place(user, { side: BUY, qty: "0.5", price: "60000" })
    bench.tick(8 * HOUR_MS)
    bench.place(maker, { side: BUY, qty: "0.5", price: "60200" })
    bench.place(user, { side: SELL, qty: "0.5", price: "60200" })
    return over(
      bench,
      Effect.gen(function* () {
        const history = yield* History
        const { rows } = yield* history.transactions({ ...own(user.user_id), type: undefined })
        // the interest alone: 0.0001 of 30000
        assert.deepStrictEqual(
          rows.toReversed().map(({ type, amount, balance_after, symbol }) => [type, amount, balance_after, symbol]),
          [
            ["deposit", "10000", "10000", undefined],
            ["fee", "-16.5", "9983.5", BTC],
            ["funding", "-3", "9980.5", BTC],
            ["realized_pnl", "100", "10080.5", BTC],
            ["fee", "-16.555", "10063.945", BTC]
          ]
        )
        const [rate] = (yield* history.fundingRates({
          symbol: BTC,
          start_time: undefined,
          end_time: undefined,
          limit: 5,
          after: undefined
        })).rows
        const [payment] = (yield* history.fundingPayments(own(user.user_id))).rows
        assert.deepStrictEqual(
          [payment!.payment, payment!.funding_rate, payment!.funding_time],
          ["-3", rate!.funding_rate, rate!.funding_time]
        )
        assert.strictEqual(rate!.funding_time_ms, START + 8 * HOUR_MS)
        const performance = yield* TradingStatistics
        yield* TestClock.setTime(bench.now)
        const seen = yield* performance.statistics(
          { ...tokenCaller, user_id: user.user_id },
          { sub_account_address: user.address, period: "1d" }
        )
        assert.deepStrictEqual(
          [seen.funding_paid, seen.realised_pnl, seen.fees_paid, seen.max_drawdown, seen.win_count],
          ["3", "100", "33.055", "19.5", 1]
        )
      })
    )
  })
})

describe("the figures of a period", () => {
  it.effect("hold what the user's acknowledged commands did", () => {
    const steps: Array<string> = []
    const read = (name: string) => () =>
      Effect.sync(() => {
        steps.push(name)
        return []
      })
    const layer = policies({
      readYourWrites: { awaitUser: (user_id) => Effect.sync(() => void steps.push(`wait for ${user_id}`)) },
      history: { marketHours: read("read"), accountHours: read("read") }
    })
    return Effect.gen(function* () {
      yield* (yield* TradingStatistics).statistics(tokenCaller, {})
      assert.deepStrictEqual(steps, [`wait for ${tokenCaller.user_id}`, "read", "read"])
    }).pipe(Effect.provide(Layer.fresh(layer)))
  })

  const HOUR = 480_000
  /** An hour with these volumes in BTC, and with a result of each account. */
  const marketHour = (address: string, hour: number, maker: string, taker: string, symbol = BTC): MarketRow => ({
    user_id: userId,
    sub_account_address: address,
    symbol,
    hour: hour * HOUR_MS,
    figures: {
      flows: {
        ...noFlows,
        maker_volume: parse(maker),
        taker_volume: parse(taker),
        counted_volume: parse(maker) + parse(taker),
        counted_at: hour * HOUR_MS + 1
      },
      size: 0n,
      cost: 0n,
      executions: 1
    }
  })
  const accountHour = (address: string, hour: number, result: string): AccountRow => ({
    user_id: userId,
    sub_account_address: address,
    hour: hour * HOUR_MS,
    figures: { money: 0n, path: step(parse(result)) }
  })
  const figuresOf = (caller: Caller, request: Parameters<(typeof TradingStatistics.Service)["statistics"]>[1]) =>
    Effect.map(
      Effect.flatMap(TradingStatistics, ({ statistics }) => statistics(caller, request)),
      ({ maker_volume, max_drawdown, taker_volume, volume }) => [maker_volume, taker_volume, volume, max_drawdown]
    )

  it.effect("are those of the sub-accounts that the request names and the credential may see", () => {
    const marketHours = () =>
      Effect.succeed([
        marketHour(v0, HOUR, "1", "2"),
        marketHour(v1, HOUR, "10", "20"),
        marketHour(v1, HOUR + 1, "5", "0", "ETH-USDC")
      ])
    // not in the order of time: a gain of 8, then a loss of 5, and a loss of 3
    const accountHours = () =>
      Effect.succeed([
        accountHour(v1, HOUR + 1, "-5"),
        accountHour(v0, HOUR, "-3"),
        accountHour(v1, HOUR, "8"),
        accountHour(v1, HOUR + 2, "-1")
      ])
    return Effect.gen(function* () {
      const both = ["16", "22", "38", "6"]
      const second = ["15", "20", "35", "6"]
      const first = ["1", "2", "3", "3"]
      const bound = (address: string): Caller => ({ ...tokenCaller, bound_to: new Set([address]) })
      assert.deepStrictEqual(yield* figuresOf(tokenCaller, {}), both)
      assert.deepStrictEqual(yield* figuresOf(tokenCaller, { sub_account_address: v0 }), first)
      assert.deepStrictEqual(yield* figuresOf(bound(v1), {}), second)
      assert.deepStrictEqual(yield* figuresOf(bound(v0), { sub_account_address: v0 }), first)
      const hidden = yield* Effect.flip(figuresOf(bound(v0), { sub_account_address: v1 }))
      assert.deepInclude(hidden, { reason: "SubAccountNotFound" })
    }).pipe(Effect.provide(Layer.fresh(policies({ history: { marketHours, accountHours } }))))
  })

  it.effect(
    "begin at the hour that contains its first moment, and are refused while the sequencer is unhealthy",
    () => {
      const starts: Array<number> = []
      const read = ({ start }: { readonly start: number }) =>
        Effect.sync(() => {
          starts.push(start)
          return []
        })
      let unhealthy = false
      const layer = policies({
        history: { marketHours: read, accountHours: read },
        health: { sequencer: () => ({ ...well, unhealthy, lag_ms: 9 }) }
      })
      return Effect.gen(function* () {
        const to_ms = HOUR * HOUR_MS + 1_234
        yield* TestClock.setTime(to_ms)
        const { statistics } = yield* TradingStatistics
        const froms: Array<number> = []
        for (const period of ["1d", "7d", "30d", "all", undefined] as const) {
          const found = yield* statistics(tokenCaller, period === undefined ? {} : { period })
          assert.deepInclude(found, { period: period ?? "30d", to_ms })
          froms.push(found.from_ms)
        }
        const days = (count: number) => (HOUR - 24 * count) * HOUR_MS
        assert.deepStrictEqual(froms, [days(1), days(7), days(30), 0, days(30)])
        assert.deepStrictEqual(
          starts,
          froms.flatMap((from) => [from, from])
        )
        unhealthy = true
        assert.deepInclude(yield* Effect.flip(statistics(tokenCaller, {})), { reason: "BackendLagging" })
        assert.lengthOf(starts, 10)
      }).pipe(Effect.provide(Layer.fresh(layer)))
    }
  )

  it.effect("of days are of one market where one is given, and count a user once", () => {
    const start = HOUR * HOUR_MS + MINUTE_MS
    const execution = (symbol: string, exec_value: string) =>
      ({
        sub_account_address: v0,
        symbol,
        exec_value,
        exec_type: "Trade",
        create_type: "CreateByUser",
        base_fee: "0",
        exec_qty: "1",
        side: "Buy",
        is_maker: false,
        exec_time: String(start)
      }) as unknown as Execution
    const layer = policies({
      history: {
        // the first hour is divided by the start, the second one is whole
        marketHours: () =>
          Effect.succeed([
            marketHour(v0, HOUR, "100", "0"),
            marketHour(v0, HOUR, "100", "0", "ETH-USDC"),
            marketHour(v0, HOUR + 1, "10", "0"),
            marketHour(v0, HOUR + 1, "20", "0", "ETH-USDC")
          ]),
        fills: () =>
          Effect.succeed(
            [execution(BTC, "3"), execution("ETH-USDC", "4")].map((of) => ({ execution: of, closing: undefined }))
          )
      }
    })
    return Effect.gen(function* () {
      const { days } = yield* TradingStatistics
      const range = { start, end: start + DAY_MS, equity: false }
      const volumes = (symbol: string | undefined) =>
        Effect.map(days({ ...range, symbol, user_ids: [userId, userId] }), (found) => found.map(({ volume }) => volume))
      assert.deepStrictEqual(yield* volumes(BTC), ["13"])
      assert.deepStrictEqual(yield* volumes("ETH-USDC"), ["24"])
      assert.deepStrictEqual(yield* volumes(undefined), ["37"])
    }).pipe(Effect.provide(Layer.fresh(layer)))
  })

  it.effect("of days have the money after the last transaction before them, on whichever page it is", () => {
    const start = HOUR * HOUR_MS + MINUTE_MS
    const asked: Array<unknown> = []
    const layer = policies({
      history: {
        marketHours: () => Effect.succeed([marketHour(v0, HOUR + 1, "10", "0")]),
        hoursBefore: () => Effect.succeed({ accounts: [], markets: [] }),
        fills: () => Effect.succeed([]),
        subAccounts: () => Effect.succeed([{ sub_account_address: v0 } as SubAccountState]),
        transactions: ({ after, end_time, start_time }) =>
          Effect.sync(() => {
            asked.push([start_time, end_time, after])
            // the first page has rows of other sub-accounts only
            const next = { time: 1, id: "1" } as unknown as RowKey
            return after === undefined
              ? { rows: [], next }
              : { rows: [{ balance_after: "42" } as Transaction], next: undefined }
          })
      }
    })
    return Effect.gen(function* () {
      const { days } = yield* TradingStatistics
      const found = yield* days({ user_ids: [userId], symbol: undefined, start, end: start + DAY_MS, equity: true })
      assert.deepStrictEqual(
        found.map(({ equity }) => equity),
        ["42"]
      )
      assert.deepStrictEqual(asked, [
        [HOUR * HOUR_MS, start, undefined],
        [HOUR * HOUR_MS, start, { time: 1, id: "1" }]
      ])
    }).pipe(Effect.provide(Layer.fresh(layer)))
  })

  it.effect.each([
    { name: "at a full minute", past_ms: 0 },
    { name: "within a minute", past_ms: 30_000 }
  ])("of days have the equity at the mark price of the last full minute before them, $name", ({ past_ms }) => {
    const minute = HOUR * HOUR_MS
    const start = minute + past_ms
    const closes: ReadonlyArray<readonly [number, string]> = [
      [minute, "130"],
      [minute - MINUTE_MS, "110"],
      [minute - 2 * MINUTE_MS, "90"]
    ]
    const held = { size: parse("2"), cost: parse("200") }
    const layer = policies({
      history: {
        marketHours: () => Effect.succeed([marketHour(v0, HOUR + 1, "10", "0")]),
        hoursBefore: () =>
          Effect.succeed({
            accounts: [{ sub_account_address: v0, figures: { money: parse("1000") } } as AccountRow],
            markets: [{ sub_account_address: v0, symbol: BTC, figures: held } as MarketRow]
          }),
        fills: () => Effect.succeed([]),
        subAccounts: () => Effect.succeed([]),
        candles: ({ end, limit, start }) =>
          Effect.succeed(
            closes
              .filter(([at]) => at >= start && at < end)
              .slice(0, limit)
              .map(([start_time, close]) => ({ start_time, close }) as Candle)
          )
      }
    })
    return Effect.gen(function* () {
      const { days } = yield* TradingStatistics
      const found = yield* days({ user_ids: [userId], symbol: undefined, start, end: start + DAY_MS, equity: true })
      // the money, and what two contracts have gained since they were bought at 100
      assert.deepStrictEqual(
        found.map(({ equity }) => equity),
        ["1020"]
      )
    }).pipe(Effect.provide(Layer.fresh(layer)))
  })
})
