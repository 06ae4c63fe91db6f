/** The callers of the load: half of them send limit orders that cross at one price, the others rest an order far from it and cancel it. */
import { SYMBOL } from "../harness/Trader.ts"
import { type Answered, Caller } from "./Caller.ts"
import { type Kind, PRICE, type User } from "./Plan.ts"
import type { Seconds } from "./Seconds.ts"

/** The price of resting orders. */
export const FAR = "58000"
const QTY = "0.001"
/** Orders of a user until its side changes, so that positions stay small. */
const ORDERS_A_SIDE = 500
/** Buy orders that may be ahead of sell orders, or behind them: the orders that rest at the price are below a user's limit. */
const LEAD_MAX = 200

/** What callers report: latencies and refusals, and the id of each accepted order. */
export interface Reported {
  readonly seen: Seconds
  readonly onAccepted?: (order_id: string) => void
  /** Whether a caller that is free may send now; default: always. */
  readonly mayRequest?: () => boolean
}

/**
 * A user who changes sides meets its own orders. Both end then, so that the lead is that of the book: with any other prevention
 * more and more orders rest, until all orders of their users are rejected.
 */
const BOTH = { smp_type: "CancelBoth" }

const request = (path: string, { token }: User, fields: object): Buffer => {
  const body = JSON.stringify(fields)
  return Buffer.from(
    `POST /api/v1/order/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}
export const limitOrder = (user: User, side: string, price: string, more: object = {}): object => ({
  sub_account_address: user.vault,
  symbol: SYMBOL,
  side,
  order_type: "Limit",
  qty: QTY,
  price,
  ...more
})

const REASON = /"reason":"(\w+)"/u
const ORDER_ID = /"order_id":"([^"]+)"/u
const reasonOf = ({ status, text }: Answered): string => REASON.exec(text)?.[1] ?? String(status)
const always = () => true

/** Sides of crossing orders: one half of the users buys while the other one sells, and they change together. */
class Sides {
  private readonly users: number
  private sent = 0
  /** Accepted buy orders without accepted sell orders. */
  private lead = 0

  constructor(users: number) {
    this.users = users
  }

  next(index: number): "Buy" | "Sell" {
    if (Math.abs(this.lead) > LEAD_MAX) return this.lead > 0 ? "Sell" : "Buy"
    const turn = Math.floor(this.sent++ / (ORDERS_A_SIDE * this.users))
    return (index + turn) % 2 === 0 ? "Buy" : "Sell"
  }

  accepted(side: "Buy" | "Sell"): void {
    this.lead += side === "Buy" ? 1 : -1
  }
}

/** Sends crossing orders of one user. */
const crosser = (
  port: number,
  user: User,
  index: number,
  sides: Sides,
  { mayRequest = always, onAccepted, seen }: Reported
): Caller => {
  let side: "Buy" | "Sell" = "Buy"
  return new Caller(
    port,
    () => {
      if (!mayRequest()) return undefined
      side = sides.next(index)
      return request("create", user, limitOrder(user, side, PRICE, BOTH))
    },
    (answered) => {
      if (answered?.status === 200) {
        sides.accepted(side)
        seen.order(answered.ms)
        onAccepted?.(ORDER_ID.exec(answered.text)![1]!)
      } else seen.refusal("order", answered === undefined ? "lost" : reasonOf(answered), answered?.ms)
    }
  )
}

/** Rests an order and cancels it, again and again. */
const rester = (port: number, user: User, { mayRequest = always, onAccepted, seen }: Reported): Caller => {
  let order_id: string | undefined
  return new Caller(
    port,
    () => {
      if (!mayRequest()) return undefined
      return order_id === undefined
        ? request("create", user, limitOrder(user, "Buy", FAR))
        : request("cancel", user, { sub_account_address: user.vault, symbol: SYMBOL, order_id })
    },
    (answered) => {
      const of = order_id === undefined ? "order" : "cancel"
      if (answered?.status !== 200) {
        seen.refusal(of, answered === undefined ? "lost" : reasonOf(answered), answered?.ms)
        // an earlier request, whose answer was lost, canceled it
        if (answered !== undefined && answered.status < 500 && answered.status !== 429) order_id = undefined
        return
      }
      if (of === "order") {
        seen.order(answered.ms)
        order_id = ORDER_ID.exec(answered.text)![1]!
        onAccepted?.(order_id)
      } else {
        seen.cancel(answered.ms)
        order_id = undefined
      }
    }
  )
}

/** The callers of the load, two of each user in turn. */
export const callersOf = (
  {
    callers,
    kind = "mix",
    port,
    users
  }: {
    readonly callers: number
    readonly kind?: Kind | undefined
    readonly port: number
    readonly users: ReadonlyArray<User>
  },
  reported: Reported
): ReadonlyArray<Caller> => {
  const sides = new Sides(users.length)
  return Array.from({ length: callers }, (_, i) => {
    const index = (i >> 1) % users.length
    const user = users[index]!
    const isCrossing = kind === "fill" || (kind === "mix" && i % 2 === 0)
    return isCrossing ? crosser(port, user, index, sides, reported) : rester(port, user, reported)
  })
}
