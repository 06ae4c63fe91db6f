/**
 * Load client: requests through the balancer at a steady pace, most of them reads of markets and of own lists, a few orders.
 * Each of them is to be answered 200; what is not is told, with when it was sent.
 */
import { Agent } from "node:http"
import { pick, random } from "../harness/SimulatedUsers.ts"
import { SYMBOL } from "../streams/Follower.ts"
import { nextCommand } from "../harness/Trader.ts"
import { ask, type Asked, inWords } from "./Ask.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"

/** Whom requests are sent for. */
export interface User {
  readonly token: string
  readonly vault: string
}
export interface Options {
  readonly url: string
  readonly users: ReadonlyArray<User>
  /** Requests a second; fewer where more than {@link IN_FLIGHT_MAX} are not answered yet. */
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
  /** Ends the load, waits for the last answers and tells of all. */
  readonly stop: (nothing: null) => Promise<Report>
}

/** Requests that may wait for their answers. */
const IN_FLIGHT_MAX = 512
/** Shares of all requests: orders, and reads of markets; the others read own lists. */
const ORDERS = 0.04
const MARKETS = 0.56
const STEP_MS = 5
/** An idle connection is given up before the balancer gives it up, which could cross with a request. */
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

const next = (chance: () => number, users: ReadonlyArray<User>): Asked => {
  const kind = chance()
  if (kind < ORDERS) {
    const { token, vault } = pick(chance, users)
    const { name, payload } = nextCommand(vault, chance)
    return {
      method: "POST",
      path: `/api/v1/order/${name}`,
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(payload)
    }
  }
  if (kind < ORDERS + MARKETS) return { method: "GET", path: `/api/v1${pick(chance, markets)}` }
  const { token } = pick(chance, users)
  return { method: "GET", path: `/api/v1${pick(chance, own)}`, headers: { authorization: `Bearer ${token}` } }
}

/** Sends until it is told to stop. */
const load = ({ pace, seed, url, users }: Options): (() => Promise<Report>) => {
  const chance = random(seed)
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT_MAX, timeout: IDLE_MS })
  const began = performance.now()
  const latencies: Array<number> = []
  const failed: Array<Failed> = []
  const inFlight = new Set<Promise<void>>()
  let [due, sent, answered, orders] = [0, 0, 0, 0]

  const one = async (): Promise<void> => {
    const asked = next(chance, users)
    const id = `${process.pid}-${++sent}`
    if (asked.method === "POST") orders++
    const [sent_ms, from] = [Date.now(), performance.now()]
    const outcome = await ask(agent, url, { ...asked, headers: { ...asked.headers, "x-request-id": id } })
    if (latencies.length < SAMPLES_MAX) latencies.push(performance.now() - from)
    if ("status" in outcome && outcome.status === 200) answered++
    else failed.push({ id, what: `${asked.method} ${inWords(outcome)}`, sent_ms, ended_ms: Date.now() })
  }
  let last = began
  const timer = setInterval(() => {
    const now = performance.now()
    // what could not be sent in time is not made up for
    due = Math.min(due + ((now - last) * pace) / 1_000, pace)
    last = now
    for (; due >= 1 && inFlight.size < IN_FLIGHT_MAX; due--) {
      const asking = one().finally(() => inFlight.delete(asking))
      inFlight.add(asking)
    }
  }, STEP_MS)
  return async () => {
    clearInterval(timer)
    const seconds = (performance.now() - began) / 1_000
    await Promise.all(inFlight)
    agent.destroy()
    const sorted = Float64Array.from(latencies).sort()
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
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
