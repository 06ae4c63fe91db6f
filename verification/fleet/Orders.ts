/** What load clients share: users, an order that never rests, and all that the history tells of a user. */
import { Effect, Schedule } from "effect"
import type { Agent } from "node:http"
import { SYMBOL } from "../streams/Follower.ts"
import { enlist, type Trader } from "../harness/Trader.ts"
import { ask, inWords, told } from "./Ask.ts"

const PAGE = 200
/** How often something is asked again that was not answered, and the pause before, in ms. */
export const TRIES_MAX = 600
const PAUSE_MS = 100

export const pause = (ms = PAUSE_MS) => new Promise((resolve) => setTimeout(resolve, ms))

/** Requests that a busy machine did not answer in time are made again. */
const PATIENT = { times: 40, schedule: Schedule.spaced("500 millis") }
const ENLISTING_MAX = 4

/** Users with money, and a key that may trade. */
export const enlistAll = (url: string, count: number): Promise<ReadonlyArray<Trader>> =>
  Effect.runPromise(
    Effect.all(
      Array.from({ length: count }, () => Effect.retry(enlist(url, ["read", "trade"]), PATIENT)),
      { concurrency: ENLISTING_MAX }
    )
  )

/** An order that finds nothing to buy and is over at once, so that there may be any number of them. */
export const bodyOf = (sub_account_address: string, order_link_id: string): string =>
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

/** All orders of a user whose reference begins with this, as the history tells them. */
export const historyOf = async (
  agent: Agent,
  url: string,
  { token, vault }: Trader,
  prefix: string
): Promise<ReadonlyArray<Row>> => {
  const all: Array<Row> = []
  let cursor = ""
  for (let tries = 0; ;) {
    const query = `sub_account_address=${vault}&limit=${PAGE}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
    const outcome = await ask(agent, url, {
      method: "GET",
      path: `/api/v1/order/history?${query}`,
      headers: { authorization: `Bearer ${token}` }
    })
    if ("lost" in outcome || outcome.status !== 200) {
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

export interface Counted {
  /** Orders in the histories of all users. */
  readonly orders: number
  readonly missing: number
  readonly twice: number
  /** Orders whose id is not the one that was answered, or that nobody asked for. */
  readonly other: number
}

/** Holds the histories of users against the ids that they were answered, by reference; waits until each has as many orders. */
export const count = async (
  agent: Agent,
  url: string,
  traders: ReadonlyArray<Trader>,
  answered: ReadonlyArray<ReadonlyMap<string, string>>,
  prefix: string
): Promise<Counted> => {
  let [orders, missing, twice, other] = [0, 0, 0, 0]
  for (const [i, trader] of traders.entries()) {
    const ids = answered[i]!
    let rows = await historyOf(agent, url, trader, prefix)
    // the read models may lag behind the last orders
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

/** Places an order and answers its id, however often it has to be asked for. */
export const placed = async (agent: Agent, url: string, { token, vault }: Trader, link: string): Promise<string> => {
  for (let tries = 0; ; tries++) {
    const outcome = await ask(agent, url, {
      method: "POST",
      path: "/api/v1/order/create",
      headers: { authorization: `Bearer ${token}` },
      body: bodyOf(vault, link)
    })
    const { details, order_id } = "lost" in outcome ? {} : told(outcome.text)
    const id = order_id ?? details?.order_id
    if (id !== undefined) return id
    if (tries > TRIES_MAX) throw new Error(`order ${link}: ${inWords(outcome)}`)
    await pause()
  }
}
