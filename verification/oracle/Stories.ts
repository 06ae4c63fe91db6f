/**
 * Sequences of requests of one account that lead to rules which random requests seldom reach: limits of counts, bounds of
 * money to the last digit, crashes of the index, the end of a sub-account. Other requests come in between.
 */
import type { Exchange } from "./Exchange.ts"
import { f, type Fraction, max, min, sum, ZERO } from "./Fraction.ts"
import * as Formulas from "./Formulas.ts"
import type { Body, Side, TpslRequest } from "./Requests.ts"
import type { Account, Market } from "./State.ts"

/** Who acts in a story, and where. */
export interface Scene {
  readonly root: string
  /** the address of the root's sub-account with this index */
  readonly at: (index: number) => string
  readonly account: string
  /** another account of the same user, or its own */
  readonly other: string
  /** an account of another user */
  readonly rival: string
  readonly symbol: string
  /** unlike that of any other story of the session */
  readonly id: string
}

/** A request, one of another user, or a Tick after so many ms. */
export type Move =
  Body | { readonly kind: "rival"; readonly body: Body } | { readonly kind: "pass"; readonly ms: number }

/** The next move of a story; `undefined` where the exchange has no occasion for it. */
export type Turn = (exchange: Exchange) => Move | undefined
export type Story = (scene: Scene) => ReadonlyArray<Turn>

const DUST = f("0.000000000000000001")

const marketOf = (exchange: Exchange, symbol: string): Market =>
  exchange.markets.find((market) => market.symbol === symbol)!
const accountOf = (exchange: Exchange, address: string): Account | undefined =>
  exchange.accounts.find((account) => account.address === address && !account.deleted)

const times = (count: number, turn: (n: number) => Turn): ReadonlyArray<Turn> =>
  Array.from({ length: count }, (_, n) => turn(n))

/** The smallest quantity that is worth an order. */
const smallest = (market: Market, price: Fraction): Fraction => max(market.step, f(5).over(price).ceilTo(market.step))

/** A price at this share of the mark, on the tick and within the limits of the market. */
const near = ({ mark, maxPrice, minPrice, tick }: Market, share: string): Fraction => {
  const price = mark.times(f(share)).floorTo(tick)
  return price.less(minPrice) ? minPrice : price.more(maxPrice) ? maxPrice : price
}

const order = (exchange: Exchange, symbol: string, side: Side, share: string, extra: Partial<Body> = {}): Body => {
  const market = marketOf(exchange, symbol)
  const price = near(market, share)
  const qty = smallest(market, price)
  return {
    kind: "place",
    symbol,
    side,
    type: "Limit",
    qty: qty.toString(),
    price: price.toString(),
    ...extra
  } as Body
}

const holdingOf = (exchange: Exchange, { account, symbol }: Scene) => {
  const owner = accountOf(exchange, account)
  return owner && exchange.holdingOf(owner, marketOf(exchange, symbol))
}

/** More pairs of exits than a position may have: some by orders that wait for their fill, some of the position. */
const pairs: Story = (scene) => [
  ...times(21, (n) => (exchange) => {
    const market = marketOf(exchange, scene.symbol)
    const tpsl: TpslRequest = {
      mode: n === 12 ? "Full" : "Partial",
      stopLoss: { by: "IndexPrice", price: near(market, "0.5").toString() }
    }
    const h = holdingOf(exchange, scene)
    if (n % 2 === 0 && h !== undefined && h.size.sign > 0)
      return { kind: "tradingStop", symbol: scene.symbol, tpsl, stopLossSize: market.step.toString() }
    return order(exchange, scene.symbol, "Buy", "0.9", { tpsl })
  }),
  (exchange) => ({
    kind: "tradingStop",
    symbol: scene.symbol,
    tpsl: {
      mode: "Full",
      stopLoss: { by: "MarkPrice", price: near(marketOf(exchange, scene.symbol), "0.6").toString() }
    }
  }),
  () => ({ kind: "cancelAll", symbol: scene.symbol, filter: "All", dcp: true }),
  () => ({ kind: "cancelAll", symbol: scene.symbol, filter: "All", dcp: false })
]

