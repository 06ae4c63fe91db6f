/**
 * Policy: trading statistics over a time range: figures of a period for their owner, and of each day for
 * competitions.
 *
 * Whole hours are read as sums from the {@link History}. Hours that a bound divides are read fill by fill, so every
 * figure is exact to the millisecond.
 * Source: docs/contract/rest-account.md#statistics, docs/contract/exchange.md#competition-scoring.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Statistics } from "../../domain/Account.ts"
import { type Flows, flowsOf, hourOf, join, noFlows, noPath, type Path, plus } from "../../domain/HourlyStats.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { Period } from "../../domain/Enumerations.ts"
import type { RowKey, Rows } from "../../domain/Page.ts"
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../domain/Time.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Caller } from "../../domain/User.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import { History, type HistoryUnavailable } from "../History.ts"
import type { DomainError } from "../DomainError.ts"
import { type ResolveFailure, SubAccounts } from "../identity/SubAccounts.ts"
import { ReadYourWrites } from "./ReadYourWrites.ts"

export interface DaysQuery {
  /** Users to include; `undefined`: all that traded in the range. */
  readonly user_ids: ReadonlyArray<string> | undefined
  /** `undefined`: all markets. */
  readonly symbol: string | undefined
  /** Unix ms, inclusive; day 0 begins here, and each day has 24 hours. */
  readonly start: number
  /** Unix ms, exclusive. */
  readonly end: number
  /** Whether to compute the equity of each day; it is most of the cost. */
  readonly equity: boolean
}

/** Figures of a sub-account on one day with trades. Decimals are text. */
export interface DayFigures {
  readonly user_id: string
  readonly sub_account_address: string
  /** 0 for the 24 hours from `start`. */
  readonly day: number
  /** Σ exec_value of maker and taker fills, without liquidation and deleveraging, as in all figures here. */
  readonly volume: string
  /** Σ closed PnL, after open and close fees; signed. */
  readonly closed_pnl: string
  /** Money and unrealised PnL of the sub-account at the start of the day, at the mark price of that time; signed. */
  readonly equity: string | undefined
  /** Time of the last counted fill, Unix ms. */
  readonly last_fill: number
}

/** Lengths of the periods. */
const PERIOD_MS: { readonly [P in Exclude<Period, "all">]: number } = {
  "1d": DAY_MS,
  "7d": 7 * DAY_MS,
  "30d": 30 * DAY_MS
}
export const PERIOD_DEFAULT = "30d"

/** The flows of one sub-account on one day. */
interface Day {
  readonly user_id: string
  readonly sub_account_address: string
  readonly day: number
  readonly flows: Flows
}

export class TradingStatistics extends Context.Service<
  TradingStatistics,
  {
    /** Figures of each sub-account and day, in no order; days without a counted fill are omitted. */
    readonly days: (query: DaysQuery) => Effect.Effect<ReadonlyArray<DayFigures>, HistoryUnavailable>
    readonly statistics: (
      caller: Caller,
      request: { readonly sub_account_address?: string; readonly period?: Period }
    ) => Effect.Effect<Statistics, DomainError<UnhealthyReason> | ResolveFailure>
  }
