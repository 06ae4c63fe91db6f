/**
 * Decimal text to an integer and back: the conversion of every price and quantity.
 *
 * Subject: the grid of a market, counts of a step in safe integers. Floor: the same value as a bigint scaled by 10^18. Peer:
 * a float64, which loses digits and is unfit for money; it is the naive implementation.
 */
import { loadavg } from "node:os"
import * as Decimal from "../src/domain/Decimal.ts"
import * as Grid from "../src/domain/Grid.ts"
import { header, summary, type Summary } from "./Harness.ts"

export interface Options {
  readonly rounds: number
  /** Round trips per variant and round. */
  readonly trips: number
}

export interface Row {
  readonly load: Load
  readonly name: string
  readonly cpu_ns: Summary
  /** Ratio to the bigint, per round. */
  readonly ratio: Summary
  /** Hash of the written texts, equal for all variants. */
  readonly hash: number
}

/** Prices in turn. */
const TEXTS = 5_000
/** One text in this many is hashed; of the others only the length counts. */
const SAMPLE = 61
const tick = Grid.fromText("0.1")
/**
 * near: within 2,000 whole units, as the prices of a session; the grid caches the texts of whole parts, so these are cached.
 * spread: over 2,000,000 whole units, so that few of them are cached.
 */
const texts = {
  near: Array.from({ length: TEXTS }, (_, i) => Grid.text(tick, 600_000 + ((i * 7_919) % 20_000))),
  spread: Array.from({ length: TEXTS }, (_, i) => Grid.text(tick, 600_000 + ((i * 7_919_003) % 20_000_000)))
}
export type Load = keyof typeof texts
const loads: ReadonlyArray<Load> = ["near", "spread"]

const variants: Readonly<Record<string, (text: string) => string>> = {
  bigint: (text) => Decimal.format(Decimal.parse(text)),
  grid: (text) => Grid.text(tick, Grid.read(tick, text)!),
  number: (text) => String(Math.round(Number(text) * 10) / 10)
}

const trip = (round: (text: string) => string, prices: ReadonlyArray<string>, trips: number): number => {
  let hash = 0
  for (let i = 0; i < trips; i++) {
    const text = round(prices[i % TEXTS]!)
    hash = (hash + text.length) | 0
    if (i % SAMPLE === 0) for (let k = 0; k < text.length; k++) hash = Math.imul(hash ^ text.charCodeAt(k), 0x01000193)
  }
  return hash >>> 0
}

export const run = (options: Options): ReadonlyArray<Row> => loads.flatMap((load) => runLoad(load, options))

const runLoad = (load: Load, options: Options): ReadonlyArray<Row> => {
  const names = Object.keys(variants)
  const cost = new Map(names.map((name) => [name, [] as Array<number>]))
  const hash = new Map<string, number>()
  for (let round = 0; round <= options.rounds; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const before = process.cpuUsage()
      hash.set(name, trip(variants[name]!, texts[load], options.trips))
      const { system, user } = process.cpuUsage(before)
      if (round > 0) cost.get(name)!.push(((user + system) * 1_000) / options.trips)
    }
  const floor = cost.get("bigint")!
  return names.map((name) => ({
    load,
    name,
    cpu_ns: summary(cost.get(name)!),
    ratio: summary(cost.get(name)!.map((value, round) => value / floor[round]!)),
    hash: hash.get(name)!
  }))
}

const spread = ({ max, median, min }: Summary, digits: number) =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

export const main = async (): Promise<void> => {
  const options: Options = { rounds: 7, trips: 5_000_000 }
  const head = header("npm run bench -- decimal", options.rounds, "nothing; one thread, prices on a tick of 0.1")
  const rows = run(options)
  console.log(JSON.stringify({ ...head, load_after: loadavg()[0] }))
  for (const row of rows) console.log(JSON.stringify(row))
  console.log("\n| prices | variant | CPU ns a round trip | ratio to bigint |\n|---|---|---|---|")
  for (const { cpu_ns, load, name, ratio } of rows)
    console.log(`| ${load} | ${name} | ${spread(cpu_ns, 1)} | ${spread(ratio, 2)} |`)
  if (new Set(rows.map(({ hash }) => hash)).size > loads.length) throw new Error("the texts differ")
}