/** More conditional orders than a position may have. */
const conditionals: Story = ({ symbol }) => [
  ...times(
    21,
    (n) => (exchange) =>
      order(exchange, symbol, "Buy", "0.99", {
        trigger: { by: "IndexPrice", price: near(marketOf(exchange, symbol), n % 2 === 0 ? "2" : "0.4").toString() }
      })
  ),
  () => ({ kind: "cancelAll", symbol, filter: "Conditional", dcp: false })
]

/** More sub-accounts than a user may have, and numbers that are not the next one. */
const subAccounts: Story = ({ at, root }) => [
  ...[0, 0, 5].map((index): Turn => () => ({ kind: "createSubAccount", root, index, address: at(index) })),
  ...times(21, () => (exchange) => {
    const index = exchange.accounts.filter((own) => own.root === root).length
    return { kind: "createSubAccount", root, address: at(index) }
  })
]

/** The same id again, with the same content and with another one. */
const again: Story = ({ account, id, other }) =>
  (["deposit", "withdraw", "credit", "transfer", "deposit"] as const).flatMap((kind): ReadonlyArray<Turn> => {
    const body = (amount: string): Body => {
      if (kind === "deposit") return { kind, id, amount, source: amount === "3" ? "faucet" : "rail" }
      if (kind === "withdraw") return { kind, id: `w${id}`, amount, destination: "0x1" }
      if (kind === "transfer") return { kind, id: `t${id}`, amount, to: other === account ? account : other }
      return { kind, id: `c${id}`, amount }
    }
    return [() => body("2"), () => body("2.0"), () => body("3")]
  })

/** Takes out everything that may be taken, to the last digit, and one digit more. */
const everything: Story = (scene) => {
  const { account, id, other } = scene
  const most = (exchange: Exchange, more: Fraction): string | undefined => {
    const owner = accountOf(exchange, account)
    if (owner === undefined) return undefined
    const amount = exchange.withdrawable(owner).plus(more)
    return amount.sign > 0 ? amount.toString() : undefined
  }
  const withdraw = (exchange: Exchange, more: Fraction): Body | undefined => {
    const amount = most(exchange, more)
    return amount === undefined ? undefined : { kind: "withdraw", id: `e${id}${more.sign}`, amount, destination: "0x1" }
  }
  const transfer = (exchange: Exchange, more: Fraction): Body | undefined => {
    const amount = most(exchange, more)
    return amount === undefined ? undefined : { kind: "transfer", id: `x${id}${more.sign}`, amount, to: other }
  }
  return [
    (exchange) => transfer(exchange, DUST),
    (exchange) => withdraw(exchange, DUST),
    (exchange) => transfer(exchange, ZERO),
    (exchange) => withdraw(exchange, ZERO),
    () => ({ kind: "deposit", id: `d${id}`, amount: "20000", source: "rail" })
  ]
}

/** The bounds of isolated margin: all that may be taken out, one digit more, and all that may be added. */
const isolatedMargin: Story = (scene) => {
  const { id, symbol } = scene
  const spare = (exchange: Exchange, more: Fraction): Body | undefined => {
    const h = holdingOf(exchange, scene)
    if (h === undefined) return undefined
    const most = h.margin
      .plus(Formulas.pnlOf(h).sign < 0 ? Formulas.pnlOf(h) : ZERO)
      .minus(exchange.initialMargin(h))
      .plus(more)
    return { kind: "addMargin", symbol, margin: most.sign > 0 ? most.negated().toString() : "-0.5" }
  }
  return [
    () => ({ kind: "cancelAll", symbol, filter: "All", dcp: false }),
    () => ({ kind: "marginMode", symbol, isolated: true, leverage: "10" }),
    (exchange) => order(exchange, symbol, "Buy", "1.01"),
    () => ({ kind: "deposit", id: `i${id}`, amount: "50", source: "rail" }),
    () => ({ kind: "addMargin", symbol, margin: "7.000000000000000001" }),
    () => ({ kind: "leverage", symbol, leverage: "5" }),
    () => ({ kind: "leverage", symbol, leverage: "15" }),
    (exchange) => spare(exchange, DUST),
    (exchange) => spare(exchange, ZERO),
    () => ({ kind: "leverage", symbol, leverage: "3" })
  ]
}

