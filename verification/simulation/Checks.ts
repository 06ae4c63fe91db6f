/**
 * What must hold after every step, found from the events and from a recount of the state, independently of how the engine
 * came to it: price-time priority, fees to the last digit, the status table, money, positions, books, the order of
 * deleveraging.
 */
import type { State, Step } from "../../src/backend/engine/Engine.ts"
import { maintenanceMargin } from "../../src/domain/Margin.ts"
import * as OrderBook from "../../src/backend/engine/book/OrderBook.ts"
import type { MarketPosition } from "../../src/backend/engine/state/State.ts"
import { ExecType, type Execution, type Order, OrderStatus as S, Side } from "../../src/proto/gateway/v1/types.ts"
import { Exits } from "./Exits.ts"
import { Deleveraging } from "./Deleveraging.ts"
import { ceilDiv, ensure, ONE, scaled } from "./Exact.ts"
import { MarkEvents } from "./MarkEvents.ts"
import { units } from "../../src/backend/engine/state/MarketPosition.ts"

/**
 * Rows 1 to 19 of docs/contract/orders.md#order-statuses: what may follow a status; undefined: what an order may begin
 * with.
 */
const NEXT = new Map<S | undefined, ReadonlyArray<S>>([
  [undefined, [S.ORDER_STATUS_NEW, S.ORDER_STATUS_REJECTED, S.ORDER_STATUS_UNTRIGGERED]],
  [
    S.ORDER_STATUS_NEW,
    [
      S.ORDER_STATUS_NEW,
      S.ORDER_STATUS_PARTIALLY_FILLED,
      S.ORDER_STATUS_FILLED,
      S.ORDER_STATUS_CANCEL_REQUESTED,
      S.ORDER_STATUS_CANCELED,
      S.ORDER_STATUS_EXPIRED
    ]
  ],
  [
    S.ORDER_STATUS_PARTIALLY_FILLED,
    [
      S.ORDER_STATUS_PARTIALLY_FILLED,
      S.ORDER_STATUS_FILLED,
      S.ORDER_STATUS_CANCEL_REQUESTED,
      S.ORDER_STATUS_PARTIALLY_FILLED_CANCELED,
      S.ORDER_STATUS_EXPIRED
    ]
  ],
  [
    S.ORDER_STATUS_CANCEL_REQUESTED,
    [
      S.ORDER_STATUS_CANCEL_REQUESTED,
      S.ORDER_STATUS_CANCELED,
      S.ORDER_STATUS_PARTIALLY_FILLED_CANCELED,
      S.ORDER_STATUS_FILLED
    ]
  ],
  [
    S.ORDER_STATUS_UNTRIGGERED,
    [S.ORDER_STATUS_UNTRIGGERED, S.ORDER_STATUS_TRIGGERED, S.ORDER_STATUS_DEACTIVATED, S.ORDER_STATUS_EXPIRED]
  ],
  [
    S.ORDER_STATUS_TRIGGERED,
    [S.ORDER_STATUS_NEW, S.ORDER_STATUS_PARTIALLY_FILLED, S.ORDER_STATUS_FILLED, S.ORDER_STATUS_REJECTED]
  ]
])

/** A resting order as the events tell it. */
interface Resting {
  readonly symbol: string
  readonly side: Side
  readonly price: bigint
  readonly qty: bigint
  leaves: bigint
  /** seq of the event that gave it its place */
  readonly rank: number
}

const RESTING: ReadonlySet<S> = new Set([S.ORDER_STATUS_NEW, S.ORDER_STATUS_PARTIALLY_FILLED])

/** One history of events, followed from its first. */
export class Checks {
  fills = 0
  private readonly statuses = new Map<string, S>()
  private readonly resting = new Map<string, Resting>()
  private readonly positions = new Map<string, bigint>()
  private deleveraging = new Deleveraging()
  private markEvents = new MarkEvents()
  private exits = new Exits()
  private seq = 0

  /** Fills of deleveraging. */
  get deleveraged(): number {
    return this.deleveraging.fills
  }

  /** Positions that were reported only because their mark moved. */
  get marked(): number {
    return this.markEvents.count
  }

  /** Triggers that were met and fired, and those of them whose reference had moved back by then. */
  get fired(): number {
    return this.exits.fired
  }
  get late(): number {
    return this.exits.late
  }

