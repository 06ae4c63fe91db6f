/**
 * The simulated maker: an ordinary user that quotes ten levels per side around the index, so that a new installation
 * has a book. Source: docs/contract/exchange.md#simulated-maker.
 *
 * It requotes with amends, starting with the side that moves away from the other, so that its own orders never cross
 * and the client id index does not grow with every index change.
 */
import { SIM_MAKER_ROOT, userIdOf } from "../../../domain/Address.ts"
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import { CancelType, OrderType, Side, TimeInForce } from "../../../proto/gateway/v1/types.ts"
import type { StepContext } from "../events/StepContext.ts"
import * as Amend from "../sequencer/Amend.ts"
import * as Cancel from "../sequencer/Cancel.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import * as OrderLifecycle from "../sequencer/OrderLifecycle.ts"
import { positionOf, valueOf } from "../state/MarketPosition.ts"
import type { MarketPosition, MarketState, Order, State } from "../state/State.ts"
import { type SimulatedUser, simulatedAccount } from "./SimulatedUser.ts"

const LEVELS = 10
const BPS = 10_000n
/** Level k is (2 + 3k) bps from the index and has a value of 5000 × (k + 1). */
const distance = (k: number): bigint => 2n + 3n * BigInt(k)
const notional = (k: number): Decimal.Scaled => Decimal.parse("5000") * BigInt(k + 1)
const POSITION_VALUE_MAX = Decimal.parse("2000000")
/** Position value per basis point by which the quotes move against the position, and the most basis points. */
const SKEW_VALUE = Decimal.parse("15000")
const SKEW_BPS_MAX = 20n

export const MAKER_USER = userIdOf(SIM_MAKER_ROOT)
const maker: SimulatedUser = {
  name: "maker",
  root: SIM_MAKER_ROOT,
  userId: MAKER_USER,
  deposit: Decimal.parse("10000000"),
  depositBelow: Decimal.parse("1000000")
}

interface Quote {
  readonly ticks: number
  readonly lots: number
}

/**
 * The price that the quotes surround: the index, with simulated takers moved against the maker's position, so that their
 * trades move the price.
 */
const centreOf = (state: State, { lots, market }: MarketPosition): Decimal.Scaled => {
  const { indexPrice, markTicks } = market
  if (state.config.simTakers !== true) return indexPrice
  const bps = Decimal.min(SKEW_BPS_MAX, valueOf(market, markTicks, Math.abs(lots)) / SKEW_VALUE)
  return Decimal.divide(indexPrice * (lots > 0 ? BPS - bps : BPS + bps), BPS, "down")
}

const quotesOf = ({ rules }: MarketState, centre: Decimal.Scaled, side: Side): Array<Quote> => {
  const buy = side === Side.SIDE_BUY
  const quotes: Array<Quote> = []
  for (let k = 0; k < LEVELS; k++) {
    const dividend = centre * (buy ? BPS - distance(k) : BPS + distance(k))
    const ticks = Number(Decimal.divide(dividend, BPS * rules.price.step, buy ? "down" : "up"))
    if (ticks < rules.minTicks || ticks > rules.maxTicks) continue
    const lots = Math.min(
      rules.maxLots,
      Grid.floor(rules.qty, Decimal.div(notional(k), Grid.scaled(rules.price, ticks), "down"))
    )
    if (lots >= rules.minLots) quotes.push({ ticks, lots })
  }
  return quotes
}

/** Whether the position value stays within its limit if all quotes of a side are filled. */
const fits = (market: MarketState, position: number, side: Side, quotes: ReadonlyArray<Quote>): boolean => {
  const lots = quotes.reduce((sum, quote) => sum + quote.lots, 0)
  const after = side === Side.SIDE_BUY ? position + lots : position - lots
  if (side === Side.SIDE_BUY ? after <= 0 : after >= 0) return true
  return valueOf(market, market.markTicks, Math.abs(after)) <= POSITION_VALUE_MAX
}

const isStale = ({ quoted }: MarketState, centre: Decimal.Scaled): boolean => {
  if (quoted === undefined) return true
  if (Decimal.abs(centre - quoted.index) * BPS >= quoted.index) return true
  return quoted.orders.some(({ order, leaves }) => order.leaves !== leaves)
}

const quoteSide = (
  ctx: StepContext,
  holding: MarketPosition,
  centre: Decimal.Scaled,
  side: Side,
  resting: Array<Order>
): void => {
  const { market } = holding
  const quotes = quotesOf(market, centre, side)
  const wanted = fits(market, holding.lots, side, quotes) ? quotes : []
  const count = Math.max(wanted.length, resting.length)
  for (let k = 0; k < count; k++) {
    const order = resting[k]
    const quote = wanted[k]
    if (quote === undefined) {
      if (order !== undefined) Cancel.cancelOrders(ctx, [order], CancelType.CANCEL_TYPE_CANCEL_BY_USER)
    } else if (order === undefined)
      OrderLifecycle.processOrder(
        ctx,
        newOrder(ctx, holding, {
          side,
          type: OrderType.ORDER_TYPE_LIMIT,
          timeInForce: TimeInForce.TIME_IN_FORCE_GTC,
          ticks: quote.ticks,
          lots: quote.lots
        })
      )
    else Amend.amendOrder(ctx, order, quote.ticks, order.filled + quote.lots, order.tpsl)
  }
}

/** Resting orders of a side, best price first. */
const restingOf = (holding: MarketPosition, side: Side): Array<Order> => {
  const sign = side === Side.SIDE_BUY ? -1 : 1
  return [...holding.orders.values()].filter((order) => order.side === side).sort((a, b) => sign * (a.ticks - b.ticks))
}

const requote = (ctx: StepContext, holding: MarketPosition, centre: Decimal.Scaled): void => {
  const { market } = holding
  const rising = market.quoted === undefined || centre >= market.quoted.index
  const sides = rising ? ([Side.SIDE_SELL, Side.SIDE_BUY] as const) : ([Side.SIDE_BUY, Side.SIDE_SELL] as const)
  for (const side of sides) quoteSide(ctx, holding, centre, side, restingOf(holding, side))
  market.quoted = {
    index: centre,
    orders: [...holding.orders.values()].map((order) => ({ order, leaves: order.leaves }))
  }
}

/** Runs the maker in the first Tick of a second. */
export const run = (ctx: StepContext): void => {
  const { state } = ctx
  if (!state.config.simMaker) return
  const account = simulatedAccount(ctx, maker, 0)
  if (account.frozen) return
  for (const market of state.markets) {
    if (market.market.status !== "Trading") continue
    const holding = positionOf(account, market)
    const centre = centreOf(state, holding)
    if (isStale(market, centre)) requote(ctx, holding, centre)
  }
}
