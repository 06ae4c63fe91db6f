/**
 * `node verification/storm/main.ts [--sockets N] [--gateways N] [--users N]`: a gateway of a fleet is killed, and all sockets,
 * which were its, come to the others at once, straight and with what they followed: tickers, books, and private topics from
 * the place where each stood, while their users trade. Ends with 1 where one was refused, missed anything or was late.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Effect, Latch } from "effect"
import { random } from "../harness/SimulatedUsers.ts"
import { trade, type Trader } from "../harness/Trader.ts"
import type { Order, Told } from "./Crowd.ts"
import { startFleet } from "./Fleet.ts"
import type { Wish } from "./ReconnectingClient.ts"
import { enlistAll, wishOf } from "./SubscriptionMix.ts"

export interface Options {
  readonly sockets: number
  /** Of the fleet; one of them is killed. */
  readonly gateways: number
  /** Whose private topics a quarter of the sockets follow. */
  readonly users: number
  readonly say: (line: string) => void
}

export interface Outcome {
  readonly sockets: number
  /** Time from the kill until so many were back, in ms. */
  readonly back_ms: { readonly p50: number; readonly p99: number; readonly all: number }
  /** Attempts that a gateway ended before all was told again. */
  readonly refused: number
  /** Private sockets that went on without a hole, and those that were told of one. */
  readonly recovered: number
  readonly unrecovered: number
  /** Private events that did not follow the one before. */
  readonly gaps: number
  /** What the refused and the others were told, with counts. */
  readonly words: Readonly<Record<string, number>>
}

/** Sockets of one process: each is a descriptor, of which a process has 20,000 here and less elsewhere. */
const CROWD_MAX = 5_000
/** What a return may take, by the contract; and how long this waits for it, in ms. */
const BACK_MS = 60_000
const PATIENCE_MS = 15 * BACK_MS
/** How often crowds are asked, in ms. */
const LOOK_MS = 100

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

class Crowd {
  private readonly child: ChildProcess
  constructor(gateways: ReadonlyArray<string>, wishes: ReadonlyArray<Wish>) {
    this.child = fork(join(fileURLToPath(new URL(".", import.meta.url)), "Crowd.ts"))
    this.child.send({ do: "open", gateways, wishes } satisfies Order)
  }
  async told(): Promise<Told> {
    const answer = once(this.child, "message")
    this.child.send({ do: "tell" } satisfies Order)
    return (await answer)[0] as Told
  }
  async end(): Promise<void> {
    const gone = once(this.child, "exit")
    this.child.kill("SIGKILL")
    await gone
  }
}

const sum = (all: ReadonlyArray<Told>, of: (told: Told) => number) => all.reduce((total, each) => total + of(each), 0)

export const run = async ({ gateways: count, say, sockets, users }: Options): Promise<Outcome> => {
  const fleet = await startFleet(count, {
    RATE_LIMIT_MODE: "off",
    CONNECTIONS_PER_IP: "0",
    WS_CONNECTIONS_PER_IP: "0",
    WS_CONNECTIONS_PER_USER: "0",
    ARRIVALS_PER_IP: "0"
  })
  const [home, ...replicas] = fleet.gateways
  const crowds: Array<Crowd> = []
  /** Everybody's counts, once `holds` says so of them. */
  const until = async (what: string, holds: (all: ReadonlyArray<Told>) => boolean): Promise<ReadonlyArray<Told>> => {
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(LOOK_MS)) {
      const all = await Promise.all(crowds.map((crowd) => crowd.told()))
      if (holds(all)) return all
      if (Date.now() > deadline) throw new Error(`not in ${PATIENCE_MS} ms: ${what}; ${JSON.stringify(all)}`)
    }
  }
  const live = (all: ReadonlyArray<Told>) => sum(all, (told) => told.live)
  const gate = Latch.makeUnsafe(false)
  const stop = new AbortController()
  try {
    // users trade where gateways stay
    const place = replicas.at(-1)!.url
    const traders = await enlistAll(place, users)
    const busy = new Set<Trader>()
    const next = random(1)
    const trading = Effect.runPromise(
      Effect.all(
        // two of them, so that the market moves without being the load
        traders.slice(0, 2).map((trader) => trade(trader, next, gate, busy, trader)),
        { concurrency: "unbounded", discard: true }
      ),
      { signal: stop.signal }
    ).catch(() => {})

    const wishes = Array.from({ length: sockets }, (_, i) => wishOf(traders, i))
    const urls = [home!, ...replicas].map(({ url }) => url.replace("http", "ws"))
    const began = Date.now()
    const processes = Math.max(replicas.length, Math.ceil(sockets / CROWD_MAX))
    for (let i = 0; i < processes; i++) {
      // all begin at the first; when it is gone each crowd turns to another replica
      const first = 1 + (i % replicas.length)
      const order = [urls[0]!, ...urls.slice(first), ...urls.slice(1, first)]
      crowds.push(
        new Crowd(
          order,
          wishes.filter((_, j) => Math.floor(j / 4) % processes === i)
        )
      )
    }
    await until("all sockets are live", (all) => live(all) === sockets)
    say(`${sockets} sockets live on one gateway after ${Date.now() - began} ms; it is killed`)
    gate.openUnsafe()
    await until("somebody traded", () => busy.size > 0)
    const before = await until("counts", () => true)
    const killed = Date.now()
    await home!.kill()
    /** Of what is told of returns, those that follow the kill: on a busy machine sockets are lost before it, too. */
    const timesOf = (all: ReadonlyArray<Told>) =>
      all.flatMap(({ returned }) => returned.filter((at) => at > killed).map((at) => at - killed))
    const after = await until("all sockets are back", (all) => timesOf(all).length >= sockets && live(all) === sockets)
    stop.abort()
    await trading
    const times = timesOf(after).toSorted((a, b) => a - b)
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))]!
    const since = (of: (told: Told) => number) => sum(after, of) - sum(before, of)
    return {
      sockets,
      back_ms: { p50: at(0.5), p99: at(0.99), all: times.at(-1)! },
      refused: since(({ refused }) => refused),
      recovered: since(({ recovered }) => recovered),
      unrecovered: since(({ unrecovered }) => unrecovered),
      gaps: sum(after, ({ gaps }) => gaps),
      words: Object.assign({}, ...after.map(({ words }) => words))
    }
  } finally {
    stop.abort()
    await Promise.all(crowds.map((crowd) => crowd.end()))
    await fleet.stop()
  }
}

/** What is wrong with an outcome, in words. */
export const faultsOf = ({ back_ms, gaps, recovered, refused, sockets, unrecovered }: Outcome): ReadonlyArray<string> =>
  [
    back_ms.all > BACK_MS && `the last came back after ${back_ms.all} ms`,
    refused > 0 && `${refused} attempts were refused`,
    unrecovered > 0 && `${unrecovered} were told of a hole`,
    recovered < Math.floor(sockets / 4) && `${recovered} private sockets went on`,
    gaps > 0 && `${gaps} gaps`
  ].filter((fault) => fault !== false)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      sockets: { type: "string", default: "10000" },
      gateways: { type: "string", default: "3" },
      users: { type: "string", default: "50" }
    }
  })
  const outcome = await run({
    sockets: Number(values.sockets),
    gateways: Number(values.gateways),
    users: Number(values.users),
    say: (line) => console.log(line)
  })
  console.log(JSON.stringify(outcome, undefined, 2))
  const faults = faultsOf(outcome)
  for (const fault of faults) console.log(`  ${fault}`)
  process.exit(faults.length === 0 ? 0 : 1)
}