>()("gateway/services/TradingStatistics") {
  static readonly layer: Layer.Layer<
    TradingStatistics,
    never,
    BackendAvailability | History | ReadYourWrites | SubAccounts
  > = Layer.effect(
    TradingStatistics,
    Effect.gen(function* () {
      const availability = yield* BackendAvailability
      const history = yield* History
      const readYourWrites = yield* ReadYourWrites
      const subAccounts = yield* SubAccounts

      /** The mark price of a market at the last full minute before `at`. */
      const markAt = (symbol: string, at: number) =>
        Effect.map(
          history.candles({ kind: "mark", symbol, interval: "1", start: 0, end: at - MINUTE_MS + 1, limit: 1 }),
          ([candle]) => candle && Decimal.parse(candle.close)
        )

      /** The last transaction of a sub-account in [start, end). */
      const lastTransaction = Effect.fnUntraced(function* (
        user_id: string,
        sub_account_address: string,
        start: number,
        end: number
      ): Effect.fn.Return<Transaction | undefined, HistoryUnavailable> {
        let after: RowKey | undefined = undefined
        do {
          const page: Rows<Transaction> = yield* history.transactions({
            user_id,
            sub_accounts: [sub_account_address],
            symbol: undefined,
            start_time: start,
            end_time: end,
            limit: 1,
            after,
            type: undefined
          })
          if (page.rows[0] !== undefined) return page.rows[0]
          // rows of the user's other sub-accounts may fill a page
          after = page.next
        } while (after !== undefined)
        return undefined
      })

      /** Equity of the sub-accounts of a user at a time; empty sub-accounts are omitted. */
      const equityAt = Effect.fnUntraced(function* (user_id: string, at: number) {
        const hour = hourOf(at)
        const { accounts, markets } = yield* history.hoursBefore({ user_id, hour })
        const money = new Map(accounts.map((row) => [row.sub_account_address, row.figures.money]))
        const held = new Map(
          markets.map((row) => [
            `${row.sub_account_address}|${row.symbol}`,
            { size: row.figures.size, cost: row.figures.cost }
          ])
        )
        if (hour < at) {
          for (const { closing, execution } of yield* history.fills({ user_id, start: hour, end: at })) {
            const key = `${execution.sub_account_address}|${execution.symbol}`
            const { cost, size } = flowsOf(execution, closing)
            const before = held.get(key) ?? { size: 0n, cost: 0n }
            held.set(key, { size: before.size + size, cost: before.cost + cost })
          }
          for (const { sub_account_address } of yield* history.subAccounts(user_id)) {
            const last = yield* lastTransaction(user_id, sub_account_address, hour, at)
            if (last !== undefined) money.set(sub_account_address, Decimal.parse(last.balance_after))
          }
        }
        const equity = new Map(money)
        for (const [key, { cost, size }] of held) {
          if (size === 0n) continue
          const [address, symbol] = key.split("|") as [string, string]
          const mark = yield* markAt(symbol, at)
          const pnl = mark === undefined ? 0n : Decimal.mul(size, mark, "toward-zero") - cost
          equity.set(address, (equity.get(address) ?? 0n) + pnl)
        }
        return equity
      })

      const days = Effect.fnUntraced(function* ({ end, equity: withEquity, start, symbol, user_ids }: DaysQuery) {
        const found = new Map<string, Day>()
        const add = (user_id: string, sub_account_address: string, at: number, flows: Flows) => {
          const day = Math.floor((at - start) / DAY_MS)
          const key = `${sub_account_address}|${day}`
          const before = found.get(key)?.flows ?? noFlows
          found.set(key, { user_id, sub_account_address, day, flows: plus(before, flows) })
        }
        const users = user_ids === undefined ? [undefined] : [...new Set(user_ids)]
        const hours = yield* Effect.forEach(users, (user_id) =>
          history.marketHours({ user_id, start: hourOf(start), end })
        )
        // days begin at `start`; unless that is a full hour, most days divide an hour
        const isCut = (hour: number) =>
          hour < start || hour + HOUR_MS > end || (hour - start) % DAY_MS > DAY_MS - HOUR_MS
        const cut = new Map<string, { readonly user_id: string; readonly hour: number }>()
        for (const row of hours.flat()) {
          const { flows } = row.figures
          if (symbol !== undefined && row.symbol !== symbol) continue
          if (isCut(row.hour)) cut.set(`${row.user_id}|${row.hour}`, row)
          else add(row.user_id, row.sub_account_address, row.hour, flows)
        }
        for (const { user_id, hour } of cut.values()) {
          const span = { start: Math.max(hour, start), end: Math.min(hour + HOUR_MS, end) }
          for (const { closing, execution } of yield* history.fills({ user_id, ...span })) {
            if (symbol !== undefined && execution.symbol !== symbol) continue
            add(user_id, execution.sub_account_address, Number(execution.exec_time), flowsOf(execution, closing))
          }
        }
        const counted = [...found.values()].filter(({ flows }) => flows.counted_at > 0)
        const equities = new Map<string, ReadonlyMap<string, bigint>>()
        return yield* Effect.forEach(
          counted,
          Effect.fnUntraced(function* ({ user_id, sub_account_address, day, flows }) {
            const key = `${user_id}|${day}`
            let equity = equities.get(key)
            if (withEquity && equity === undefined) {
              equity = yield* equityAt(user_id, start + day * DAY_MS)
              equities.set(key, equity)
            }
            return {
              user_id,
              sub_account_address,
              day,
              volume: Decimal.format(flows.counted_volume),
              closed_pnl: Decimal.format(flows.counted_pnl),
              equity: equity && Decimal.format(equity.get(sub_account_address) ?? 0n),
              last_fill: flows.counted_at
            }
          })
        )
      })

      return TradingStatistics.of({
        days,
        statistics: Effect.fnUntraced(function* (caller, { period = PERIOD_DEFAULT, sub_account_address }) {
          const addresses = new Set(yield* subAccounts.resolveWithDeleted(caller, sub_account_address))
          yield* availability.sequencer
          yield* readYourWrites.awaitUser(caller.user_id)
          const to_ms = yield* Clock.currentTimeMillis
          const from_ms = period === "all" ? 0 : hourOf(Math.max(0, to_ms - PERIOD_MS[period]))
          const span = { user_id: caller.user_id, start: from_ms, end: Number.MAX_SAFE_INTEGER }
          const markets = yield* history.marketHours(span)
          const accounts = yield* history.accountHours(span)
          const flows = markets
            .filter((row) => addresses.has(row.sub_account_address))
            .reduce((sum, row) => plus(sum, row.figures.flows), noFlows)
          const paths = new Map<string, Path>()
          for (const row of accounts.toSorted((a, b) => a.hour - b.hour)) {
            const { sub_account_address: address, figures } = row
            if (addresses.has(address)) paths.set(address, join(paths.get(address) ?? noPath, figures.path))
          }
          const drawdown = [...paths.values()].reduce((most, path) => Decimal.max(most, path.drawdown), 0n)
          const { format } = Decimal
          return {
            volume: format(flows.maker_volume + flows.taker_volume),
            maker_volume: format(flows.maker_volume),
            taker_volume: format(flows.taker_volume),
            trade_count: flows.trade_count,
            fees_paid: format(flows.fees),
            liquidation_fee: format(flows.liquidation_fees),
            funding_paid: format(flows.funding),
            realised_pnl: format(flows.realised_pnl),
            win_count: Math.max(0, flows.win_count),
            loss_count: Math.max(0, flows.loss_count),
            max_drawdown: format(drawdown),
            period,
            from_ms,
            to_ms
          }
        })
      })
    })
  )
}
