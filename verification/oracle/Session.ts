/** Seeded users: what they send next. They look at the model to find orders and prices worth a request. */
import { type Address, rootOfService, subAccountAddress, userIdOf } from "../../src/domain/Address.ts"
import type { Exchange, Options } from "./Exchange.ts"
import { f, type Fraction, max, min, ONE, ZERO } from "./Fraction.ts"
import { BTC, DOGE, ETH, type MarketRow, REBATE, SHIPPED, SOL } from "./MarketTable.ts"
import type { Body, PlaceRequest, Request, TimeInForce, TpslRequest, TriggerBy } from "./Requests.ts"
import type { Market, Order } from "./State.ts"
import { STORIES, type Turn } from "./Stories.ts"

/** Uniform in [0, 1). */
export type Random = () => number

/** mulberry32. */
export const random =
  (seed: number): Random =>
  () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

const START = 1767225600000
const INTERVAL_MS = 480 * 60_000
const REFERENCES: ReadonlyArray<TriggerBy> = ["LastPrice", "IndexPrice", "MarkPrice"]

interface User {
  readonly id: string
  readonly root: Address
  readonly accounts: Array<string>
  readonly wallet: string
  readonly leverage: string
}

/** The price in the record of an order. */
const recordedPrice = ({ price, type }: Order): string => (type === "Market" ? "0" : price.toString())

const withoutReferences = ({ mode, stopLoss, takeProfit }: TpslRequest): TpslRequest => ({
  mode,
  takeProfit: takeProfit && { price: takeProfit.price },
  stopLoss: stopLoss && { price: stopLoss.price }
})

/** What makes one session unlike another. */
interface Profile {
  readonly users: number
  readonly markets: ReadonlyArray<MarketRow>
  readonly poolBase: string
  readonly simulatedIndex: boolean
  /** how far prices are quoted from the index, as a share */
  readonly spread: number
  /** share of index moves that are jumps, and their width */
  readonly jumps: number
  readonly width: number
  /** share of commands that are Ticks, and that pass hours */
  readonly ticks: number
  readonly hours: number
  readonly isolated: number
  readonly conditional: number
  readonly exits: number
  /** share of values that no client should send */
  readonly odd: number
  /** size of an order as a share of what the wallet can carry */
  readonly size: number
  /** share of commands that begin a story */
  readonly stories: number
  /** share of positions with a leverage of their own */
  readonly leveraged: number
  /** bounds of the index, as multiples of its first value */
  readonly range: readonly [low: string, high: string]
  /** share of requests that go to the first market */
  readonly focus: number
  /** orders of the first user that rest from the beginning */
  readonly ladder: number
}

export class Session {
  readonly options: Options
  /** requests that only prepare: accounts, deposits, leverage */
  readonly openings: number
  private readonly next: Random
  private readonly profile: Profile
  private readonly users: ReadonlyArray<User>
  private readonly opening: Array<Request> = []
  private now = START
  private count = 0
  /** the rest of a story, and who acts in it */
  private story:
    { readonly user: User; readonly account: string; readonly rival: User; readonly turns: Array<Turn> } | undefined

  constructor(seed: number) {
    const next = random(seed)
    this.next = next
    const markets = this.pick<ReadonlyArray<MarketRow>>([
      [BTC],
      [BTC],
      [BTC, ETH],
      [REBATE],
      [REBATE],
      [REBATE, ETH],
      [ETH, DOGE, BTC],
      [...SHIPPED],
      [DOGE, SOL],
      [...SHIPPED, REBATE]
    ])
    this.profile = {
      users: this.pick([3, 4, 4, 4, 5, 5, 6, 6, 8, 12, 30]),
      markets,
      poolBase: this.pick(["1000000", "20000", "1000", "100", "1"]),
      simulatedIndex: next() < 0.2,
      spread: this.pick([0.0005, 0.002, 0.01, 0.04]),
      jumps: this.pick([0.1, 0.5, 0.9]),
      width: this.pick([0.05, 0.12, 0.25, 0.5]),
      ticks: this.pick([0.05, 0.15, 0.4]),
      hours: this.pick([0, 0.05, 0.3]),
      isolated: this.pick([0, 0.2, 0.6]),
      conditional: this.pick([0, 0.05, 0.2]),
      exits: this.pick([0, 0.05, 0.25]),
      odd: this.pick([0, 0.02, 0.1]),
      size: this.pick([0.001, 0.1, 0.4, 0.4, 1, 1, 1, 1]),
      stories: this.pick([0, 0.01, 0.02, 0.05]),
      leveraged: this.pick([0.4, 0.4, 1]),
      range: this.pick([
        ["0.3", "3"],
        ["0.3", "3"],
        ["0.00001", "1000"]
      ]),
      focus: this.pick([0, 0.5, 0.8]),
      ladder: this.chance(0.004) ? 499 : 0
    }
    this.options = {
      markets,
      poolBase: this.profile.poolBase,
      faucetLimit: "5000",
      openOrdersMax: this.pick([1_048_576, 1_048_576, 1_048_576, 250, 25]),
      simulatedIndex: this.profile.simulatedIndex
    }
    this.users = Array.from({ length: this.profile.users }, (_, i) => {
      const root = rootOfService(`user-${i}`)
      const accounts = [subAccountAddress(root, 0)]
      if (next() < 0.3) accounts.push(subAccountAddress(root, 1))
      const [wallet, leverage] = this.pick<readonly [string, string]>([
        ["100000", "10"],
        ["300000", "20"],
        ["8000", "20"],
        ["25000.000000000000000001", "20"],
        ["160", "20"],
        ["3333.333333333333333333", "17"]
      ])
      return { id: userIdOf(root), root, accounts, wallet, leverage }
    })
    this.open()
    this.openings = this.opening.length
  }

