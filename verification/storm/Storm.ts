/**
 * A reconnect storm: one gateway of a fleet is killed, and all sockets reconnect to the others at once. They follow tickers,
 * books, and private topics from their last position, while two users trade.
 */
import { join } from "node:path"
import { Effect, Latch } from "effect"
import { Fleet } from "../harness/Fleet.ts"
import { type LoadProcess, startLoad } from "../harness/LoadProcess.ts"
import { random } from "../harness/Random.ts"
import { UNLIMITED } from "../harness/Settings.ts"
import { percentile } from "../harness/Statistics.ts"
import { enlistAll, trade, type Trader } from "../harness/Trader.ts"
import { until } from "../harness/Wait.ts"
import type { Calls, Report } from "./Crowd.ts"
import { subscriptionOf } from "./SubscriptionMix.ts"

export interface Options {
  readonly sockets: number
  /** Gateways of the fleet; one of them is killed. */
  readonly gateways: number
  /** Users whose private topics a quarter of the sockets follow. */
  readonly users: number
  readonly say: (line: string) => void
}

export interface Outcome {
  readonly sockets: number
  /** Time from the kill until so many sockets are live again, in ms. */
  readonly back_ms: { readonly p50: number; readonly p99: number; readonly all: number }
  /** Attempts that a gateway ended before the socket was live. */
  readonly refused: number
  /** Resumed private sockets without a gap, and those to which the gateway announced one. */
  readonly recovered: number
  readonly unrecovered: number
  /** Private events that do not follow the one before. */
  readonly gaps: number
  /** Reasons of refusals and errors. */
  readonly reasons: Readonly<Record<string, number>>
}

/** Sockets of one process, which has 20,000 file descriptors here and fewer elsewhere. */
const CROWD_MAX = 5_000
/** Longest time until all are live again, by the contract, and how long a run waits for it, in ms. */
const BACK_MS = 60_000
const BACK_WAIT_MS = 15 * BACK_MS

const sum = (all: ReadonlyArray<Report>, of: (report: Report) => number) =>
  all.reduce((total, each) => total + of(each), 0)

export const run = async ({ gateways: count, say, sockets, users }: Options): Promise<Outcome> => {
  const fleet = await Fleet.start({ gateways: count, env: UNLIMITED })
  const [home, ...replicas] = fleet.members
  const crowds: Array<LoadProcess<Calls>> = []
  /** The reports of all crowds, once `holds` accepts them. */
  const reports = (what: string, holds: (all: ReadonlyArray<Report>) => boolean): Promise<ReadonlyArray<Report>> => {
    let all: ReadonlyArray<Report> = []
    const look = async () => {
      all = await Promise.all(crowds.map((crowd) => crowd.call("report", null)))
      return holds(all) && all
    }
    const counts = () => all.map((report) => ({ ...report, returned: report.returned.length }))
    return until(() => `${what}: ${JSON.stringify(counts())}`, look, BACK_WAIT_MS)
  }
  const live = (all: ReadonlyArray<Report>) => sum(all, (report) => report.live)
  const latch = Latch.makeUnsafe(false)
  const stop = new AbortController()
  try {
    const traders = await Effect.runPromise(enlistAll(replicas.at(-1)!.url, users))
    const busy = new Set<Trader>()
    const next = random(1)
    const trading = Effect.runPromise(
      Effect.all(
        // two users move the market without being the load
        traders.slice(0, 2).map((trader) => trade(trader, next, latch, busy)),
        { concurrency: "unbounded", discard: true }
      ),
      { signal: stop.signal }
    ).catch(() => {})

    const subscriptions = Array.from({ length: sockets }, (_, i) => subscriptionOf(traders, i))
    const urls = [home!, ...replicas].map(({ url }) => url.replace("http", "ws"))
    const began = Date.now()
    const processes = Math.max(replicas.length, Math.ceil(sockets / CROWD_MAX))
    for (let i = 0; i < processes; i++) {
      // all begin at the first gateway; after its death each crowd prefers another replica
      const preferred = 1 + (i % replicas.length)
      const crowd = startLoad<Calls>(join(import.meta.dirname, "Crowd.ts"))
      crowds.push(crowd)
      await crowd.call("open", {
        gateways: [urls[0]!, ...urls.slice(preferred), ...urls.slice(1, preferred)],
        subscriptions: subscriptions.filter((_, j) => Math.floor(j / 4) % processes === i)
      })
    }
    await reports("all sockets are live", (all) => live(all) === sockets)
    say(`${sockets} sockets live on one gateway after ${Date.now() - began} ms; it is killed`)
    latch.openUnsafe()
    await until("a trade", () => busy.size > 0)
    const before = await reports("counts", () => true)
    const killed = Date.now()
    await home!.kill()
    /** Times after the kill; on a busy machine sockets are lost before it, too. */
    const timesOf = (all: ReadonlyArray<Report>) =>
      all.flatMap(({ returned }) => returned.filter((at) => at > killed).map((at) => at - killed))
    const after = await reports(
      "all sockets are live again",
      (all) => timesOf(all).length >= sockets && live(all) === sockets
    )
    stop.abort()
    await trading
    const times = timesOf(after)
    const since = (of: (report: Report) => number) => sum(after, of) - sum(before, of)
    return {
      sockets,
      back_ms: { p50: percentile(times, 0.5), p99: percentile(times, 0.99), all: percentile(times, 1) },
      refused: since(({ refused }) => refused),
      recovered: since(({ recovered }) => recovered),
      unrecovered: since(({ unrecovered }) => unrecovered),
      gaps: sum(after, ({ gaps }) => gaps),
      reasons: Object.assign({}, ...after.map(({ reasons }) => reasons))
    }
  } finally {
    stop.abort()
    await Promise.all(crowds.map((crowd) => crowd.stop()))
    await fleet.close()
  }
}

/** Every violation, as text. */
export const violations = ({
  back_ms,
  gaps,
  recovered,
  refused,
  sockets,
  unrecovered
}: Outcome): ReadonlyArray<string> =>
  [
    back_ms.all > BACK_MS && `the last socket was live again after ${back_ms.all} ms`,
    refused > 0 && `${refused} attempts were refused`,
    unrecovered > 0 && `${unrecovered} sockets have an announced gap`,
    recovered < Math.floor(sockets / 4) && `only ${recovered} private sockets were resumed`,
    gaps > 0 && `${gaps} gaps`
  ].filter((violation) => violation !== false)
