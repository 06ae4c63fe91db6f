/** Contract of every history for financial records and market records; a part of the history contract. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Event, EventBody } from "../../src/domain/Event.ts"
import type { RowKey } from "../../src/domain/Page.ts"
import { HOUR_MS, iso, MINUTE_MS } from "../../src/domain/Time.ts"
import { History, type ListQuery } from "../../src/services/History.ts"
import { body, event, START, symbol, userOf, uuid } from "../../verification/harness/Records.ts"
import { commit } from "./HistoryContract.ts"

type Test = <A, E2>(title: string, body: Effect.Effect<A, E2, History>) => void

const alice = userOf(1)
const bob = userOf(2)

const asked = (fields: Partial<ListQuery> = {}): ListQuery => ({
  user_id: alice.user_id,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: undefined,
  limit: 50,
  after: undefined,
  ...fields
})
const markets = (fields: { readonly limit?: number; readonly after?: RowKey; readonly end_time?: number } = {}) => ({
  symbol,
  start_time: undefined,
  end_time: fields.end_time,
  limit: fields.limit ?? 50,
  after: fields.after
})
const at = (n: number) => ({ ts_ms: START + n })

/**
 * The story of docs/contract/stories.md#login-to-closed-pnl, money and fills of it: two taker fills, one of them
 * closing.
 */
const trades = (): ReadonlyArray<Event> => [
  event(1, body.money("deposit", "10000", { amount: "10000" }), at(1)),
  event(2, body.order({ order_id: uuid(1) }), at(2)),
  event(3, body.execution({ exec_time: String(START + 2) }), at(2)),
  event(4, body.money("trade", "9993.4", { fee: "6.6", symbol }), at(2)),
  event(5, body.order({ order_id: uuid(2), side: "Sell" }), at(3)),
  event(6, body.closing({ order_id: uuid(2), exec_id: uuid(1_001), exec_time: String(START + 3) }), at(3)),
  event(7, body.order({ order_id: uuid(2), side: "Sell", order_status: "Filled", leaves_qty: "0" }), at(3)),
  event(8, body.money("trade", "10186.69", { fee: "6.71", realised_pnl: "200", symbol }), at(3))
]

