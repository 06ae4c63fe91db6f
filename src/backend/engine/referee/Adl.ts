/**
 * Auto-deleveraging (ADL): opposite positions take over the inventory that a pool cannot hold. Positions with the
 * highest profit and leverage are first. The price leaves the loss of the inventory with the pool. Source:
 * docs/contract/exchange.md#adl.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import { OrderCause } from "../../../proto/gateway/v1/sequencer.ts"
import {
  AdlTriggerReason,
  CancelType,
  CreateType,
  ExecType,
  OrderType,
  PositionStatus,
  Side,
  TimeInForce
} from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import type { StepContext } from "../events/StepContext.ts"
import * as Matching from "../sequencer/Matching.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import * as OrderEvents from "../sequencer/OrderEvents.ts"
import { valueOf } from "../state/MarketPosition.ts"
import { type Slices, sort } from "../state/Slices.ts"
import type { Account, MarketPosition, MarketState, Pool, State } from "../state/State.ts"
import * as Liquidation from "./Liquidation.ts"

/** Scores whose approximations differ relatively by less are compared as exact fractions. */
const TIE_TOLERANCE = 1e-9

/** The ADL score: profit ratio × leverage for a profit, ratio ÷ leverage for a loss; exact. V and E are positive. */
export const scoreOf = (position: {
  readonly pnl: Decimal.Scaled
  readonly entryValue: Decimal.Scaled
  readonly value: Decimal.Scaled
  readonly equity: Margin.Fraction
}): Margin.Fraction => {
  const { pnl, entryValue, value, equity } = position
  return pnl > 0n
    ? { dividend: pnl * value * equity.divisor, divisor: entryValue * equity.dividend }
    : { dividend: pnl * equity.dividend, divisor: entryValue * value * equity.divisor }
}

/** An opposite position in the ADL queue. */
export interface Ranked {
  readonly address: string
  readonly score: Margin.Fraction
}

interface Near extends Ranked {
  /** The score, approximately. */
  readonly near: number
}

/** Highest score first, ties by address. */
const byScore = (a: Near, b: Near): number => {
  const gap = b.near - a.near
  if (Math.abs(gap) > TIE_TOLERANCE * Math.max(Math.abs(a.near), Math.abs(b.near))) return gap
  if (Margin.greater(a.score, b.score)) return -1
  if (Margin.greater(b.score, a.score)) return 1
  return a.address < b.address ? -1 : 1
}

const nearOf = <A extends Ranked>(position: A): A & Near => ({
  ...position,
  near: Number(position.score.dividend) / Number(position.score.divisor)
})

/** Highest score first, ties by address. */
export const rank = <A extends Ranked>(positions: ReadonlyArray<A>): Array<A> => positions.map(nearOf).sort(byScore)

/** The price, in ticks, at which a pool transfers its inventory. */
export const priceTicks = (input: {
  readonly tick: Decimal.Scaled
  /** signed, scaled */
  readonly size: Decimal.Scaled
  readonly entryValue: Decimal.Scaled
  /** value of the inventory at the mark */
  readonly value: Decimal.Scaled
  /** the result that the transfer must realise, as a fraction: −cash, or the amount that restores the ratio −0.3 */
  readonly result: Margin.Fraction
}): number => {
  const { tick, size, entryValue, value, result } = input
  const long = size > 0n
  const { divisor } = result
  const entry = entryValue * divisor
  const mark = value * divisor
  const wanted = long ? entry + result.dividend : entry - result.dividend
  const held = Decimal.max(Decimal.min(entry, mark), Decimal.min(Decimal.max(entry, mark), wanted))
  return Number(Decimal.divide(held * Decimal.ONE, divisor * Decimal.abs(size) * tick, long ? "up" : "down"))
}

/** The result to realise where the pool is depleted: its equity becomes 0. */
export const depletedResult = (cash: Decimal.Scaled): Margin.Fraction => ({ dividend: -cash, divisor: 1n })

