/**
 * A whole command in the backend, without the network: decoded from its wire form, executed by the engine, journaled with a
 * sync, its events encoded for subscribers, its result encoded. Batches of commands arrive together.
 *
 * `rest` places limit orders far from the touch, `cancel` cancels them, `fill` sends limit orders that cross at one price.
 * Figure: CPU time of all threads of the process for each acknowledged command.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { BackendSubject, type Kind, KINDS } from "./BackendSubject.ts"
import { header, type Summary, summary } from "./Harness.ts"

export interface Options {
  readonly rounds: number
  /** Commands that arrive together. */
  readonly batch: number
  /** Batches of each kind in a round. */
  readonly batches: number
  readonly accounts: number
}

/** CPU microseconds for each acknowledged command. */
export type Report = Readonly<Record<Kind, Summary>>

/** Measures rounds after one that warms up. */
export const run = async ({ accounts, batch, batches, rounds }: Options): Promise<Report> => {
  const directory = mkdtempSync(join(tmpdir(), "bench-backend-"))
  const subject = new BackendSubject(directory, accounts)
  const seen: Readonly<Record<Kind, Array<number>>> = { rest: [], cancel: [], fill: [] }
  try {
    await subject.fund()
    for (let round = 0; round <= rounds; round++) {
      const cpu_us = { rest: 0, cancel: 0, fill: 0 }
      for (let i = 0; i < batches; i++) await subject.batch(batch, cpu_us)
      if (round > 0) for (const kind of KINDS) seen[kind].push(cpu_us[kind] / (batch * batches))
    }
  } finally {
    subject.close()
    rmSync(directory, { recursive: true, force: true })
  }
  return { rest: summary(seen.rest), cancel: summary(seen.cancel), fill: summary(seen.fill) }
}

export const main = async (): Promise<void> => {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      rounds: { type: "string", default: "5" },
      batch: { type: "string", default: "1024" },
      batches: { type: "string", default: "8" },
      accounts: { type: "string", default: "8" }
    }
  })
  const rounds = Number(values.rounds)
  console.log(JSON.stringify(header("npm run bench -- backend", rounds, "gRPC, snapshots")))
  const report = await run({
    rounds,
    batch: Number(values.batch),
    batches: Number(values.batches),
    accounts: Number(values.accounts)
  })
  for (const kind of KINDS) {
    const { max, median, min } = report[kind]
    console.log(`${kind.padEnd(6)} ${median.toFixed(1)} us [${min.toFixed(1)}-${max.toFixed(1)}]`)
  }
}