  /** The same knowledge, to go on from on its own. */
  copy(): Checks {
    const other = new Checks()
    other.fills = this.fills
    other.seq = this.seq
    for (const [id, status] of this.statuses) other.statuses.set(id, status)
    for (const [id, order] of this.resting) other.resting.set(id, { ...order })
    for (const [key, qty] of this.positions) other.positions.set(key, qty)
    other.deleveraging = this.deleveraging.copy()
    other.markEvents = this.markEvents.copy()
    other.exits = this.exits.copy()
    return other
  }

  step(state: State, { events }: Step): void {
    this.exits.begin(state)
    // an input makes a step of its own and one more for each trigger that it met
    for (let start = 0; start < events.length;) {
      const { step } = events[start]!
      let end = start
      while (end < events.length && events[end]!.step === step) end++
      const one = events.slice(start, end)
      this.one(one)
      this.deleveraging.step(one, scaled(state.config.markets[0]!.qty_step))
      this.markEvents.step(one)
      this.exits.step(one)
      start = end
    }
    this.exits.end()
    if (events.length === 0) return
    this.recount(state)
    this.standing(state)
    this.markEvents.end(state, events)
  }

  /** Nobody is left whom the rules of liquidation would take: everybody is asked, by the formulas themselves. */
  private standing(state: State): void {
    for (const { address, holdings, wallet } of state.accounts) {
      let [equity, needed, open] = [wallet, 0n, false]
      for (const holding of holdings) {
        if (holding === undefined || holding.lots === 0) continue
        const { entryValue, isolated, isolatedMargin, lots, market } = holding
        const value = units(market.markTicks, Math.abs(lots)) * market.rules.unit
        const pnl = lots < 0 ? entryValue - value : value - entryValue
        const maintenance = maintenanceMargin(market.tiers, value)
        if (isolated) ensure(isolatedMargin + pnl >= maintenance, () => `${address} was not liquidated (Isolated)`)
        else [equity, needed, open] = [equity + pnl, needed + maintenance, true]
      }
      ensure(!open || equity >= needed, () => `${address} was not liquidated`)
    }
  }

  private one(events: Step["events"]): void {
    const orders: Array<readonly [seq: number, order: Order]> = []
    const fills: Array<Execution> = []
    for (const { seq, event } of events) {
      ensure(seq === this.seq + 1, () => `event ${seq} follows ${this.seq}`)
      this.seq = seq
      if (event?.$case === "order_changed") orders.push([seq, event.value.order!])
      else if (event?.$case === "execution_created") fills.push(event.value.execution!)
    }
    this.priority(orders, fills)
    for (const fill of fills) this.fill(fill)
    for (const [seq, order] of orders) this.order(seq, order)
  }

  private order(seq: number, order: Order): void {
    const { order_id, order_status } = order
    const before = this.statuses.get(order_id)
    const allowed = NEXT.get(before) ?? []
    ensure(
      allowed.includes(order_status),
      () => `order ${order_id} went from status ${before ?? "nothing"} to ${order_status}`
    )
    this.statuses.set(order_id, order_status)
    if (order_status === S.ORDER_STATUS_CANCEL_REQUESTED) return
    if (!RESTING.has(order_status)) {
      this.resting.delete(order_id)
      return
    }
    const [price, qty, leaves] = [scaled(order.price), scaled(order.qty), scaled(order.leaves_qty)]
    const known = this.resting.get(order_id)
    const keeps = known !== undefined && known.price === price && qty <= known.qty
    const { symbol, side } = order
    this.resting.set(order_id, { symbol, side, price, qty, leaves, rank: keeps ? known.rank : seq })
  }

