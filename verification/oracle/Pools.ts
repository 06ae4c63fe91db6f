/**
 * Insurance pools: what they lend one another, and deleveraging. Source: docs/contract/exchange.md#insurance-pool,
 * #adl.
 */
import { f, type Fraction, max, min, sum, ZERO } from "./Fraction.ts"
import * as Formulas from "./Formulas.ts"
import type { Account, Holding, Market, Order, Pool } from "./State.ts"

/** The members of the exchange that pools use. */
export interface PoolContext {
  readonly now: number
  readonly accounts: ReadonlyArray<Account>
  readonly markets: ReadonlyArray<Market>
  readonly holdingOf: (account: Account, market: Market) => Holding
  readonly cancelResting: (h: Holding, type: string) => void
  readonly passThrough: (
    h: Holding,
    shape: Pick<Order, "side" | "type" | "timeInForce" | "price" | "qty" | "createType" | "reduceOnly">,
    type: string
  ) => void
  readonly unwind: (h: Holding) => void
}

const MINUTE_MS = 60_000
const PEAK_MINUTES = 480
const TWO = f(2)

export const emptyHolding = (account: Account, market: Market): Holding => ({
  account,
  market,
  leverage: min(f(10), market.maxLeverage),
  isolated: false,
  margin: ZERO,
  size: ZERO,
  entry: ZERO,
  openFee: ZERO,
  current: ZERO,
  realised: ZERO,
  liquidationFee: ZERO,
  rank: 0
})

export const make = (market: Market, base: Fraction): Pool => {
  const account: Account = {
    user: "",
    root: "",
    index: 0,
    address: "",
    house: true,
    frozen: false,
    deleted: false,
    wallet: ZERO,
    holdings: []
  }
  const holding = emptyHolding(account, market)
  account.holdings.push(holding)
  return {
    base,
    holding,
    received: ZERO,
    paid: ZERO,
    obligation: ZERO,
    redistributed: ZERO,
    mode: "Inactive",
    reason: "NoTrigger",
    ratio: ZERO,
    samples: [],
    deleveraged: "NoTrigger"
  }
}

export const cashOf = (pool: Pool): Fraction =>
  pool.base.plus(pool.holding.account.wallet).plus(pool.received).minus(pool.paid)
export const equityOf = (pool: Pool): Fraction => cashOf(pool).plus(Formulas.pnlOf(pool.holding))
const pnlOf = (pool: Pool): Fraction => pool.holding.account.wallet.plus(Formulas.pnlOf(pool.holding))

const inOrder = (exchange: PoolContext): Array<Pool> =>
  [...exchange.markets].sort((a, b) => (a.symbol < b.symbol ? -1 : 1)).map(({ pool }) => pool)

/** Adds what the pools are worth now, and drops what lies further back than 480 whole minutes. */
const sample = (exchange: PoolContext): void => {
  const minute = Math.floor(exchange.now / MINUTE_MS)
  const pools = inOrder(exchange)
  const group = sum(pools.map(equityOf))
  for (const pool of pools) {
    pool.samples = pool.samples.filter((s) => s.minute >= minute - PEAK_MINUTES)
    const same = pool.samples.find((s) => s.minute === minute)
    const taken = { minute, pnl: pnlOf(pool), group }
    if (same === undefined) pool.samples.push(taken)
    else
      pool.samples[pool.samples.indexOf(same)] = {
        minute,
        pnl: max(same.pnl, taken.pnl),
        group: max(same.group, taken.group)
      }
  }
}

const highestPnl = (pool: Pool): Fraction => pool.samples.map(({ pnl }) => pnl).reduce(max)
const highestGroup = (pool: Pool): Fraction => pool.samples.map(({ group }) => group).reduce(max)

const redistribute = (pools: ReadonlyArray<Pool>): void => {
  for (const pool of pools) {
    pool.redistributed = ZERO
    pool.obligation = ZERO
    const deficit = equityOf(pool).negated()
    if (deficit.sign <= 0) continue
    const capacity = (donor: Pool) => (donor === pool ? ZERO : max(ZERO, equityOf(donor).minus(donor.base.over(TWO))))
    const shares = Formulas.sharesOf(deficit, pools.map(capacity))
    for (const [i, share] of shares.entries()) pools[i]!.paid = pools[i]!.paid.plus(share)
    pool.redistributed = sum(shares)
    pool.received = pool.received.plus(pool.redistributed)
    pool.obligation = deficit.minus(pool.redistributed)
  }
}

