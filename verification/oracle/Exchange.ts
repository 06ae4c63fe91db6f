/**
 * The exchange as the contract describes it, and as slowly as that: every list is searched from end to end, every figure is
 * counted anew. It is written from docs/contract alone and shares no arithmetic with the engine.
 */
import { f, Fraction, max, min, ONE, sum, ZERO } from "./Fraction.ts"
import * as Formulas from "./Formulas.ts"
import { closingSide, opposite, signOf } from "./Formulas.ts"
import type { MarketRow } from "./MarketTable.ts"
import * as Pools from "./Pools.ts"
import type { Body, Leg, Named, PlaceRequest, Request, Side, TpslRequest } from "./Requests.ts"
import type { Account, Exits, Holding, LegPrice, Market, Order, StopType, Trigger } from "./State.ts"

export interface Options {
  readonly markets: ReadonlyArray<MarketRow>
  readonly poolBase: string
  readonly faucetLimit: string
  /** open orders of all users together */
  readonly openOrdersMax: number
  readonly simulatedIndex: boolean
}

export interface Outcome {
  /** absent: acknowledged */
  readonly refused?: string | undefined
  /** an amend had its turn and was refused there */
  readonly amendRefused?: string | undefined
  /** the orders of the acknowledgement */
  readonly orders?: ReadonlyArray<number>
  readonly version?: number | undefined
}

/** An end of a command that changed nothing. */
class Refused extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

const refuse = (reason: string): never => {
  throw new Refused(reason)
}

const DAY_MS = 86_400_000
const WITHDRAWAL_MS = 5000
const BASIS_SECONDS = 150
const MIN_NOTIONAL = f(5)
const ORDERS_MAX = 500
const CONDITIONAL_MAX = 20
const PAIRS_MAX = 20
const SUB_ACCOUNTS_MAX = 20
const LIQUIDATION_FEE = f("0.005")
const UNWIND_BAND = f("0.005")
/** What an acknowledgement calls the refusal of an amend. */
const AMEND_REFUSALS: Readonly<Record<string, string>> = {
  EcInvalidQty: "InvalidQty",
  EcReachRiskPriceLimit: "OutOfRange",
  EcReachRiskLimit: "OutOfRange",
  EcInsufficientBalance: "InsufficientBalance",
  EcPostOnlyWillTakeLiquidity: "PostOnlyWouldTake",
  EcTriggerAlreadyMet: "TriggerAlreadyMet"
}
const CLEAR = "CancelByTpSlTsClear"

const isDecimal = (text: string): boolean => /^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,18})?$/u.test(text)
const isNought = (leg: Leg | undefined): boolean => leg !== undefined && /^0(?:\.0+)?$/u.test(leg.price)
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const isWaiting = (order: Order): boolean => order.status === "Untriggered"
export const isExit = ({ stopType }: Order): boolean => stopType !== "" && stopType !== "Stop"
const isWhole = ({ stopType }: Order): boolean => stopType === "TakeProfit" || stopType === "StopLoss"
const mayRest = ({ timeInForce }: Order): boolean => timeInForce === "GTC" || timeInForce === "GTT"
const isSystem = ({ createType, holding }: Order): boolean =>
  holding.account.house || ["CreateByLiq", "CreateByTakeOverPassThrough", "CreateByAdlPassThrough"].includes(createType)

/** A copy of everything that can change. */
const copied = <A>(value: A, seen: Map<object, object> = new Map()): A => {
  if (typeof value !== "object" || value === null || value instanceof Fraction) return value
  const known = seen.get(value)
  if (known !== undefined) return known as A
  const made: object = Array.isArray(value) ? [] : (Object.create(Object.getPrototypeOf(value) as object) as object)
  seen.set(value, made)
  for (const key of Object.keys(value)) Reflect.set(made, key, copied(Reflect.get(value, key) as unknown, seen))
  return made as A
}

export class Exchange {
  readonly options: Options
  readonly markets: Array<Market>
  readonly accounts: Array<Account> = []
  /** open ones by their turn: when they were accepted or triggered, oldest first */
  orders: Array<Order> = []
  closed: Array<Order> = []
  fees = ZERO
  now = 0
  second = -1
  /** events of the step so far */
  lines: Array<string> = []
  /** conditional orders whose trigger a step has met */
  met: Array<Order> = []
  /** orders so far: the number of the last one */
  counted = 0
  /** accounts and markets that the command has to do with */
  concerned: Array<Account | Market> = []
  /** whether the command has moved a price, or a pool */
  moved = false
  /** whether the command has changed a sub-account, a leverage or a margin mode */
  private changed = false
  private queued = 0
  /** holdings and orders in the order in which this step filled them */
  private touched: Array<Holding> = []
  private attaching: Array<Order> = []
  /** exits of positions that a fill of this step has closed or turned */
  private gone: Array<Order> = []
  private transfers: Array<{ user: string; id: string; content: string; due?: number }> = []
  private faucet: Array<{ user: string; day: number; amount: Fraction }> = []

  constructor(options: Options) {
    this.options = options
    this.markets = options.markets.map((row) => {
      const index = f(row.index_base)
      const market: Omit<Market, "pool"> & { pool?: Market["pool"] } = {
        symbol: row.symbol,
        tick: f(row.tick_size),
        step: f(row.qty_step),
        maxQty: f(row.max_order_qty),
        maxMarketQty: f(row.max_mkt_order_qty),
        minPrice: f(row.min_price),
        maxPrice: f(row.max_price),
        band: f(row.price_band),
        maxLeverage: f(row.max_leverage),
        base: index,
        maker: f(row.maker_fee_rate),
        taker: f(row.taker_fee_rate),
        tiers: row.tiers.map(([limit, initial, maintenance, deduction]) => ({
          limit: f(limit),
          initial: f(initial),
          maintenance: f(maintenance),
          deduction: f(deduction)
        })),
        held: undefined,
        index,
        mark: index.halfUpTo(f(row.tick_size)),
        last: undefined,
        basis: [],
        premiums: [],
        rate: ZERO,
        fundingIndex: ZERO
      }
      market.pool = Pools.make(market as Market, f(options.poolBase))
      return market as Market
    })
  }

  // Commands

  apply(request: Request): Outcome {
    this.now = request.at
    this.begin()
    this.lines = []
    this.concerned = []
    this.moved = false
    this.changed = request.body.kind === "tick" || request.body.kind === "index"
    let outcome: Outcome
    let first = false
    try {
      if (request.body.kind === "tick") {
        first = this.tick()
        outcome = {}
      } else outcome = this.dispatch(request, request.body)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return { refused: error.reason }
    }
    // a command without an effect is no step
    if (this.changed || this.moved || this.lines.length > 0) this.settle()
    if (first) {
      Pools.unwind(this)
      this.settle()
      for (const market of this.markets) Pools.rankAll(this, market)
    }
    this.collect()
    this.fireAll()
    return outcome
  }

  private begin(): void {
    this.touched = []
    this.attaching = []
    this.gone = []
  }

  private dispatch(request: Request, body: Exclude<Body, { kind: "tick" }>): Outcome {
    switch (body.kind) {
      case "place":
        return this.place(request, body)
      case "amend":
        return this.amend(request, body)
      case "cancel": {
        this.marketOf(body.symbol)
        const order = this.find(this.ownAccount(request), body)
        this.cancelByUser([order], "CancelByUser")
        return { orders: [order.number] }
      }
      case "cancelAll":
        return this.cancelAll(request, body)
      case "tradingStop":
        return this.tradingStop(request, body)
      case "index":
        return this.setIndex(body.symbol, body.price)
      case "leverage":
        return this.setLeverage(request, body.symbol, body.leverage)
      case "marginMode":
        return this.setMarginMode(request, body.symbol, body.isolated, body.leverage)
      case "addMargin":
        return this.addMargin(request, body.symbol, body.margin)
      case "createSubAccount":
        return this.createSubAccount(request.user, body)
      case "freeze": {
        const account = this.ownAccount(request)
        this.changed = account.frozen !== body.frozen
        account.frozen = body.frozen
        return {}
      }
      case "deleteSubAccount":
        return this.deleteSubAccount(request)
      default:
        return this.moveMoney(request, body)
    }
  }

