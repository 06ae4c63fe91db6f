/** Callers who trade with each other while processes die, and write down what they were told of every order. */
import { type Answered, ask } from "../faults/Ask.ts"
import { sleep, until } from "../harness/Wait.ts"
import type { Trader } from "../harness/Trader.ts"
import { pick, type Random } from "../harness/SimulatedUsers.ts"
import type { Attempt, HeldFill, HeldOrder, Told } from "./OrderChecker.ts"

const SYMBOL = "BTC-USDC"
const PRICES = ["59990", "59995", "60000", "60005", "60010"]
/** Pause of a caller who was not answered 200, in ms. */
const AWAY_MS = 25
/** Longest wait for a gateway to carry out what it refused, in ms: it reads, connects and calls itself well before. */
const BACK_MS = 60_000
const PAGE = 200

/** What an answer to a new order says of it. */
export const toldBy = ({ body, status }: Answered): Told => {
  const { details, order_id } = body
  if (status === 200 && order_id !== undefined) return { as: "acknowledged", order_id }
  if (details?.reason === "DuplicateOrderLinkId" && details.order_id !== undefined)
    return { as: "repeated", order_id: details.order_id }
  if (status === 0 || status === 500 || details?.outcome === "unknown") return { as: "unknown" }
  return { as: "refused", reason: details?.reason ?? String(status) }
}

export class Load {
  /** Of this round. */
  attempts: Array<Attempt> = []
  private readonly url: string
  private readonly next: Random
  private isOver = false
  private links = 0

  constructor(url: string, next: Random) {
    this.url = url
    this.next = next
  }

  private post(trader: Trader, path: string, fields: object): Promise<Answered> {
    const body = { sub_account_address: trader.vault, symbol: SYMBOL, ...fields }
    return ask(this.url, "POST", `/api/v1/order/${path}`, { token: trader.token, body })
  }
  private create(trader: Trader, order: object): Promise<Answered> {
    return this.post(trader, "create", { order_type: "Limit", qty: "0.001", ...order })
  }

  /** Creates and cancels until the round is over. Answers what is left to be settled: attempts of unknown fate. */
  private async call(trader: Trader): Promise<ReadonlyArray<() => Promise<void>>> {
    const open: Array<() => Promise<void>> = []
    while (!this.isOver) {
      const order_link_id = `k-${this.links++}`
      const order = { order_link_id, side: pick(this.next, ["Buy", "Sell"]), price: pick(this.next, PRICES) }
      const attempt: Attempt = { link: order_link_id, told: [], canceled: false }
      this.attempts.push(attempt)
      const told = toldBy(await this.create(trader, order))
      attempt.told.push(told)
      if (told.as === "unknown") open.push(() => this.settle(trader, order, attempt))
      if (told.as !== "acknowledged") await sleep(AWAY_MS)
      else if (this.next() < 0.5)
        attempt.canceled = (await this.post(trader, "cancel", { order_link_id })).status === 200
    }
    return open
  }

  /** Sends an order of unknown fate again, under the same reference, until somebody knows. */
  private settle(trader: Trader, order: object, attempt: Attempt): Promise<void> {
    return until(`${attempt.link} settled`, BACK_MS, async () => {
      const told = toldBy(await this.create(trader, order))
      attempt.told.push(told)
      return told.as === "acknowledged" || told.as === "repeated" ? true : undefined
    }).then(() => {})
  }

  /** Begins a round; `end` lets the callers finish and answers how to settle what is unknown. */
  begin(traders: ReadonlyArray<Trader>, each: number): { readonly end: () => Promise<() => Promise<void>> } {
    this.attempts = []
    this.isOver = false
    const callers = traders.flatMap((trader) => Array.from({ length: each }, () => this.call(trader)))
    return {
      end: async () => {
        this.isOver = true
        const open = (await Promise.all(callers)).flat()
        return async () => {
          for (const settle of open) await settle()
        }
      }
    }
  }

  /** Takes every open order of a user off the book. */
  async clear(trader: Trader): Promise<void> {
    await until("all canceled", BACK_MS, async () =>
      (await this.post(trader, "cancel-all", {})).status === 200 ? true : undefined
    )
  }

  /** A whole list of a user's, page after page, asked again where it is refused. */
  private async all<A>(trader: Trader, path: string): Promise<ReadonlyArray<A>> {
    const all: Array<A> = []
    for (let cursor = ""; ;) {
      const page = `/api/v1/${path}&limit=${PAGE}${cursor === "" ? "" : `&cursor=${cursor}`}`
      const { list, next_page_cursor } = await until(page, BACK_MS, async () => {
        const { body, status } = await ask(this.url, "GET", page, { token: trader.token })
        return status === 200 ? body : undefined
      })
      all.push(...((list ?? []) as unknown as ReadonlyArray<A>))
      cursor = next_page_cursor ?? ""
      if (cursor === "") return all
    }
  }

  /** The orders and fills of a user since a time, Unix ms. */
  async held(trader: Trader, since_ms: number): Promise<readonly [ReadonlyArray<HeldOrder>, ReadonlyArray<HeldFill>]> {
    const orders = await this.all<HeldOrder>(trader, `order/history?start_time=${since_ms}`)
    return [orders, await this.all<HeldFill>(trader, `execution/list?start_time=${since_ms}`)]
  }
}