/** What the faucet gives in a day, to the last digit. */
const faucet: Story = ({ id }) =>
  ["2500", "2499.999999999999999999", "0.000000000000000002", "0.000000000000000001", "0.000000000000000001"].map(
    (amount, n): Turn =>
      () => ({ kind: "deposit", id: `f${id}-${n}`, amount, source: "faucet" })
  )

/** A market that loses nearly all of its value, or multiplies it: bust prices leave the limits of the market. */
const crash =
  (shares: ReadonlyArray<string>): Story =>
  ({ symbol }) =>
    shares.flatMap((share): ReadonlyArray<Turn> => [
      (exchange) => {
        const { index, maxPrice, minPrice, tick } = marketOf(exchange, symbol)
        const price = index.times(f(share)).floorTo(tick)
        return {
          kind: "index",
          symbol,
          price: (price.less(minPrice) ? minPrice : price.more(maxPrice) ? maxPrice : price).toString()
        }
      },
      () => ({ kind: "tick" })
    ])

/** The end of a sub-account: with orders, with money, without both, and after it. */
const deletion: Story = (scene) => {
  const { account, id, other, symbol } = scene
  if (account === other) return []
  return [
    (exchange) => order(exchange, symbol, "Buy", "0.8"),
    () => ({ kind: "deleteSubAccount" }),
    () => ({ kind: "cancelAll", filter: "All", dcp: false }),
    () => ({ kind: "deleteSubAccount" }),
    (exchange) => {
      const owner = accountOf(exchange, account)
      return owner === undefined || owner.wallet.sign <= 0
        ? undefined
        : { kind: "transfer", id: `z${id}`, amount: owner.wallet.toString(), to: other }
    },
    () => ({ kind: "deleteSubAccount" }),
    () => ({ kind: "deposit", id: `y${id}`, amount: "1", source: "rail" }),
    (exchange) => order(exchange, symbol, "Buy", "0.9")
  ]
}

/** A frozen account: no new orders and exits, but cancels and removals. */
const frozen: Story = ({ symbol }) => [
  (exchange) => order(exchange, symbol, "Buy", "1.02"),
  (exchange) => order(exchange, symbol, "Sell", "1.2", { link: "frozen" }),
  () => ({ kind: "freeze", frozen: true }),
  (exchange) => order(exchange, symbol, "Buy", "0.9"),
  () => ({ kind: "amend", symbol, link: "frozen", qty: "1", version: 0 }),
  (exchange) => ({
    kind: "tradingStop",
    symbol,
    tpsl: { mode: "Full", takeProfit: { by: "LastPrice", price: near(marketOf(exchange, symbol), "1.5").toString() } }
  }),
  () => ({ kind: "tradingStop", symbol, tpsl: { mode: "Full", takeProfit: { by: "LastPrice", price: "0" } } }),
  () => ({ kind: "cancel", symbol, link: "frozen" }),
  () => ({ kind: "freeze", frozen: false })
]