/** The result to realise in a drawdown: the ratio becomes −0.3. */
export const drawdownResult = (
  maxPnl: Decimal.Scaled,
  maxGroup: Decimal.Scaled,
  realised: Decimal.Scaled
): Margin.Fraction => ({ dividend: 10n * (maxPnl - realised) - 3n * maxGroup, divisor: 10n })

/**
 * The lots that one counterparty takes at most: its size, and at a price worse than the mark no more than its equity
 * covers. An Isolated position takes all of it or nothing.
 */
export const limitLots = (counterparty: {
  /** signed */
  readonly lots: number
  readonly equity: Margin.Fraction
  readonly isolated: boolean
  readonly ticks: number
  readonly markTicks: number
  /** value of a lot at a price of one tick */
  readonly unit: Decimal.Scaled
}): number => {
  const { lots, equity, isolated, ticks, markTicks, unit } = counterparty
  const size = Math.abs(lots)
  const worse = lots < 0 ? ticks - markTicks : markTicks - ticks
  if (worse <= 0) return size
  const bears = Decimal.divide(equity.dividend, equity.divisor * BigInt(worse) * unit, "down")
  if (bears >= BigInt(size)) return size
  return isolated ? 0 : Number(Decimal.max(0n, bears))
}

interface Counterparty extends Ranked {
  readonly holding: MarketPosition
  readonly equity: Margin.Fraction
}

/** A position as a counterparty; undefined where it has no equity. */
const counterpartyOf = (holding: MarketPosition, totals: () => Accounts.AccountTotals): Counterparty | undefined => {
  const { unrealisedPnl: pnl, value } = Accounts.figuresOf(holding)
  const equity = Accounts.equityOf(holding, totals())
  if (equity.dividend <= 0n) return undefined
  const score = scoreOf({ pnl, entryValue: holding.entryValue, value, equity })
  return { address: holding.account.address, score, holding, equity }
}

/** The positions of a side of a market by ADL score, highest first. */
const queue = (market: MarketState, long: boolean): Array<Counterparty> => {
  const found: Array<Counterparty> = []
  for (const holding of market.holders) {
    if (holding.lots > 0 !== long) continue
    const counterparty = counterpartyOf(holding, Accounts.lazyTotals(holding.account))
    if (counterparty !== undefined) found.push(counterparty)
  }
  return rank(found)
}

/** What the scores of an account's positions were computed from. Derived from the state, and no part of it. */
interface Scored {
  wallet: Decimal.Scaled
  /** By market index. */
  readonly positions: Array<ScoredPosition | undefined>
}
interface ScoredPosition {
  readonly lots: number
  readonly entryValue: Decimal.Scaled
  readonly isolated: boolean
  readonly isolatedMargin: Decimal.Scaled
  readonly markTicks: number
  /** The indicator of the last ranking. */
  adlRank: number
  readonly counterparty: (Counterparty & Near) | undefined
}
const scored = new WeakMap<Account, Scored>()

const isCurrent = ({ holdings, wallet }: Account, known: Scored): boolean =>
  wallet === known.wallet &&
  holdings.every((holding, i) => {
    const was = known.positions[i]
    if (holding === undefined || holding.lots === 0) return was === undefined
    return (
      was !== undefined &&
      was.markTicks === holding.market.markTicks &&
      was.lots === holding.lots &&
      was.entryValue === holding.entryValue &&
      was.isolated === holding.isolated &&
      was.isolatedMargin === holding.isolatedMargin &&
      was.adlRank === holding.adlRank
    )
  })

const scoreAll = (account: Account): Scored => {
  const totals = Accounts.lazyTotals(account)
  const positions = account.holdings.map((holding): ScoredPosition | undefined => {
    if (holding === undefined || holding.lots === 0) return undefined
    const { adlRank, entryValue, isolated, isolatedMargin, lots, market } = holding
    const counterparty = counterpartyOf(holding, totals)
    return {
      lots,
      entryValue,
      isolated,
      isolatedMargin,
      markTicks: market.markTicks,
      adlRank,
      counterparty: counterparty && nearOf(counterparty)
    }
  })
  return { wallet: account.wallet, positions }
}

