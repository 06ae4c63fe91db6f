/**
 * The insurance pools: their books, what they lend one another, and when deleveraging is called for.
 *
 * All markets are one group. The stage runs in each step that moved a mark, booked anything in a pool or began a minute,
 * and while deleveraging is active; in others nothing that it reads has changed.
 * Source: docs/contract/exchange.md#insurance-pool, #adl.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import {
  type AdlAlert,
  AdlMode,
  AdlTriggerReason,
  type InsurancePool,
  OrderType,
  Side,
  SmpType,
  TimeInForce
} from "../../../proto/gateway/v1/types.ts"
import * as Margin from "../../../domain/Margin.ts"
import * as Matching from "../sequencer/Matching.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import { rememberAlert, rememberPool } from "../Retention.ts"
import type { Peak, Pool, State } from "../State.ts"
import { emit, hasEvents, type StepContext } from "../StepContext.ts"
import * as Accounts from "./Accounts.ts"
import * as Adl from "./Adl.ts"

const MINUTE_MS = 60_000
/** Whole minutes that a maximum is kept, besides the current one. */
const PEAK_MINUTES = 480
/** A ratio has 8 places. */
const RATIO_STEP = 10n ** 10n
/** Ratio that an alert must have moved by to be sent again. */
const TELL_RATIO = Decimal.parse("0.01")
const WARNING_RATIO = -Decimal.parse("0.2")
const ACTIVE_RATIO = -Decimal.parse("0.3")
const ENDING_RATIO = -Decimal.parse("0.25")
/** Group equity above which a drawdown deleverages. */
const DRAWDOWN_GROUP = Decimal.parse("10000")
/** Distance of an unwinding order's limit from the mark: 0.005 = 1 ÷ 200. */
const UNWIND_DIVISOR = 200n

/** base + realised + received − paid; signed. */
export const cashOf = (pool: Pool): Decimal.Scaled =>
  pool.base + pool.holding.account.wallet + pool.received - pool.paid
const unrealisedOf = (pool: Pool): Decimal.Scaled => Accounts.figuresOf(pool.holding).unrealisedPnl
export const equityOf = (pool: Pool): Decimal.Scaled => cashOf(pool) + unrealisedOf(pool)
const pnlOf = (pool: Pool): Decimal.Scaled => pool.holding.account.wallet + unrealisedOf(pool)

/** Puts a value into maxima by minute; what lies further back than they reach is dropped. */
export const raise = (peaks: Array<Peak>, minute: number, value: Decimal.Scaled): void => {
  while (peaks.length > 0 && peaks[0]!.minute < minute - PEAK_MINUTES) peaks.shift()
  const last = peaks.at(-1)
  if (last !== undefined && last.minute === minute && last.value >= value) return
  while (peaks.length > 0 && peaks.at(-1)!.value <= value) peaks.pop()
  peaks.push({ minute, value })
}

export const peakOf = (peaks: ReadonlyArray<Peak>): Decimal.Scaled => peaks[0]?.value ?? 0n

const sample = (state: State, at: number): void => {
  const minute = Math.floor(at / MINUTE_MS)
  let group = 0n
  for (const pool of state.pools) {
    raise(pool.peaks, minute, pnlOf(pool))
    group += equityOf(pool)
  }
  raise(state.groupPeaks, minute, group)
}

/** What each donor pays of a deficit, by capacity; what was floored before is made up for behind. */
export const sharesOf = (deficit: Decimal.Scaled, capacities: ReadonlyArray<Decimal.Scaled>): Array<Decimal.Scaled> => {
  const total = capacities.reduce((sum, capacity) => sum + capacity, 0n)
  const paid = Decimal.min(deficit, total)
  let reached = 0n
  let before = 0n
  return capacities.map((capacity) => {
    reached += capacity
    const until = total === 0n ? 0n : (paid * reached) / total
    const share = until - before
    before = until
    return share
  })
}

/** What a pool may give: what it has above half of its seed. */
export const capacityOf = (equity: Decimal.Scaled, base: Decimal.Scaled): Decimal.Scaled =>
  Decimal.max(0n, equity - base / 2n)

/** Pays the deficits of negative pools out of the others. Returns what each was paid. */
const redistribute = (pools: ReadonlyArray<Pool>): ReadonlyMap<Pool, Decimal.Scaled> => {
  const payments = new Map<Pool, Decimal.Scaled>()
  for (const pool of pools) {
    const deficit = -equityOf(pool)
    let obligation = 0n
    if (deficit > 0n) {
      const shares = sharesOf(
        deficit,
        pools.map((donor) => (donor === pool ? 0n : capacityOf(equityOf(donor), donor.base)))
      )
      let paid = 0n
      for (const [i, share] of shares.entries()) {
        if (share === 0n) continue
        const donor = pools[i]!
        donor.paid += share
        donor.changed = true
        paid += share
      }
      pool.received += paid
      if (paid > 0n) payments.set(pool, paid)
      obligation = deficit - paid
    }
    if (obligation !== pool.obligation || payments.has(pool)) pool.changed = true
    pool.obligation = obligation
  }
  return payments
}