  private marketOf(symbol: string): Market {
    const market = this.markets.find((market) => market.symbol === symbol) ?? refuse("SymbolNotFound")
    this.concerned.push(market)
    return market
  }

  private ownAccount({ account, user }: { readonly account: string; readonly user: string }): Account {
    const own =
      this.accounts.find((a) => a.address === account && a.user === user && !a.deleted) ?? refuse("SubAccountNotFound")
    this.concerned.push(own)
    return own
  }

  holdingOf(account: Account, market: Market): Holding {
    return account.holdings.find((h) => h.market === market)!
  }

  // Sub-accounts and money

  private createSubAccount(user: string, body: Extract<Body, { kind: "createSubAccount" }>): Outcome {
    const own = this.accounts.filter((a) => a.user === user)
    const next = own.length
    const index = body.index ?? next
    const existing = this.accounts.find((a) => a.root === body.root && a.index === index)
    if (existing !== undefined) {
      if (existing.deleted || existing.user !== user) refuse("InvalidField")
      return {}
    }
    if (index !== next) refuse("InvalidField")
    if (own.filter((a) => !a.deleted).length >= SUB_ACCOUNTS_MAX) refuse("LimitReached")
    const account: Account = {
      user,
      root: body.root,
      index,
      address: body.address,
      house: false,
      frozen: false,
      deleted: false,
      wallet: ZERO,
      holdings: []
    }
    for (const market of this.markets) account.holdings.push(Pools.emptyHolding(account, market))
    this.accounts.push(account)
    this.changed = true
    return {}
  }

  private deleteSubAccount(request: Request): Outcome {
    const account = this.ownAccount(request)
    if (account.index === 0) refuse("InvalidField")
    if (account.holdings.some((h) => !h.size.isZero)) refuse("PositionExists")
    if (this.orders.some((order) => order.holding.account === account)) refuse("OpenOrdersExist")
    if (!account.wallet.isZero) refuse("NotEmpty")
    account.deleted = true
    this.changed = true
    return {}
  }

  private moveMoney(
    request: Request,
    body: Extract<Body, { kind: "deposit" | "withdraw" | "transfer" | "credit" }>
  ): Outcome {
    const account = this.ownAccount(request)
    const to = body.kind === "transfer" ? this.ownAccount({ account: body.to, user: request.user }) : undefined
    if (to === account) refuse("InvalidField")
    if (body.id === "") refuse("MissingField")
    if (!isDecimal(body.amount)) refuse("InvalidDecimal")
    const amount = f(body.amount)
    if (amount.isZero) refuse("OutOfRange")
    const content = JSON.stringify({ ...body, amount: amount.toString(), account: request.account })
    const known = this.transfers.find((t) => t.user === request.user && t.id === body.id)
    if (known !== undefined) return known.content === content ? {} : refuse("DuplicateRequestId")
    if (body.kind === "deposit" && body.source === "faucet") {
      const day = Math.floor(this.now / DAY_MS)
      const given = sum(this.faucet.filter((g) => g.user === request.user && g.day === day).map(({ amount }) => amount))
      if (given.plus(amount).more(f(this.options.faucetLimit))) refuse("FaucetLimit")
      this.faucet.push({ user: request.user, day, amount })
    }
    if ((body.kind === "withdraw" || body.kind === "transfer") && amount.more(this.withdrawable(account)))
      refuse("InsufficientBalance")
    this.transfers.push({
      user: request.user,
      id: body.id,
      content,
      ...(body.kind === "withdraw" ? { due: this.now + WITHDRAWAL_MS } : {})
    })
    this.lines.push(`transfer ${body.id} ${amount} ${body.kind === "withdraw" ? "Pending" : "Completed"}`)
    switch (body.kind) {
      case "deposit":
        this.pay(account, amount, "Deposit")
        break
      case "withdraw":
        this.pay(account, amount.negated(), "Withdrawal")
        break
      case "credit":
        this.fees = this.fees.minus(amount)
        this.pay(account, amount, "Reward")
        break
      case "transfer":
        account.wallet = account.wallet.minus(amount)
        to!.wallet = to!.wallet.plus(amount)
        this.lines.push(`wallet ${account.address} TransferOut ${amount.negated()} fee 0 pnl 0`)
        this.lines.push(`wallet ${to!.address} TransferIn ${amount} fee 0 pnl 0`)
    }
    return {}
  }

  private completeWithdrawals(): void {
    for (const transfer of this.transfers) {
      if (transfer.due === undefined || transfer.due > this.now) continue
      delete transfer.due
      const { amount } = JSON.parse(transfer.content) as { readonly amount: string }
      this.lines.push(`transfer ${transfer.id} ${amount} Completed`)
    }
  }

  /** Changes a wallet and reports the cause. */
  pay(account: Account, amount: Fraction, reason: string): void {
    account.wallet = account.wallet.plus(amount)
    if (!account.house) this.lines.push(`wallet ${account.address} ${reason} ${amount} fee 0 pnl 0`)
  }

  // Margin

  /** Active orders of a holding that may open something. */
  private opening(h: Holding): Array<Order> {
    return this.orders.filter((order) => order.holding === h && !isWaiting(order) && !order.reduceOnly)
  }

  exposure(h: Holding): Fraction {
    return Formulas.valueOf(h).plus(Formulas.openedBy(h, this.opening(h)))
  }

  leverage(h: Holding): Fraction {
    return Formulas.effectiveLeverage(h, this.exposure(h))
  }

  initialMargin(h: Holding): Fraction {
    return Formulas.valueOf(h).over(this.leverage(h)).ceil()
  }

  orderMargin(h: Holding): Fraction {
    const opened = Formulas.openedBy(h, this.opening(h))
    if (opened.isZero) return ZERO
    return opened.times(ONE.over(this.leverage(h)).plus(h.market.taker)).ceil()
  }

  free(a: Account): Fraction {
    return Formulas.crossEquity(a)
      .minus(sum(Formulas.crossOf(a).map((h) => this.initialMargin(h))))
      .minus(sum(a.holdings.map((h) => this.orderMargin(h))))
  }

  withdrawable(a: Account): Fraction {
    return max(ZERO, min(a.wallet, this.free(a)))
  }

  /** What an Isolated position has above what its leverage asks for. */
  private spare(h: Holding): Fraction {
    return h.margin.plus(min(ZERO, Formulas.pnlOf(h))).minus(this.initialMargin(h))
  }

