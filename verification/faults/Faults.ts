/**
 * Injects one fault after another into the dependencies of a gateway. Meanwhile it measures each kind of call: the usual
 * answer, the latency, the time to recovery, and whether anything acknowledged is lost.
 */
import { Effect } from "effect"
import { Fleet } from "../harness/Fleet.ts"
import { bodyOf, send } from "../harness/HttpRequest.ts"
import { median } from "../harness/Statistics.ts"
import { enlist, type Trader } from "../harness/Trader.ts"
import { sleep, START_MS, until } from "../harness/Wait.ts"
import type { Injection } from "./Plan.ts"
import { type Call, calls, HANG_MS, Probe, type Sample } from "./Probe.ts"

export interface Options {
  readonly injections: ReadonlyArray<Injection>
  /** Duration of each fault, in ms. */
  readonly fault_ms: number
  /** Pause between two calls of a kind, in ms. */
  readonly every_ms: number
  /** Longest recovery, in ms; afterwards the row shows the state as it is. */
  readonly back_ms: number
  readonly say: (line: string) => void
}

/** Figures of the calls of one kind. */
export interface Cell {
  /** The most frequent answer of the fault's second half: the status, and the reason. */
  readonly answer: string
  /** Calls that began and were answered 200 during the fault. */
  readonly good: number
  /** The slowest of the first half, and the median of the second, in ms. */
  readonly first_ms: number
  readonly settled_ms: number
  /** Time until all answers are 200 again, in ms: 0 if they always were, infinite if they never are. */
  readonly back_ms: number
}
export interface Row {
  readonly dependency: string
  readonly fault: string
  readonly cells: Readonly<Record<Call, Cell>>
  /** Acknowledged orders, and those of them that are missing in the history. */
  readonly acknowledged: number
  readonly lost: number
  /** Signatures of API keys that were accepted twice. */
  readonly repeated: number
  /** Calls without an answer. */
  readonly hung: number
}

/** Successive good calls of each kind that a fault requires before it, and that end it. */
const WELL = 5
/** Longest wait for acknowledged orders in the history, in ms. */
const RECORD_MS = 20_000

const isWell = ({ status }: Sample): boolean => status === 200
const slowest = (samples: ReadonlyArray<Sample>): number => Math.round(Math.max(0, ...samples.map(({ ms }) => ms)))

/** The most frequent answer. */
const usual = (samples: ReadonlyArray<Sample>): string => {
  const counts = new Map<string, number>()
  for (const { reason, status } of samples) {
    const answer = `${status === 0 ? "nothing" : status}${reason === "" ? "" : ` ${reason}`}`
    counts.set(answer, (counts.get(answer) ?? 0) + 1)
  }
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? "-"
}

/** Times of a fault, monotonic, in ms: its injection began and ended, its middle, its healing began and ended. */
export interface Times {
  readonly began: number
  readonly struck: number
  readonly half: number
  readonly undone: number
  readonly healed: number
}

/** The figures of the samples of one kind. */
export const cellOf = (samples: ReadonlyArray<Sample>, { began, half, healed, struck, undone }: Times): Cell => {
  const within = (from: number, to: number) => samples.filter((sample) => sample.began >= from && sample.began < to)
  const bad = samples.filter((sample) => sample.began >= began && !isWell(sample))
  const lastBad = Math.max(began, ...bad.map((sample) => sample.began))
  const good = samples.filter((sample) => isWell(sample) && sample.began > lastBad)
  const back = Math.min(...good.map((sample) => sample.began + sample.ms))
  return {
    answer: usual(within(half, healed)),
    good: within(struck, undone).filter((sample) => isWell(sample) && sample.began + sample.ms < undone).length,
    first_ms: slowest(within(began, half)),
    settled_ms: Math.round(median(within(half, healed).map(({ ms }) => ms))),
    back_ms: bad.length === 0 ? 0 : Math.max(0, Math.round(back - healed))
  }
}

