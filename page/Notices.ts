/** What happened to the account, in the words of a trader: one notice per order, which changes as the order does, and one per forced close. */
import * as Decimal from "../src/domain/Decimal.ts"
import { keyOf } from "../src/client/Account.ts"
import type { FeedEvent } from "../src/client/FeedEvent.ts"
import type { Execution } from "../src/domain/Execution.ts"
import type { Order } from "../src/domain/Order.ts"
import type { Position } from "../src/domain/Position.ts"
import * as Format from "./Format.ts"
import * as OrderWords from "../src/domain/OrderWords.ts"

export type Tone = OrderWords.Tone

export interface Notice {
  /** A notice replaces the one before with the same key. */
  readonly key: string
  readonly tone: Tone
  readonly text: string
  /** Whether it stays until the trader closes it. */
  readonly stays?: boolean
}

/** The notice of a session that ended. */
export const ENDED = "session"

/** How orders of a forced close are created. */
const ofForce: ReadonlySet<string> = new Set(["CreateByLiq", "CreateByTakeOverPassThrough", "CreateByAdlPassThrough"])

/** The notice of an order's new status; `undefined`: none. */
export const noticeOf = (order: Order, digits: OrderWords.Digits): Notice | undefined => {
  // these have a notice of their own
  if (ofForce.has(order.create_type ?? "") || order.cancel_type === "CancelAllBeforeLiq") return undefined
  const outcome = OrderWords.outcomeOf(order, { ...digits, gain: Format.gain })
  return outcome === undefined ? undefined : { key: order.order_id, ...outcome }
}

/** A position that the exchange closes, from the event that announces it until the position changes for another reason. */
interface Forced {
  readonly key: string
  readonly by: "Liquidated" | "Auto-deleveraged"
  readonly isLong: boolean
  /** Open orders canceled before it. */
  readonly canceled: number
  qty: bigint
  value: bigint
  /** Part that the insurance pool took over. */
  taken: bigint
  /** Realised PnL of its orders, by order. */
  readonly pnl: Map<string, bigint>
  /** The position after it; `undefined`: it is under way. */
  left: string | undefined
}

const forcedBy: Partial<Record<Position["position_status"], Forced["by"]>> = {
  Liq: "Liquidated",
  Adl: "Auto-deleveraged"
}

const plural = (count: number, one: string): string => (count === 1 ? `1 ${one}` : `${count} ${one}s`)

/**
 * Notices from the events of the private feed. A snapshot has none: what it holds happened before.
 * A forced close is announced by the status of its position; executions, orders and positions follow, the fee last.
 * Source: docs/contract/exchange.md#liquidation, docs/contract/websocket.md#emission.
 */
export class Notices {
  private readonly digits: OrderWords.Digits
  /** By position. */
  private readonly forced = new Map<string, Forced>()
  /** The newest record of each position. */
  private readonly positions = new Map<string, Position>()
  /** Orders canceled before the next liquidation, by sub-account. */
  private readonly canceled = new Map<string, number>()

  constructor(digits: OrderWords.Digits) {
    this.digits = digits
  }

  of(event: FeedEvent): ReadonlyArray<Notice> {
    if (event.kind === "state" && event.state.type === "ended")
      return [{ key: ENDED, tone: "bad", text: `Signed out: ${event.state.reason}`, stays: true }]
    if (!("data" in event) || !("type" in event.data)) return []
    if (event.kind === "position") for (const each of event.data.list) this.positions.set(keyOf(each), each)
    if (event.data.type !== "update") return []
    switch (event.kind) {
      case "execution":
        for (const fill of event.data.list) this.fill(fill)
        return []
      case "order":
        return event.data.list.flatMap((order) => this.order(order) ?? [])
      case "position":
        return event.data.list.flatMap((position) => this.position(position) ?? [])
      default:
        return []
    }
  }

  private fill(fill: Execution): void {
    const forced = this.forced.get(keyOf(fill))
    if (forced === undefined || !ofForce.has(fill.create_type ?? "")) return
    const qty = Decimal.parse(fill.exec_qty)
    forced.qty += qty
    forced.value += Decimal.parse(fill.exec_value)
    if (fill.exec_type === "BustTrade") forced.taken += qty
  }

  private order(order: Order): Notice | undefined {
    const { cancel_type, closed_pnl, create_type, order_id, sub_account_address } = order
    if (cancel_type === "CancelAllBeforeLiq")
      this.canceled.set(sub_account_address, (this.canceled.get(sub_account_address) ?? 0) + 1)
    if (closed_pnl !== undefined && ofForce.has(create_type ?? ""))
      this.forced.get(keyOf(order))?.pnl.set(order_id, Decimal.parse(closed_pnl))
    const notice = noticeOf(order, this.digits)
    const isPartial = order.order_status === "PartiallyFilledCanceled" && OrderWords.isClosing(order)
    return notice !== undefined && isPartial ? this.withRest(notice, this.positions.get(keyOf(order))) : notice
  }

  /** The notice of a partial close, with what remains of the position: its fills precede the end of the order. */
  private withRest(notice: Notice, position: Position | undefined): Notice {
    if (position === undefined || position.size === "0") return notice
    const { side, size, symbol } = position
    const held = `${side === "Buy" ? "long" : "short"} of ${this.digits.qty(symbol, size)}`
    return { ...notice, text: `${notice.text}. Your ${held} remains open` }
  }

  private position(position: Position): Notice | undefined {
    const { position_status, seq, side, size, sub_account_address } = position
    const key = keyOf(position)
    const by = forcedBy[position_status]
    const forced = this.forced.get(key)
    if (by !== undefined) {
      if (forced !== undefined && forced.left === undefined) return undefined
      const canceled = this.canceled.get(sub_account_address) ?? 0
      this.canceled.delete(sub_account_address)
      const begun = { key: `forced|${key}|${seq}`, by, isLong: side === "Buy", canceled, pnl: new Map() }
      this.forced.set(key, { ...begun, qty: 0n, value: 0n, taken: 0n, left: undefined })
      return undefined
    }
    if (forced === undefined) return undefined
    if (forced.qty === 0n || (forced.left !== undefined && forced.left !== size)) {
      this.forced.delete(key)
      return undefined
    }
    forced.left = size
    return this.ofForced(forced, position)
  }

  private ofForced(forced: Forced, { liquidation_fee, size, symbol }: Position): Notice {
    const { by, canceled, isLong, key, pnl, qty, taken, value } = forced
    const amount = (scaled: bigint): string => this.digits.qty(symbol, Decimal.format(scaled))
    const at = this.digits.price(symbol, Decimal.format(Decimal.div(value, qty, "down")))
    const sum = Decimal.format([...pnl.values()].reduce((total, each) => total + each, 0n))
    const parts = [
      `${by}: your ${isLong ? "long" : "short"} of ${amount(qty)} ${symbol} at ${at}`,
      ...(pnl.size === 0 ? [] : [`PnL ${Format.gain(sum)}`]),
      ...(by === "Liquidated" ? [feeText(liquidation_fee)] : []),
      ...(taken === 0n ? [] : [`${taken === qty ? "all of it" : amount(taken)} taken over by the insurance pool`]),
      ...(canceled === 0 ? [] : [`${plural(canceled, "open order")} canceled`]),
      ...(size === "0" ? [] : [`${this.digits.qty(symbol, size)} remains open`])
    ]
    return { key, tone: "bad", text: parts.join(", "), stays: true }
  }
}

const feeText = (fee: string): string =>
  Format.isNegative(fee) ? `the insurance pool paid ${Format.money(fee.slice(1))}` : `fee ${Format.money(fee)}`