/** Positions of the sides of each market when they were last ranked. */
const rankedSides = new WeakMap<MarketState, { readonly long: number; readonly short: number }>()

/**
 * Ranks the positions of every market; marks those whose indicator changes as outdated. A side is ranked again where one of
 * its positions is new, gone, or scored anew, because its mark, its size or the money of its account has changed.
 */
export const rankAll = function* (state: State): Slices {
  const changed = new Set<MarketPosition>()
  const seen = new Set<Account>()
  for (const market of state.markets)
    for (const { account } of market.holders) {
      yield
      if (seen.has(account)) continue
      seen.add(account)
      const known = scored.get(account)
      if (known !== undefined && isCurrent(account, known)) continue
      scored.set(account, scoreAll(account))
      for (const holding of account.holdings) if (holding !== undefined && holding.lots !== 0) changed.add(holding)
    }
  for (const market of state.markets) {
    const { holders, index, longHolders } = market
    const before = rankedSides.get(market)
    rankedSides.set(market, { long: longHolders, short: holders.size - longHolders })
    for (const long of [true, false]) {
      let isChanged =
        before === undefined ||
        (long ? before.long : before.short) !== (long ? longHolders : holders.size - longHolders)
      const found: Array<Counterparty & Near> = []
      for (const holding of holders) {
        if (holding.lots > 0 !== long) continue
        isChanged ||= changed.has(holding)
        const counterparty = scored.get(holding.account)!.positions[index]!.counterparty
        if (counterparty !== undefined) found.push(counterparty)
      }
      if (!isChanged) continue
      const ranked = yield* sort(found, byScore)
      for (const [i, { holding }] of ranked.entries()) {
        yield
        const rank = Accounts.adlRank(ranked.length, i)
        if (rank === holding.adlRank) continue
        holding.adlRank = rank
        scored.get(holding.account)!.positions[index]!.adlRank = rank
        Accounts.markOutdated(state, holding)
      }
    }
  }
}

const deleverage = (ctx: StepContext, holding: MarketPosition, ticks: number, lots: number): void => {
  Liquidation.cancelResting(ctx, holding, CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_ADL)
  Liquidation.emitPositionStatus(ctx, holding, PositionStatus.POSITION_STATUS_ADL)
  const order = newOrder(ctx, holding, {
    side: holding.lots > 0 ? Side.SIDE_SELL : Side.SIDE_BUY,
    type: OrderType.ORDER_TYPE_LIMIT,
    timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
    ticks,
    lots,
    reduceOnly: true,
    createType: CreateType.CREATE_TYPE_CREATE_BY_ADL_PASS_THROUGH
  })
  OrderEvents.emitOrder(ctx, order, OrderCause.ORDER_CAUSE_ACCEPTED)
  Matching.passThrough(ctx, order, lots, ExecType.EXEC_TYPE_ADL_TRADE)
}

/** Transfers a pool's inventory to the opposite positions. Returns whether any position took part of it. */
export const run = (ctx: StepContext, pool: Pool, cash: Decimal.Scaled, maxGroup: Decimal.Scaled): boolean => {
  const { market, lots, entryValue, account } = pool.holding
  const long = lots > 0
  const ticks = priceTicks({
    tick: market.rules.price.step,
    size: Grid.scaled(market.rules.qty, lots),
    entryValue,
    value: valueOf(market, market.markTicks, Math.abs(lots)),
    result:
      pool.reason === AdlTriggerReason.ADL_TRIGGER_REASON_PNL_DRAWDOWN
        ? drawdownResult(pool.peaks[0]!.value, maxGroup, account.wallet)
        : depletedResult(cash)
  })
  let left = Math.abs(lots)
  let done = false
  for (const { equity, holding } of queue(market, !long)) {
    if (left === 0) break
    const most = limitLots({
      lots: holding.lots,
      equity,
      isolated: holding.isolated,
      ticks,
      markTicks: market.markTicks,
      unit: market.rules.unit
    })
    const taken = Math.min(left, most)
    if (taken === 0) continue
    deleverage(ctx, holding, ticks, taken)
    left -= taken
    done = true
  }
  return done
}
