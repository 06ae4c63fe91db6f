/**
 * Load client: requests through the balancer at a steady pace, most of them reads of markets and of own lists, a few orders.
 * Each must be answered 200; the report lists those that were not, with their times.
 */
import { Agent } from "node:http"
import { inWords, type Request, send } from "../harness/HttpRequest.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { pick, random } from "../harness/Random.ts"
import { percentile } from "../harness/Statistics.ts"
import { nextCommand, SYMBOL } from "../harness/Trader.ts"

/** The user of a request. */
export interface User {
  readonly token: string
  readonly vault: string
}
export interface Options {
  readonly url: string
  readonly users: ReadonlyArray<User>
  /** Requests a second; fewer while {@link IN_FLIGHT_MAX} answers are pending. */
  readonly pace: number
  readonly seed: number
}
/** A request that was not answered 200; times by the clock of the machine, in ms. */
export interface Failed {
  readonly id: string
  readonly what: string
  readonly sent_ms: number
  readonly ended_ms: number
}
export interface Report {
  readonly sent: number
  readonly answered: number
  readonly orders: number
  readonly failed: ReadonlyArray<Failed>
  readonly seconds: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}
export interface Calls extends AnyCalls {
  readonly start: (options: Options) => Promise<void>
  /** Ends the load, waits for the last answers and reports. */
  readonly stop: (nothing: null) => Promise<Report>
}

/** Most pending requests. */
const IN_FLIGHT_MAX = 512
/** Shares of all requests: orders, and reads of markets; the others read own lists. */
const ORDERS = 0.04
const MARKETS = 0.56
const STEP_MS = 5
/** An idle connection is closed after so long, in ms: earlier than by the balancer, whose close could cross a request. */
const IDLE_MS = 15_000
/** Latencies that are kept. */
const SAMPLES_MAX = 2_000_000

const markets = [
  `/market/orderbook?symbol=${SYMBOL}&depth=50`,
  `/market/tickers?symbol=${SYMBOL}`,
  `/market/recent-trade?symbol=${SYMBOL}`
]
const own = [
  "/order/realtime?limit=50",
  "/order/history?limit=20",
  "/execution/list?limit=20",
  "/position/list",
  "/account/balances"
]

const next = (chance: () => number, users: ReadonlyArray<User>): Request => {
  const kind = chance()
  if (kind < ORDERS) {
    const { token, vault } = pick(chance, users)
    const { name, payload } = nextCommand(vault, chance)
    return {
      method: "POST",
      path: `/api/v1/order/${name}`,
      token,
      body: payload
    }
  }
  if (kind < ORDERS + MARKETS) return { method: "GET", path: `/api/v1${pick(chance, markets)}` }
  const { token } = pick(chance, users)
  return { method: "GET", path: `/api/v1${pick(chance, own)}`, token }
}

/** Sends until the returned function is called. */
const load = ({ pace, seed, url, users }: Options): (() => Promise<Report>) => {
  const chance = random(seed)
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT_MAX, timeout: IDLE_MS })
  const began = performance.now()
  const latencies: Array<number> = []
  const failed: Array<Failed> = []
  const inFlight = new Set<Promise<void>>()
  let [due, sent, answered, orders] = [0, 0, 0, 0]

  const one = async (): Promise<void> => {
    const request = next(chance, users)
    const id = `${process.pid}-${++sent}`
    if (request.method === "POST") orders++
    const sent_ms = Date.now()
    const outcome = await send(url, { ...request, headers: { "x-request-id": id } }, { agent })
    if (latencies.length < SAMPLES_MAX) latencies.push(outcome.ms)
    if (outcome.status === 200) answered++
    else failed.push({ id, what: `${request.method} ${inWords(outcome)}`, sent_ms, ended_ms: Date.now() })
  }
  let last = began
  const timer = setInterval(() => {
    const now = performance.now()
    // requests that were not sent in time are dropped
    due = Math.min(due + ((now - last) * pace) / 1_000, pace)
    last = now
    for (; due >= 1 && inFlight.size < IN_FLIGHT_MAX; due--) {
      const pending = one().finally(() => inFlight.delete(pending))
      inFlight.add(pending)
    }
  }, STEP_MS)
  return async () => {
    clearInterval(timer)
    const seconds = (performance.now() - began) / 1_000
    await Promise.all(inFlight)
    agent.destroy()
    const at = (share: number) => percentile(latencies, share)
    return { sent, answered, orders, failed, seconds, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) }
  }
}

let stop: () => Promise<Report> = () => Promise.reject(new Error("the load was not started"))
serve({
  start: async (options) => {
    stop = load(options)
  },
  stop: () => stop()
} satisfies Calls)
