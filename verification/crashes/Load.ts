/** Callers who trade with each other while processes die, and record every answer. */
import { Agent } from "node:http"
import { bodyOf, type Outcome, send } from "../harness/HttpRequest.ts"
import { pick, type Random } from "../harness/Random.ts"
import { PRICES, SYMBOL, type Trader } from "../harness/Trader.ts"
import { sleep, until } from "../harness/Wait.ts"
import type { Answered, HeldFill, HeldOrder, SentOrder } from "./OrderChecker.ts"

/** Pause of a caller after another answer than 200, in ms. */
const AWAY_MS = 25
/** Longest wait for an answer, in ms: far above every deadline of the gateway. */
const ANSWER_MS = 15_000
const PAGE = 200

/** The meaning of an answer to a new order. */
export const answeredBy = (outcome: Outcome): Answered => {
  const { details, order_id } = bodyOf(outcome)
  const { status } = outcome
  if (status === 200 && order_id !== undefined) return { as: "acknowledged", order_id }
  if (details?.reason === "DuplicateOrderLinkId" && details.order_id !== undefined)
    return { as: "repeated", order_id: details.order_id }
  if (status === 0 || status === 500 || details?.outcome === "unknown") return { as: "unknown" }
  return { as: "refused", reason: details?.reason ?? String(status) }
}

export class Load {
  /** The orders of this round. */
  sent: Array<SentOrder> = []
  private readonly url: string
  private readonly next: Random
  private readonly agent = new Agent({ keepAlive: true })
  private isOver = false
  private links = 0

  constructor(url: string, next: Random) {
    this.url = url
    this.next = next
  }

  private send(request: Parameters<typeof send>[1]): Promise<Outcome> {
    return send(this.url, request, { agent: this.agent, limit_ms: ANSWER_MS })
  }
  private post(trader: Trader, path: string, fields: object): Promise<Outcome> {
    const body = { sub_account_address: trader.vault, symbol: SYMBOL, ...fields }
    return this.send({ method: "POST", path: `/api/v1/order/${path}`, token: trader.token, body })
  }
  private create(trader: Trader, order: object): Promise<Outcome> {
    return this.post(trader, "create", { order_type: "Limit", qty: "0.001", ...order })
  }

  /** Creates and cancels until the round is over. Returns how to settle the orders of unknown fate. */
  private async call(trader: Trader): Promise<ReadonlyArray<() => Promise<void>>> {
    const open: Array<() => Promise<void>> = []
    while (!this.isOver) {
      const order_link_id = `k-${this.links++}`
      const order = { order_link_id, side: pick(this.next, ["Buy", "Sell"]), price: pick(this.next, PRICES) }
      const sent: SentOrder = { link: order_link_id, answers: [], canceled: false }
      this.sent.push(sent)
      const answer = answeredBy(await this.create(trader, order))
      sent.answers.push(answer)
      if (answer.as === "unknown") open.push(() => this.settle(trader, order, sent))
      if (answer.as !== "acknowledged") await sleep(AWAY_MS)
      else if (this.next() < 0.5) sent.canceled = (await this.post(trader, "cancel", { order_link_id })).status === 200
    }
    return open
  }

  /** Repeats an order of unknown fate, under the same `order_link_id`, until an answer states its fate. */
  private async settle(trader: Trader, order: object, sent: SentOrder): Promise<void> {
    await until(`the fate of ${sent.link}`, async () => {
      const answer = answeredBy(await this.create(trader, order))
      sent.answers.push(answer)
      return answer.as === "acknowledged" || answer.as === "repeated"
    })
  }

  /** Begins a round. `end` waits for the callers and returns how to settle the orders of unknown fate. */
  begin(traders: ReadonlyArray<Trader>, each: number): { readonly end: () => Promise<() => Promise<void>> } {
    this.sent = []
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

  /** Cancels every open order of a user. */
  async clear(trader: Trader): Promise<void> {
    await until("all orders are canceled", async () => (await this.post(trader, "cancel-all", {})).status === 200)
  }

  /** A whole list of a user, page after page. A refused page is requested again. */
  private async all<A>(trader: Trader, path: string): Promise<ReadonlyArray<A>> {
    const all: Array<A> = []
    for (let cursor = ""; ;) {
      const page = `/api/v1/${path}&limit=${PAGE}${cursor === "" ? "" : `&cursor=${cursor}`}`
      const { list, next_page_cursor } = await until(page, async () => {
        const outcome = await this.send({ method: "GET", path: page, token: trader.token })
        return outcome.status === 200 && bodyOf(outcome)
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