  private pick<A>(list: ReadonlyArray<A>): A {
    return list[Math.floor(this.next() * list.length)]!
  }

  private chance(share: number): boolean {
    return this.next() < share
  }

  private open(): void {
    const add = (user: User, account: string, body: Body) =>
      this.opening.push({ at: START, user: user.id, account, body })
    for (const user of this.users)
      for (const [index, account] of user.accounts.entries()) {
        add(user, account, { kind: "createSubAccount", root: user.root, index, address: account })
        add(user, account, { kind: "deposit", id: `first-${account}`, amount: user.wallet, source: "rail" })
        for (const { symbol } of this.profile.markets) {
          if (this.chance(this.profile.leveraged))
            add(user, account, { kind: "leverage", symbol, leverage: user.leverage })
          if (this.chance(this.profile.isolated)) add(user, account, { kind: "marginMode", symbol, isolated: true })
        }
      }
    const [market] = this.profile.markets
    const [first] = this.users
    for (let n = 0; n < this.profile.ladder; n++)
      add(first!, first!.accounts[0]!, {
        kind: "place",
        symbol: market!.symbol,
        side: "Buy",
        type: "Limit",
        qty: max(f(market!.qty_step), f(10).over(f(market!.index_base)).ceilTo(f(market!.qty_step))).toString(),
        price: f(market!.index_base).times(f("0.7")).floorTo(f(market!.tick_size)).toString()
      })
    this.opening.unshift({ at: START, user: "", account: "", body: { kind: "tick" } })
  }

  one(exchange: Exchange): Request {
    const first = this.opening.shift()
    if (first !== undefined) return first
    const { profile } = this
    this.count++
    if (this.chance(profile.ticks)) return this.tick()
    this.now += Math.floor(this.next() * 40)
    const next = this.chance(0.85) ? this.turn(exchange) : undefined
    if (next !== undefined) return next
    if (this.chance(profile.stories)) this.begin(exchange)
    // of those with open orders or positions more often, so that something becomes of them
    const busy = exchange.orders.length > 0 && this.chance(0.3) ? this.pick(exchange.orders).holding.account : undefined
    const user = this.users.find(({ id }) => id === busy?.user) ?? this.pick(this.users)
    const account = busy?.address ?? this.pick(user.accounts)
    const body = this.body(exchange, user, account)
    return { at: this.now, user: user.id, account: body.kind === "cancelAll" && this.chance(0.2) ? "" : account, body }
  }

  private begin(exchange: Exchange): void {
    const user = this.pick(this.users)
    const account = this.pick(user.accounts)
    const other = user.accounts.find((own) => own !== account) ?? account
    const at = (index: number) => subAccountAddress(user.root, index)
    const rival = this.pick(this.users.filter((one) => one !== user))
    const scene = {
      root: user.root,
      at,
      account,
      other,
      rival: rival.accounts[0]!,
      symbol: this.pick(exchange.markets).symbol,
      id: `s-${this.count}`
    }
    this.story = { user, account, rival, turns: [...this.pick(STORIES)(scene)] }
  }

