/**
 * Harms one dependency of a gateway after the other, and tells what each kind of call is answered meanwhile, how fast, how
 * soon it is well again, and whether something that was acknowledged is lost.
 */
import { Effect, Schedule } from "effect"
import { enlist, type Trader } from "../harness/Trader.ts"
import { ask, HANG_MS } from "./Ask.ts"
import { Fleet } from "./Fleet.ts"
import type { Harm } from "./Plan.ts"
import { type Call, calls, Probe, type Sample } from "./Probe.ts"
import { sleep, until } from "../harness/Wait.ts"

export interface Options {
  readonly harms: ReadonlyArray<Harm>
  /** How long each lasts, in ms. */
  readonly fault_ms: number
  /** Pause between two calls of a kind, in ms. */
  readonly every_ms: number
  /** How long everything may take to be well again, in ms; what is not by then is shown as it is. */
  readonly back_ms: number
  readonly say: (line: string) => void
}

/** What became of the calls of a kind. */
export interface Cell {
  /** What most of them were answered in the second half: the status, and the reason. */
  readonly answer: string
  /** Calls that began and were answered 200 while the fault lasted. */
  readonly good: number
  /** The slowest of the first half, and the median of the second, in ms. */
  readonly first_ms: number
  readonly settled_ms: number
  /** Until they were answered 200 and nothing else again, in ms; 0 where it never was otherwise, infinite where never. */
  readonly back_ms: number
}
export interface Row {
  readonly dependency: string
  readonly fault: string
  readonly cells: Readonly<Record<Call, Cell>>
  /** Orders that were acknowledged, and those of them that are not on record. */
  readonly acknowledged: number
  readonly lost: number
  /** Signatures of API keys that were taken twice. */
  readonly repeated: number
  /** Calls without an answer. */
  readonly hung: number
}

/** Calls in a row that must be well before a fault, and after it for it to be over. */
const WELL = 5
const START_MS = 120_000
const PATIENT = { times: 240, schedule: Schedule.spaced("500 millis") }

const isWell = ({ status }: Sample): boolean => status === 200
const worst = (samples: ReadonlyArray<Sample>): number => Math.round(Math.max(0, ...samples.map(({ ms }) => ms)))

const median = (samples: ReadonlyArray<Sample>): number =>
  Math.round(samples.map(({ ms }) => ms).toSorted((a, b) => a - b)[samples.length >> 1] ?? 0)

/** What most were answered. */
const usual = (samples: ReadonlyArray<Sample>): string => {
  const counts = new Map<string, number>()
  for (const { reason, status } of samples) {
    const answer = `${status === 0 ? "nothing" : status}${reason === "" ? "" : ` ${reason}`}`
    counts.set(answer, (counts.get(answer) ?? 0) + 1)
  }
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? "-"
}

/** By the process's own clock: the fault was being done, was done, was half over, was being undone, was undone. */
export interface Times {
  readonly began: number
  readonly struck: number
  readonly half: number
  readonly undone: number
  readonly healed: number
}

/** Judges the samples of one kind. */
export const cellOf = (samples: ReadonlyArray<Sample>, { began, half, healed, struck, undone }: Times): Cell => {
  const within = (from: number, to: number) => samples.filter((sample) => sample.began >= from && sample.began < to)
  const bad = samples.filter((sample) => sample.began >= began && !isWell(sample))
  const lastBad = Math.max(began, ...bad.map((sample) => sample.began))
  const good = samples.filter((sample) => isWell(sample) && sample.began > lastBad)
  const back = Math.min(...good.map((sample) => sample.began + sample.ms))
  return {
    answer: usual(within(half, healed)),
    good: within(struck, undone).filter((sample) => isWell(sample) && sample.began + sample.ms < undone).length,
    first_ms: worst(within(began, half)),
    settled_ms: median(within(half, healed)),
    back_ms: bad.length === 0 ? 0 : Math.max(0, Math.round(back - healed))
  }
}

/** Acknowledged orders that are not on record, read until they are or the time is over. */
const lostOf = async (url: string, { token }: Trader, acknowledged: ReadonlyMap<string, string>): Promise<number> => {
  let missing = acknowledged.size
  const look = async () => {
    const found = new Set<string>()
    for (let cursor = ""; ;) {
      const path = `/api/v1/order/history?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`
      const { body, status } = await ask(url, "GET", path, { token })
      if (status !== 200) return undefined
      for (const order of body.list ?? []) found.add(`${order["order_link_id"]} ${order["order_id"]}`)
      cursor = body.next_page_cursor ?? ""
      if (cursor === "") break
    }
    missing = [...acknowledged].filter(([link, id]) => !found.has(`${link} ${id}`)).length
    return missing === 0 ? true : undefined
  }
  await until("orders on record", 20_000, look).catch(() => {})
  return missing
}

/** The window after the first start of a Redis, in which no nonce is taken, is over. */
const settle = async ({ redis }: Fleet): Promise<void> => {
  const marker = "{gateway:nonces}"
  await until("the marker of the nonces", START_MS, () =>
    redis.use(async (client) => ((await client.hExists(marker, "since")) ? true : undefined))
  )
  await redis.use((client) => client.hSet(marker, "since", "0"))
}

const befall = async (fleet: Fleet, trader: Trader, harm: Harm, options: Options): Promise<Row> => {
  const probe = new Probe(fleet.url, trader, options.every_ms)
  probe.begin()
  /** The last answers to a kind of call that was not well of late, since a time. */
  const unwell = (from: number): string | undefined => {
    for (const call of calls) {
      const last = probe.samples[call].filter((sample) => sample.began >= from).slice(-WELL)
      if (last.length < WELL || !last.every(isWell)) return `${call} is answered ${usual(last)}`
    }
    return undefined
  }
  const well = async (limit_ms: number): Promise<void> => {
    const from = performance.now()
    await until("well", limit_ms, async () => (unwell(from) === undefined ? true : undefined)).catch(() => {
      options.say(`${harm.dependency} ${harm.fault}: ${unwell(from)}`)
    })
  }
  await well(START_MS)
  const began = performance.now()
  await harm.strike(fleet)
  const struck = performance.now()
  await sleep(Math.max(0, began + options.fault_ms - struck))
  const undone = performance.now()
  await harm.heal(fleet)
  const healed = performance.now()
  const half = (began + healed) / 2
  await well(options.back_ms)
  await probe.end()
  const samples = Object.values(probe.samples).flat()
  return {
    dependency: harm.dependency,
    fault: harm.fault,
    cells: Object.fromEntries(
      calls.map((call) => [call, cellOf(probe.samples[call], { began, struck, half, undone, healed })])
    ) as Row["cells"],
    acknowledged: probe.acknowledged.size,
    lost: await lostOf(fleet.url, trader, probe.acknowledged),
    repeated: probe.repeated,
    hung: samples.filter(({ ms, status }) => status === 0 && ms >= HANG_MS).length
  }
}

export const run = Effect.fnUntraced(function* (options: Options) {
  const fleet = yield* Effect.acquireRelease(
    Effect.promise(() => Fleet.start()),
    (fleet) => Effect.promise(() => fleet.end())
  )
  yield* Effect.promise(() => settle(fleet))
  const rows: Array<Row> = []
  for (const harm of options.harms) {
    // somebody new each time: whatever was emptied before knew the last one
    const trader = yield* Effect.retry(enlist(fleet.url), PATIENT)
    const row = yield* Effect.promise(() => befall(fleet, trader, harm, options))
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
