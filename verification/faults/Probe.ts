/** Callers who ask at a steady pace, whatever becomes of what they asked before, and what they were answered. */
import * as Wallet from "../../src/client/Wallet.ts"
import type { Trader } from "../harness/Trader.ts"
import { type Answered, ask, loginOf, signature } from "./Ask.ts"
import { sleep } from "../harness/Wait.ts"

/** Wallets that log in, one after the other: each may do so ten times a minute. */
const WALLETS = 40
/** Requests of a kind that wait for their answers; more are not made. */
const UNDER_WAY_MAX = 100

export interface Sample {
  readonly began: number
  readonly ms: number
  readonly status: number
  readonly reason: string
}

const ME = "/api/v1/user/me"

/** The kinds of calls, by what they need besides the gateway. */
export const calls = ["market read", "order", "cancel", "history", "positions", "API key", "login", "/ready"] as const
export type Call = (typeof calls)[number]

export class Probe {
  readonly samples: Readonly<Record<Call, Array<Sample>>> = {
    "market read": [],
    order: [],
    cancel: [],
    history: [],
    positions: [],
    "API key": [],
    login: [],
    "/ready": []
  }
  /** Orders that were acknowledged: ids by the caller's own reference. */
  readonly acknowledged = new Map<string, string>()
  /** Signatures that were taken a second time. */
  repeated = 0
  private readonly url: string
  private readonly trader: Trader
  private readonly every_ms: number
  private readonly wallets = Array.from({ length: WALLETS }, () => Wallet.generate().wallet)
  private addresses = 0
  private readonly underWay: Array<Set<Promise<void>>> = []
  private links = 0
  private isOver = false
  /** A signature that was taken. */
  private spent: Readonly<Record<string, string>> | undefined

  /** `every_ms`: pause between two requests of a kind. */
  constructor(url: string, trader: Trader, every_ms: number) {
    this.url = url
    this.trader = trader
    this.every_ms = every_ms
  }

  /** Somebody else each time: logins and failures are counted by address. */
  private elsewhere(): Record<string, string> {
    const n = this.addresses++
    return { "x-forwarded-for": `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}` }
  }

  private async order(): Promise<Answered> {
    const order_link_id = `f-${this.links++}`
    const { token, vault } = this.trader
    // one that finds nobody and does not stay
    const order = { symbol: "BTC-USDC", side: "Buy", order_type: "Limit", qty: "0.001", price: "58000" }
    const body = { sub_account_address: vault, order_link_id, time_in_force: "IOC", ...order }
    const answer = await ask(this.url, "POST", "/api/v1/order/create", { token, body })
    if (answer.status === 200) this.acknowledged.set(order_link_id, answer.body.order_id ?? "")
    return answer
  }
  private async signed(): Promise<Answered> {
    const before = this.spent
    const headers = signature(this.trader.key, "GET", ME)
    const answer = await ask(this.url, "GET", ME, { headers })
    if (answer.status === 200) this.spent = headers
    if (before === undefined) return answer
    const again = await ask(this.url, "GET", ME, { headers: { ...before, ...this.elsewhere() } })
    if (again.status === 200) this.repeated++
    return answer
  }
  private read(path: string, token?: string): Promise<Answered> {
    return ask(this.url, "GET", path, token === undefined ? {} : { token })
  }
  private readonly asking: Readonly<Record<Call, () => Promise<Answered>>> = {
    "market read": () => this.read("/api/v1/market/tickers?symbol=BTC-USDC"),
    order: () => this.order(),
    cancel: () => {
      const body = { sub_account_address: this.trader.vault, symbol: "ETH-USDC" }
      return ask(this.url, "POST", "/api/v1/order/cancel-all", { token: this.trader.token, body })
    },
    history: () => this.read("/api/v1/order/history?limit=1", this.trader.token),
    positions: () => this.read("/api/v1/position/list", this.trader.token),
    "API key": () => this.signed(),
    login: () => {
      const body = loginOf(this.wallets[this.addresses % WALLETS]!)
      return ask(this.url, "POST", "/api/v1/authorize", { headers: this.elsewhere(), body })
    },
    "/ready": () => this.read("/ready")
  }

  private async one(call: Call): Promise<void> {
    const began = performance.now()
    const { body, ms, status } = await this.asking[call]()
    this.samples[call].push({ began, ms, status, reason: body.details?.reason ?? "" })
  }
  /** Asks until {@link end}. */
  begin(): void {
    for (const call of calls) {
      const underWay = new Set<Promise<void>>()
      this.underWay.push(underWay)
      const pace = async () => {
        while (!this.isOver) {
          if (underWay.size < UNDER_WAY_MAX) {
            const one = this.one(call)
            underWay.add(one)
            void one.finally(() => underWay.delete(one))
          }
          await sleep(this.every_ms)
        }
      }
      void pace()
    }
  }
  /** Asks no more, and waits for what was asked. */
  async end(): Promise<void> {
    this.isOver = true
    await Promise.all(this.underWay.flatMap((some) => [...some]))
  }
}