  /** The next request of the story. */
  private turn(exchange: Exchange): Request | undefined {
    const { story } = this
    const move = story?.turns.shift()?.(exchange)
    if (move === undefined) return undefined
    const tick = (ms: number): Request => {
      this.now += ms
      return { at: this.now, user: "", account: "", body: { kind: "tick" } }
    }
    const by = (user: User, account: string, body: Body): Request => ({ at: this.now, user: user.id, account, body })
    const { account, rival, user } = story!
    if (move.kind === "pass") return tick(move.ms)
    if (move.kind === "tick") return tick(this.pick([0, 1100, 60_000]))
    return move.kind === "rival" ? by(rival, rival.accounts[0]!, move.body) : by(user, account, move)
  }

  private tick(): Request {
    if (this.chance(this.profile.hours)) {
      const minute = Math.floor(this.now / 60_000) * 60_000
      const later = this.pick([
        minute + 60_000,
        minute + 60_000 * 7 + 300,
        this.now + 149_000,
        this.now + 150_000,
        (Math.floor(this.now / INTERVAL_MS) + 1) * INTERVAL_MS - 50,
        (Math.floor(this.now / INTERVAL_MS) + 1) * INTERVAL_MS + 50,
        this.now + INTERVAL_MS + 61_234
      ])
      this.now = Math.max(this.now, later)
    } else this.now += Math.floor(this.next() * 2000)
    return { at: this.now, user: "", account: "", body: { kind: "tick" } }
  }

  private body(exchange: Exchange, user: User, account: string): Body {
    const kind = this.next()
    const market = this.chance(this.profile.focus) ? exchange.markets[0]! : this.pick(exchange.markets)
    const { symbol } = market
    const mine = exchange.orders.filter((order) => order.holding.account.address === account)
    if (kind < 0.55) return this.place(exchange, market, account)
    if (kind < 0.6 && mine.length > 0) return { kind: "cancel", ...this.named(exchange, mine, symbol) }
    if (kind < 0.71 && (mine.length > 0 || kind < 0.61)) return this.amend(exchange, mine, market)
    if (kind < 0.72) return this.place(exchange, market, account)
    if (kind < 0.73)
      return {
        kind: "cancelAll",
        symbol: this.chance(0.5) ? symbol : undefined,
        side: this.chance(0.3) ? this.pick(["Buy", "Sell"]) : undefined,
        filter: this.pick(["Active", "Conditional", "All"]),
        reduceOnly: this.chance(0.2) ? this.chance(0.5) : undefined,
        dcp: this.chance(0.3)
      }
    if (kind < 0.88) return this.index(market)
    if (kind < 0.91) return this.stop(exchange, market, account)
    if (kind < 0.93)
      return {
        kind: "leverage",
        symbol,
        leverage: this.pick(["1", "2.5", "3", "7", "10", "20", "33.33", "50", "0.5", "51"])
      }
    if (kind < 0.945)
      return {
        kind: "marginMode",
        symbol,
        isolated: this.chance(0.5),
        leverage: this.chance(0.3) ? this.pick(["3", "12.34"]) : undefined
      }
    if (kind < 0.965)
      return {
        kind: "addMargin",
        symbol,
        margin: this.pick(["10", "-5", "0.000000000000000001", "1000", "-33.3", "0", "-0.1e2"])
      }
    return this.money(user)
  }

  private money(user: User): Body {
    const amount = this.pick(["1", "12.345678", "0.000000000000000001", "20", "2000", "999999", "0", "1e3"])
    const id = this.chance(0.1) ? this.pick(["again", "again", "again", ""]) : `m-${this.count}`
    const kind = this.next()
    if (kind < 0.25) return { kind: "withdraw", id, amount, destination: "0x0" }
    if (kind < 0.5)
      return { kind: "transfer", id, amount, to: this.pick([...user.accounts, ...this.pick(this.users).accounts]) }
    if (kind < 0.6) return { kind: "credit", id, amount: "0.5" }
    if (kind < 0.9) return { kind: "deposit", id, amount, source: this.pick(["rail", "faucet"]) }
    if (kind < 0.95) return { kind: "freeze", frozen: this.chance(0.3) }
    return { kind: "deleteSubAccount" }
  }

  private index(market: Market): Body {
    const { profile } = this
    const { symbol } = market
    if (this.chance(0.03)) return { kind: "index", symbol }
    const factor = this.chance(profile.jumps) ? 1 + (this.next() - 0.5) * profile.width : 0.999 + this.next() * 0.002
    const low = max(market.minPrice, market.base.times(f(profile.range[0])))
    const high = min(market.maxPrice, market.base.times(f(profile.range[1])))
    const price = max(low, min(high, this.scaled(market.index, factor)))
    return { kind: "index", symbol, price: this.onTick(market, price) }
  }

  private scaled(value: Fraction, factor: number): Fraction {
    return value.times(f(Math.round(factor * 1e6))).over(f(1e6))
  }