export interface Alert {
  readonly mode: AdlMode
  readonly reason: AdlTriggerReason
}

/** The mode of a pool and its reason. An active mode comes before a warning. Source: docs/contract/exchange.md#adl. */
export const alertOf = (pool: {
  readonly equity: Decimal.Scaled
  readonly base: Decimal.Scaled
  readonly obligation: Decimal.Scaled
  /** what the group paid in this step */
  readonly redistributed: Decimal.Scaled
  readonly ratio: Decimal.Scaled
  readonly maxGroup: Decimal.Scaled
  readonly hasInventory: boolean
  readonly wasDrawdown: boolean
}): Alert => {
  const none = { mode: AdlMode.ADL_MODE_INACTIVE, reason: AdlTriggerReason.ADL_TRIGGER_REASON_NO_TRIGGER }
  const drawdown = AdlTriggerReason.ADL_TRIGGER_REASON_PNL_DRAWDOWN
  const depleted = AdlTriggerReason.ADL_TRIGGER_REASON_EQUITY_DEPLETED
  if (!pool.hasInventory) return none
  if (pool.obligation > 0n)
    return {
      mode: AdlMode.ADL_MODE_ACTIVE,
      reason: pool.redistributed > 0n ? AdlTriggerReason.ADL_TRIGGER_REASON_GROUP_OBLIGATION : depleted
    }
  if ((pool.ratio < ACTIVE_RATIO && pool.maxGroup > DRAWDOWN_GROUP) || (pool.wasDrawdown && pool.ratio <= ENDING_RATIO))
    return { mode: AdlMode.ADL_MODE_ACTIVE, reason: drawdown }
  if (pool.equity * 5n < pool.base) return { mode: AdlMode.ADL_MODE_WARNING, reason: depleted }
  if (pool.ratio < WARNING_RATIO) return { mode: AdlMode.ADL_MODE_WARNING, reason: drawdown }
  return none
}

/** (pnl now − its maximum) ÷ the group's largest equity, truncated at 8 places; 0 while that is not positive. */
export const ratioOf = (pnl: Decimal.Scaled, maxPnl: Decimal.Scaled, maxGroup: Decimal.Scaled): Decimal.Scaled =>
  maxGroup <= 0n ? 0n : (((pnl - maxPnl) * (Decimal.ONE / RATIO_STEP)) / maxGroup) * RATIO_STEP

/** A pool's state, as the API tells it. */
export const record = (pool: Pool): InsurancePool => {
  const { format } = Decimal
  const { account, market, lots, entryValue } = pool.holding
  const { symbol } = market.market
  const unrealised = unrealisedOf(pool)
  return {
    pool_id: `pool-${symbol}`,
    pool_group_id: `group-${market.market.settle_asset}`,
    symbol,
    cash_balance: format(cashOf(pool)),
    realized_pnl_cum: format(account.wallet),
    unrealized_pnl: format(unrealised),
    base_equity: format(pool.base),
    equity: format(equityOf(pool)),
    group_redistribution_in: format(pool.received),
    group_redistribution_out: format(pool.paid),
    group_adl_obligation: format(pool.obligation),
    adl_mode: pool.mode,
    adl_trigger_reason: pool.reason,
    latest_pnl_ratio: format(pool.ratio),
    updated_time_ms: pool.updatedMs,
    inventory:
      lots === 0
        ? []
        : [
            {
              symbol,
              side: lots > 0 ? Side.SIDE_BUY : Side.SIDE_SELL,
              size: Grid.text(market.rules.qty, Math.abs(lots)),
              avg_price: format(Margin.averagePrice(Grid.scaled(market.rules.qty, lots), entryValue)),
              mark_price: market.markText,
              unrealized_pnl: format(unrealised)
            }
          ]
  }
}

/** A pool's deleveraging, as the API shows it. */
const alertRecord = (pool: Pool): AdlAlert => {
  const { pool_id, pool_group_id, symbol, adl_mode, adl_trigger_reason, latest_pnl_ratio, equity, updated_time_ms } =
    record(pool)
  return { pool_id, pool_group_id, symbol, adl_mode, adl_trigger_reason, latest_pnl_ratio, equity, updated_time_ms }
}

/** The state of the last event; before the first, the state of now, which is that of the seed. */
export const lastState = (pool: Pool): InsurancePool => pool.states.at(-1) ?? record(pool)