const evaluate = (pool: Pool): void => {
  const group = highestGroup(pool)
  pool.ratio = Formulas.ratioOf(pnlOf(pool), highestPnl(pool), group)
  const wasDrawdown = pool.mode === "Active" && pool.reason === "PnlDrawdown"
  const set = (mode: Pool["mode"], reason: Pool["reason"]) => Object.assign(pool, { mode, reason })
  if (pool.holding.size.isZero) set("Inactive", "NoTrigger")
  else if (pool.obligation.sign > 0) set("Active", pool.redistributed.sign > 0 ? "GroupObligation" : "EquityDepleted")
  else if ((pool.ratio.less(f("-0.3")) && group.more(f(10_000))) || (wasDrawdown && pool.ratio.atMost(f("-0.25"))))
    set("Active", "PnlDrawdown")
  else if (equityOf(pool).less(pool.base.over(f(5)))) set("Warning", "EquityDepleted")
  else if (pool.ratio.less(f("-0.2"))) set("Warning", "PnlDrawdown")
  else set("Inactive", "NoTrigger")
}

/** Opposite positions, first in line first, with the equity behind each. */
const queue = (exchange: PoolContext, market: Market, long: boolean) =>
  exchange.accounts
    .map((account) => exchange.holdingOf(account, market))
    .filter((h) => h.size.sign === (long ? 1 : -1))
    .map((holding) => ({ holding, equity: Formulas.equityShare(holding) }))
    .filter(({ equity }) => equity.sign > 0)
    .map(({ equity, holding }) => {
      const ratio = Formulas.pnlOf(holding).over(holding.entry)
      const leverage = Formulas.valueOf(holding).over(equity)
      return { holding, equity, score: ratio.sign > 0 ? ratio.times(leverage) : ratio.over(leverage) }
    })
    .sort((a, b) => b.score.compare(a.score) || (a.holding.account.address < b.holding.account.address ? -1 : 1))

/** r-th of n, in steps of 5: 5 is first in line. */
const rankOf = (r: number, n: number): number => 5 - Math.floor((5 * (r - 1)) / n)

/** A position that was opened since the last ranking is last in line. */
export const lastRank = (exchange: PoolContext, { market, size }: Holding): number => {
  const n = exchange.accounts.filter((a) => exchange.holdingOf(a, market).size.sign === size.sign).length
  return rankOf(n, n)
}

export const rankAll = (exchange: PoolContext, market: Market): void => {
  for (const long of [true, false]) {
    const ranked = queue(exchange, market, long)
    for (const [i, { holding }] of ranked.entries()) holding.rank = rankOf(i + 1, ranked.length)
  }
}

const deleverage = (exchange: PoolContext, pool: Pool): boolean => {
  const { holding, reason } = pool
  const { market, size } = holding
  const held = size.abs()
  const average = holding.entry.over(held)
  const result =
    reason === "PnlDrawdown"
      ? highestPnl(pool)
          .minus(f("0.3").times(highestGroup(pool)))
          .minus(holding.account.wallet)
      : cashOf(pool).negated()
  const wanted = average.plus(result.over(size))
  const bounded = max(min(average, market.mark), min(max(average, market.mark), wanted))
  const price = size.sign > 0 ? bounded.ceilTo(market.tick) : bounded.floorTo(market.tick)
  let left = held
  let done = false
  for (const { equity, holding: h } of queue(exchange, market, size.sign < 0)) {
    const worse = h.size.sign < 0 ? price.minus(market.mark) : market.mark.minus(price)
    let most = h.size.abs()
    if (worse.sign > 0) {
      const bears = equity.over(worse)
      if (h.isolated && bears.less(most)) continue
      most = min(most, bears.floorTo(market.step))
    }
    const qty = min(left, most)
    if (qty.isZero) continue
    exchange.cancelResting(h, "CancelAllBeforeAdl")
    exchange.passThrough(
      h,
      {
        side: Formulas.closingSide(h.size),
        type: "Limit",
        timeInForce: "IOC",
        price,
        qty,
        reduceOnly: true,
        createType: "CreateByAdlPassThrough"
      },
      "AdlTrade"
    )
    left = left.minus(qty)
    done = true
  }
  return done
}

/** The pool stage of a step. Answers whether anybody was deleveraged. */
export const stage = (exchange: PoolContext): boolean => {
  sample(exchange)
  const pools = inOrder(exchange)
  redistribute(pools)
  for (const pool of pools) evaluate(pool)
  let done = false
  for (const pool of pools)
    if (pool.mode === "Active" && deleverage(exchange, pool)) {
      pool.deleveraged = pool.reason
      done = true
    }
  sample(exchange)
  return done
}

/** Reduces each inventory by a tenth, near the mark. */
export const unwind = (exchange: PoolContext): void => {
  for (const { holding } of inOrder(exchange)) if (!holding.size.isZero) exchange.unwind(holding)
}
