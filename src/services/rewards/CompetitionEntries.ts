/**
 * The entries of a competition: the days of a user are read again from the records, and scored.
 * Source: docs/contract/exchange.md#competition-scoring.
 */
import { Effect } from "effect"
import * as Decimal from "../../domain/Decimal.ts"
import { daysOf, ineligible, roiUnits, scoreOf } from "../../domain/Scoring.ts"
import { DAY_MS } from "../../domain/Time.ts"
import { BanList } from "../identity/BanList.ts"
import type { PastExecution } from "../History.ts"
import { type DayFigures, TradingStatistics } from "../read-model/TradingStatistics.ts"
import { type CompetitionRecord, CompetitionStore, type DayUnits, type Entry } from "./CompetitionStore.ts"

/** Users per read of a day. */
const USERS_READ = 64

/** Units of a day under the metric of the competition. */
const unitsOf = ({ scoring }: CompetitionRecord, figures: DayFigures): Decimal.Scaled => {
  switch (scoring.metric) {
    case "volume":
      return Decimal.parse(figures.volume)
    case "realized_pnl":
      return Decimal.max(0n, Decimal.parse(figures.closed_pnl))
    case "roi":
      return roiUnits(Decimal.parse(figures.closed_pnl), Decimal.parse(figures.equity!))
  }
}

/** The sum of the scores of eligible entries. */
export const eligibleSum = (entries: Iterable<Entry>): Decimal.Scaled => {
  let sum = 0n
  for (const { ineligible_reason, score } of entries) {
    if (ineligible_reason === undefined) sum += Decimal.parse(score)
  }
  return sum
}

/** `scored` scores an entry; `changed` reads the days of executions again. */
export const make = Effect.gen(function* () {
  const bans = yield* BanList
  const store = yield* CompetitionStore
  const statistics = yield* TradingStatistics

  /** An entry with its score and eligibility. */
  const scored = (
    competition: CompetitionRecord,
    { sub_account_address, user_id, days }: Pick<Entry, "sub_account_address" | "user_id" | "days">
  ): Entry => {
    const units = new Map(days.map(({ day, units: text }) => [day, Decimal.parse(text)] as const))
    const length = daysOf(competition.start_time_ms, competition.end_time_ms)
    const { active_days, metric_value, score } = scoreOf(competition.scoring, units, length)
    return {
      sub_account_address,
      user_id,
      days,
      last_time: days.reduce((last, day) => Math.max(last, day.last_time), 0),
      active_days,
      metric_value: Decimal.format(metric_value),
      score: Decimal.format(score),
      ineligible_reason: bans.isBanned(user_id) ? "excluded" : ineligible(competition.scoring, active_days),
      multiplier_bps: undefined
    }
  }

  /** Figures of the users of some executions, on the days of these executions. */
  const figuresOf = Effect.fnUntraced(function* (
    { end_time_ms, scoring, start_time_ms, symbol }: CompetitionRecord,
    rows: ReadonlyArray<PastExecution>
  ) {
    const traders = new Map<number, Set<string>>()
    for (const { execution, user_id } of rows) {
      const at = Number(execution.exec_time)
      if (at < start_time_ms || at >= end_time_ms) continue
      if (symbol !== undefined && execution.symbol !== symbol) continue
      const day = Math.floor((at - start_time_ms) / DAY_MS)
      const users = traders.get(day)
      if (users === undefined) traders.set(day, new Set([user_id]))
      else users.add(user_id)
    }
    const found: Array<DayFigures> = []
    for (const [day, users] of traders) {
      const start = start_time_ms + day * DAY_MS
      const end = Math.min(start + DAY_MS, end_time_ms)
      const all = [...users]
      for (let at = 0; at < all.length; at += USERS_READ) {
        const user_ids = all.slice(at, at + USERS_READ)
        const query = { user_ids, symbol, start, end, equity: scoring.metric === "roi" }
        for (const one of yield* statistics.days(query)) found.push({ ...one, day })
      }
    }
    return found
  })

  /** Entries before and after the days of some executions were read again. */
  const changed = Effect.fnUntraced(function* (competition: CompetitionRecord, rows: ReadonlyArray<PastExecution>) {
    const figures = yield* figuresOf(competition, rows)
    const addresses = [...new Set(figures.map(({ sub_account_address }) => sub_account_address))]
    const before = new Map(
      (yield* store.entries(competition.id, addresses)).map((entry) => [entry.sub_account_address, entry] as const)
    )
    const days = new Map<string, { readonly user_id: string; readonly days: Map<number, DayUnits> }>()
    for (const one of figures) {
      const { day, last_fill: last_time, sub_account_address: address, user_id } = one
      const entry = days.get(address) ?? {
        user_id,
        days: new Map(before.get(address)?.days.map((known) => [known.day, known] as const))
      }
      days.set(address, entry)
      const units = unitsOf(competition, one)
      if (units > 0n) entry.days.set(day, { day, units: Decimal.format(units), last_time })
      else entry.days.delete(day)
    }
    const after = [...days].map(([sub_account_address, entry]) =>
      scored(competition, {
        sub_account_address,
        user_id: entry.user_id,
        days: [...entry.days.values()]
      })
    )
    return { before: [...before.values()], after }
  })

  return { changed, scored }
})
