/**
 * Funding: the premium of each minute, the rate that follows from the samples, and the payment at the end of the
 * interval.
 *
 * A minute is sampled when it is over, with the book and the index at that moment; its sample is weighted by its place
 * in the interval. An interval that ended while the engine was stopped is settled once, at the first Tick afterwards;
 * intervals that passed completely meanwhile are not. Source: docs/contract/exchange.md#funding.
 */
import * as Decimal from "../../../domain/Decimal.ts"
import { rateOf } from "../../../domain/FundingRate.ts"
import * as Grid from "../../../domain/Grid.ts"
import * as Margin from "../../../domain/Margin.ts"
import { BalanceReason, CreateType, ExecType, OrderType, Side, StopOrderType } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import { emitBalance, emitPosition } from "../events/PositionEvents.ts"
import * as Records from "../events/Records.ts"
import { emit, type StepContext } from "../events/StepContext.ts"
import * as Ids from "../state/Ids.ts"
import { valueOf } from "../state/MarketPosition.ts"
import { retainFundingRate } from "../state/Retention.ts"
import { type Slices, sort } from "../state/Slices.ts"
import type { MarketPosition, MarketState, State } from "../state/State.ts"

const { ONE } = Decimal
const MINUTE = 60
/** Order value for the impact prices, in quote units. */
const IMPACT_VALUE = Decimal.parse("10000")
/** Order id of an execution without an order. */
const NIL = "00000000-0000-0000-0000-000000000000"

/** A level of a book: price and quantity, both scaled. */
export type Depth = readonly [price: Decimal.Scaled, qty: Decimal.Scaled]

/**
 * 10000 ÷ the base quantity that 10000 buys or sells along the levels, unrounded; `undefined`: the side is too thin.
 */
const impactPrice = (levels: Iterable<Depth>): Margin.Fraction | undefined => {
  let left = IMPACT_VALUE * ONE
  let base = 0n
  for (const [price, qty] of levels) {
    const value = price * qty
    // base + left / price, with a common divisor
    if (value >= left) return { dividend: IMPACT_VALUE * price, divisor: base * price + left }
    left -= value
    base += qty
  }
  return undefined
}

/** P = (max(0, impact bid − index) − max(0, index − impact ask)) ÷ index, truncated. Levels are best first. */
export const premiumOf = (bids: Iterable<Depth>, asks: Iterable<Depth>, index: Decimal.Scaled): Decimal.Scaled => {
  const bid = impactPrice(bids)
  const ask = impactPrice(asks)
  // distances from the index, each with the divisor of its side
  const above = bid === undefined ? 0n : Decimal.max(0n, bid.dividend * ONE - index * bid.divisor)
  const below = ask === undefined ? 0n : Decimal.max(0n, index * ask.divisor - ask.dividend * ONE)
  const aboveDivisor = bid?.divisor ?? 1n
  const belowDivisor = ask?.divisor ?? 1n
  return ((above * belowDivisor - below * aboveDivisor) * ONE) / (aboveDivisor * belowDivisor * index)
}

/** P̄ = Σ i P_i ÷ Σ i, truncated; 0 without a sample. */
export const averageOf = (weighted: Decimal.Scaled, count: number): Decimal.Scaled =>
  count === 0 ? 0n : (2n * weighted) / (BigInt(count) * BigInt(count + 1))

/** q × m × F, exact: positive where the position pays. */
export const payment = (position: bigint | number, value: Decimal.Scaled, rate: Decimal.Scaled): Decimal.Scaled => {
  const product = value * rate
  if (product % ONE !== 0n) throw new Error("a funding payment does not fit 18 places")
  return position < 0 ? -product / ONE : product / ONE
}

/** The payment of a position at a rate and the current mark. */
export const paymentOf = (holding: MarketPosition, rate: Decimal.Scaled): Decimal.Scaled => {
  const { market, lots } = holding
  return payment(lots, valueOf(market, market.markTicks, Math.abs(lots)), rate)
}

const depthOf = function* (market: MarketState, side: Side): Generator<Depth> {
  const { price, qty } = market.rules
  const { book } = market
  for (let ticks = book.best(side); ticks !== undefined; ticks = book.worse(side, ticks))
    yield [Grid.scaled(price, ticks), Grid.scaled(qty, book.total(side, ticks))]
}

