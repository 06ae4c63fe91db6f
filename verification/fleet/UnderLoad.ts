/**
 * A fleet under load that loses gateways. A rolling restart may cost each socket a reconnect and nothing else. A kill -9 may
 * fail only the requests that were in flight at the killed gateway.
 */
import { join } from "node:path"
import { Effect } from "effect"
import type { Fleet } from "../harness/Fleet.ts"
import { startLoad } from "../harness/LoadProcess.ts"
import { count, type Counts } from "../harness/Statistics.ts"
import { enlistAll } from "../harness/Trader.ts"
import { sleep, until } from "../harness/Wait.ts"
import type * as Requests from "./Requests.ts"
import type * as Sessions from "./Sessions.ts"

export interface Options {
  readonly sockets: number
  /** Of the sockets, those on a book. Half of the others follow a ticker, half are private. */
  readonly books: number
  readonly users: number
  readonly pace: number
  /** How many gateways are restarted one after another, and then how many are killed and started. */
  readonly restarts: number
  readonly kills: number
  /** Duration of the load before, between and after these, in ms. */
  readonly calm_ms: number
  readonly seed: number
  readonly say: (line: string) => void
}
export interface Outcome {
  readonly requests: Requests.Report
  readonly sessions: Sessions.Report
  /** Failed requests by kind, without those in flight at a killed gateway. */
  readonly failed: Readonly<Counts>
  /** Failed requests that were in flight at a killed gateway. */
  readonly inFlight: number
  /** Exit codes of the restarted gateways. */
  readonly exits: ReadonlyArray<number | null>
}

/** A killed gateway, and the span of its death, Unix ms. */
interface Kill {
  readonly name: string
  readonly from_ms: number
  readonly to_ms: number
}

/** Whether a request overlaps the death of a gateway, and was sent to it as far as the balancer's log shows. */
const wasInFlight = (
  { from_ms, name, to_ms }: Kill,
  { ended_ms, id, sent_ms }: Requests.Failed,
  { balancer }: Fleet
) => {
  const known = balancer!.failures.get(id)
  return sent_ms <= to_ms && ended_ms >= from_ms && (known === undefined || known.gateway === name)
}

const tally = (failed: ReadonlyArray<Requests.Failed>, fleet: Fleet): Readonly<Counts> => {
  const counts: Counts = {}
  for (const { id, what } of failed) {
    const known = fleet.balancer!.failures.get(id)
    count(counts, known === undefined ? what : `${what}, ${known.ending} at ${known.gateway}`)
  }
  return counts
}

/** Loads the fleet, restarts and kills its gateways one after another, and reports. */
export const underLoad = async (fleet: Fleet, options: Options): Promise<Outcome> => {
  const { books, calm_ms, pace, say, seed, sockets } = options
  const traders = await Effect.runPromise(enlistAll(fleet.url, options.users, ["read", "trade"]))
  const users = traders.map(({ token, vault }) => ({ token, vault }))
  const requests = startLoad<Requests.Calls>(join(import.meta.dirname, "Requests.ts"))
  const sessions = startLoad<Sessions.Calls>(join(import.meta.dirname, "Sessions.ts"))
  try {
    const tickers = Math.floor((sockets - books) / 2)
    const tokens = users.map(({ token }) => token)
    const opened = await sessions.call("start", {
      url: fleet.url,
      tokens,
      books,
      tickers,
      privates: sockets - books - tickers
    })
    say(`${opened.live} of ${opened.all} sockets are live`)
    const allLive = () =>
      until("every session is live", async () => {
        const { all, live } = await sessions.call("state", null)
        return live === all
      })
    await requests.call("start", { url: fleet.url, users, pace, seed })
    await sleep(calm_ms)
    const exits: Array<number | null> = []
    const kills: Array<Kill> = []
    for (let round = 0; round < options.restarts + options.kills; round++) {
      const member = fleet.members[round % fleet.members.length]!
      const began = performance.now()
      if (round < options.restarts) exits.push(await member.stop())
      else {
        const from_ms = Date.now()
        await member.kill()
        kills.push({ name: member.name, from_ms, to_ms: Date.now() })
        // all sessions must be live again before the killed gateway is back
        await until(`${member.name} is out`, async () => !(await fleet.balancer!.up()).has(member.name))
        await allLive()
      }
      await member.start()
      await allLive()
      const { lost } = await sessions.call("state", null)
      say(
        `${member.name} is back after ${Math.round(performance.now() - began)} ms; ${lost} connections were lost so far`
      )
      await sleep(calm_ms)
    }
    const report = await requests.call("stop", null)
    const others = report.failed.filter((one) => !kills.some((kill) => wasInFlight(kill, one, fleet)))
    return {
      requests: report,
      sessions: await sessions.call("compare", null),
      failed: tally(others, fleet),
      inFlight: report.failed.length - others.length,
      exits
    }
  } finally {
    await Promise.all([requests.stop(), sessions.stop()])
  }
}

/** Every violation, as text. */
export const violations = ({ exits, failed, sessions }: Outcome): ReadonlyArray<string> => [
  ...Object.entries(failed).map(([what, count]) => `${count} requests failed: ${what}`),
  ...exits.filter((code) => code !== 0).map((code) => `a gateway ended with ${code}`),
  ...[
    ["events missing", sessions.gaps],
    ["events repeated", sessions.repetitions],
    ["events that differ between sockets", sessions.differences],
    ["faulty books", sessions.bookFaults],
    ["sessions not live", sessions.all - sessions.live]
  ].flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`])),
  ...sessions.faults
]
