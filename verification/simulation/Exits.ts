/**
 * Triggers and exits, found from the events and the references: an order whose trigger is met at the end of a step fires, in a step
 * of its own and in order of acceptance, wherever prices go in between. Exits of mode Full have the size of their position, those of
 * mode Partial what their order has opened, and a position has at most 20 pairs.
 * Source: docs/contract/exchange.md#trigger-order, docs/contract/orders.md#take-profit-and-stop-loss.
 */
import type { State } from "../../src/backend/engine/Engine.ts"
import type { Event } from "../../src/proto/gateway/v1/sequencer.ts"
import {
  type Execution,
  ExecType,
  type Order,
  OrderStatus as S,
  Side,
  StopOrderType as T,
  TpslMode,
  TriggerBy,
  TriggerDirection
} from "../../src/proto/gateway/v1/types.ts"
import { ensure, scaled, Violation } from "./Exact.ts"

const PAIRS_MAX = 20
const WHOLE: ReadonlySet<T> = new Set([T.STOP_ORDER_TYPE_TAKE_PROFIT, T.STOP_ORDER_TYPE_STOP_LOSS])
const PARTS: ReadonlySet<T> = new Set([T.STOP_ORDER_TYPE_PARTIAL_TAKE_PROFIT, T.STOP_ORDER_TYPE_PARTIAL_STOP_LOSS])
const FINAL: ReadonlySet<S> = new Set([
  S.ORDER_STATUS_FILLED,
  S.ORDER_STATUS_CANCELED,
  S.ORDER_STATUS_PARTIALLY_FILLED_CANCELED,
  S.ORDER_STATUS_EXPIRED,
  S.ORDER_STATUS_DEACTIVATED,
  S.ORDER_STATUS_REJECTED
])

interface Waiting {
  readonly order: Order
  /** seq of the event that accepted it */
  readonly rank: number
}

/** An order that brings exits of mode Partial along. */
interface Parent {
  readonly key: string
  readonly side: Side
  readonly tpsl: string
  /** what it has opened of the position that is there, and what of it was guarded by exits that have ended */
  opened: bigint
  over: bigint
  isClosed: boolean
}

interface References {
  last: bigint | undefined
  mark: bigint
  index: bigint
}

const keyOf = ({ sub_account_address, symbol }: { sub_account_address: string; symbol: string }): string =>
  `${sub_account_address} ${symbol}`

const abs = (value: bigint): bigint => (value < 0n ? -value : value)

export class Exits {
  /** Orders that fired. */
  fired = 0
  /** Orders that fired although the reference had moved back by then. */
  late = 0
  private readonly references = new Map<string, References>()
  private readonly waiting = new Map<string, Waiting>()
  /** what was met and has not fired, as it waited */
  private readonly met = new Map<string, Waiting>()
  private readonly positions = new Map<string, bigint>()
  private readonly parents = new Map<string, Parent>()
  /** Parents whose exits wait. */
  private readonly guarded = new Set<string>()

  copy(): Exits {
    const other = new Exits()
    other.fired = this.fired
    other.late = this.late
    for (const [symbol, prices] of this.references) other.references.set(symbol, { ...prices })
    for (const [id, waiting] of this.waiting) other.waiting.set(id, waiting)
    for (const [key, size] of this.positions) other.positions.set(key, size)
    for (const [id, parent] of this.parents) other.parents.set(id, { ...parent })
    for (const id of this.guarded) other.guarded.add(id)
    return other
  }

  /** Begins with an input. Mark and index move in its first step alone, before anything fires, and not all moves are reported. */
  begin(state: State): void {
    for (const { indexTicks, market, markTicks } of state.markets) {
      const tick = scaled(market.tick_size)
      const last = this.references.get(market.symbol)?.last
      this.references.set(market.symbol, { last, mark: BigInt(markTicks) * tick, index: BigInt(indexTicks) * tick })
    }
    this.meet()
  }

  /** Reads the events of one step. */
  step(events: ReadonlyArray<Event>): void {
    const fired: Array<string> = []
    const touched = new Set<string>()
    for (const { event, seq } of events) {
      if (event?.$case === "execution_created") touched.add(this.fill(event.value.execution!))
      else if (event?.$case === "order_changed") {
        const order = event.value.order!
        if (order.order_status === S.ORDER_STATUS_TRIGGERED) fired.push(order.order_id)
        touched.add(this.order(seq, order))
      }
    }
    if (fired.length > 0) this.firing(fired)
    // the input's own step, at whose end triggers are selected: its first trade replaces the mark as the last price
    else this.met.clear()
    for (const { event } of events)
      if (event?.$case === "trade_printed") {
        const { price, symbol } = event.value.trades.at(-1)!
        this.references.get(symbol)!.last = scaled(price)
      }
    this.meet()
    for (const key of touched) this.sizes(key)
  }

