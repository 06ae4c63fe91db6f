/** Users who trade with the plain client over connections that are cut, and check the fate of each order. */
import { connect, type Exchange, ExchangeError } from "../../src/sdk/index.ts"
import { pick } from "../harness/Random.ts"
import { PRICES, SYMBOL, type Trader } from "../harness/Trader.ts"
import { sleep } from "../harness/Wait.ts"
import type { Findings } from "../streams/StreamChecker.ts"

/** Mean pause between two commands, in ms. */
const PAUSE_MS = 100
/** Attempts and time, in ms, after which the client reports that the fate of an order is unknown. */
const LIMITS = { tries_max: 40, patience_ms: 600_000 }

/** The id of an order by its caller; `undefined`: it was refused, `null`: its fate is unknown. */
type Belief = string | undefined | null

export class SdkTrader {
  readonly name: string
  readonly trader: Trader
  /** Requests without an answer. */
  unanswered = 0
  /** By `order_link_id`. */
  readonly orders = new Map<string, Belief>()
  isBusy = false
  private readonly next: () => number
  private exchange: Exchange | undefined

  constructor(name: string, trader: Trader, next: () => number) {
    this.name = name
    this.trader = trader
    this.next = next
  }

  /** Connects through a proxy. */
  async connect(url: string, signal: AbortSignal): Promise<void> {
    const { key } = this.trader
    this.exchange = await connect({
      url,
      signal,
      key: { public_key: key.public_key, sign: async (text) => key.sign(text) },
      limits: LIMITS,
      environment: {
        fetch: (target, init) =>
          fetch(target, init).catch((error: unknown) => {
            this.unanswered++
            throw error
          })
      }
    })
  }

  /** Sends commands while `isOpen`, until the signal aborts. */
  async trade(isOpen: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (isOpen()) {
        this.isBusy = true
        await this.command().catch((error: unknown) => {
          if (!(error instanceof ExchangeError)) throw error
        })
        this.isBusy = false
      }
      await sleep(this.next() * 2 * PAUSE_MS)
    }
  }

  private async command(): Promise<unknown> {
    const { next, trader } = this
    const { order } = this.exchange!
    const market = { sub_account_address: trader.vault, symbol: SYMBOL }
    const kind = next()
    if (kind < 0.1) return order.cancelAll(market)
    const made = () => ({
      ...market,
      side: next() < 0.5 ? ("Buy" as const) : ("Sell" as const),
      order_type: "Limit" as const,
      qty: "0.001",
      price: pick(next, PRICES),
      time_in_force: kind < 0.3 ? ("IOC" as const) : ("GTC" as const),
      order_link_id: `${this.name}-${this.orders.size}`
    })
    if (kind < 0.85) {
      const one = made()
      this.orders.set(one.order_link_id, null)
      return this.believe(one.order_link_id, async () => (await order.create(one)).order_id)
    }
    const several = Array.from({ length: 3 }, () => {
      const one = made()
      this.orders.set(one.order_link_id, null)
      return one
    })
    const { list } = await order.createBatch({ orders: several })
    for (const [i, { code, order_id }] of list.entries())
      this.orders.set(several[i]!.order_link_id, code === "OK" ? order_id : undefined)
    return list
  }

  private async believe(order_link_id: string, place: () => Promise<string>): Promise<void> {
    try {
      this.orders.set(order_link_id, await place())
    } catch (error) {
      if (error instanceof ExchangeError && error.outcome === "refused") this.orders.set(order_link_id, undefined)
      throw error
    }
  }

  /** Compares the caller's beliefs with the whole history, read over `direct`. */
  audit(direct: Exchange, findings: Findings): Promise<void> {
    return auditOrders(this.name, this.orders, direct, findings)
  }
}

/** Compares what a trader believes of its orders, by `order_link_id`, with its whole history, read over `direct`. */
export const auditOrders = async (
  name: string,
  orders: ReadonlyMap<string, Belief>,
  direct: Exchange,
  findings: Findings
): Promise<void> => {
  const found = new Map<string, Array<string>>()
  for (let cursor = ""; ;) {
    const page = await direct.order.history({ limit: 200, ...(cursor === "" ? {} : { cursor }) })
    for (const { order_id, order_link_id = "" } of page.list)
      found.set(order_link_id, [...(found.get(order_link_id) ?? []), order_id])
    cursor = page.next_page_cursor
    if (cursor === "") break
  }
  for (const [link, ids] of found) {
    if (!orders.has(link)) findings.wrong(`${name}: order ${ids.join()} by ${link}, which it never sent`)
    if (ids.length > 1) findings.wrong(`${name}: ${link} was placed ${ids.length} times`)
  }
  for (const [link, belief] of orders) {
    if (belief !== null && found.get(link)?.[0] !== belief)
      findings.wrong(`${name}: ${link} is ${found.get(link)?.[0]}, and the answer was ${belief}`)
  }
}
