/**
 * The simulated maker: an ordinary user that quotes ten levels per side around the index, so that a new installation
 * has a book. Source: docs/contract/exchange.md#simulated-maker.
 *
 * It requotes with amends, starting with the side that moves away from the other, so that its own orders never cross
 * and the client id index does not grow with every index change.
 */
import { NAMESPACE, SIM_MAKER_ROOT, subAccountAddress, userIdOf, uuidV5 } from "../../../domain/Address.ts"
import * as Decimal from "../../../domain/Decimal.ts"
import * as Grid from "../../../domain/Grid.ts"
import { CancelType, OrderType, Side, TimeInForce } from "../../../proto/gateway/v1/types.ts"
import * as Accounts from "../accounts/Accounts.ts"
import type { StepContext } from "../events/StepContext.ts"
import * as Amend from "../sequencer/Amend.ts"
import * as Cancel from "../sequencer/Cancel.ts"
import { newOrder } from "../sequencer/NewOrder.ts"
import * as OrderLifecycle from "../sequencer/OrderLifecycle.ts"
import { positionOf, valueOf } from "../state/MarketPosition.ts"
import type { Account, MarketState, Order } from "../state/State.ts"
import * as Funds from "./Funds.ts"
import * as SubAccounts from "./SubAccounts.ts"

const LEVELS = 10
const BPS = 10_000n
/** Level k is (2 + 3k) bps from the index and has a value of 5000 × (k + 1). */
const distance = (k: number): bigint => 2n + 3n * BigInt(k)
const notional = (k: number): Decimal.Scaled => Decimal.parse("5000") * BigInt(k + 1)
const POSITION_VALUE_MAX = Decimal.parse("2000000")
const DEPOSIT = Decimal.parse("10000000")
const DEPOSIT_BELOW = Decimal.parse("1000000")

/** Root address and user of the maker. */
export const MAKER_ROOT = SIM_MAKER_ROOT
export const MAKER_USER = userIdOf(MAKER_ROOT)
const MAKER_ADDRESS = subAccountAddress(MAKER_ROOT, 0)

interface Quote {
  readonly ticks: number
  readonly lots: number
}

const quotesOf = (market: MarketState, side: Side): Array<Quote> => {
  const { rules, indexPrice } = market
  const buy = side === Side.SIDE_BUY
  const quotes: Array<Quote> = []
  for (let k = 0; k < LEVELS; k++) {
    const dividend = indexPrice * (buy ? BPS - distance(k) : BPS + distance(k))
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

const isStale = (market: MarketState): boolean => {
  const { quoted, indexPrice } = market
  if (quoted === undefined) return true
  if (Decimal.abs(indexPrice - quoted.index) * BPS >= quoted.index) return true
  return quoted.orders.some(({ order, leaves }) => order.leaves !== leaves)
}

const quoteSide = (
  ctx: StepContext,
  account: Account,
  market: MarketState,
  side: Side,
  resting: Array<Order>
): void => {
  const holding = positionOf(account, market)
  const quotes = quotesOf(market, side)
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
const restingOf = (account: Account, market: MarketState, side: Side): Array<Order> => {
  const sign = side === Side.SIDE_BUY ? -1 : 1
  return [...positionOf(account, market).orders.values()]
    .filter((order) => order.side === side)
    .sort((a, b) => sign * (a.ticks - b.ticks))
}

const requote = (ctx: StepContext, account: Account, market: MarketState): void => {
  const rising = market.quoted === undefined || market.indexPrice >= market.quoted.index
  const sides = rising ? ([Side.SIDE_SELL, Side.SIDE_BUY] as const) : ([Side.SIDE_BUY, Side.SIDE_SELL] as const)
  for (const side of sides) quoteSide(ctx, account, market, side, restingOf(account, market, side))
  market.quoted = {
    index: market.indexPrice,
    orders: [...positionOf(account, market).orders.values()].map((order) => ({ order, leaves: order.leaves }))
  }
}

/** Runs the maker in the first Tick of a second. */
export const run = (ctx: StepContext): void => {
  const { state } = ctx
  if (!state.config.simMaker) return
  const account = state.accountOf.get(MAKER_ADDRESS) ?? SubAccounts.openAccount(ctx, MAKER_USER, MAKER_ROOT, 0)
  if (account.frozen) return
  if (Accounts.totalsOf(account).free < DEPOSIT_BELOW)
    Funds.deposit(ctx, account, uuidV5(NAMESPACE, `sim-maker-deposit:${++state.depositNumber}`), DEPOSIT, "maker")
  for (const market of state.markets)
    if (market.market.status === "Trading" && isStale(market)) requote(ctx, account, market)
}
