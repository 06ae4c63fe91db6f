/** The cost of a page of each list. */
import { Effect } from "effect"
import { performance } from "node:perf_hooks"
import { cpuOfThisThread } from "../harness/Cpu.ts"
import { median, percentile } from "../harness/Statistics.ts"
import { type Asked, type Case, cases } from "./Pages.ts"
import { fill, type Table } from "./Fill.ts"

export interface Figures {
  readonly endpoint: string
  readonly filter: string
  /** Processor time of the event loop's thread for a page, in ms: the median at each place of the list, and the 99th percentile over all. */
  readonly first: number
  readonly middle: number
  readonly last: number
  readonly p99: number
  /** Time to the answer, in ms. */
  readonly wait: number
  /** Rows of the page in the middle. */
  readonly rows: number
}

/** Reads before the measurement, in which code is compiled and statements are prepared. */
const WARM_UP = 100

/** Reads a page repeatedly; each read begins in a turn of its own. */
const timed = Effect.fnUntraced(function* (read: Case["read"], asked: Asked, times: number) {
  const costs: Array<number> = []
  const waits: Array<number> = []
  let rows = 0
  for (let i = -WARM_UP; i < times; i++) {
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    const [start, before] = [performance.now(), cpuOfThisThread()]
    rows = (yield* read(asked)).rows
    const [wait, cost] = [performance.now() - start, cpuOfThisThread() - before]
    if (i < 0) continue
    waits.push(wait)
    costs.push(cost)
  }
  return { costs, waits, rows }
})

const figuresOf = Effect.fnUntraced(function* ({ endpoint, filter, read }: Case, rows: number, times: number) {
  const limit = 200
  const first = yield* timed(read, { limit, after: undefined }, times)
  const middle = yield* timed(read, { limit, after: rows / 2 }, times)
  const last = yield* timed(read, { limit, after: 300 }, times)
  const all = [first, middle, last]
  return {
    endpoint,
    filter,
    first: median(first.costs),
    middle: median(middle.costs),
    last: median(last.costs),
    p99: percentile(
      all.flatMap(({ costs }) => costs),
      0.99
    ),
    wait: median(all.flatMap(({ waits }) => waits)),
    rows: middle.rows
  } satisfies Figures
})

/** Fills one table after another with so many rows, and reads its lists. */
export const measured = Effect.fnUntraced(function* (
  rows: number,
  times: number,
  empty: (table: Table) => Effect.Effect<unknown, unknown>,
  report: (figures: Figures) => void
) {
  for (const table of new Set(cases.map((each) => each.table))) {
    yield* fill(table, rows)
    for (const each of cases) if (each.table === table) report(yield* figuresOf(each, rows, times))
    yield* empty(table)
  }
})