/** How many acknowledged orders the history lacks. The read model may lag, so the history is read again meanwhile. */
const lostOf = async (url: string, { token }: Trader, acknowledged: ReadonlyMap<string, string>): Promise<number> => {
  let missing = acknowledged.size
  const look = async () => {
    const found = new Set<string>()
    for (let cursor = ""; ;) {
      const path = `/api/v1/order/history?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`
      const outcome = await send(url, { method: "GET", path, token })
      if (outcome.status !== 200) return false
      const { list = [], next_page_cursor = "" } = bodyOf(outcome)
      for (const order of list) found.add(`${order["order_link_id"]} ${order["order_id"]}`)
      cursor = next_page_cursor
      if (cursor === "") break
    }
    missing = [...acknowledged].filter(([link, id]) => !found.has(`${link} ${id}`)).length
    return missing === 0
  }
  await until("orders in the history", look, RECORD_MS).catch(() => {})
  return missing
}

const measure = async (fleet: Fleet, trader: Trader, injection: Injection, options: Options): Promise<Row> => {
  const { dependency, fault } = injection
  const probe = new Probe(fleet.url, trader, options.every_ms)
  probe.begin()
  /** A kind whose last calls since a time were not all good. */
  const unwell = (from: number): string | undefined => {
    for (const call of calls) {
      const last = probe.samples[call].filter((sample) => sample.began >= from).slice(-WELL)
      if (last.length < WELL || !last.every(isWell)) return `${call} is answered ${usual(last)}`
    }
    return undefined
  }
  const recovery = async (limit_ms: number): Promise<void> => {
    const from = performance.now()
    await until("recovery", () => unwell(from) === undefined, limit_ms).catch(() => {
      options.say(`${dependency} ${fault}: ${unwell(from)}`)
    })
  }
  await recovery(START_MS)
  const began = performance.now()
  await injection.inject(fleet)
  const struck = performance.now()
  await sleep(Math.max(0, began + options.fault_ms - struck))
  const undone = performance.now()
  await injection.heal(fleet)
  const healed = performance.now()
  const half = (began + healed) / 2
  await recovery(options.back_ms)
  await probe.end()
  const samples = Object.values(probe.samples).flat()
  return {
    dependency,
    fault,
    cells: Object.fromEntries(
      calls.map((call) => [call, cellOf(probe.samples[call], { began, struck, half, undone, healed })])
    ) as Row["cells"],
    acknowledged: probe.acknowledged.size,
    lost: await lostOf(fleet.url, trader, probe.acknowledged),
    repeated: probe.repeated,
    hung: samples.filter(({ ms, status }) => status === 0 && ms >= HANG_MS).length
  }
}

/** A fleet of one gateway. Sign-ins come from many addresses; other limits apply and are never reached. */
const fleetOf = () =>
  Fleet.start({
    gateways: 1,
    nats: true,
    proxied: true,
    env: {
      TRUSTED_PROXIES: "1",
      RATE_PUBLIC: "1000000",
      RATE_TOKEN: "1000000",
      RATE_USER: "1000000",
      RATE_API_KEY: "1000000"
    }
  })

export const run = Effect.fnUntraced(function* (options: Options) {
  const fleet = yield* Effect.acquireRelease(Effect.promise(fleetOf), (fleet) => Effect.promise(() => fleet.close()))
  const rows: Array<Row> = []
  for (const injection of options.injections) {
    // a new user each time: the data of the last one may be deleted
    const trader = yield* enlist(fleet.url)
    const row = yield* Effect.promise(() => measure(fleet, trader, injection, options))
    rows.push(row)
    options.say(tableRow(row))
  }
  return rows
}, Effect.scoped)

const times = (ms: number): string => (ms >= 1_000 ? `${(ms / 1_000).toFixed(1)} s` : `${ms} ms`)
const cellText = ({ answer, first_ms, settled_ms }: Cell): string =>
  `${answer}: ${times(first_ms)}, ${times(settled_ms)}`

/** A row of the table, as Markdown. */
export const tableRow = ({ cells, dependency, fault }: Row): string => {
  const back = Math.max(...calls.map((call) => cells[call].back_ms))
  const texts = calls.map((call) => cellText(cells[call]))
  return `| ${[dependency, fault, ...texts, Number.isFinite(back) ? times(back) : "not"].join(" | ")} |`
}
export const tableHead = `| ${["", "fault", ...calls, "well again"].join(" | ")} |\n|${"---|".repeat(calls.length + 3)}`
