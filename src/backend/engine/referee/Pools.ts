/**
 * The insurance pools: their balances, payments between pools, and the decision to deleverage.
 *
 * All markets form one group. The stage runs in each step that moved a mark, changed a pool or began a minute, and
 * while deleveraging is active. In other steps none of its inputs have changed. Source:
 * docs/contract/exchange.md#insurance-pool, #adl.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import { MINUTE_MS } from "../../../domain/Time.ts"
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
import * as Accounts from "../accounts/Accounts.ts"
import { emit, hasEvents, type StepContext } from "../events/StepContext.ts"
import * as Matching from "../sequencer/Matching.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import * as OrderEvents from "../sequencer/OrderEvents.ts"
import * as RestingOrder from "../sequencer/RestingOrder.ts"
import { retainAdlAlert, retainPoolState } from "../state/Retention.ts"
import type { PeakSample, Pool, State } from "../state/State.ts"
import * as Adl from "./Adl.ts"

/** Length of the window of a rolling maximum, in whole minutes besides the current one. */
const PEAK_MINUTES = 480
/** A ratio has 8 places. */
const RATIO_STEP = 10n ** 10n
/** Change of the ratio after which an alert is emitted again. */
const ALERT_RATIO_STEP = Decimal.parse("0.01")
const WARNING_RATIO = -Decimal.parse("0.2")
const ACTIVE_RATIO = -Decimal.parse("0.3")
const ENDING_RATIO = -Decimal.parse("0.25")
/** Group equity above which a drawdown deleverages. */
const DRAWDOWN_GROUP = Decimal.parse("10000")
/** Distance of an unwinding order's limit price from the mark: 0.005 = 1 ÷ 200. */
const UNWIND_DIVISOR = 200n

/** base + realised + received − paid; signed. */
export const cashOf = (pool: Pool): Decimal.Scaled =>
  pool.base + pool.holding.account.wallet + pool.received - pool.paid
const unrealisedOf = (pool: Pool): Decimal.Scaled => Accounts.figuresOf(pool.holding).unrealisedPnl
export const equityOf = (pool: Pool): Decimal.Scaled => cashOf(pool) + unrealisedOf(pool)
const pnlOf = (pool: Pool): Decimal.Scaled => pool.holding.account.wallet + unrealisedOf(pool)

/** Adds a value to a rolling maximum; drops minutes before the window. */
export const recordPeak = (peaks: Array<PeakSample>, minute: number, value: Decimal.Scaled): void => {
  while (peaks.length > 0 && peaks[0]!.minute < minute - PEAK_MINUTES) peaks.shift()
  const last = peaks.at(-1)
  if (last !== undefined && last.minute === minute && last.value >= value) return
  while (peaks.length > 0 && peaks.at(-1)!.value <= value) peaks.pop()
  peaks.push({ minute, value })
}

export const currentPeak = (peaks: ReadonlyArray<PeakSample>): Decimal.Scaled => peaks[0]?.value ?? 0n

const sample = (state: State, at: number): void => {
  const minute = Math.floor(at / MINUTE_MS)
  let group = 0n
  for (const pool of state.pools) {
    recordPeak(pool.peaks, minute, pnlOf(pool))
    group += equityOf(pool)
  }
  recordPeak(state.groupPeaks, minute, group)
}

/**
 * Splits a deficit among donors by capacity; rounding remainders carry over to later donors, so that the sum is exact.
 */
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

/** The amount that a pool can give: its equity above half of its seed capital. */
export const capacityOf = (equity: Decimal.Scaled, base: Decimal.Scaled): Decimal.Scaled =>
  Decimal.max(0n, equity - base / 2n)

/** Pays the deficits of negative pools from the others. Returns the amount that each received. */
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

/**
 * The ADL mode of a pool and its reason. An active mode has precedence over a warning. Source:
 * docs/contract/exchange.md#adl.
 */
