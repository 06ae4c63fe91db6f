/**
 * What a fleet under load makes of the loss of a gateway: a rolling restart, of which nobody may notice anything but a new line, and
 * kill -9, which may cost only the requests that the killed one had in hand.
 */
import { join } from "node:path"
import * as Child from "../harness/LoadProcess.ts"
import { type Fleet, until } from "./Fleet.ts"
import { enlistAll, pause } from "./Orders.ts"
import type * as Requests from "./Requests.ts"
import type * as Sessions from "./Sessions.ts"

export interface Options {
  readonly sockets: number
  /** Of the sockets: on a book. Half of the rest follow a ticker, half are private. */
  readonly books: number
  readonly users: number
  readonly pace: number
  /** Gateways that are stopped and started one after the other, and then those that are killed and started. */
  readonly restarts: number
  readonly kills: number
  /** Time of load before, between and after, in ms. */
  readonly calm_ms: number
  readonly seed: number
  readonly say: (line: string) => void
}
export interface Outcome {
  readonly requests: Requests.Report
  readonly sessions: Sessions.Report
  /** Failures by what they were, those left out that a killed gateway may cost. */
  readonly failed: Readonly<Record<string, number>>
  /** Requests that a killed gateway had in hand, and that failed. */
  readonly inHand: number
  /** Exit codes of gateways that were stopped. */
  readonly exits: ReadonlyArray<number | null>
}

/** A gateway that was killed: from before until after its end, by the clock of the machine, in ms. */
interface Kill {
  readonly name: string
  readonly from_ms: number
  readonly to_ms: number
}

/** Whether a request was sent before the killed one was gone, ended after that began, and, where the balancer knows, was with it. */
const wasInHand = ({ from_ms, name, to_ms }: Kill, { ended_ms, id, sent_ms }: Requests.Failed, { balancer }: Fleet) => {
  const known = balancer.failures.get(id)
  return sent_ms <= to_ms && ended_ms >= from_ms && (known === undefined || known.gateway === name)
}

const tally = (failed: ReadonlyArray<Requests.Failed>, fleet: Fleet): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { id, what } of failed) {
    const known = fleet.balancer.failures.get(id)
    const whole = known === undefined ? what : `${what}, ${known.ending} at ${known.gateway}`
    counts[whole] = (counts[whole] ?? 0) + 1
  }
  return counts
}

/** Loads the fleet, takes its gateways away one after the other, and tells what came of it. */
export const underLoad = async (fleet: Fleet, options: Options): Promise<Outcome> => {
  const { books, calm_ms, pace, say, seed, sockets } = options
  const traders = await enlistAll(fleet.url, options.users)
  const users = traders.map(({ token, vault }) => ({ token, vault }))
  const requests = Child.start<Requests.Calls>(join(import.meta.dirname, "Requests.ts"))
  const sessions = Child.start<Sessions.Calls>(join(import.meta.dirname, "Sessions.ts"))
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
    const everybodyBack = () =>
      until("every session is live", async () => {
        const { all, live } = await sessions.call("standing", null)
        return live === all
      })
    await requests.call("start", { url: fleet.url, users, pace, seed })
    await pause(calm_ms)
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
        // by then everybody has noticed; all must be back before the killed one is
        await until(`${member.name} is out`, async () => !(await fleet.balancer.up()).has(member.name))
        await everybodyBack()
      }
      await member.start()
      await everybodyBack()
      const { lost } = await sessions.call("standing", null)
      say(`${member.name} is back after ${Math.round(performance.now() - began)} ms; ${lost} lines were lost so far`)
      await pause(calm_ms)
    }
    const asked = await requests.call("stop", null)
    const others = asked.failed.filter((one) => !kills.some((kill) => wasInHand(kill, one, fleet)))
    return {
      requests: asked,
      sessions: await sessions.call("compare", null),
      failed: tally(others, fleet),
      inHand: asked.failed.length - others.length,
      exits
    }
  } finally {
    await Promise.all([requests.stop(), sessions.stop()])
  }
}

/** What must not be, in words. */
export const violations = ({ exits, failed, sessions }: Outcome): ReadonlyArray<string> => [
  ...Object.entries(failed).map(([what, count]) => `${count} requests failed: ${what}`),
  ...exits.filter((code) => code !== 0).map((code) => `a gateway ended with ${code}`),
  ...[
    ["events missing", sessions.gaps],
    ["events told twice", sessions.repetitions],
    ["events told differently", sessions.differences],
    ["books unsound", sessions.bookFaults],
    ["sessions not back", sessions.all - sessions.live]
  ].flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`])),
  ...sessions.faults
]