  /** Each maker's fill of a step went to the best price and, there, to the oldest order, of those that stayed. */
  private priority(orders: ReadonlyArray<readonly [number, Order]>, fills: ReadonlyArray<Execution>): void {
    if (fills.length === 0) return
    const left = new Set(
      orders
        .filter(([, { order_status: status }]) => !RESTING.has(status) && status !== S.ORDER_STATUS_FILLED)
        .map(([, { order_id }]) => order_id)
    )
    // an order that moved in this step has another place than before
    const moved = new Set(
      orders
        .filter(([, { order_id, price, qty }]) => {
          const known = this.resting.get(order_id)
          return known !== undefined && (known.price !== scaled(price) || scaled(qty) > known.qty)
        })
        .map(([, { order_id }]) => order_id)
    )
    for (const fill of fills) {
      const maker = this.resting.get(fill.order_id)
      if (!fill.is_maker || maker === undefined || moved.has(fill.order_id)) continue
      const price = scaled(fill.exec_price)
      ensure(price === maker.price, () => `maker ${fill.order_id} was filled at ${fill.exec_price}, not at its price`)
      for (const [id, other] of this.resting) {
        if (other === maker || other.symbol !== maker.symbol || other.side !== maker.side) continue
        if (other.leaves === 0n || left.has(id) || moved.has(id)) continue
        const better = maker.side === Side.SIDE_BUY ? other.price > maker.price : other.price < maker.price
        ensure(
          !better && !(other.price === maker.price && other.rank < maker.rank),
          () => `priority: ${fill.order_id} was filled before ${id}`
        )
      }
      maker.leaves -= scaled(fill.exec_qty)
      ensure(maker.leaves >= 0n, () => `maker ${fill.order_id} was filled beyond its rest`)
    }
  }

  private fill(fill: Execution): void {
    if (fill.exec_type === ExecType.EXEC_TYPE_FUNDING) return
    if (fill.exec_type === ExecType.EXEC_TYPE_TRADE) this.fills++
    const [price, qty, value] = [scaled(fill.exec_price), scaled(fill.exec_qty), scaled(fill.exec_value)]
    ensure(price * qty === value * ONE, () => `execution ${fill.exec_id}: value ${fill.exec_value} is not price × qty`)
    const fee = ceilDiv(value * scaled(fill.fee_rate), ONE)
    ensure(fee === scaled(fill.base_fee), () => `execution ${fill.exec_id}: fee ${fill.base_fee} should be ${fee}e-18`)
    const key = `${fill.sub_account_address} ${fill.symbol}`
    const held = this.positions.get(key) ?? 0n
    this.positions.set(key, fill.side === Side.SIDE_BUY ? held + qty : held - qty)
  }

  /** Recounts money, positions and books from the state. */
  private recount(state: State): void {
    const net = state.markets.map(() => 0)
    let money = state.fees - state.deposits
    const count = (holding: MarketPosition) => {
      const { market, lots, entryValue } = holding
      net[market.index]! += lots
      const value = units(market.markTicks, Math.abs(lots)) * market.rules.unit
      money += lots < 0 ? entryValue - value : value - entryValue
      money += holding.isolatedMargin
    }
    for (const pool of state.pools) {
      count(pool.holding)
      money += pool.holding.account.wallet + pool.received - pool.paid
    }
    for (const account of state.accounts) {
      money += account.wallet
      for (const holding of account.holdings) if (holding !== undefined) count(holding)
    }
    ensure(money === 0n, () => `money is not conserved: ${money}e-18 too much`)
    ensure(
      net.every((lots) => lots === 0),
      () => `positions do not sum to zero: ${net.join(", ")}`
    )
    let resting = 0
    for (const { book, market } of state.markets) {
      const bid = book.best(Side.SIDE_BUY)
      const ask = book.best(Side.SIDE_SELL)
      ensure(bid === undefined || ask === undefined || bid < ask, () => `${market.symbol} is crossed`)
      for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const) {
        const held = new Map<number, number>()
        for (let slot = book.first(side); slot !== OrderBook.NONE; slot = book.after(slot)) {
          const { leaves, ticks } = state.orders.at(slot)
          held.set(ticks, (held.get(ticks) ?? 0) + leaves)
          resting++
        }
        const levels = OrderBook.levels(book, side, 0)
        ensure(levels.length === held.size, () => `${market.symbol}: ${levels.length} levels, ${held.size} prices`)
        for (const { lots, ticks } of levels)
          ensure(
            lots === held.get(ticks),
            () => `${market.symbol}: level ${ticks} counts ${lots}, holds ${held.get(ticks)}`
          )
      }
    }
    ensure(resting === this.resting.size, () => `${resting} orders rest, the events tell of ${this.resting.size}`)
  }

  /** What the executions add up to is what the accounts hold. */
  end(state: State): void {
    for (const account of state.accounts)
      for (const holding of account.holdings) {
        if (holding === undefined) continue
        const { market, lots } = holding
        const reported = this.positions.get(`${account.address} ${market.market.symbol}`) ?? 0n
        ensure(
          reported === BigInt(lots) * market.rules.qty.step,
          () =>
            `${account.address} holds ${lots} lots of ${market.market.symbol}, its executions add up to ${reported}e-18`
        )
      }
  }
}