  /** After all steps of an input nothing that was met waits. */
  end(): void {
    ensure(this.met.size === 0, () => `order ${[...this.met.keys()][0]} was met and did not fire`)
  }

  /** Notes what is met by now, and forgets what no longer waits. */
  private meet(): void {
    for (const id of this.met.keys()) if (!this.waiting.has(id)) this.met.delete(id)
    for (const [id, waiting] of this.waiting) if (this.isMet(waiting.order)) this.met.set(id, waiting)
  }

  private isMet({ symbol, trigger }: Order): boolean {
    const { index, last, mark } = this.references.get(symbol)!
    const { trigger_by, trigger_direction, trigger_price } = trigger!
    const reference =
      trigger_by === TriggerBy.TRIGGER_BY_INDEX_PRICE
        ? index
        : trigger_by === TriggerBy.TRIGGER_BY_MARK_PRICE
          ? mark
          : (last ?? mark)
    return trigger_direction === TriggerDirection.TRIGGER_DIRECTION_UP
      ? reference >= scaled(trigger_price)
      : reference <= scaled(trigger_price)
  }

  /** One order a step fires: of those that are met, the one accepted first. */
  private firing(ids: ReadonlyArray<string>): void {
    const id = ids[0]!
    ensure(ids.length === 1, () => `${ids.length} orders fired in one step`)
    const fired = this.met.get(id)
    if (fired === undefined) throw new Violation(`order ${id} fired and was not met`)
    for (const [other, { rank }] of this.met)
      ensure(other === id || fired.rank < rank, () => `order ${id} fired before ${other}, which was accepted first`)
    this.fired++
    if (!this.isMet(fired.order)) this.late++
  }

  private order(seq: number, order: Order): string {
    const { order_id, order_status, side, tpsl } = order
    const key = keyOf(order)
    if (order_status === S.ORDER_STATUS_UNTRIGGERED)
      this.waiting.set(order_id, { order, rank: this.waiting.get(order_id)?.rank ?? seq })
    else this.waiting.delete(order_id)
    const text = JSON.stringify(tpsl)
    const parent = this.parents.get(order_id)
    // of an order that had fills before its exits, what these guard is not followed
    if (tpsl?.mode === TpslMode.TPSL_MODE_PARTIAL && parent === undefined && order.cum_exec_qty === "0")
      this.parents.set(order_id, { key, side, tpsl: text, opened: 0n, over: 0n, isClosed: false })
    // what exits that were exchanged have guarded is not followed
    else if (parent !== undefined && parent.tpsl !== text) this.parents.delete(order_id)
    if (parent !== undefined && FINAL.has(order_status)) parent.isClosed = true
    return key
  }

  private fill(fill: Execution): string {
    const key = keyOf(fill)
    if (fill.exec_type === ExecType.EXEC_TYPE_FUNDING) return key
    const before = this.positions.get(key) ?? 0n
    const size = scaled(fill.exec_qty)
    const after = fill.side === Side.SIDE_BUY ? before + size : before - size
    this.positions.set(key, after)
    if (before !== 0n && before > 0n !== after > 0n)
      for (const parent of this.parents.values())
        if (parent.key === key && parent.side !== fill.side) [parent.opened, parent.over] = [0n, 0n]
    const parent = this.parents.get(fill.order_id)
    if (parent !== undefined) parent.opened += size - scaled(fill.closed_size ?? "0")
    return key
  }

  private sizes(key: string): void {
    const position = this.positions.get(key) ?? 0n
    const closing = position > 0n ? Side.SIDE_SELL : Side.SIDE_BUY
    const guarded = new Map<string, bigint>()
    let exits = 0
    for (const { order } of this.waiting.values()) {
      const { order_id, parent_order_id, qty, side, stop_order_type } = order
      if (keyOf(order) !== key || (!WHOLE.has(stop_order_type) && !PARTS.has(stop_order_type))) continue
      exits++
      ensure(position !== 0n && side === closing, () => `exit ${order_id} has outlived its position`)
      if (WHOLE.has(stop_order_type))
        ensure(scaled(qty) === abs(position), () => `exit ${order_id} has size ${qty}, its position ${position}e-18`)
      else if (parent_order_id !== undefined) guarded.set(parent_order_id, scaled(qty))
    }
    ensure(exits <= 2 * PAIRS_MAX, () => `${key} has ${exits} exits`)
    for (const [id, parent] of this.parents) {
      if (parent.key !== key) continue
      const held = guarded.get(id)
      const opens = position !== 0n && parent.side !== closing
      if (held === undefined && this.guarded.has(id)) parent.over = parent.opened
      if (held === undefined) this.guarded.delete(id)
      else this.guarded.add(id)
      const due = opens ? parent.opened - parent.over : 0n
      if (parent.isClosed && held === undefined) this.parents.delete(id)
      ensure((held ?? 0n) === due, () => `exits of order ${id} guard ${held ?? 0n}e-18, it has opened ${due}e-18`)
    }
  }
}