const predict = (market: MarketState): void => {
  const average = averageOf(market.premiumSum, market.premiumCount)
  market.predictedRate = rateOf(average, Decimal.parse(market.market.funding_cap))
}

/** Samples the premium of a completed minute. Must be called before the Tick changes the index. */
export const sample = (state: State, second: number): void => {
  if (state.second < 0 || Math.floor(second / MINUTE) === Math.floor(state.second / MINUTE)) return
  for (const market of state.markets) {
    const premium = premiumOf(depthOf(market, Side.SIDE_BUY), depthOf(market, Side.SIDE_SELL), market.indexPrice)
    market.premiumCount++
    market.premiumSum += BigInt(market.premiumCount) * premium
    predict(market)
  }
}

const pay = (ctx: StepContext, holding: MarketPosition, rate: Decimal.Scaled): void => {
  const { state, at } = ctx
  const { account, market, lots } = holding
  const amount = paymentOf(holding, rate)
  Accounts.payFunding(state, holding, amount)
  const totals = Accounts.lazyTotals(account)
  const figures = Accounts.figuresOf(holding)
  const execId = Ids.print(state.executionSeed, at, 2 * ++state.fillNumber)
  const seq = ++market.seq
  const { format } = Decimal
  emit(ctx, account, market, () => ({
    $case: "execution_created",
    value: {
      execution: {
        exec_id: execId,
        user_id: account.userId,
        sub_account_address: account.address,
        symbol: market.market.symbol,
        order_id: NIL,
        side: lots > 0 ? Side.SIDE_BUY : Side.SIDE_SELL,
        order_type: OrderType.ORDER_TYPE_MARKET,
        order_price: "0",
        order_qty: "0",
        leaves_qty: "0",
        exec_price: market.markText,
        exec_qty: Grid.text(market.rules.qty, Math.abs(lots)),
        exec_value: format(figures.value),
        exec_type: ExecType.EXEC_TYPE_FUNDING,
        exec_time_ms: at,
        is_maker: false,
        base_fee: format(amount),
        fee_rate: format(rate),
        mark_price: market.markText,
        index_price: market.indexText,
        market_seq: seq,
        create_type: CreateType.CREATE_TYPE_UNSPECIFIED,
        stop_order_type: StopOrderType.STOP_ORDER_TYPE_UNSPECIFIED,
        leverage: format(Margin.effectiveLeverage(holding.leverage, market.tiers[figures.exposureTier]!))
      }
    }
  }))
  emitPosition(ctx, holding, totals)
  emitBalance(
    ctx,
    account,
    market,
    () => ({ reason: BalanceReason.BALANCE_REASON_FUNDING, amount: format(-amount), exec_id: execId }),
    totals
  )
}

const settle = function* (ctx: StepContext, market: MarketState, time: number): Slices {
  const { state } = ctx
  const rate = market.predictedRate
  market.fundingRate = rate
  market.fundingIndex += payment(1, market.markPrice, rate)
  market.premiumSum = 0n
  market.premiumCount = 0
  predict(market)
  const funding = {
    symbol: market.market.symbol,
    funding_rate: Decimal.format(rate),
    mark_price: market.markText,
    funding_index: Decimal.format(market.fundingIndex),
    funding_time_ms: time
  }
  retainFundingRate(state, market, funding)
  emit(ctx, undefined, market, () => ({ $case: "funding_settled", value: { funding } }))
  const { holding: inventory } = state.pools[market.index]!
  if (inventory.lots !== 0) {
    Accounts.payFunding(state, inventory, paymentOf(inventory, rate))
    state.pools[market.index]!.changed = true
  }
  ctx.repricedMarkets.add(market)
  for (const holding of yield* sort(market.holders, Accounts.byAddress)) {
    yield
    pay(ctx, holding, rate)
  }
}

/** Settles the markets whose interval ended since the last second with a Tick. */
export const settleDue = function* (ctx: StepContext, before: number): Slices {
  if (before < 0) return
  for (const market of ctx.state.markets) {
    const end = Records.nextFundingMs(market, before * 1000)
    if (end <= ctx.at) yield* settle(ctx, market, end)
  }
}
