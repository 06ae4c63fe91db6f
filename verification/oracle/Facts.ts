/** What the model's state says, a line a fact. */
import { type Exchange, isExit } from "./Exchange.ts"
import { type Fraction, max, ONE, sum, ZERO } from "./Fraction.ts"
import * as Formulas from "./Formulas.ts"
import * as Pools from "./Pools.ts"
import type { Account, Holding, Market } from "./State.ts"

const sideWord = (size: Fraction): string => (size.sign > 0 ? "Buy" : size.sign < 0 ? "Sell" : "")

/** The price at which closing with the taker fee leaves the position's realised PnL, fees in, at 0. */
const breakEven = (h: Holding): string => {
  const { current, entry, market, size } = h
  const long = size.sign > 0
  const owed = long ? entry.minus(current) : entry.plus(current)
  if (owed.sign <= 0) return "0"
  const rate = long ? ONE.minus(market.taker) : ONE.plus(market.taker)
  const price = owed.over(rate.times(size.abs()))
  return (long ? price.ceilTo(market.tick) : price.floorTo(market.tick)).toString()
}

const positionFact = (exchange: Exchange, h: Holding): string => {
  const value = Formulas.valueOf(h)
  const whole = (type: string) =>
    exchange.orders.find((order) => order.holding === h && isExit(order) && order.stopType === type)?.trigger?.price ??
    ""
  return (
    `${sideWord(h.size)} ${h.size.abs()} avg ${h.entry.over(h.size.abs()).floor()} entry ${h.entry} value ${value} leverage ${h.leverage}` +
    ` im ${exchange.initialMargin(h)} mm ${Formulas.positionMaintenance(h)} isolated ${h.isolated ? h.margin.toString() : "-"}` +
    ` liq ${Formulas.shownPrice(h.market, Formulas.liquidationPrice(h))} bust ${Formulas.shownPrice(h.market, Formulas.bustPrice(h))}` +
    ` pnl ${Formulas.pnlOf(h)} current ${h.current} realised ${h.realised} fee ${h.liquidationFee} tp ${whole("TakeProfit")} sl ${whole("StopLoss")}` +
    ` tier ${h.market.tiers.indexOf(Formulas.tierOf(h.market, value)) + 1} even ${breakEven(h)} rank ${h.rank}`
  )
}

const balanceFact = (exchange: Exchange, a: Account): string => {
  const isolated = Formulas.isolatedOf(a)
  const margins = sum(isolated.map(({ margin }) => margin))
  const used = sum(Formulas.crossOf(a).map((h) => exchange.initialMargin(h))).plus(margins)
  const maintenance = Formulas.crossMaintenance(a).plus(sum(isolated.map(Formulas.positionMaintenance)))
  return (
    `wallet ${a.wallet} equity ${Formulas.crossEquity(a).plus(sum(isolated.map(Formulas.isolatedEquity)))}` +
    ` available ${max(ZERO, exchange.free(a))} used ${used} orders ${sum(a.holdings.map((h) => exchange.orderMargin(h)))}` +
    ` maintenance ${maintenance} pnl ${sum(a.holdings.map(Formulas.pnlOf))} isolated ${margins} withdrawable ${exchange.withdrawable(a)}`
  )
}

const marketFacts = (exchange: Exchange, market: Market, facts: Map<string, string>): void => {
  const { symbol } = market
  const { holding, ...pool } = market.pool
  const sizes = [...exchange.accounts.map((a) => exchange.holdingOf(a, market).size), holding.size]
  facts.set(
    `prices ${symbol}`,
    `index ${market.index} mark ${market.mark} last ${market.last ?? "-"} rate ${Formulas.fundingRate(market.premiums)} open ${sum(sizes.map((size) => max(ZERO, size)))}`
  )
  const resting = [...exchange.resting(market, "Buy"), ...exchange.resting(market, "Sell")]
  facts.set(`book ${symbol}`, resting.map(({ number }) => number).join(" "))
  const levels = [...exchange.levels(market, "Buy"), ...exchange.levels(market, "Sell")]
  facts.set(`levels ${symbol}`, levels.map(([price, qty]) => `${price}:${qty}`).join(" "))
  facts.set(
    `pool ${symbol}`,
    `cash ${Pools.cashOf(market.pool)} realised ${holding.account.wallet} equity ${Pools.equityOf(market.pool)} in ${pool.received} out ${pool.paid}` +
      ` obligation ${pool.obligation} ${pool.mode} ${pool.reason} ratio ${pool.ratio}` +
      ` inventory ${holding.size.isZero ? "-" : `${sideWord(holding.size)} ${holding.size.abs()} pnl ${Formulas.pnlOf(holding)}`}`
  )
}

const accountFacts = (exchange: Exchange, account: Account, facts: Map<string, string>): void => {
  facts.set(`balance ${account.address}`, balanceFact(exchange, account))
  for (const h of account.holdings) {
    const { current, liquidationFee, market, realised } = h
    if (!h.size.isZero) facts.set(`position ${account.address} ${market.symbol}`, positionFact(exchange, h))
    if (!h.size.isZero || !realised.isZero || !liquidationFee.isZero)
      facts.set(
        `announced ${account.address} ${market.symbol}`,
        `${h.size.abs()} entry ${h.entry} isolated ${h.isolated ? h.margin.toString() : "-"} current ${current} realised ${realised}` +
          ` liquidation fee ${liquidationFee}`
      )
  }
}

/** The state, a line a fact: all of it, or what the last command has to do with. */
export const factsOf = (exchange: Exchange, all: boolean): Map<string, string> => {
  const facts = new Map<string, string>()
  const isDue = (one: Account | Market) => all || exchange.concerned.includes(one)
  facts.set("fee account", exchange.fees.toString())
  for (const market of exchange.markets) if (isDue(market)) marketFacts(exchange, market, facts)
  for (const order of exchange.orders)
    if (isDue(order.holding.account)) facts.set(`open #${order.number}`, exchange.describe(order, ""))
  for (const account of exchange.accounts)
    if (isDue(account) && !account.deleted) accountFacts(exchange, account, facts)
  return facts
}