  private onTick(market: Market, price: Fraction): string {
    return max(market.tick, price.floorTo(market.tick)).toString()
  }

  /** Near the index, now and then far from it or off the grid. */
  private price(exchange: Exchange, market: Market, buys: boolean, spread = this.profile.spread): string {
    if (this.chance(this.profile.odd))
      return this.pick([
        market.minPrice.toString(),
        market.maxPrice.toString(),
        "0",
        `${market.tick}1`,
        "-1",
        "1e5",
        "0.0000000000000000001",
        market.maxPrice.plus(market.tick).toString()
      ])
    // the edges of the price band, and of where pools unwind
    if (this.chance(0.04)) {
      const away = this.pick([market.band, f("0.005")])
      const edge = market.mark.times(this.chance(0.5) ? ONE.plus(away) : ONE.minus(away)).floorTo(market.tick)
      return this.onTick(market, edge.plus(market.tick.times(f(this.pick([-1, 0, 0, 1, 1])))))
    }
    const opposite = exchange.resting(market, buys ? "Sell" : "Buy")
    const own = exchange.resting(market, buys ? "Buy" : "Sell")
    const from = this.chance(0.6) ? opposite : own
    if (from.length > 0 && this.chance(0.7)) {
      const { price } = this.chance(0.7) ? from[0]! : this.pick(from)
      return this.onTick(market, price.plus(market.tick.times(f(this.pick([-1, 0, 0, 0, 1])))))
    }
    // few levels, so that orders meet at a price
    const levels = this.pick([1, 3, 10])
    const step = Math.round((this.next() - 0.5) * 2 * levels) / levels
    return this.onTick(market, this.scaled(market.index, 1 + step * spread))
  }

  private qty(market: Market, exchange: Exchange, account: string): string {
    if (this.chance(this.profile.odd))
      return this.pick([
        market.step.toString(),
        market.maxQty.toString(),
        market.maxMarketQty.plus(market.step).toString(),
        "0",
        "0.0000001",
        "x"
      ])
    const owner = exchange.accounts.find(({ address }) => address === account)
    const wallet = owner === undefined || owner.wallet.sign <= 0 ? f(100) : owner.wallet
    const held = owner === undefined ? undefined : exchange.holdingOf(owner, market)
    if (held !== undefined && !held.size.isZero && this.chance(0.25))
      return min(held.size.abs(), market.maxQty).toString()
    const leverage = held?.leverage ?? ONE
    const carried = wallet.times(leverage).over(market.mark)
    const size = this.scaled(carried, this.next() * this.profile.size + 1e-6)
    return max(market.step, min(market.maxQty, size.floorTo(market.step))).toString()
  }

  private tpsl(exchange: Exchange, market: Market): TpslRequest {
    const leg = () =>
      this.chance(0.75)
        ? { by: this.pick(REFERENCES), price: this.price(exchange, market, true, this.profile.spread * 3) }
        : undefined
    return { mode: this.pick(["Full", "Partial"]), takeProfit: leg(), stopLoss: leg() }
  }

  /** Exits on their proper sides, mostly. */
  private fitting(exchange: Exchange, market: Market, buys: boolean): TpslRequest {
    if (this.chance(0.1)) return this.tpsl(exchange, market)
    const leg = (up: boolean) => {
      if (this.chance(0.25)) return undefined
      const away = (0.2 + this.next() * 3) * this.profile.spread
      return {
        by: this.pick(REFERENCES),
        price: this.onTick(market, this.scaled(market.index, up ? 1 + away : 1 - away))
      }
    }
    return { mode: this.pick(["Full", "Partial"]), takeProfit: leg(buys), stopLoss: leg(!buys) }
  }

