/**
 * Simulated market with nobody but the maker and the takers: Ticks as a running backend sends them, into a journal in a file.
 * Checked after every Tick: {@link Checks}, and that each trade lies within the price band.
 */
import { statSync } from "node:fs"
import type { State } from "../../src/backend/engine/Engine.ts"
import { type Config, machine as engine } from "../../src/backend/engine/EngineMachine.ts"
import type { Machine } from "../../src/backend/engine/Machine.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { CHECKPOINT_ENTRIES, TICK_MS } from "../../src/backend/server/Writer.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { START } from "../harness/SimulatedUsers.ts"
import { Checks } from "../simulation/Checks.ts"
import { ensure } from "../simulation/Exact.ts"

/** Ticks in one transaction. A running backend commits each: that costs time, and not one byte of the journal. */
const COMMIT_TICKS = 600

export interface DayOptions {
  readonly hours: number
  /** The engine; another one for a fault that is planted to see whether it is found. */
  readonly machine?: Machine<State, Config>
}

export interface Day {
  readonly hours: number
  /** Entries of the journal, and bytes of its file. */
  readonly entries: number
  readonly bytes: number
  readonly events: number
  readonly trades: number
  readonly openOrders: number
  /** Processor time of the engine and of the journal, in ms. */
  readonly engine_ms: number
  readonly journal_ms: number
  /** Largest distance of a trade from the index, in basis points, rounded up. */
  readonly away_bps: number
}

/** The price band of each market, in ticks: a Buy is not above `buy`, a Sell not below `sell`. */
const bandsOf = (state: State) =>
  new Map(state.markets.map(({ bandBuyTicks: buy, bandSellTicks: sell, market }) => [market.symbol, { buy, sell }]))

const config: Config = {
  markets: shippedMarkets,
  simMaker: true,
  simTakers: true,
  indexSource: "simulated",
  faucetDailyLimit: "100000",
  openOrdersMax: 1_000_000,
  poolBaseEquity: "1000000"
}

const simulateInto = (journal: Journal, { hours, machine = engine }: DayOptions): Omit<Day, "bytes"> => {
  const state = machine.initial(config, "market-day")
  const checks = new Checks()
  let [events, trades, engine_ms, journal_ms, away_bps, checkpointed] = [0, 0, 0, 0, 0, 0]
  const written = (write: () => void): void => {
    const began = performance.now()
    write()
    journal_ms += performance.now() - began
  }
  const end = START + hours * 3_600_000
  let isOpen = false
  for (let at_ms = START, tick = 1; at_ms < end; tick++) {
    at_ms += TICK_MS
    const began = performance.now()
    if (!machine.tickMatters(state, at_ms)) continue
    const before = bandsOf(state)
    const step = machine.apply(state, { at_ms, command: undefined })
    engine_ms += performance.now() - began
    written(() => {
      if (!isOpen) journal.begin()
      isOpen = true
      journal.append(at_ms, null, null, null)
      if (tick % COMMIT_TICKS !== 0) return
      journal.commit()
      isOpen = false
    })
    checks.step(state, step)
    const after = bandsOf(state)
    for (const { event } of step.events) {
      if (event?.$case !== "trade_printed") continue
      for (const { price, symbol } of event.value.trades) {
        trades++
        const { indexPrice, rules } = state.marketOf.get(symbol)!
        const ticks = Number(Decimal.parse(price) / rules.price.step)
        // a step moves the mark, and the band with it
        const [old, now] = [before.get(symbol)!, after.get(symbol)!]
        ensure(ticks <= Math.max(old.buy, now.buy), () => `${symbol} traded at ${price}, above the band`)
        ensure(ticks >= Math.min(old.sell, now.sell), () => `${symbol} traded at ${price}, below the band`)
        const bps = Decimal.divide(Decimal.abs(Decimal.parse(price) - indexPrice) * 10_000n, indexPrice, "up")
        away_bps = Math.max(away_bps, Number(bps))
      }
    }
    events += step.events.length
    if (journal.position - checkpointed >= CHECKPOINT_ENTRIES && !isOpen) {
      checkpointed = journal.position
      written(() => journal.checkpoint(machine.headSeq(state), machine.hash(state)))
    }
  }
  if (isOpen) written(() => journal.commit())
  checks.end(state)
  const [entries, openOrders] = [journal.position, state.orders.size()]
  return { hours, entries, events, trades, openOrders, engine_ms, journal_ms, away_bps }
}

/** Simulates hours of market. Throws at the first violation. */
export const simulateDay = (options: DayOptions): Day => {
  const folder = temporaryFolder("market-day")
  const path = `${folder.path}/journal.db`
  try {
    const journal = Journal.open(path, () => ({
      epoch: "market-day",
      rules: engine.rules,
      config: JSON.stringify(config),
      ids_key: "0001020304050607",
      created_at_ms: START
    }))
    let figures: Omit<Day, "bytes">
    try {
      figures = simulateInto(journal, options)
    } finally {
      // moves the write-ahead log into the file
      journal.close()
    }
    return { ...figures, bytes: statSync(path).size }
  } finally {
    folder.remove()
  }
}