export const ledgerTests = (test: Test): void => {
  test(
    "adds what a liquidation paid to its closed PnL and its hour, after a restart in the middle too",
    Effect.gen(function* () {
      const history = yield* History
      const order = { order_id: uuid(2), side: "Sell", create_type: "CreateByLiq" } as const
      // each commit begins where the one before ended, as after a restart
      yield* commit([event(1, body.order(order), at(3))])
      yield* commit([event(2, body.closing({ ...order, exec_time: String(START + 3) }), at(3))])
      yield* commit([event(3, body.order({ ...order, order_status: "Filled", leaves_qty: "0" }), at(3))])
      const fee = (seq: number, amount: string, order_id: string, ms: number) =>
        event(seq, body.money("liquidation_fee", "17.66", { amount, order_id, symbol }), at(ms))
      yield* commit([fee(4, "-60.44", uuid(2), 3)])
      const [closed] = (yield* history.closedPnls(asked())).rows
      assert.deepInclude(closed, { closed_pnl: "186.69", liquidation_fee: "60.44", fill_count: 1 })
      // of an order that is not known any more only the hour is
      yield* commit([fee(5, "10", uuid(9), 3)])
      assert.lengthOf((yield* history.closedPnls(asked())).rows, 1)
      const [hour] = yield* history.marketHours({ user_id: alice.user_id, start: 0, end: START + HOUR_MS })
      assert.strictEqual(hour!.figures.flows.liquidation_fees, 50_440_000_000_000_000_000n)
      assert.strictEqual(hour!.figures.flows.fees, 6_710_000_000_000_000_000n)
      // later nothing more can come to it
      yield* commit([event(6, body.order({ order_id: uuid(3) }), at(4))])
      const { closings } = yield* history.ledger
      assert.deepStrictEqual(closings, [])
    })
  )

  test(
    "sums the fills of a closing order up, and is right however the stream is cut",
    Effect.gen(function* () {
      const history = yield* History
      const half = { exec_qty: "0.1", exec_value: "6100", closed_size: "0.1", order_qty: "0.2" }
      const events: ReadonlyArray<EventBody> = [
        body.order({ order_id: uuid(2), side: "Sell" }),
        body.closing(
          { ...half, order_id: uuid(2), base_fee: "3.355" },
          { entry_value: "6000", open_fee: "3.3", realised_pnl: "100" }
        ),
        body.order({ order_id: uuid(2), side: "Sell", order_status: "PartiallyFilled" }),
        body.closing(
          { ...half, order_id: uuid(2), base_fee: "1.2", exec_price: "61010", exec_value: "6101" },
          { entry_value: "6000", open_fee: "3.3", realised_pnl: "101" }
        ),
        body.order({ order_id: uuid(2), side: "Sell", order_status: "Filled", leaves_qty: "0" }),
        // another order closes in the other direction, as a part of its fill, whose fee is split
        body.order({ order_id: uuid(3), side: "Buy" }),
        body.closing(
          { order_id: uuid(3), side: "Buy", exec_qty: "0.3", closed_size: "0.1", base_fee: "0.00000000000000001" },
          { entry_value: "6000", open_fee: "0", realised_pnl: "-100" }
        )
      ]
      for (const [i, of] of events.entries()) yield* commit([event(i + 1, of, at(i + 1))])
      const { rows } = yield* history.closedPnls(asked())
      assert.deepStrictEqual(
        rows.map(({ closed_pnl, close_fee, fill_count }) => [closed_pnl, close_fee, fill_count]),
        [
          // a third of the fee, rounded up
          ["-100.000000000000000004", "0.000000000000000004", 1],
          ["189.845", "4.555", 2]
        ]
      )
      const [, both] = rows
      assert.strictEqual(both!.avg_exit_price, "61005")
      assert.strictEqual(both!.avg_entry_price, "60000")
      assert.strictEqual(both!.open_fee, "6.6")
      assert.strictEqual(both!.closed_size, "0.2")
      assert.deepStrictEqual(
        (yield* history.ledger).closings.map(({ closed }) => closed.order_id),
        [uuid(3)]
      )
    })
  )

  test(
    "records every change of money with an exact balance, and no change of margins",
    Effect.gen(function* () {
      const history = yield* History
      yield* commit([
        ...trades(),
        event(9, body.money("margin", "9186.69", { balance: { isolated_margin: "1000" }, amount: "-1000" })),
        event(10, body.money("order", "9186.69", { balance: { isolated_margin: "1000" } })),
        event(11, body.money("funding", "9186.69", { amount: "-9", symbol, balance: { isolated_margin: "991" } })),
        event(12, body.money("liquidation_fee", "9100", { amount: "-86.69", balance: { isolated_margin: "991" } })),
        event(13, body.money("adl", "9150", { realised_pnl: "50", balance: { isolated_margin: "991" } })),
        event(14, body.money("transfer_out", "9100", { amount: "-50", balance: { isolated_margin: "991" } })),
        event(15, body.money("reward", "9101", { amount: "1", balance: { isolated_margin: "991" } }))
      ])
      const all = yield* history.transactions({ ...asked(), type: undefined })
      assert.deepStrictEqual(
        all.rows.toReversed().map(({ type, amount, balance_after }) => [type, amount, balance_after]),
        [
          ["deposit", "10000", "10000"],
          ["fee", "-6.6", "9993.4"],
          ["realized_pnl", "200", "10193.4"],
          ["fee", "-6.71", "10186.69"],
          ["funding", "-9", "10177.69"],
          ["liquidation_fee", "-86.69", "10091"],
          ["adl", "50", "10141"],
          ["transfer_out", "-50", "10091"],
          ["reward", "1", "10092"]
        ]
      )
      assert.strictEqual(new Set(all.rows.map(({ id }) => id)).size, 9)
      // page by page, through the two of one event
      const walked: Array<string> = []
      let after: RowKey | undefined
      do {
        const page = yield* history.transactions({ ...asked({ limit: 1, after }), type: "fee" })
        walked.push(...page.rows.map((row) => row.amount))
        after = page.next
      } while (after !== undefined)
      assert.deepStrictEqual(walked, ["-6.71", "-6.6"])
      const one = asked({ sub_accounts: [alice.account(1)] })
      assert.deepStrictEqual((yield* history.transactions({ ...one, type: undefined })).rows, [])
      assert.deepStrictEqual(
        (yield* history.transactions({ ...asked({ user_id: bob.user_id }), type: undefined })).rows,
        []
      )
    })
  )

  test(
    "filters transactions by market and closed results by the closing order",
    Effect.gen(function* () {
      const history = yield* History
      yield* commit([
        ...trades(),
        event(9, body.money("trade", "10180", { fee: "6.69", symbol: "ETH-USDC" }), at(9)),
        event(10, body.closing({ order_id: uuid(3), exec_id: uuid(1_002), exec_time: String(START + 10) }), at(10))
      ])
      const amounts = (fields: Partial<ListQuery>, type?: "fee") =>
        Effect.map(history.transactions({ ...asked(fields), type }), ({ rows }) => rows.map(({ amount }) => amount))
      assert.deepStrictEqual(yield* amounts({ symbol: "ETH-USDC" }), ["-6.69"])
      assert.deepStrictEqual(yield* amounts({ symbol }), ["-6.71", "200", "-6.6"])
      assert.deepStrictEqual(yield* amounts({ symbol }, "fee"), ["-6.71", "-6.6"])
      assert.deepStrictEqual(yield* amounts({ symbol: "SOL-USDC" }), [])
      const closed = (order_id: string, fields: Partial<ListQuery> = {}) =>
        Effect.map(history.closedPnls({ ...asked(fields), order_id }), ({ rows }) => rows.map((row) => row.order_id))
      assert.deepStrictEqual(yield* closed(uuid(2)), [uuid(2)])
      assert.deepStrictEqual(yield* closed(uuid(3), { symbol }), [uuid(3)])
      assert.deepStrictEqual(yield* closed(uuid(3), { symbol: "ETH-USDC" }), [])
      assert.deepStrictEqual(yield* closed(uuid(3), { user_id: bob.user_id }), [])
      assert.deepStrictEqual(yield* closed(uuid(4)), [])
    })
  )

  test(
    "keeps funding payments under the time of their settlement, and rates of each market",
    Effect.gen(function* () {
      const history = yield* History
      const second = START + 8 * HOUR_MS
      yield* commit([event(1, body.funding()), event(2, body.funded())])
      // the settlement is remembered over a crash between it and the payment
      yield* commit([event(3, body.funding({ funding_time: iso(second), funding_time_ms: second }))])
      yield* commit([event(4, body.funded({ side: "Sell", base_fee: "-9" }), { ts_ms: second + 90 })])
      const { rows } = yield* history.fundingPayments(asked())
      assert.deepStrictEqual(
        rows.map(({ payment, side, size, funding_time_ms }) => [payment, side, size, funding_time_ms]),
        [
          ["9", "Sell", "0.5", second],
          ["-9", "Buy", "0.5", START]
        ]
      )
      const first = yield* history.fundingRates(markets({ limit: 1 }))
      assert.strictEqual(first.rows[0]!.funding_time, iso(second))
      const rest = yield* history.fundingRates(markets({ after: first.next! }))
      assert.deepStrictEqual(
        rest.rows.map((rate) => rate.funding_time_ms),
        [START]
      )
      assert.deepStrictEqual((yield* history.fundingRates({ ...markets(), symbol: "ETH-USDC" })).rows, [])
    })
  )

  test(
    "samples open interest once an interval, restarts or not",
    Effect.gen(function* () {
      const history = yield* History
      for (let n = 0; n < 14; n++) {
        const ts_ms = START + n * MINUTE_MS
        yield* commit([event(n + 1, body.prices({ ts_ms, open_interest: String(n) }), { ts_ms })])
      }
      const samples = (interval: "5" | "60" | "D") =>
        Effect.map(history.openInterest({ ...markets(), interval }), ({ rows }) =>
          rows.map(({ open_interest, timestamp }) => [open_interest, (timestamp - START) / MINUTE_MS])
        )
      assert.deepStrictEqual(yield* samples("5"), [
        ["10", 10],
        ["5", 5],
        ["0", 0]
      ])
      assert.deepStrictEqual(yield* samples("60"), [["0", 0]])
      assert.deepStrictEqual(yield* samples("D"), [["0", 0]])
    })
  )

  test(
    "keeps every state of a pool and every alert, of one market or of all",
    Effect.gen(function* () {
      const history = yield* History
      yield* commit([
        event(1, body.pool({ updated_time: START })),
        event(2, body.pool({ updated_time: START, cash_balance: "5" })),
        event(3, body.pool({ updated_time: START + 1, pool_id: "pool-ETH-USDC" }, "ETH-USDC")),
        event(4, body.adl({ updated_time: START + 2 }))
      ])
      const { after: _, ...all } = { ...markets(), symbol: undefined }
      assert.deepStrictEqual(
        (yield* history.pools(all)).map(({ pool_id, cash_balance }) => [pool_id, cash_balance]),
        [
          ["pool-ETH-USDC", "1000000"],
          [`pool-${symbol}`, "5"],
          [`pool-${symbol}`, "1000000"]
        ]
      )
      assert.strictEqual((yield* history.pools({ ...all, symbol, limit: 1 }))[0]!.cash_balance, "5")
      assert.strictEqual((yield* history.adlAlerts({ ...all, end_time: START + 3 })).length, 1)
      assert.strictEqual((yield* history.adlAlerts({ ...all, end_time: START + 2 })).length, 0)
    })
  )

  test(
    "lists executions by offset and counts them, by sub-account and market too",
    Effect.gen(function* () {
      const history = yield* History
      const other = alice.account(1)
      yield* commit([
        ...Array.from({ length: 5 }, (_, i) =>
          event(i + 1, body.execution({ exec_id: uuid(i + 1), exec_time: String(START + i) }), at(i))
        ),
        event(6, body.funded({ exec_id: uuid(6), exec_time: String(START + 6), sub_account_address: other }), at(6)),
        event(
          7,
          body.execution({ exec_id: uuid(7), symbol: "ETH-USDC", exec_time: String(START + HOUR_MS) }),
          at(HOUR_MS)
        )
      ])
      const page = (offset: number, fields: { sub_accounts?: ReadonlyArray<string>; symbol?: string } = {}) =>
        Effect.map(
          history.executionsAt({
            user_id: alice.user_id,
            sub_accounts: fields.sub_accounts,
            symbol: fields.symbol,
            limit: 3,
            offset
          }),
          ({ rows, total }) => [total, ...rows.map((row) => Number(row.exec_id.at(-1)))]
        )
      assert.deepStrictEqual(yield* page(0), [7, 7, 6, 5])
      assert.deepStrictEqual(yield* page(6), [7, 1])
      assert.deepStrictEqual(yield* page(9), [7])
      assert.deepStrictEqual(yield* page(0, { sub_accounts: [other] }), [1, 6])
      assert.deepStrictEqual(yield* page(0, { sub_accounts: [] }), [0])
      assert.deepStrictEqual(yield* page(3, { symbol }), [6, 3, 2, 1])
    })
  )

  test(
    "keeps what was done in each hour and how it stood then, the running hour too",
    Effect.gen(function* () {
      const history = yield* History
      const later = START + 2 * HOUR_MS
      yield* commit(trades().slice(0, 4))
      yield* commit([
        event(5, body.order({ order_id: uuid(2), side: "Sell" }), { ts_ms: later }),
        event(6, body.closing({ order_id: uuid(2), exec_time: String(later) }), { ts_ms: later }),
        event(7, body.money("trade", "10186.69", { fee: "6.71", realised_pnl: "200" }), { ts_ms: later })
      ])
      const span = { user_id: alice.user_id, start: 0, end: later + 1 }
      const rows = (yield* history.marketHours(span)).toSorted((a, b) => a.hour - b.hour)
      const n = (text: string) => BigInt(text) * 10n ** 18n
      assert.deepStrictEqual(
        rows.map(({ hour, figures }) => [hour, figures.flows.trade_count, figures.size, figures.executions]),
        [
          [START, 1, n("2") / 10n, 1],
          [later, 1, 0n, 2]
        ]
      )
      assert.deepStrictEqual(rows[1]!.figures.cost, 0n)
      assert.strictEqual(rows[1]!.figures.flows.win_count, 1)
      const [then] = (yield* history.hoursBefore({ user_id: alice.user_id, hour: later })).markets
      assert.deepStrictEqual([then!.hour, then!.figures.cost], [START, n("12000")])
      const [now] = (yield* history.hoursBefore({ user_id: alice.user_id, hour: later + 1 })).accounts
      assert.strictEqual(now!.figures.money, n("1018669") / 100n)
      assert.deepStrictEqual(
        (yield* history.accountHours({ ...span, user_id: undefined, end: later })).map(({ hour }) => hour),
        [START]
      )
      assert.deepStrictEqual(yield* history.marketHours({ ...span, user_id: bob.user_id }), [])
      const fills = yield* history.fills({ user_id: alice.user_id, start: START + 2, end: later })
      assert.deepStrictEqual(
        fills.map(({ closing }) => closing),
        [undefined]
      )
    })
  )
}