export const alertOf = (pool: {
  readonly equity: Decimal.Scaled
  readonly base: Decimal.Scaled
  readonly obligation: Decimal.Scaled
  /** amount that the group paid in this step */
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

/** (current PnL − its maximum) ÷ the group's largest equity, truncated to 8 places; 0 while that is not positive. */
export const ratioOf = (pnl: Decimal.Scaled, maxPnl: Decimal.Scaled, maxGroup: Decimal.Scaled): Decimal.Scaled =>
  maxGroup <= 0n ? 0n : (((pnl - maxPnl) * (Decimal.ONE / RATIO_STEP)) / maxGroup) * RATIO_STEP

/** The record of a pool. */
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

/** The ADL alert record of a pool. */
const alertRecord = (pool: Pool): AdlAlert => {
  const { pool_id, pool_group_id, symbol, adl_mode, adl_trigger_reason, latest_pnl_ratio, equity, updated_time_ms } =
    record(pool)
  return { pool_id, pool_group_id, symbol, adl_mode, adl_trigger_reason, latest_pnl_ratio, equity, updated_time_ms }
}

/** The state of the last event; before the first event, the current state, which is the seed. */
export const lastState = (pool: Pool): InsurancePool => pool.states.at(-1) ?? record(pool)

/** The alert of the last event; before the first event, an inactive alert. */
export const lastAlert = (pool: Pool): AdlAlert =>
  pool.alerts.at(-1) ?? {
    ...alertRecord(pool),
    adl_mode: AdlMode.ADL_MODE_INACTIVE,
    adl_trigger_reason: AdlTriggerReason.ADL_TRIGGER_REASON_NO_TRIGGER,
    latest_pnl_ratio: "0",
    equity: Decimal.format(pool.base),
    updated_time_ms: 0
  }

/** Evaluates the ADL mode of a pool and emits its changes. */
const evaluate = (ctx: StepContext, pool: Pool, redistributed: Decimal.Scaled, sampled: boolean): void => {
  const { state } = ctx
  const { market } = pool.holding
  const maxGroup = currentPeak(state.groupPeaks)
  const ratio = ratioOf(pnlOf(pool), currentPeak(pool.peaks), maxGroup)
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
  const modeChanged = mode !== pool.mode || reason !== pool.reason
  const alerts = modeChanged || Decimal.abs(ratio - pool.alertedRatio) >= ALERT_RATIO_STEP
  pool.ratio = ratio
  pool.mode = mode
  pool.reason = reason
  if (pool.changed || modeChanged || sampled) {
    pool.updatedMs = ctx.at
    const shown = record(pool)
    retainPoolState(state, pool, shown)
    emit(ctx, undefined, market, () => ({ $case: "insurance_pool_changed", value: { pool: shown } }))
  }
  pool.changed = false
  if (!alerts) return
  pool.updatedMs = ctx.at
  pool.alertedRatio = ratio
  const alert = alertRecord(pool)
  retainAdlAlert(state, pool, alert)
  emit(ctx, undefined, market, () => ({ $case: "adl_changed", value: { alert } }))
}

const poolsBySymbol = (state: State): Array<Pool> =>
  [...state.pools].sort((a, b) => (a.holding.market.market.symbol < b.holding.market.market.symbol ? -1 : 1))

const isDue = (ctx: StepContext): boolean =>
  ctx.repricedMarkets.size > 0 ||
  Math.floor(ctx.at / MINUTE_MS) !== ctx.state.poolMinute ||
  ctx.state.pools.some((pool) => pool.changed || pool.mode === AdlMode.ADL_MODE_ACTIVE)

/** The pool stage of a step: redistribution, then deleveraging. Returns whether a position was deleveraged. */
export const run = (ctx: StepContext): boolean => {
  const { state, at } = ctx
  // only steps with an event or a moved mark sample a minute, because a step without events is not stored
  if (!hasEvents(ctx) && ctx.repricedMarkets.size === 0) return false
  if (!isDue(ctx)) return false
  const minute = Math.floor(at / MINUTE_MS)
  // the first Tick of a minute records the pools
  const sampled = minute !== state.poolMinute && ctx.commandId === undefined
  if (sampled) state.poolMinute = minute
  sample(state, at)
  const pools = poolsBySymbol(state)
  const payments = redistribute(pools)
  for (const pool of pools) evaluate(ctx, pool, payments.get(pool) ?? 0n, sampled)
  let done = false
  for (const pool of pools)
    if (pool.mode === AdlMode.ADL_MODE_ACTIVE && Adl.run(ctx, pool, cashOf(pool), currentPeak(state.groupPeaks)))
      done = true
  sample(state, at)
  return done
}

/** In the first Tick of a second: closes a tenth of each inventory near the mark. */
export const unwind = (ctx: StepContext): void => {
  for (const pool of poolsBySymbol(ctx.state)) {
    const { holding } = pool
    const { market, lots } = holding
    if (lots === 0) continue
    const long = lots > 0
    const mark = BigInt(market.markTicks)
    const limit = long
      ? Decimal.divide(mark * (UNWIND_DIVISOR - 1n), UNWIND_DIVISOR, "up")
      : Decimal.divide(mark * (UNWIND_DIVISOR + 1n), UNWIND_DIVISOR, "down")
    const order = newOrder(ctx, holding, {
      side: long ? Side.SIDE_SELL : Side.SIDE_BUY,
      type: OrderType.ORDER_TYPE_LIMIT,
      timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
      ticks: Number(limit),
      lots: Math.max(1, Math.floor(Math.abs(lots) / 10)),
      reduceOnly: true,
      smp: SmpType.SMP_TYPE_CANCEL_MAKER
    })
    OrderEvents.emitCanceled(ctx, Matching.match(ctx, order))
    if (order.leaves > 0) RestingOrder.dropOrder(ctx, order)
  }
}
