/** Orders of load clients, and the histories that must hold each once. */
import type { Agent } from "node:http"
import { bodyOf, inWords, send } from "../harness/HttpRequest.ts"
import { SYMBOL, type Trader } from "../harness/Trader.ts"
import { sleep } from "../harness/Wait.ts"

const PAGE = 200
/** Most attempts of a request that must succeed, and the pause between two, in ms. */
export const TRIES_MAX = 600
const PAUSE_MS = 100
export const pause = (): Promise<void> => sleep(PAUSE_MS)

export const CREATE = "/api/v1/order/create"

/** An order that finds no counterparty and does not rest, so that any number of them is possible. */
export const orderOf = (sub_account_address: string, order_link_id: string): string =>
  JSON.stringify({
    sub_account_address,
    symbol: SYMBOL,
    side: "Buy",
    order_type: "Limit",
    qty: "0.001",
    price: "58000",
    time_in_force: "IOC",
    order_link_id
  })

interface Row {
  readonly order_id: string
  readonly order_link_id?: string
}

/** All orders of a user whose `order_link_id` has this prefix, by the history. */
const historyOf = async (
  agent: Agent,
  url: string,
  { token, vault }: Pick<Trader, "token" | "vault">,
  prefix: string
): Promise<ReadonlyArray<Row>> => {
  const all: Array<Row> = []
  let cursor = ""
  for (let tries = 0; ;) {
    const query = `sub_account_address=${vault}&limit=${PAGE}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
    const outcome = await send(url, { method: "GET", path: `/api/v1/order/history?${query}`, token }, { agent })
    if (outcome.status !== 200) {
      if (++tries > TRIES_MAX) throw new Error(`the history: ${inWords(outcome)}`)
      await pause()
      continue
    }
    const page: { readonly list: ReadonlyArray<Row>; readonly next_page_cursor: string } = JSON.parse(outcome.text)
    all.push(...page.list.filter(({ order_link_id }) => order_link_id?.startsWith(prefix)))
    cursor = page.next_page_cursor
    if (cursor === "") return all
  }
}

export interface HistoryCounts {
  /** Orders in the histories of all users. */
  readonly orders: number
  readonly missing: number
  readonly twice: number
  /** Orders under another id than the one that was answered, or that nobody sent. */
  readonly other: number
}

/** Compares the histories of users with the ids that they were answered, by `order_link_id`. */
export const compareHistories = async (
  agent: Agent,
  url: string,
  traders: ReadonlyArray<Trader>,
  answered: ReadonlyArray<ReadonlyMap<string, string>>,
  prefix: string
): Promise<HistoryCounts> => {
  let [orders, missing, twice, other] = [0, 0, 0, 0]
  for (const [i, trader] of traders.entries()) {
    const ids = answered[i]!
    let rows = await historyOf(agent, url, trader, prefix)
    // the read model may lag behind the last orders
    for (let tries = 0; rows.length < ids.size && tries < TRIES_MAX; tries++) {
      await pause()
      rows = await historyOf(agent, url, trader, prefix)
    }
    const found = new Map(rows.map(({ order_id, order_link_id }) => [order_link_id, order_id]))
    orders += rows.length
    twice += rows.length - found.size
    missing += [...ids.keys()].filter((link) => !found.has(link)).length
    other += [...found].filter(([link, id]) => ids.get(link!) !== id).length
  }
  return { orders, missing, twice, other }
}

/** Places an order and returns its id. Repeats the request, under the same `order_link_id`, until an answer holds the id. */
export const placed = async (agent: Agent, url: string, { token, vault }: Trader, link: string): Promise<string> => {
  for (let tries = 0; ; tries++) {
    const body = orderOf(vault, link)
    const outcome = await send(url, { method: "POST", path: CREATE, token, body }, { agent })
    const { details, order_id } = bodyOf(outcome)
    const id = order_id ?? details?.order_id
    if (id !== undefined) return id
    if (tries > TRIES_MAX) throw new Error(`order ${link}: ${inWords(outcome)}`)
    await pause()
  }
}