/** Most of an account's money at the edge of the price band: an account that trades there falls below its maintenance margin. */
const edge =
  (side: Side): Story =>
  (scene) => {
    const { symbol } = scene
    const all = (exchange: Exchange, extra: Partial<Body>): Body | undefined => {
      const owner = accountOf(exchange, scene.account)
      const market = marketOf(exchange, symbol)
      if (owner === undefined || owner.wallet.sign <= 0) return undefined
      const share = side === "Buy" ? f(1).plus(market.band) : f(1).minus(market.band)
      const price = near(market, share.toString())
      const leverage = exchange.holdingOf(owner, market).leverage
      const qty = owner.wallet.times(leverage).times(f("0.9")).over(price).floorTo(market.step)
      const there = exchange
        .resting(market, side === "Buy" ? "Sell" : "Buy")
        .filter(
          (maker) => maker.holding.account !== owner && maker.price.minus(price).times(Formulas.signOf(side)).sign <= 0
        )
      const offered = sum(there.map(({ leaves }) => leaves))
      const most = [qty, market.maxQty, ...(offered.isZero ? [] : [offered])].reduce(min)
      return order(exchange, symbol, side, share.toString(), { qty: max(market.step, most).toString(), ...extra })
    }
    return [
      () => ({ kind: "leverage", symbol, leverage: "20" }),
      () => ({ kind: "leverage", symbol, leverage: "50" }),
      (exchange) => all(exchange, { timeInForce: "FOK" }),
      (exchange) => all(exchange, { timeInForce: "IOC" }),
      (exchange) => all(exchange, {})
    ]
  }

/** A side of the book that holds exactly the value of the impact price, over a minute's end. */
const impact =
  (side: Side): Story =>
  ({ symbol }) => [
    (exchange) => {
      const market = marketOf(exchange, symbol)
      const levels = exchange.levels(market, side)
      const left = f(10_000).minus(sum(levels.map(([price, qty]) => price.times(qty))))
      if (left.sign <= 0) return undefined
      const away = market.tick.times(Formulas.signOf(side)).negated()
      const worst = levels.at(-1)?.[0] ?? near(market, side === "Buy" ? "0.999" : "1.001")
      for (let n = 1; n < 2000; n++) {
        const price = worst.plus(away.times(f(n)))
        if (price.less(market.minPrice) || price.more(market.maxPrice)) return undefined
        const qty = left.over(price)
        if (!qty.isMultipleOf(market.step) || qty.more(market.maxQty)) continue
        return { kind: "place", symbol, side, type: "Limit", qty: qty.toString(), price: price.toString() }
      }
      return undefined
    },
    // a side counts as far as it lies beyond the index
    (exchange) => {
      const market = marketOf(exchange, symbol)
      const worst = exchange.levels(market, side).at(-1)?.[0]
      if (worst === undefined) return undefined
      const index = worst.times(f(side === "Buy" ? "0.97" : "1.03")).floorTo(market.tick)
      return index.less(market.minPrice) || index.more(market.maxPrice)
        ? undefined
        : { kind: "index", symbol, price: index.toString() }
    },
    () => ({ kind: "pass", ms: 60_000 })
  ]

/** A sample of the basis that is exactly as old as one may be. */
const basis: Story = ({ symbol }) => [
  () => ({ kind: "pass", ms: 1000 }),
  (exchange) => order(exchange, symbol, "Buy", "0.999"),
  (exchange) => order(exchange, symbol, "Sell", "1.04"),
  () => ({ kind: "pass", ms: 150_000 }),
  () => ({ kind: "pass", ms: 150_000 })
]

/** An order of so many times the smallest quantity. */
const several = (
  exchange: Exchange,
  symbol: string,
  side: Side,
  share: string,
  count: number,
  extra: Partial<Body> = {}
) => {
  const market = marketOf(exchange, symbol)
  const qty = smallest(market, market.mark).times(f(count))
  return order(exchange, symbol, side, share, { qty: min(qty, market.maxQty).toString(), ...extra })
}

/** A fill-or-kill order that one maker could fill by each of two orders, but not by both: the second one only reduces. */
const reducingMaker: Story = ({ symbol }) => {
  const rival = (body: Body): Move => ({ kind: "rival", body })
  return [
    () => ({ kind: "cancelAll", symbol, filter: "All", dcp: false }),
    () => rival({ kind: "cancelAll", symbol, filter: "All", dcp: false }),
    (exchange) => several(exchange, symbol, "Sell", "1.001", 10),
    (exchange) => rival(several(exchange, symbol, "Buy", "1.002", 10, { timeInForce: "IOC" })),
    (exchange) => rival(several(exchange, symbol, "Sell", "0.99", 6)),
    (exchange) => rival(several(exchange, symbol, "Sell", "1.003", 6, { reduceOnly: true })),
    (exchange) => several(exchange, symbol, "Buy", "1.01", 12, { timeInForce: "FOK" })
  ]
}