  private checkLeverage(h: Holding, text: string): Fraction {
    if (!/^(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,2})?$/u.test(text)) refuse("InvalidField")
    const leverage = f(text)
    const most = min(h.market.maxLeverage, ONE.over(Formulas.tierOf(h.market, this.exposure(h)).initial))
    if (leverage.less(ONE) || leverage.more(most)) refuse("OutOfRange")
    return leverage
  }

  private setLeverage(request: Request, symbol: string, text: string): Outcome {
    const market = this.marketOf(symbol)
    const account = this.ownAccount(request)
    const h = this.holdingOf(account, market)
    const leverage = this.checkLeverage(h, text)
    const before = h.leverage
    if (leverage.equals(before)) refuse("LeverageUnchanged")
    const free = this.free(account)
    h.leverage = leverage
    const left = this.free(account)
    const isolatedShort = h.isolated && !h.size.isZero && this.spare(h).sign < 0
    if ((left.sign < 0 && left.less(free)) || isolatedShort) {
      h.leverage = before
      refuse("InsufficientBalance")
    }
    this.changed = true
    return {}
  }

  private setMarginMode(request: Request, symbol: string, isolated: boolean, text: string | undefined): Outcome {
    const market = this.marketOf(symbol)
    const h = this.holdingOf(this.ownAccount(request), market)
    const leverage = text === undefined ? h.leverage : this.checkLeverage(h, text)
    if (h.isolated === isolated && leverage.equals(h.leverage)) return {}
    if (!h.size.isZero) refuse("PositionExists")
    if (this.orders.some((order) => order.holding === h)) refuse("OpenOrdersExist")
    h.isolated = isolated
    h.leverage = leverage
    this.changed = true
    return {}
  }

  private addMargin(request: Request, symbol: string, text: string): Outcome {
    const market = this.marketOf(symbol)
    const account = this.ownAccount(request)
    const h = this.holdingOf(account, market)
    if (!isDecimal(text.replace("-", ""))) refuse("InvalidDecimal")
    const amount = f(text)
    if (amount.isZero) refuse("OutOfRange")
    if (h.size.isZero) refuse("PositionNotFound")
    if (!h.isolated) refuse("NotIsolated")
    const most = amount.sign > 0 ? this.withdrawable(account) : max(ZERO, this.spare(h))
    if (amount.abs().more(most)) refuse("InsufficientBalance")
    account.wallet = account.wallet.minus(amount)
    h.margin = h.margin.plus(amount)
    this.lines.push(`wallet ${account.address} Margin ${amount.negated()} fee 0 pnl 0`)
    return {}
  }

  // Order forms

  private checkPrice(market: Market, text: string): Fraction {
    if (!isDecimal(text)) refuse(/^\d+\.\d{19,}$/u.test(text) ? "TooManyDecimals" : "InvalidDecimal")
    const price = f(text)
    if (!price.isMultipleOf(market.tick)) refuse("NotMultipleOfTick")
    if (price.less(market.minPrice) || price.more(market.maxPrice)) refuse("OutOfRange")
    return price
  }

  private checkQty(market: Market, text: string, isMarket: boolean, nought: boolean): Fraction {
    if (!isDecimal(text)) refuse(/^\d+\.\d{19,}$/u.test(text) ? "TooManyDecimals" : "InvalidDecimal")
    const qty = f(text)
    if (qty.isZero && nought) return qty
    if (!qty.isMultipleOf(market.step)) refuse("NotMultipleOfStep")
    const most = isMarket ? market.maxMarketQty : market.maxQty
    if (qty.less(market.step) || qty.more(most)) refuse("OutOfRange")
    return qty
  }

  private readLeg(market: Market, leg: Leg | undefined, had?: LegPrice): LegPrice | undefined {
    if (leg === undefined) return undefined
    return { by: leg.by ?? had?.by ?? "LastPrice", price: this.checkPrice(market, leg.price) }
  }

  /** Exits of what a side opens lie on their own sides of a price. */
  private checkSides(exits: Omit<Exits, "mode">, side: Side, price: Fraction): void {
    const sign = signOf(side)
    const { stopLoss, takeProfit } = exits
    if (takeProfit !== undefined && takeProfit.price.minus(price).times(sign).sign <= 0) refuse("OutOfRange")
    if (stopLoss !== undefined && stopLoss.price.minus(price).times(sign).sign >= 0) refuse("OutOfRange")
  }

  /** mark × (1 ± band), rounded inward to the tick. */
  private bandPrice(market: Market, side: Side): Fraction {
    return side === "Buy"
      ? min(market.maxPrice, market.mark.times(ONE.plus(market.band)).floorTo(market.tick))
      : max(market.minPrice, market.mark.times(ONE.minus(market.band)).ceilTo(market.tick))
  }

  private closable(h: Holding, side: Side): Fraction {
    return max(ZERO, h.size.times(signOf(side)).negated())
  }

  newOrder(h: Holding, shape: Partial<Order> & Pick<Order, "side" | "type" | "timeInForce" | "price" | "qty">): Order {
    return {
      holding: h,
      postOnly: false,
      reduceOnly: false,
      closeOnTrigger: false,
      smp: "CancelTaker",
      expireMs: undefined,
      link: undefined,
      stopType: "",
      createType: "CreateByUser",
      parent: undefined,
      sibling: undefined,
      trigger: undefined,
      tpsl: undefined,
      opened: ZERO,
      guarded: ZERO,
      leaves: shape.qty,
      filled: ZERO,
      value: ZERO,
      fees: ZERO,
      closedPnl: undefined,
      status: "New",
      cancelType: "",
      reason: "EcNoError",
      version: 1,
      queue: 0,
      ...shape,
      number: h.account.house ? 0 : ++this.counted
    }
  }

  private place(request: Request, body: PlaceRequest): Outcome {
    const market = this.marketOf(body.symbol)
    const account = this.ownAccount(request)
    if (account.frozen) refuse("SubAccountFrozen")
    const isMarket = body.type === "Market"
    const timeInForce = body.timeInForce ?? (isMarket ? "IOC" : "GTC")
    if (timeInForce !== "GTT" && body.expireMs !== undefined) refuse("InvalidField")
    if (timeInForce === "GTT") {
      if (body.expireMs === undefined) return refuse("MissingField")
      if (body.expireMs <= this.now || body.expireMs > this.now + 90 * DAY_MS) refuse("OutOfRange")
    }
    if (isMarket && timeInForce !== "IOC") refuse("InvalidField")
    const { closeOnTrigger = false, postOnly = false, reduceOnly = false } = body
    if (postOnly && (isMarket || timeInForce === "IOC" || timeInForce === "FOK")) refuse("InvalidField")
    if (body.link !== undefined && !/^[A-Za-z0-9_-]{1,36}$/u.test(body.link)) refuse("InvalidField")
    const qty = this.checkQty(market, body.qty, isMarket, reduceOnly && closeOnTrigger)
    if (!isMarket && body.price === undefined) refuse("MissingField")
    const price = isMarket ? undefined : this.checkPrice(market, body.price!)
    if (!reduceOnly && qty.times(price ?? market.mark).less(MIN_NOTIONAL)) refuse("OutOfRange")
    const h = this.holdingOf(account, market)
    if (
      body.link !== undefined &&
      [...this.orders, ...this.closed].some((o) => o.holding.account === account && o.link === body.link)
    )
      refuse("DuplicateOrderLinkId")
    const trigger =
      body.trigger === undefined ? undefined : { ...body.trigger, price: this.checkPrice(market, body.trigger.price) }
    let tpsl: Exits | undefined
    if (body.tpsl !== undefined) {
      const { mode, stopLoss, takeProfit } = body.tpsl
      tpsl = { mode, takeProfit: this.readLeg(market, takeProfit), stopLoss: this.readLeg(market, stopLoss) }
      if (tpsl.takeProfit === undefined && tpsl.stopLoss === undefined) refuse("MissingField")
      if (price !== undefined) this.checkSides(tpsl, body.side, price)
      this.checkPairs(h, body.side, tpsl.mode, () => true)
    }
    const order = this.newOrder(h, {
      side: body.side,
      type: body.type,
      timeInForce,
      price: price ?? this.bandPrice(market, body.side),
      qty: qty.isZero && trigger === undefined ? this.closable(h, body.side) : qty,
      postOnly,
      reduceOnly,
      closeOnTrigger,
      smp: body.smp ?? "CancelTaker",
      expireMs: body.expireMs,
      link: body.link,
      tpsl,
      ...(trigger === undefined ? {} : { stopType: "Stop" as const, createType: "CreateByStopOrder" })
    })
    if (trigger === undefined) this.run(order)
    else {
      const reference = this.reference(market, trigger.by)
      const direction = trigger.direction ?? (trigger.price.less(reference) ? "Down" : "Up")
      order.trigger = { by: trigger.by, price: trigger.price, direction }
      const waiting = this.orders.filter((o) => o.holding === h && isWaiting(o) && o.stopType === "Stop")
      if (this.isMet(market, order.trigger)) this.reject(order, "EcTriggerAlreadyMet")
      else if (waiting.length >= CONDITIONAL_MAX) this.reject(order, "EcReachMaxOrderNum")
      else if (this.isCrowded(h.account.user)) this.reject(order, "EcReachMaxOrderNum")
      else this.wait(order)
    }
    return { orders: [order.number] }
  }

  private wait(order: Order): void {
    order.status = "Untriggered"
    this.orders.push(order)
    this.tell(order, "Accepted")
  }

  private reject(order: Order, reason: string): void {
    order.status = "Rejected"
    order.leaves = ZERO
    order.reason = reason
    this.drop(order)
    this.tell(order, "Rejected")
  }

  private drop(order: Order): void {
    this.orders = this.orders.filter((other) => other !== order)
    order.queue = 0
    if (!order.holding.account.house) this.closed.push(order)
  }

  // The turn of an order

  /** The levels of a side, best first; equal prices by the sequence in which they came to rest. */
  resting(market: Market, side: Side): Array<Order> {
    const sign = signOf(side)
    return this.orders
      .filter((order) => order.queue > 0 && order.holding.market === market && order.side === side)
      .sort((a, b) => b.price.minus(a.price).times(sign).sign || a.queue - b.queue)
  }

  private crosses(market: Market, side: Side, price: Fraction): boolean {
    const [best] = this.resting(market, opposite(side))
    return best !== undefined && price.minus(best.price).times(signOf(side)).sign >= 0
  }

  private outOfBand(market: Market, side: Side, price: Fraction): boolean {
    const change = side === "Buy" ? ONE.plus(market.band) : ONE.minus(market.band)
    return price.minus(market.mark.times(change)).times(signOf(side)).sign > 0
  }

  /** Counts what `change` opens, or undoes it and answers why not. */
  private bind(h: Holding, change: () => void, undo: () => void): string | undefined {
    const free = this.free(h.account)
    const exposure = this.exposure(h)
    change()
    const bound = this.exposure(h)
    if (bound.more(h.market.tiers.at(-1)!.limit) && bound.more(exposure)) {
      undo()
      return "EcReachRiskLimit"
    }
    const left = this.free(h.account)
    if (left.sign >= 0 || !left.less(free)) return undefined
    undo()
    return "EcInsufficientBalance"
  }

  /** The checks of the sequencer at an order's turn. */
  private admit(order: Order): string | undefined {
    const { holding: h, price, side, tpsl } = order
    if (order.reduceOnly) {
      if (h.size.isZero) return "EcReduceOnlyNoPosition"
      if (this.closable(h, side).isZero) return "EcReduceOnlySameSide"
    }
    if (order.type === "Limit" && this.outOfBand(h.market, side, price)) return "EcReachRiskPriceLimit"
    if (order.type === "Market" && tpsl !== undefined) {
      const wrong = (leg: LegPrice | undefined, sign: Fraction) =>
        leg !== undefined && leg.price.minus(this.reference(h.market, leg.by)).times(sign).sign <= 0
      if (wrong(tpsl.takeProfit, signOf(side)) || wrong(tpsl.stopLoss, signOf(opposite(side))))
        return "EcTriggerAlreadyMet"
    }
    if (order.postOnly && this.crosses(h.market, side, price)) return "EcPostOnlyWillTakeLiquidity"
    const active = this.orders.filter((other) => other.holding === h && !isWaiting(other))
    if (mayRest(order) && active.length >= ORDERS_MAX) return "EcReachMaxOrderNum"
    if (mayRest(order) && this.isCrowded(h.account.user)) return "EcReachMaxOrderNum"
    if (order.reduceOnly) return void this.orders.push(order)
    return this.bind(
      h,
      () => this.orders.push(order),
      () => this.orders.pop()
    )
  }

  /** Whether a user may have no more open orders: all slots are in use, or over 80 % of them and 1 % by this user. */
  private isCrowded(user: string): boolean {
    const { openOrdersMax } = this.options
    const open = this.orders.length
    if (open >= openOrdersMax) return true
    if (open * 5 <= openOrdersMax * 4) return false
    const share = Math.max(1, Math.floor(openOrdersMax / 100))
    return this.orders.filter(({ holding }) => holding.account.user === user).length >= share
  }

  private run(order: Order): void {
    const refused = this.admit(order)
    if (refused !== undefined) return this.reject(order, refused)
    this.tell(order, "Accepted")
    if (order.timeInForce === "FOK") {
      const reason = this.judgeWhole(order)
      if (reason !== undefined) {
        this.end(order, reason[0], reason[1])
        return this.tell(order, "Canceled")
      }
    }
    this.conclude(order, this.match(order))
  }

  /** Whether a fill-or-kill order would be filled: it is matched in a copy of the exchange. */
  private judgeWhole(order: Order): [cancelType: string, reason: string] | undefined {
    const copy = copied(this)
    const twin = copy.orders.find(({ number }) => number === order.number)!
    copy.match(twin)
    if (twin.status === "Filled" && twin.qty.equals(order.qty)) return undefined
    return twin.cancelType === "CancelByCannotAffordOrderCost"
      ? [twin.cancelType, "EcNoError"]
      : ["CancelByTimeInForce", "EcNoEnoughQtyToFill"]
  }

  private conclude(order: Order, ended: Array<Order>): void {
    const open = order.status === "New" || order.status === "PartiallyFilled"
    if (open && mayRest(order)) {
      order.queue = ++this.queued
      this.touch(order.holding)
    } else if (open) {
      this.end(order, "CancelByTimeInForce", order.filled.isZero ? "EcNoImmediateQtyToFill" : "EcNoError")
      ended.push(order)
    }
    for (const other of ended) this.tell(other, "Canceled")
  }

  private touch(h: Holding): void {
    if (!this.touched.includes(h)) this.touched.push(h)
  }

  end(order: Order, cancelType: string, reason = "EcNoError"): void {
    order.leaves = ZERO
    order.status = order.filled.isZero ? "Canceled" : "PartiallyFilledCanceled"
    order.cancelType = cancelType
    order.reason = reason
    this.drop(order)
  }

  /** Matches an incoming order. Answers the orders that ended unfilled on the way. */
  match(taker: Order): Array<Order> {
    const { holding, side } = taker
    const { market } = holding
    const ended: Array<Order> = []
    const end = (order: Order, type: string, reason?: string) => {
      this.end(order, type, reason)
      ended.push(order)
    }
    while (taker.leaves.sign > 0) {
      const [maker] = this.resting(market, opposite(side))
      if (maker === undefined || taker.price.minus(maker.price).times(signOf(side)).sign < 0) break
      if (maker.holding.account.user === holding.account.user) {
        if (taker.smp !== "CancelTaker") end(maker, "CancelBySmp", "EcBySelfMatch")
        if (taker.smp === "CancelMaker") continue
        end(taker, "CancelBySmp", "EcBySelfMatch")
        break
      }
      const wanted = taker.reduceOnly ? min(taker.leaves, this.closable(holding, side)) : taker.leaves
      const offered = maker.reduceOnly ? min(maker.leaves, this.closable(maker.holding, maker.side)) : maker.leaves
      if (wanted.isZero) {
        end(taker, "CancelByReduceOnly")
        break
      }
      if (offered.isZero) {
        end(maker, "CancelByReduceOnly")
        continue
      }
      // no fill of a fill-or-kill order is trimmed: the order ends before the fill check
      if (taker.timeInForce === "FOK" && wanted.less(min(taker.leaves, offered))) {
        end(taker, "CancelByReduceOnly")
        break
      }
      const qty = min(wanted, offered)
      if (!this.affords(maker, maker.price, qty, true)) {
        end(maker, "CancelByCannotAffordOrderCost")
        continue
      }
      if (!isSystem(taker) && !this.affords(taker, maker.price, qty, false)) {
        end(taker, "CancelByCannotAffordOrderCost")
        break
      }
      this.fill(taker, maker.price, qty, false, "Trade", maker)
      market.last = maker.price
    }
    return ended
  }

  private feeOf(order: Order, price: Fraction, qty: Fraction, isMaker: boolean): Fraction {
    const { maker, taker } = order.holding.market
    if (!isMaker && isSystem(order)) return ZERO
    return price
      .times(qty)
      .times(isMaker ? maker : taker)
      .ceil()
  }

  /** The fill check. */
  private affords(order: Order, price: Fraction, qty: Fraction, isMaker: boolean): boolean {
    const { holding: h } = order
    const fee = this.feeOf(order, price, qty, isMaker)
    const after = Formulas.filledBy(h, order.side, price, qty, fee, this.leverage(h))
    if (h.isolated && after.closed.sign > 0 && after.released.plus(after.realised).less(fee)) return false
    const next: Holding = { ...h, size: after.size, entry: after.entry, margin: after.margin }
    if (h.isolated && !next.size.isZero && Formulas.isolatedEquity(next).less(Formulas.positionMaintenance(next)))
      return false
    const { account } = h
    const whole: Account = {
      ...account,
      wallet: account.wallet.plus(after.wallet),
      holdings: account.holdings.map((other) => (other === h ? next : other))
    }
    return !Formulas.crossEquity(whole).less(Formulas.crossMaintenance(whole))
  }

  /** Books a fill on the order and on its maker, if that is in the book, and reports both. */
  fill(taker: Order, price: Fraction, qty: Fraction, isMaker: boolean, type: string, maker?: Order): void {
    const sides: Array<readonly [Order, boolean]> = [[taker, isMaker]]
    if (maker !== undefined) sides.push([maker, true])
    const booked = sides.map(([order, made]) => ({ order, made, ...this.book(order, price, qty, made) }))
    for (const { after, fee, made, order } of booked) {
      if (order.holding.account.house) continue
      const { closed, closedEntry, closedOpenFee, realised } = after
      const reduced = closed.isZero ? "-" : `${closed}/${closedEntry}/${closedOpenFee}/${realised}`
      this.lines.push(
        `exec #${order.number} ${type} ${made ? "maker" : "taker"} ${order.side} ${qty} at ${price} fee ${fee} closed ${reduced}` +
          ` leverage ${this.leverage(order.holding).floor()} in sequence`
      )
      this.tell(order, "Filled")
      this.lines.push(
        `wallet ${order.holding.account.address} ${type === "AdlTrade" ? "Adl" : "Trade"} ${after.wallet} fee ${fee} pnl ${realised}`
      )
    }
  }

  private book(order: Order, price: Fraction, qty: Fraction, isMaker: boolean) {
    const { holding: h } = order
    const fee = this.feeOf(order, price, qty, isMaker)
    const after = Formulas.filledBy(h, order.side, price, qty, fee, this.leverage(h))
    const begins = h.size.isZero || h.size.sign * after.size.sign < 0
    if (!h.size.isZero && h.size.sign !== after.size.sign) this.endPosition(h)
    if (!after.closed.isZero) h.current = h.current.plus(after.realised).minus(after.closedFee)
    if (begins) Object.assign(h, { current: ZERO, liquidationFee: ZERO })
    if (h.account.house) this.moved = true
    h.current = h.current.minus(fee.minus(after.closedFee))
    h.realised = h.realised.plus(after.realised).minus(fee)
    h.size = after.size
    if (after.size.isZero) h.rank = 0
    else if (begins) h.rank = Pools.lastRank(this, h)
    h.entry = after.entry
    h.openFee = after.openFee
    h.margin = after.margin
    h.account.wallet = h.account.wallet.plus(after.wallet)
    this.fees = this.fees.plus(fee)
    order.leaves = order.leaves.minus(qty)
    order.filled = order.filled.plus(qty)
    order.value = order.value.plus(price.times(qty))
    order.fees = order.fees.plus(fee)
    order.opened = order.opened.plus(qty.minus(after.closed))
    order.reason = "EcNoError"
    if (!after.closed.isZero)
      order.closedPnl = (order.closedPnl ?? ZERO).plus(after.realised).minus(after.closedOpenFee).minus(after.closedFee)
    order.status = order.leaves.isZero ? "Filled" : "PartiallyFilled"
    if (order.leaves.isZero) this.drop(order)
    this.touch(h)
    if (!qty.equals(after.closed) && order.tpsl !== undefined && !this.attaching.includes(order))
      this.attaching.push(order)
    return { fee, after }
  }

  /**
   * The position of a holding ends with this fill, even if a later one of the step opens the next. Its exits end at the end
   * of the step. What its orders open from now on is of the next position.
   */
  private endPosition(h: Holding): void {
    this.gone.push(...this.exitsOf(h))
    this.attaching = this.attaching.filter(({ holding }) => holding !== h)
    for (const order of this.orders) if (order.holding === h) Object.assign(order, { opened: ZERO, guarded: ZERO })
  }

  /** Reports the current state of an order. */
  tell(order: Order, cause: string): void {
    const { account, market } = order.holding
    if (account.house) return
    this.concerned.push(account, market)
    this.lines.push(this.describe(order, cause))
  }

  describe(order: Order, cause: string): string {
    const { trigger } = order
    const parts = [
      `order #${order.number} ${cause} ${order.status} ${order.side} ${order.type} ${order.holding.market.symbol}`,
      `qty ${order.qty} price ${order.type === "Market" ? "0" : order.price.toString()} leaves ${order.leaves}`,
      `filled ${order.filled} value ${order.value} fee ${order.fees} v${order.version} ${order.reason}`
    ]
    if (order.cancelType !== "") parts.push(order.cancelType)
    if (order.closedPnl !== undefined) parts.push(`pnl ${order.closedPnl}`)
    if (order.reduceOnly) parts.push("reduce-only")
    if (order.stopType !== "") parts.push(order.stopType)
    if (trigger !== undefined) parts.push(`${trigger.by} ${trigger.direction} ${trigger.price}`)
    if (order.parent !== undefined) parts.push(`of #${order.parent.number}`)
    parts.push(order.createType)
    return parts.join(" ")
  }

  // Amend and cancel

  private find(account: Account, { link, order: number, symbol }: Named): Order {
    const mine = (order: Order) => order.holding.account === account
    const named = (order: Order) => (number === undefined ? order.link === link : order.number === number)
    const order = this.orders.find((o) => mine(o) && named(o))
    if (order === undefined) {
      if (link !== undefined && number === undefined && !this.closed.some((o) => mine(o) && o.link === link))
        refuse("OrderNotFound")
      return refuse(this.closed.some((o) => mine(o) && named(o)) ? "OrderAlreadyClosed" : "OrderNotFound")
    }
    if (order.holding.market.symbol !== symbol) refuse("OrderNotFound")
    if (number !== undefined && link !== undefined && order.link !== link) refuse("InvalidField")
    return order
  }

  private amend(request: Request, body: Extract<Body, { kind: "amend" }>): Outcome {
    const market = this.marketOf(body.symbol)
    const account = this.ownAccount(request)
    if (account.frozen) refuse("SubAccountFrozen")
    if (
      body.price === undefined &&
      body.qty === undefined &&
      body.triggerPrice === undefined &&
      body.tpsl === undefined
    )
      refuse("MissingField")
    const order = this.find(account, body)
    if (body.version !== 0 && body.version !== order.version) refuse("OrderVersionMismatch")
    const isMarket = order.type === "Market"
    const price = body.price === undefined || isMarket ? order.price : this.checkPrice(market, body.price)
    const qty = body.qty === undefined ? order.qty : this.checkQty(market, body.qty, isMarket, order.qty.isZero)
    const isMoved = !price.equals(order.price) || !qty.equals(order.qty)
    if (isMoved && !order.reduceOnly && qty.times(isMarket ? market.mark : price).less(MIN_NOTIONAL))
      refuse("OutOfRange")
    const tpsl = body.tpsl === undefined ? order.tpsl : this.amendedExits(market, order.tpsl, body.tpsl)
    if (tpsl !== undefined && !isMarket && !(tpsl === order.tpsl && price.equals(order.price)))
      this.checkSides(tpsl, order.side, price)
    if (tpsl !== undefined && tpsl !== order.tpsl)
      this.checkPairs(order.holding, order.side, tpsl.mode, (other) => other !== order && other.parent !== order)
    const same = price.equals(order.price) && qty.equals(order.qty) && tpsl === order.tpsl
    if (isWaiting(order)) {
      const trigger =
        body.triggerPrice === undefined ? order.trigger!.price : this.checkPrice(market, body.triggerPrice)
      if (same && trigger.equals(order.trigger!.price)) return { orders: [order.number], version: order.version }
      return this.amendWaiting(order, price, qty, tpsl, trigger)
    }
    if (body.triggerPrice !== undefined) refuse("InvalidField")
    if (same) return { orders: [order.number], version: order.version }
    return this.amendActive(order, price, qty, tpsl)
  }

  private amendedExits(market: Market, before: Exits | undefined, request: TpslRequest): Exits | undefined {
    const leg = (asked: Leg | undefined, had: LegPrice | undefined) =>
      asked === undefined ? had : isNought(asked) ? undefined : this.readLeg(market, asked, had)
    const takeProfit = leg(request.takeProfit, before?.takeProfit)
    const stopLoss = leg(request.stopLoss, before?.stopLoss)
    if (takeProfit === undefined && stopLoss === undefined) return undefined
    const text = (legs: Omit<Exits, "mode"> | undefined) =>
      [legs?.takeProfit, legs?.stopLoss].map((l) => (l === undefined ? "" : `${l.by} ${l.price}`)).join()
    return before !== undefined && before.mode === request.mode && text(before) === text({ takeProfit, stopLoss })
      ? before
      : { mode: request.mode, takeProfit, stopLoss }
  }

  /** Row 18: the order stays and says why. */
  private refuseAmend(order: Order, reason: string): Outcome {
    order.reason = reason
    this.tell(order, "AmendRefused")
    return { orders: [order.number], version: order.version, amendRefused: AMEND_REFUSALS[reason]! }
  }

  private amendWaiting(order: Order, price: Fraction, qty: Fraction, tpsl: Exits | undefined, at: Fraction): Outcome {
    if (!qty.equals(order.qty) && (order.qty.isZero || isWhole(order))) return this.refuseAmend(order, "EcInvalidQty")
    const trigger: Trigger = { ...order.trigger!, price: at }
    if (this.isMet(order.holding.market, trigger)) return this.refuseAmend(order, "EcTriggerAlreadyMet")
    order.trigger = trigger
    order.price = price
    order.qty = qty
    order.leaves = qty
    order.tpsl = tpsl
    this.accept(order)
    this.tell(order, "Amended")
    return { orders: [order.number], version: order.version }
  }

  private accept(order: Order): void {
    order.version++
    order.reason = "EcNoError"
  }

  private amendActive(order: Order, price: Fraction, qty: Fraction, tpsl: Exits | undefined): Outcome {
    const { holding: h, side } = order
    if (qty.atMost(order.filled)) return this.refuseAmend(order, "EcInvalidQty")
    const moved = !price.equals(order.price)
    if (moved && this.outOfBand(h.market, side, price)) return this.refuseAmend(order, "EcReachRiskPriceLimit")
    if (moved && order.postOnly && this.crosses(h.market, side, price))
      return this.refuseAmend(order, "EcPostOnlyWillTakeLiquidity")
    const before = { price: order.price, qty: order.qty, leaves: order.leaves }
    const change = () => Object.assign(order, { price, qty, leaves: qty.minus(order.filled) })
    const undo = () => Object.assign(order, before)
    const refused = order.reduceOnly ? void change() : this.bind(h, change, undo)
    if (refused !== undefined) return this.refuseAmend(order, refused)
    undo()
    this.accept(order)
    if (tpsl !== order.tpsl) this.replaceExits(order, tpsl)
    change()
    const keeps = !moved && qty.atMost(before.qty)
    if (!keeps) order.queue = 0
    this.tell(order, "Amended")
    if (!keeps) this.conclude(order, this.match(order))
    return { orders: [order.number], version: order.version }
  }

  private cancelByUser(orders: ReadonlyArray<Order>, type: string): void {
    for (const order of orders) {
      if (isWaiting(order)) {
        this.deactivate(order, type)
        continue
      }
      if (type === "CancelByUser") {
        order.status = "CancelRequested"
        order.cancelType = type
        order.reason = "EcNoError"
        this.tell(order, "CancelRequested")
      }
      this.end(order, type)
      this.tell(order, "Canceled")
    }
  }

  private cancelAll(request: Request, body: Extract<Body, { kind: "cancelAll" }>): Outcome {
    const market = body.symbol === undefined ? undefined : this.marketOf(body.symbol)
    const accounts =
      request.account === "" ? this.accounts.filter(({ user }) => user === request.user) : [this.ownAccount(request)]
    const chosen: Array<Order> = []
    for (const account of accounts)
      for (const h of account.holdings)
        for (const waiting of [false, true])
          for (const order of this.orders) {
            if (order.holding !== h || isWaiting(order) !== waiting) continue
            if (market !== undefined && h.market !== market) continue
            if (body.filter === (waiting ? "Active" : "Conditional")) continue
            if (body.side !== undefined && body.side !== order.side) continue
            if (body.reduceOnly !== undefined && body.reduceOnly !== order.reduceOnly) continue
            if (body.dcp && isExit(order)) continue
            chosen.push(order)
          }
    this.cancelByUser(chosen, body.dcp ? "CancelByDcp" : "CancelByUser")
    return { orders: chosen.map(({ number }) => number) }
  }

  // Triggers and exits

  reference(market: Market, by: Trigger["by"]): Fraction {
    if (by === "IndexPrice") return market.index
    return by === "MarkPrice" ? market.mark : (market.last ?? market.mark)
  }

  private isMet(market: Market, { by, direction, price }: Trigger): boolean {
    const reference = this.reference(market, by)
    return direction === "Up" ? !reference.less(price) : reference.atMost(price)
  }

  /** Decides which orders the step has met. */
  private collect(): void {
    for (const order of this.orders)
      if (isWaiting(order) && !this.met.includes(order) && this.isMet(order.holding.market, order.trigger!))
        this.met.push(order)
  }

  /** Fires what is met, each in a step of its own, before the next command. */
  private fireAll(): void {
    while (true) {
      this.met = this.met.filter(isWaiting)
      const [next] = this.met.sort((a, b) => a.number - b.number)
      if (next === undefined) return
      this.met = this.met.filter((order) => order !== next)
      this.begin()
      this.fire(next)
      this.settle()
      this.collect()
    }
  }

  private fire(order: Order): void {
    const { holding: h, side } = order
    this.orders = this.orders.filter((other) => other !== order)
    order.status = "Triggered"
    this.tell(order, "Triggered")
    const { sibling } = order
    if (sibling !== undefined && isWaiting(sibling))
      this.deactivate(
        sibling,
        order.stopType.endsWith("TakeProfit")
          ? "CancelByOcoSlCanceledByTpTriggered"
          : "CancelByOcoTpCanceledBySlTriggered"
      )
    if (order.closeOnTrigger) order.reduceOnly = true
    if (order.qty.isZero) order.qty = this.closable(h, side)
    order.leaves = order.qty
    if (order.type === "Market") order.price = this.bandPrice(h.market, side)
    order.status = "New"
    this.run(order)
  }

  private deactivate(order: Order, type: string): void {
    order.leaves = ZERO
    order.status = "Deactivated"
    order.cancelType = type
    order.reason = "EcNoError"
    this.drop(order)
    this.tell(order, "Canceled")
  }

  private exitsOf(h: Holding): Array<Order> {
    return this.orders.filter((order) => order.holding === h && isWaiting(order) && isExit(order))
  }

  private createExit(
    h: Holding,
    mode: Exits["mode"],
    type: StopType,
    leg: LegPrice,
    qty: Fraction,
    parent?: Order
  ): Order {
    const side = closingSide(h.size)
    return this.newOrder(h, {
      side,
      type: "Market",
      timeInForce: "IOC",
      price: this.bandPrice(h.market, side),
      qty: mode === "Full" ? h.size.abs() : qty,
      reduceOnly: true,
      closeOnTrigger: true,
      stopType: mode === "Full" ? type : (`Partial${type}` as StopType),
      createType: mode === "Full" ? `CreateBy${type}` : `CreateByPartial${type}`,
      parent,
      trigger: { ...leg, direction: (type === "TakeProfit") === (side === "Sell") ? "Up" : "Down" }
    })
  }

  private createPair(h: Holding, exits: Exits, qty: Fraction, parent?: Order): Array<Order> {
    const { mode, stopLoss, takeProfit } = exits
    const made: Array<Order> = []
    if (takeProfit !== undefined) made.push(this.createExit(h, mode, "TakeProfit", takeProfit, qty, parent))
    if (stopLoss !== undefined) made.push(this.createExit(h, mode, "StopLoss", stopLoss, qty, parent))
    this.join(made)
    for (const order of made) this.wait(order)
    return made
  }

  private join(orders: ReadonlyArray<Order>): void {
    for (const order of orders) order.sibling = orders.find((other) => other !== order)
  }

  /** Attaches or grows the exits of what an order has opened. */
  private attach(order: Order): void {
    const { holding: h, tpsl } = order
    const fresh = order.opened.minus(order.guarded)
    const first = order.guarded.isZero
    order.guarded = order.opened
    if (tpsl === undefined || fresh.isZero || h.size.isZero || closingSide(h.size) === order.side) return
    if (tpsl.mode === "Full") {
      if (!first) return
      for (const older of this.exitsOf(h).filter(isWhole)) this.deactivate(older, CLEAR)
      return void this.createPair(h, tpsl, ZERO, order)
    }
    const living = this.exitsOf(h).filter(({ parent }) => parent === order)
    if (living.length === 0) return void this.createPair(h, tpsl, fresh, order)
    for (const exit of living) {
      exit.qty = exit.qty.plus(fresh)
      exit.leaves = exit.leaves.plus(fresh)
      this.tell(exit, "Amended")
    }
  }

  /** Gives an order other exits: those that it has attached are replaced. Exits that ended by themselves do not return. */
  private replaceExits(order: Order, tpsl: Exits | undefined): void {
    let guarded = ZERO
    for (const exit of this.exitsOf(order.holding).filter(({ parent }) => parent === order)) {
      guarded = isWhole(exit) ? order.opened : exit.qty
      this.deactivate(exit, CLEAR)
    }
    if (order.guarded.sign > 0) order.opened = guarded.plus(order.opened.minus(order.guarded))
    order.guarded = ZERO
    order.tpsl = tpsl
    if (tpsl !== undefined && order.opened.sign > 0) this.attaching.push(order)
  }

  /** The refusal of one pair more than a position of this side may have; open orders that bring one count. */
  private checkPairs(h: Holding, side: Side, mode: Exits["mode"], counts: (order: Order) => boolean): void {
    const mine = this.orders.filter((order) => order.holding === h && counts(order))
    const bringing = mine.filter((order) => order.tpsl !== undefined && order.side === side)
    const exits = mine.filter((order) => isExit(order) && order.side !== side)
    const whole = bringing.some(({ tpsl }) => tpsl!.mode === "Full") || exits.some(isWhole)
    const partial = exits.filter((exit) => !isWhole(exit))
    const parents = new Set([
      ...bringing.filter(({ tpsl }) => tpsl!.mode === "Partial"),
      ...partial.flatMap(({ parent }) => (parent === undefined ? [] : [parent]))
    ])
    const alone = partial.filter(
      ({ number, parent, sibling }) =>
        parent === undefined && !(sibling !== undefined && sibling.number < number && partial.includes(sibling))
    )
    const count = parents.size + alone.length + (whole ? 1 : 0)
    if (count >= PAIRS_MAX && !(whole && mode === "Full")) refuse("LimitReached")
  }

  private tradingStop(request: Request, body: Extract<Body, { kind: "tradingStop" }>): Outcome {
    const market = this.marketOf(body.symbol)
    const account = this.ownAccount(request)
    const { mode, stopLoss, takeProfit } = body.tpsl
    if (takeProfit === undefined && stopLoss === undefined) refuse("MissingField")
    const h = this.holdingOf(account, market)
    if (h.size.isZero) refuse("PositionNotFound")
    const exits: Exits = {
      mode,
      takeProfit: isNought(takeProfit) ? undefined : this.readLeg(market, takeProfit),
      stopLoss: isNought(stopLoss) ? undefined : this.readLeg(market, stopLoss)
    }
    if (account.frozen && (exits.takeProfit ?? exits.stopLoss) !== undefined) refuse("SubAccountFrozen")
    this.checkSides(exits, h.size.sign > 0 ? "Buy" : "Sell", market.mark)
    const held = h.size.abs()
    const sizeOf = (text: string | undefined) => {
      const size = mode === "Full" ? ZERO : text === undefined ? held : this.checkQty(market, text, false, false)
      return size.more(held) ? refuse("OutOfRange") : size
    }
    const gain = sizeOf(body.takeProfitSize)
    const loss = sizeOf(body.stopLossSize)
    const prefix = mode === "Full" ? "" : "Partial"
    const replaced: Array<string> = []
    for (const [asked, type] of [
      [takeProfit, `${prefix}TakeProfit`],
      [stopLoss, `${prefix}StopLoss`]
    ] as const)
      if (asked !== undefined && (mode === "Full" || isNought(asked))) replaced.push(type)
    if ((exits.takeProfit ?? exits.stopLoss) !== undefined)
      this.checkPairs(h, h.size.sign > 0 ? "Buy" : "Sell", mode, ({ stopType }) => !replaced.includes(stopType))
    for (const older of this.exitsOf(h).filter(({ stopType }) => replaced.includes(stopType)))
      this.deactivate(older, CLEAR)
    const kept = mode === "Full" ? this.exitsOf(h).filter(isWhole) : []
    const made: Array<Order> = []
    if (exits.takeProfit !== undefined) made.push(this.createExit(h, mode, "TakeProfit", exits.takeProfit, gain))
    if (exits.stopLoss !== undefined) made.push(this.createExit(h, mode, "StopLoss", exits.stopLoss, loss))
    this.join([...kept, ...made])
    for (const order of made) this.wait(order)
    return {}
  }

  // What ends every step

  settle(): void {
    this.tidy()
    while (true) {
      const liquidated = this.liquidate()
      const deleveraged = Pools.stage(this)
      if (!liquidated && !deleveraged) break
    }
    this.tidy()
  }

  private tidy(): void {
    const all = [...this.touched]
    for (const account of this.accounts) for (const h of account.holdings) if (!all.includes(h)) all.push(h)
    for (const exit of this.gone.filter(isWaiting)) this.deactivate(exit, CLEAR)
    this.gone = []
    const attaching = this.attaching
    this.attaching = []
    for (const order of attaching) this.attach(order)
    for (const h of all)
      for (const exit of this.exitsOf(h).filter(isWhole)) {
        if (exit.qty.equals(h.size.abs())) continue
        exit.qty = h.size.abs()
        exit.leaves = exit.qty
        this.tell(exit, "Amended")
      }
    for (const h of all) for (const side of ["Buy", "Sell"] as const) this.trim(h, side)
  }

  /** The newest reduce-only quantity beyond the position is cut, then canceled. */
  private trim(h: Holding, side: Side): void {
    const resting = this.orders
      .filter((order) => order.holding === h && order.queue > 0 && order.reduceOnly && order.side === side)
      .reverse()
    let excess = sum(resting.map(({ leaves }) => leaves)).minus(this.closable(h, side))
    const ended: Array<Order> = []
    for (const order of resting) {
      if (excess.sign <= 0) break
      if (order.leaves.atMost(excess)) {
        excess = excess.minus(order.leaves)
        this.end(order, "CancelByReduceOnly")
        ended.push(order)
      } else {
        order.qty = order.qty.minus(excess)
        order.leaves = order.leaves.minus(excess)
        excess = ZERO
        this.tell(order, "Amended")
      }
    }
    for (const order of ended) this.tell(order, "Canceled")
  }

  // Liquidation

  private liquidate(): boolean {
    let done = false
    for (const account of [...this.accounts].sort((a, b) => byText(a.address, b.address))) {
      for (const h of Formulas.isolatedOf(account).sort((a, b) => byText(a.market.symbol, b.market.symbol))) {
        if (!Formulas.isolatedEquity(h).less(Formulas.positionMaintenance(h))) continue
        this.liquidateIsolated(h)
        done = true
      }
      if (Formulas.crossOf(account).length === 0) continue
      if (!Formulas.crossEquity(account).less(Formulas.crossMaintenance(account))) continue
      this.liquidateCross(account)
      done = true
    }
    return done
  }

  cancelResting(h: Holding, type: string): void {
    const resting = this.orders.filter((order) => order.holding === h && !isWaiting(order))
    for (const order of resting) this.end(order, type)
    for (const order of resting) this.tell(order, "Canceled")
  }

  private liquidateIsolated(h: Holding): void {
    const { account } = h
    this.cancelResting(h, "CancelAllBeforeLiq")
    const before = account.wallet
    const value = this.close(h)
    // the margin has come to the wallet with the result
    const left = account.wallet.minus(before)
    this.liquidationFee(h, value, left)
    if (left.sign < 0) this.payPool(h, left)
  }

  private liquidateCross(account: Account): void {
    for (const h of account.holdings) this.cancelResting(h, "CancelAllBeforeLiq")
    while (true) {
      const cross = Formulas.crossOf(account).sort(
        (a, b) =>
          Formulas.positionMaintenance(b).compare(Formulas.positionMaintenance(a)) ||
          byText(a.market.symbol, b.market.symbol)
      )
      const [h] = cross
      if (h === undefined || !Formulas.crossEquity(account).less(Formulas.crossMaintenance(account))) return
      const value = this.close(h)
      this.liquidationFee(h, value, Formulas.crossEquity(account))
      if (cross.length === 1 && account.wallet.sign < 0) this.payPool(h, account.wallet)
    }
  }

  private liquidationFee(h: Holding, value: Fraction, left: Fraction): void {
    this.payPool(h, min(value.times(LIQUIDATION_FEE).ceil(), max(ZERO, left)))
  }

  private payPool(h: Holding, amount: Fraction): void {
    if (amount.isZero) return
    h.liquidationFee = h.liquidationFee.plus(amount)
    this.pay(h.account, amount.negated(), "LiquidationFee")
    const house = h.market.pool.holding.account
    house.wallet = house.wallet.plus(amount)
    this.moved = true
  }

  /** Closes a whole position at its bust price or better. Answers the value that the book took. */
  private close(h: Holding): Fraction {
    const { market } = h
    const price = max(market.minPrice, min(market.maxPrice, Formulas.bustPrice(h)))
    const side = closingSide(h.size)
    this.lines.push(`liquidation ${h.account.address} ${market.symbol} ${opposite(side)} ${h.size.abs()} at ${price}`)
    const shape = { side, type: "Limit", timeInForce: "IOC", price, reduceOnly: true, smp: "CancelMaker" } as const
    const order = this.newOrder(h, { ...shape, qty: h.size.abs(), createType: "CreateByLiq" })
    this.orders.push(order)
    this.tell(order, "Accepted")
    const ended = this.match(order)
    const rest = order.leaves
    if (rest.sign > 0) {
      this.end(order, "CancelByTimeInForce", order.filled.isZero ? "EcNoImmediateQtyToFill" : "EcNoError")
      ended.push(order)
    }
    for (const other of ended) this.tell(other, "Canceled")
    if (rest.sign > 0)
      this.passThrough(h, { ...shape, qty: rest, createType: "CreateByTakeOverPassThrough" }, "BustTrade")
    return order.value
  }

  /** Fills a system order against the pool of its market, outside the book. */
  passThrough(
    h: Holding,
    shape: Pick<Order, "side" | "type" | "timeInForce" | "price" | "qty" | "createType" | "reduceOnly">,
    type: string
  ): void {
    const order = this.newOrder(h, shape)
    this.orders.push(order)
    this.tell(order, "Accepted")
    const { pool } = h.market
    const taken = this.newOrder(pool.holding, { ...shape, side: opposite(shape.side) })
    this.book(taken, shape.price, shape.qty, false)
    this.fill(order, shape.price, shape.qty, false, type)
  }

  /** An unwinding order of a pool. */
  unwind(h: Holding): void {
    const { market, size } = h
    const side = closingSide(size)
    const price =
      side === "Sell"
        ? market.mark.times(ONE.minus(UNWIND_BAND)).ceilTo(market.tick)
        : market.mark.times(ONE.plus(UNWIND_BAND)).floorTo(market.tick)
    const qty = max(market.step, size.abs().over(f(10)).floorTo(market.step))
    const order = this.newOrder(h, {
      side,
      type: "Limit",
      timeInForce: "IOC",
      price,
      qty,
      reduceOnly: true,
      smp: "CancelMaker"
    })
    for (const other of this.match(order)) this.tell(other, "Canceled")
  }

  // Time and prices

  private tick(): boolean {
    this.expire()
    this.completeWithdrawals()
    const before = this.second
    const second = Math.floor(this.now / 1000)
    const first = second > before
    if (before >= 0 && Math.floor(second / 60) !== Math.floor(before / 60))
      for (const market of this.markets)
        market.premiums.push(Formulas.premiumOf(this.levels(market, "Buy"), this.levels(market, "Sell"), market.index))
    for (const market of this.markets) {
      if (first) {
        if (before >= 0) market.basis.push({ second: before, value: this.basisOf(market) })
        market.basis = market.basis.filter((sample) => sample.second >= second - BASIS_SECONDS)
        this.moveIndex(market)
      }
      this.moveMark(market)
    }
    if (!first) return false
    this.second = second
    this.moved = true
    if (before >= 0)
      for (const market of this.markets) if (Formulas.fundingEnd(before * 1000) <= this.now) this.settleFunding(market)
    return true
  }

  private expire(): void {
    const due = this.orders
      .filter(({ expireMs }) => expireMs !== undefined && expireMs <= this.now)
      .sort((a, b) => a.expireMs! - b.expireMs! || a.number - b.number)
    for (const order of due) {
      order.leaves = ZERO
      order.status = "Expired"
      order.cancelType = "CancelByExpiry"
      order.reason = "EcNoError"
      this.drop(order)
      this.tell(order, "Expired")
    }
  }

  levels(market: Market, side: Side): Array<readonly [Fraction, Fraction]> {
    const levels: Array<[Fraction, Fraction]> = []
    for (const { leaves, price } of this.resting(market, side)) {
      const level = levels.find(([at]) => at.equals(price))
      if (level === undefined) levels.push([price, leaves])
      else level[1] = level[1].plus(leaves)
    }
    return levels
  }

  private basisOf(market: Market): Fraction {
    const [bid] = this.resting(market, "Buy")
    const [ask] = this.resting(market, "Sell")
    return bid === undefined || ask === undefined ? ZERO : bid.price.plus(ask.price).over(f(2)).minus(market.index)
  }

  private moveIndex(market: Market): void {
    if (market.held !== undefined) market.index = market.held
    else if (!this.options.simulatedIndex) market.index = market.base
    else market.index = max(market.tick, Formulas.simulatedIndex(market, Math.floor(this.now / 1000)))
  }

  private moveMark(market: Market): void {
    const [bid] = this.resting(market, "Buy")
    const [ask] = this.resting(market, "Sell")
    const mark = Formulas.markOf(market, this.now, bid?.price, ask?.price)
    if (!mark.equals(market.mark)) this.moved = true
    market.mark = mark
  }

  private setIndex(symbol: string, text: string | undefined): Outcome {
    const market = this.marketOf(symbol)
    market.held = text === undefined ? undefined : this.checkPrice(market, text)
    this.moveIndex(market)
    this.moveMark(market)
    return {}
  }

  private settleFunding(market: Market): void {
    const rate = Formulas.fundingRate(market.premiums)
    market.rate = rate
    market.fundingIndex = market.fundingIndex.plus(market.mark.times(rate))
    market.premiums = []
    this.lines.push(`funding ${market.symbol} ${rate} mark ${market.mark} index ${market.fundingIndex}`)
    const holdings = [...this.accounts]
      .sort((a, b) => byText(a.address, b.address))
      .map((account) => this.holdingOf(account, market))
    for (const h of [...holdings, market.pool.holding]) {
      if (h.size.isZero) continue
      const credit = Formulas.fundingCredit(h, rate)
      if (h.isolated) h.margin = h.margin.plus(credit)
      else h.account.wallet = h.account.wallet.plus(credit)
      h.current = h.current.plus(credit)
      h.realised = h.realised.plus(credit)
      if (h.account.house) continue
      this.lines.push(`paid ${h.account.address} ${market.symbol} ${h.size.abs()} fee ${credit.negated()} in sequence`)
      this.lines.push(`wallet ${h.account.address} Funding ${credit} fee 0 pnl 0`)
    }
  }
}