  private place(exchange: Exchange, market: Market, account: string): PlaceRequest {
    const { profile } = this
    const isMarket = this.chance(0.25)
    const buys = this.chance(0.5)
    const odd = () => this.chance(profile.odd / 4)
    const postOnly = (!isMarket && this.chance(0.15)) || odd()
    const expires = (!isMarket && this.chance(0.07)) || odd()
    const timeInForce: TimeInForce | undefined = expires
      ? "GTT"
      : isMarket || postOnly
        ? undefined
        : this.pick([undefined, "GTC", "GTC", "GTC", "GTC", "GTC", "IOC", "FOK"])
    const trigger = this.chance(profile.conditional)
      ? {
          by: this.pick(REFERENCES),
          direction: this.pick([undefined, undefined, "Up" as const, "Down" as const]),
          price: this.price(exchange, market, buys, profile.spread * 2)
        }
      : undefined
    const owner = exchange.accounts.find(({ address }) => address === account)
    const size = owner === undefined ? ZERO : exchange.holdingOf(owner, market).size
    const closes = size.sign === (buys ? -1 : 1)
    const reduceOnly = (!postOnly && this.chance(closes ? 0.35 : 0.03)) || odd()
    const closeOnTrigger = this.chance(0.1)
    return {
      kind: "place",
      symbol: odd() ? "NO-USDC" : market.symbol,
      side: buys ? "Buy" : "Sell",
      type: isMarket ? "Market" : "Limit",
      qty: reduceOnly && closeOnTrigger && this.chance(0.7) ? "0" : this.qty(market, exchange, account),
      price: isMarket || odd() ? undefined : this.price(exchange, market, buys),
      timeInForce,
      expireMs: expires && !odd() ? this.now + 100 + Math.floor(this.next() * 10_000) : undefined,
      postOnly,
      reduceOnly,
      closeOnTrigger,
      link: this.chance(0.2) ? `l-${this.chance(0.1) ? 1 : this.count}` : undefined,
      smp: this.pick(["CancelTaker", "CancelMaker", "CancelBoth"]),
      trigger,
      tpsl: this.chance(profile.exits) ? this.fitting(exchange, market, buys) : undefined
    }
  }

  private named(exchange: Exchange, mine: ReadonlyArray<Order>, symbol: string) {
    const chosen = mine.length > 0 && this.chance(0.95) ? this.pick(mine) : undefined
    if (chosen === undefined)
      return {
        symbol,
        order: this.chance(0.5) && exchange.closed.length > 0 ? this.pick(exchange.closed).number : 99_999
      }
    if (this.chance(0.02))
      return { symbol: chosen.holding.market.symbol, order: chosen.number, link: chosen.link ?? "other" }
    if (this.chance(0.02)) return { symbol, order: chosen.number }
    if (chosen.link !== undefined && this.chance(0.5))
      return { symbol: chosen.holding.market.symbol, link: chosen.link }
    return { symbol: chosen.holding.market.symbol, order: chosen.number }
  }

  private amend(exchange: Exchange, mine: ReadonlyArray<Order>, any: Market): Body {
    const named = this.named(exchange, mine, any.symbol)
    const market = exchange.markets.find(({ symbol }) => symbol === named.symbol) ?? any
    const order = mine.find(({ number }) => number === named.order)
    const address = order?.holding.account.address ?? ""
    const waiting = order?.status === "Untriggered"
    const amended = (exits: TpslRequest) => (this.chance(0.3) ? withoutReferences(exits) : exits)
    return {
      kind: "amend",
      ...named,
      price: this.chance(0.6)
        ? order !== undefined && this.chance(0.1)
          ? recordedPrice(order)
          : this.price(exchange, market, order?.side === "Buy")
        : undefined,
      qty: this.chance(0.5)
        ? order !== undefined && this.chance(0.5)
          ? this.chance(0.2)
            ? order.qty.toString()
            : max(market.step, order.qty.over(f(2)).floorTo(market.step)).toString()
          : this.qty(market, exchange, address)
        : undefined,
      triggerPrice: (waiting ? this.chance(0.6) : this.chance(0.02))
        ? this.price(exchange, market, order?.side === "Buy", this.profile.spread * 2)
        : undefined,
      tpsl: this.chance(this.profile.exits)
        ? this.chance(0.3)
          ? { mode: this.pick(["Full", "Partial"]), takeProfit: { by: "LastPrice", price: "0" } }
          : amended(this.fitting(exchange, market, order?.side !== "Sell"))
        : undefined,
      version: this.chance(0.1) ? 1 : 0
    }
  }

  private stop(exchange: Exchange, market: Market, account: string): Body {
    const owner = exchange.accounts.find(({ address }) => address === account)
    const held = owner === undefined ? undefined : exchange.holdingOf(owner, market)
    if (!this.chance(this.profile.exits * 4)) return this.place(exchange, market, account)
    const tpsl = this.fitting(exchange, market, held === undefined || held.size.sign >= 0)
    const removed = { by: "LastPrice", price: "0" } as const
    return {
      kind: "tradingStop",
      symbol: market.symbol,
      tpsl: this.chance(0.2) ? { ...tpsl, [this.pick(["takeProfit", "stopLoss"])]: removed } : tpsl,
      takeProfitSize: this.chance(0.3) ? this.qty(market, exchange, account) : undefined,
      stopLossSize: this.chance(0.3) ? this.qty(market, exchange, account) : undefined
    }
  }
}
