/**
 * Checks the orders and fills on record against the answers that callers received.
 *
 * An acknowledged order is on record once, under the answered id. An order that was certainly not sequenced is not on record.
 * Of an order of unknown fate either is right. A canceled order is not open, fills add up, and every order was sent by a caller.
 */
import { parse } from "../../src/domain/Decimal.ts"
import type { OrderStatus } from "../../src/domain/Enumerations.ts"
import { isOpen } from "../../src/domain/Order.ts"

/** The answer to one attempt. */
export type Answered =
  | { readonly as: "acknowledged"; readonly order_id: string }
  /** An earlier attempt created it. */
  | { readonly as: "repeated"; readonly order_id: string }
  /** Certainly not sequenced. */
  | { readonly as: "refused"; readonly reason: string }
  | { readonly as: "unknown" }

/** An order of a caller, by its `order_link_id`. */
export interface SentOrder {
  readonly link: string
  /** The answer to each attempt, in order. */
  readonly answers: Array<Answered>
  /** Whether its cancellation was acknowledged. */
  canceled: boolean
}

export interface HeldOrder {
  readonly order_id: string
  readonly order_link_id?: string
  readonly order_status: string
  readonly side: string
  readonly cum_exec_qty: string
}
export interface HeldFill {
  readonly exec_id: string
  readonly order_id: string
  readonly exec_qty: string
}

export interface Verdict {
  readonly acknowledged: number
  readonly unknown: number
  readonly orders: number
  readonly fills: number
  readonly lost: number
  readonly doubled: number
  /** Every fault, as text. */
  readonly faults: ReadonlyArray<string>
}

/** Checks the orders and fills of all callers, who trade only with each other. */
export const check = (
  sent: Iterable<SentOrder>,
  orders: ReadonlyArray<HeldOrder>,
  fills: ReadonlyArray<HeldFill>
): Verdict => {
  const faults: Array<string> = []
  let [acknowledged, unknown, lost, doubled] = [0, 0, 0, 0]
  const byLink = new Map<string, Array<HeldOrder>>()
  for (const order of orders) {
    const link = order.order_link_id ?? ""
    const held = byLink.get(link)
    if (held === undefined) byLink.set(link, [order])
    else held.push(order)
  }
  const links = new Set<string>()
  for (const { answers, canceled, link } of sent) {
    links.add(link)
    const held = byLink.get(link) ?? []
    if (held.length > 1) {
      doubled++
      faults.push(`${link} is on record ${held.length} times`)
    }
    const ids = new Set(answers.flatMap((one) => ("order_id" in one ? [one.order_id] : [])))
    if (ids.size > 0) acknowledged++
    else if (answers.some(({ as }) => as === "unknown")) unknown++
    else if (held.length > 0) faults.push(`${link} was refused as not sequenced, and is on record`)
    for (const id of ids) {
      if (held.some(({ order_id }) => order_id === id)) continue
      lost++
      faults.push(`${link} was acknowledged as ${id}, and ${held[0]?.order_id ?? "nothing"} is on record`)
    }
    if (answers.filter(({ as }) => as === "acknowledged").length > 1)
      faults.push(`${link} was acknowledged twice as new`)
    const [order] = held
    if (canceled && order !== undefined && isOpen(order.order_status as OrderStatus))
      faults.push(`${link} was canceled, and is ${order.order_status}`)
  }
  for (const link of byLink.keys()) if (!links.has(link)) faults.push(`no caller sent ${link}`)

  const filled = new Map<string, bigint>()
  const seen = new Set<string>()
  for (const { exec_id, exec_qty, order_id } of fills) {
    const key = `${exec_id} ${order_id}`
    if (seen.has(key)) faults.push(`fill ${key} is on record twice`)
    seen.add(key)
    filled.set(order_id, (filled.get(order_id) ?? 0n) + parse(exec_qty))
  }
  let balance = 0n
  for (const { cum_exec_qty, order_id, order_link_id, side } of orders) {
    const sum = filled.get(order_id) ?? 0n
    if (sum !== parse(cum_exec_qty)) faults.push(`${order_link_id} is filled ${cum_exec_qty}, and its fills differ`)
    balance += side === "Buy" ? sum : -sum
  }
  if (balance !== 0n) faults.push("the bought quantity differs from the sold one")
  return { acknowledged, unknown, orders: orders.length, fills: fills.length, lost, doubled, faults }
}
