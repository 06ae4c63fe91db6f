/**
 * The journal in PostgreSQL against the journal in a file, under the same callers: commands of about 200 bytes, each
 * acknowledged after the commit that covers it.
 *
 * - file: the embedded journal, with a sync per turn.
 * - local: PostgreSQL on this machine, with a sync per turn, and the copy of the backend.
 * - quorum: the same with one synchronous standby on this machine.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Deferred, Effect, Exit, Fiber, Redacted, Scope } from "effect"
import { Journal } from "../src/backend/journal/Journal.ts"
import * as Copy from "../src/backend/journal/shared/Copy.ts"
import * as Lease from "../src/backend/journal/shared/Lease.ts"
import * as PostgresJournal from "../src/backend/journal/shared/PostgresJournal.ts"
import { PostgresCluster } from "../verification/harness/PostgresCluster.ts"
import { urlOf } from "../verification/harness/PostgresServer.ts"
import { header, type Summary, summary } from "./Harness.ts"
import { JournalSubject, type Measured, origin } from "./JournalSubject.ts"

export interface Options {
  readonly rounds: number
  readonly callers: number
  /** Records per round. */
  readonly records: number
}
export const KINDS = ["file", "local", "quorum"] as const
type Kind = (typeof KINDS)[number]
export interface Figures {
  readonly rate: Summary
  readonly p50_us: Summary
  /** Rate in relation to that of the file. */
  readonly ratio: Summary
}

interface Store {
  readonly run: (callers: number, records: number) => Promise<Measured>
  readonly close: () => Promise<void>
}

const inFile = (directory: string): Store => {
  const journal = Journal.open(join(directory, "journal.sqlite"), origin)
  const subject = new JournalSubject(journal)
  return {
    run: (callers, records) => subject.run(callers, records),
    close: async () => {
      await subject.stop()
      journal.close()
    }
  }
}

/** Leads a journal in a cluster of PostgreSQL with so many synchronous standbys. */
const inPostgres = async (directory: string, standbys: number): Promise<Store> => {
  const cluster = await PostgresCluster.start(standbys, true)
  const scope = Scope.makeUnsafe()
  const database = PostgresJournal.make(Redacted.make(urlOf("public", cluster.primary.port)))
  const { lost, subject } = await Effect.runPromise(
    Effect.gen(function* () {
      const journal = yield* Copy.open(database, join(directory, "journal.sqlite"), origin)
      const replica: Lease.Replica = {
        position: () => journal.position,
        checksum: () => journal.checksum,
        apply: () => {
          throw new Error("another process appends to the journal")
        }
      }
      const led = yield* Deferred.make<void>()
      const onLead = (won: Lease.Leadership) =>
        Effect.andThen(
          Effect.sync(() => journal.share(won.append)),
          Deferred.done(led, Exit.void)
        )
      const lead = yield* Effect.forkScoped(Lease.run({ database, holder: "bench", replica, onLead }))
      yield* Effect.raceFirst(Deferred.await(led), Fiber.join(lead))
      return { subject: new JournalSubject(journal), lost: Fiber.join(lead) }
    }).pipe(Scope.provide(scope))
  )
  return {
    run: (callers, records) =>
      Effect.runPromise(
        Effect.raceFirst(
          Effect.promise(() => subject.run(callers, records)),
          lost
        )
      ),
    close: async () => {
      await subject.stop()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await cluster.remove()
    }
  }
}

/** Interleaved rounds; the first one is discarded. */
export const run = async (all: ReadonlyArray<Options>): Promise<ReadonlyArray<Readonly<Record<Kind, Figures>>>> => {
  const directory = mkdtempSync(join(tmpdir(), "journal-bench-"))
  const of = (kind: Kind) => join(directory, kind)
  const stores: Partial<Record<Kind, Store>> = {}
  try {
    stores.file = inFile(of("file"))
    stores.local = await inPostgres(of("local"), 0)
    stores.quorum = await inPostgres(of("quorum"), 1)
    const reports: Array<Readonly<Record<Kind, Figures>>> = []
    for (const { callers, records, rounds } of all) {
      const found: Record<Kind, Array<Measured>> = { file: [], local: [], quorum: [] }
      for (let round = 0; round <= rounds; round++)
        for (const kind of KINDS) {
          const measured = await stores[kind]!.run(callers, records)
          if (round > 0) found[kind].push(measured)
        }
      const figures = (kind: Kind): Figures => ({
        rate: summary(found[kind].map(({ rate }) => rate)),
        p50_us: summary(found[kind].map(({ p50_us }) => p50_us)),
        ratio: summary(found[kind].map(({ rate }, i) => rate / found.file[i]!.rate))
      })
      reports.push({ file: figures("file"), local: figures("local"), quorum: figures("quorum") })
    }
    return reports
  } finally {
    for (const kind of KINDS) await stores[kind]?.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

const shown = ({ max, median, min }: Summary, digits: number): string =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

export const main = async (): Promise<void> => {
  const rounds = 20
  console.log(JSON.stringify(header("npm run bench -- shared-journal", rounds, "engine, gRPC, events, a network")))
  const all = [1, 64, 1024].map((callers) => ({ rounds, callers, records: callers === 1 ? 1_000 : 20_000 }))
  const reports = await run(all)
  for (const [i, report] of reports.entries()) {
    console.log(`\n${all[i]!.callers} callers\n\n| journal | records/s | p50 µs | ratio to file |\n|---|---|---|---|`)
    for (const kind of KINDS) {
      const { p50_us, rate, ratio } = report[kind]
      console.log(`| ${kind} | ${shown(rate, 0)} | ${shown(p50_us, 0)} | ${shown(ratio, 2)} |`)
    }
  }
}