/** The alert of the last event; before the first, none was ever due. */
export const lastAlert = (pool: Pool): AdlAlert =>
  pool.alerts.at(-1) ?? {
    ...alertRecord(pool),
    adl_mode: AdlMode.ADL_MODE_INACTIVE,
    adl_trigger_reason: AdlTriggerReason.ADL_TRIGGER_REASON_NO_TRIGGER,
    latest_pnl_ratio: "0",
    equity: Decimal.format(pool.base),
    updated_time_ms: 0
  }

/** Judges a pool anew and tells what changed. */
const evaluate = (turn: StepContext, pool: Pool, redistributed: Decimal.Scaled, sampled: boolean): void => {
  const { state } = turn
  const { market } = pool.holding
  const maxGroup = peakOf(state.groupPeaks)
  const ratio = ratioOf(pnlOf(pool), peakOf(pool.peaks), maxGroup)
  const { mode, reason } = alertOf({
    equity: equityOf(pool),
    base: pool.base,
    obligation: pool.obligation,
    redistributed,
    ratio,
    maxGroup,
    hasInventory: pool.holding.lots !== 0,
    wasDrawdown:
      pool.mode === AdlMode.ADL_MODE_ACTIVE && pool.reason === AdlTriggerReason.ADL_TRIGGER_REASON_PNL_DRAWDOWN
  })
  const turned = mode !== pool.mode || reason !== pool.reason
  const alerts = turned || Decimal.abs(ratio - pool.toldRatio) >= TELL_RATIO
  pool.ratio = ratio
  pool.mode = mode
  pool.reason = reason
  if (pool.changed || turned || sampled) {
    pool.updatedMs = turn.at
    const told = record(pool)
    rememberPool(state, pool, told)
    emit(turn, undefined, market, () => ({ $case: "insurance_pool_changed", value: { pool: told } }))
  }
  pool.changed = false
  if (!alerts) return
  pool.updatedMs = turn.at
  pool.toldRatio = ratio
  const alert = alertRecord(pool)
  rememberAlert(state, pool, alert)
  emit(turn, undefined, market, () => ({ $case: "adl_changed", value: { alert } }))
}

const inOrder = (state: State): Array<Pool> =>
  [...state.pools].sort((a, b) => (a.holding.market.market.symbol < b.holding.market.market.symbol ? -1 : 1))

const isDue = (turn: StepContext): boolean =>
  turn.moved.size > 0 ||
  Math.floor(turn.at / MINUTE_MS) !== turn.state.poolMinute ||
  turn.state.pools.some((pool) => pool.changed || pool.mode === AdlMode.ADL_MODE_ACTIVE)

/** The pool stage of a step: redistribution, then deleveraging. Returns whether anybody was deleveraged. */
export const run = (turn: StepContext): boolean => {
  const { state, at } = turn
  // a minute is sampled by the steps that do anything: one without events is not kept
  if (!hasEvents(turn) && turn.moved.size === 0) return false
  if (!isDue(turn)) return false
  const minute = Math.floor(at / MINUTE_MS)
  // what a minute looked like is told by its first Tick
  const sampled = minute !== state.poolMinute && turn.commandId === undefined
  if (sampled) state.poolMinute = minute
  sample(state, at)
  const pools = inOrder(state)
  const payments = redistribute(pools)
  for (const pool of pools) evaluate(turn, pool, payments.get(pool) ?? 0n, sampled)
  let done = false
  for (const pool of pools)
    if (pool.mode === AdlMode.ADL_MODE_ACTIVE && Adl.run(turn, pool, cashOf(pool), peakOf(state.groupPeaks)))
      done = true
  sample(state, at)
  return done
}

/** In the first Tick of a second: sells or buys back a tenth of each inventory, near the mark. */
export const unwind = (turn: StepContext): void => {
  for (const pool of inOrder(turn.state)) {
    const { holding } = pool
    const { market, lots } = holding
    if (lots === 0) continue
    const long = lots > 0
    const mark = BigInt(market.markTicks)
    const limit = long
      ? Decimal.divide(mark * (UNWIND_DIVISOR - 1n), UNWIND_DIVISOR, "up")
      : Decimal.divide(mark * (UNWIND_DIVISOR + 1n), UNWIND_DIVISOR, "down")
    const order = newOrder(turn, holding, {
      side: long ? Side.SIDE_SELL : Side.SIDE_BUY,
      type: OrderType.ORDER_TYPE_LIMIT,
      timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
      ticks: Number(limit),
      lots: Math.max(1, Math.floor(Math.abs(lots) / 10)),
      reduceOnly: true,
      smp: SmpType.SMP_TYPE_CANCEL_MAKER
    })
    Matching.emitCanceled(turn, Matching.match(turn, order))
    if (order.leaves > 0) Matching.forget(turn, order)
  }
}
