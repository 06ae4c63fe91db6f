/**
 * The simulated takers: ordinary users that trade against the book at market, so that prices, volume, open interest and
 * funding of a new installation move. Source: docs/contract/exchange.md#simulated-takers.
 *
 * Their orders follow from the second, the market and the position alone. They need no state of their own and no
 * journal entry besides the Tick.
 */
import { SIM_TAKERS_ROOT, userIdOf } from "../../../domain/Address.ts"
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import { OrderType, Side, TimeInForce } from "../../../proto/gateway/v1/types.ts"
import { opposite } from "../book/OrderBook.ts"
import type { StepContext } from "../events/StepContext.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import * as OrderLifecycle from "../sequencer/OrderLifecycle.ts"
import { positionOf, valueOf } from "../state/MarketPosition.ts"
import type { MarketPosition, MarketState } from "../state/State.ts"
import { type SimulatedUser, simulatedAccount } from "./SimulatedUser.ts"

/** One taker: an account of its own, with one order per market and period. */
interface Style {
  /** seconds in which it sends one order to each market */
  readonly period: number
  /** smallest and largest value of an order, in whole units of the quote asset */
  readonly notional: readonly [smallest: number, largest: number]
  /** orders after which the preferred direction is drawn again */
  readonly run: number
  /** largest value of its position in a market; an order beyond it goes the other way */
  readonly positionMax: Decimal.Scaled
}

const STYLES: ReadonlyArray<Style> = [
  { period: 5, notional: [20, 800], run: 6, positionMax: Decimal.parse("5000") },
  { period: 19, notional: [200, 3_000], run: 4, positionMax: Decimal.parse("25000") },
  { period: 47, notional: [1_000, 9_000], run: 8, positionMax: Decimal.parse("100000") },
  { period: 307, notional: [15_000, 45_000], run: 3, positionMax: Decimal.parse("300000") }
]

const BPS = 10_000n
/** Distance of the worst accepted price from the index: the maker's deepest level is at most 49 bps from it. */
const SLIPPAGE_BPS = 50n

export const TAKERS_USER = userIdOf(SIM_TAKERS_ROOT)
const takers: SimulatedUser = {
  name: "takers",
  root: SIM_TAKERS_ROOT,
  userId: TAKERS_USER,
  deposit: Decimal.parse("1000000"),
  depositBelow: Decimal.parse("100000")
}

/** Mixes a number into 32 bits that look random; equal on every machine. */
const mix = (value: number): number => {
  let bits = value | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad)
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97)
  return (bits ^ (bits >>> 15)) >>> 0
}

/** A number in [0, below) that depends on the seeds alone. */
const draw = (below: number, ...seeds: ReadonlyArray<number>): number =>
  seeds.reduce((bits, seed) => mix(bits + seed), below) % below

/** The side that this taker prefers for a run of orders; one order in four goes the other way. */
const sideOf = (style: Style, order: number, index: number, market: number): Side => {
  const preferred = draw(2, Math.floor(order / style.run), index, market)
  const against = draw(4, order, index, market, 1) === 0 ? 1 : 0
  return (preferred ^ against) === 0 ? Side.SIDE_BUY : Side.SIDE_SELL
}

const signed = (side: Side, lots: number): number => (side === Side.SIDE_BUY ? lots : -lots)

/** Sends an order of this value at market, within the price band and {@link SLIPPAGE_BPS}. */
const send = (ctx: StepContext, holding: MarketPosition, side: Side, notional: number): void => {
  const { market } = holding
  const { rules, indexPrice } = market
  const buy = side === Side.SIDE_BUY
  const worst = Number(
    Decimal.divide(
      indexPrice * (buy ? BPS + SLIPPAGE_BPS : BPS - SLIPPAGE_BPS),
      BPS * rules.price.step,
      buy ? "down" : "up"
    )
  )
  const value = Decimal.parse("1") * BigInt(notional)
  const lots = Math.max(rules.minLots, Grid.floor(rules.qty, Decimal.div(value, indexPrice, "down")))
  OrderLifecycle.processOrder(
    ctx,
    newOrder(ctx, holding, {
      side,
      type: OrderType.ORDER_TYPE_MARKET,
      timeInForce: TimeInForce.TIME_IN_FORCE_IOC,
      ticks: buy ? Math.min(worst, market.bandBuyTicks) : Math.max(worst, market.bandSellTicks),
      lots: Math.min(rules.maxLots, lots)
    })
  )
}

const trade = (ctx: StepContext, style: Style, index: number, market: MarketState): void => {
  const { second } = ctx.state
  const order = Math.floor(second / style.period)
  if (second % style.period !== draw(style.period, order, index, market.index, 2)) return
  const account = simulatedAccount(ctx, takers, index)
  if (account.frozen) return
  const [smallest, largest] = style.notional
  const notional = smallest + draw(largest - smallest + 1, order, index, market.index, 3)
  const holding = positionOf(account, market)
  const side = sideOf(style, order, index, market.index)
  const held = valueOf(market, market.markTicks, Math.abs(holding.lots))
  const grows = signed(side, holding.lots) > 0
  const fits = !grows || held + Decimal.parse("1") * BigInt(notional) <= style.positionMax
  send(ctx, holding, fits ? side : opposite(side), notional)
}

/** Runs the takers in the first Tick of a second, after the maker has quoted. */
export const run = (ctx: StepContext): void => {
  const { state } = ctx
  if (!state.config.simMaker || state.config.simTakers !== true) return
  for (const market of state.markets) {
    if (market.market.status !== "Trading") continue
    STYLES.forEach((style, index) => trade(ctx, style, index, market))
  }
}
