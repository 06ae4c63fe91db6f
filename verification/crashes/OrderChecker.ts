/**
 * The checker of histories: holds what callers were told of their orders against what is on record, and believes neither.
 *
 * An order that was acknowledged is there once, under the id that was told. One that was surely not sequenced is not
 * there. Of one whose fate is unknown either may hold. What was canceled is not open, fills add up, and nothing is there
 * that nobody asked for.
 */
import { parse } from "../../src/domain/Decimal.ts"
import type { OrderStatus } from "../../src/domain/Enumerations.ts"
import { isOpen } from "../../src/domain/Order.ts"

/** What a caller was told of one try. */
export type Told =
  | { readonly as: "acknowledged"; readonly order_id: string }
  /** It had been there before. */
  | { readonly as: "repeated"; readonly order_id: string }
  /** Surely not sequenced. */
  | { readonly as: "refused"; readonly reason: string }
  | { readonly as: "unknown" }

/** An order that somebody asked for, under a reference of their own. */
export interface Attempt {
  readonly link: string
  /** One for each try, in their order. */
  readonly told: Array<Told>
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
  /** All that is wrong, in words. */
  readonly faults: ReadonlyArray<string>
}

/** Judges the orders and fills of all callers, who traded with each other alone. */
export const judge = (
  attempts: Iterable<Attempt>,
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
  const asked = new Set<string>()
  for (const { canceled, link, told } of attempts) {
    asked.add(link)
    const held = byLink.get(link) ?? []
    if (held.length > 1) {
      doubled++
      faults.push(`${link} is there ${held.length} times`)
    }
    const ids = new Set(told.flatMap((one) => ("order_id" in one ? [one.order_id] : [])))
    if (ids.size > 0) acknowledged++
    else if (told.some(({ as }) => as === "unknown")) unknown++
    else if (held.length > 0) faults.push(`${link} was refused as not sequenced, and is there`)
    for (const id of ids) {
      if (held.some(({ order_id }) => order_id === id)) continue
      lost++
      faults.push(`${link} was acknowledged as ${id}, and ${held[0]?.order_id ?? "nothing"} is there`)
    }
    if (told.filter(({ as }) => as === "acknowledged").length > 1) faults.push(`${link} was acknowledged twice as new`)
    const [order] = held
    if (canceled && order !== undefined && isOpen(order.order_status as OrderStatus))
      faults.push(`${link} was canceled, and is ${order.order_status}`)
  }
  for (const link of byLink.keys()) if (!asked.has(link)) faults.push(`nobody asked for ${link}`)

  const filled = new Map<string, bigint>()
  const seen = new Set<string>()
  for (const { exec_id, exec_qty, order_id } of fills) {
    const key = `${exec_id} ${order_id}`
    if (seen.has(key)) faults.push(`fill ${key} is there twice`)
    seen.add(key)
    filled.set(order_id, (filled.get(order_id) ?? 0n) + parse(exec_qty))
  }
  let balance = 0n
  for (const { cum_exec_qty, order_id, order_link_id, side } of orders) {
    const sum = filled.get(order_id) ?? 0n
    if (sum !== parse(cum_exec_qty)) faults.push(`${order_link_id} is filled ${cum_exec_qty}, and its fills differ`)
    balance += side === "Buy" ? sum : -sum
  }
  if (balance !== 0n) faults.push("what was bought is not what was sold")
  return { acknowledged, unknown, orders: orders.length, fills: fills.length, lost, doubled, faults }
}