/** A reduction of an Isolated position at a price that leaves nothing of its margin. */
const emptyReduction: Story = ({ symbol }) => {
  const rival = (body: Body): Move => ({ kind: "rival", body })
  return [
    () => ({ kind: "cancelAll", symbol, filter: "All", dcp: false }),
    () => rival({ kind: "cancelAll", symbol, filter: "All", dcp: false }),
    () => ({ kind: "marginMode", symbol, isolated: true, leverage: "40" }),
    (exchange) => rival(several(exchange, symbol, "Sell", "1", 8)),
    (exchange) => several(exchange, symbol, "Buy", "1.0005", 8, { timeInForce: "IOC" }),
    (exchange) => {
      const { index, tick } = marketOf(exchange, symbol)
      return { kind: "index", symbol, price: index.times(f("0.988")).floorTo(tick).toString() }
    },
    (exchange) => rival(several(exchange, symbol, "Buy", "0.987", 9)),
    // more than the position: a fill-or-kill order is refused for that before its margin is judged
    (exchange) => several(exchange, symbol, "Sell", "0.98", 9, { timeInForce: "FOK", reduceOnly: true }),
    (exchange) => several(exchange, symbol, "Sell", "0.98", 3, { timeInForce: "IOC", reduceOnly: true })
  ]
}

/** Other exits for an order that has attached some, and none. */
const otherExits =
  (mode: "Full" | "Partial"): Story =>
  (scene) => {
    const { id, symbol } = scene
    const link = `${id}-x`
    const exits = (exchange: Exchange, loss: string): TpslRequest => ({
      mode,
      stopLoss: { by: "MarkPrice", price: near(marketOf(exchange, symbol), loss).toString() }
    })
    return [
      (exchange) => {
        const market = marketOf(exchange, symbol)
        const [best] = exchange.resting(market, "Sell")
        if (best === undefined) return undefined
        const qty = best.leaves.plus(smallest(market, best.price))
        return order(exchange, symbol, "Buy", "1", {
          link,
          price: best.price.toString(),
          qty: min(qty, market.maxQty).toString(),
          tpsl: exits(exchange, "0.8")
        })
      },
      (exchange) => ({ kind: "amend", symbol, link, tpsl: exits(exchange, "0.82"), version: 0 }),
      (exchange) => ({
        kind: "amend",
        symbol,
        link,
        tpsl: {
          ...exits(exchange, "0.82"),
          takeProfit: { by: "LastPrice", price: near(marketOf(exchange, symbol), "1.4").toString() }
        },
        version: 2
      }),
      () => ({ kind: "amend", symbol, link, tpsl: { mode, stopLoss: { by: "MarkPrice", price: "0" } }, version: 0 })
    ]
  }

export const STORIES: ReadonlyArray<Story> = [
  pairs,
  conditionals,
  subAccounts,
  again,
  everything,
  everything,
  isolatedMargin,
  isolatedMargin,
  faucet,
  crash(["0.3", "0.1", "0.05", "0.01", "20", "100"]),
  crash(["0.5", "0.1", "0.1", "30", "3"]),
  crash(["3", "3", "0.2"]),
  crash(["1.06", "0.93", "1.05", "0.9", "1.1"]),
  deletion,
  frozen,
  basis,
  reducingMaker,
  reducingMaker,
  emptyReduction,
  emptyReduction,
  impact("Buy"),
  impact("Sell"),
  otherExits("Full"),
  otherExits("Partial"),
  edge("Buy"),
  edge("Sell")
]
