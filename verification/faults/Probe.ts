/** Callers at a steady pace, independent of pending answers, and what they are answered. */
import { Agent } from "node:http"
import * as Wallet from "../../src/client/Wallet.ts"
import { loginOf, signedHeaders } from "../harness/Credentials.ts"
import { bodyOf, type Outcome, type Request, send } from "../harness/HttpRequest.ts"
import type { Trader } from "../harness/Trader.ts"
import { sleep } from "../harness/Wait.ts"

/** Wallets that sign in by turns: each may do so ten times a minute. */
const WALLETS = 40
/** Most pending requests of a kind; beyond them none is sent. */
const PENDING_MAX = 100
/** Longest wait for an answer, in ms: far above every deadline of the gateway. */
export const HANG_MS = 15_000

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
  /** Acknowledged orders: ids by `order_link_id`. */
  readonly acknowledged = new Map<string, string>()
  /** Signatures that were accepted twice. */
  repeated = 0
  private readonly url: string
  private readonly trader: Trader
  private readonly every_ms: number
  private readonly agent = new Agent({ keepAlive: true })
  private readonly wallets = Array.from({ length: WALLETS }, () => Wallet.generate().wallet)
  private addresses = 0
  private readonly pending: Array<Set<Promise<void>>> = []
  private links = 0
  private isOver = false
  /** The last accepted signature. */
  private spent: Readonly<Record<string, string>> | undefined

  /** `every_ms`: pause between two requests of a kind. */
  constructor(url: string, trader: Trader, every_ms: number) {
    this.url = url
    this.trader = trader
    this.every_ms = every_ms
  }

  private send(request: Request): Promise<Outcome> {
    return send(this.url, request, { agent: this.agent, limit_ms: HANG_MS })
  }
  private read(path: string, token?: string): Promise<Outcome> {
    return this.send({ method: "GET", path, ...(token === undefined ? {} : { token }) })
  }
  /** Another client address each time: sign-ins and failures are limited by address. */
  private nextAddress(): Record<string, string> {
    const n = this.addresses++
    return { "x-forwarded-for": `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}` }
  }

  private async order(): Promise<Outcome> {
    const order_link_id = `f-${this.links++}`
    const { token, vault } = this.trader
    // it finds no counterparty and does not rest
    const order = { symbol: "BTC-USDC", side: "Buy", order_type: "Limit", qty: "0.001", price: "58000" }
    const body = { sub_account_address: vault, order_link_id, time_in_force: "IOC", ...order }
    const outcome = await this.send({ method: "POST", path: "/api/v1/order/create", token, body })
    if (outcome.status === 200) this.acknowledged.set(order_link_id, bodyOf(outcome).order_id ?? "")
    return outcome
  }
  private async signed(): Promise<Outcome> {
    const before = this.spent
    const headers = signedHeaders(this.trader.key, "GET", ME)
    const outcome = await this.send({ method: "GET", path: ME, headers })
    if (outcome.status === 200) this.spent = headers
    if (before === undefined) return outcome
    const again = await this.send({ method: "GET", path: ME, headers: { ...before, ...this.nextAddress() } })
    if (again.status === 200) this.repeated++
    return outcome
  }
  private readonly senders: Readonly<Record<Call, () => Promise<Outcome>>> = {
    "market read": () => this.read("/api/v1/market/tickers?symbol=BTC-USDC"),
    order: () => this.order(),
    cancel: () => {
      const body = { sub_account_address: this.trader.vault, symbol: "ETH-USDC" }
      return this.send({ method: "POST", path: "/api/v1/order/cancel-all", token: this.trader.token, body })
    },
    history: () => this.read("/api/v1/order/history?limit=1", this.trader.token),
    positions: () => this.read("/api/v1/position/list", this.trader.token),
    "API key": () => this.signed(),
    login: () => {
      const body = loginOf(this.wallets[this.addresses % WALLETS]!)
      return this.send({ method: "POST", path: "/api/v1/authorize", headers: this.nextAddress(), body })
    },
    "/ready": () => this.read("/ready")
  }

  private async one(call: Call): Promise<void> {
    const began = performance.now()
    const outcome = await this.senders[call]()
    const { ms, status } = outcome
    this.samples[call].push({ began, ms, status, reason: bodyOf(outcome).details?.reason ?? "" })
  }
  /** Sends until {@link end}. */
  begin(): void {
    for (const call of calls) {
      const pending = new Set<Promise<void>>()
      this.pending.push(pending)
      const pace = async () => {
        while (!this.isOver) {
          if (pending.size < PENDING_MAX) {
            const one = this.one(call)
            pending.add(one)
            void one.finally(() => pending.delete(one))
          }
          await sleep(this.every_ms)
        }
      }
      void pace()
    }
  }
  /** Stops sending and waits for pending answers. */
  async end(): Promise<void> {
    this.isOver = true
    await Promise.all(this.pending.flatMap((some) => [...some]))
    this.agent.destroy()
  }
}
