/**
 * The journal under callers that wait: commands of about 200 bytes, each acknowledged after the sync that covers it.
 *
 * Floor: one write and one fdatasync per record. Alone: the journal with the floor's bytes in groups, one for all callers at
 * a time. Subject: the backend's writer and journal as shipped, with an engine that only acknowledges. Peer: PostgreSQL, if
 * installed, with batch inserts that it generates itself, an index on the id and no client traffic: an upper bound for
 * batches from outside.
 */
import { execFileSync } from "node:child_process"
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { randomBytes } from "node:crypto"
import { Journal } from "../src/backend/journal/Journal.ts"
import { binaries } from "../verification/harness/PostgresBinaries.ts"
import { isPostgresInstalled, PostgresServer } from "../verification/harness/PostgresServer.ts"
import { header, type Summary, summary } from "./Harness.ts"
import { JournalSubject, type Measured, measured, origin } from "./JournalSubject.ts"

export interface Options {
  readonly rounds: number
  readonly callers: number
  /** Records per round. */
  readonly records: number
  /** Records per round of the floor. */
  readonly floorRecords: number
  /** Rows per transaction of the peer; 0 leaves it out. */
  readonly peerBatch: number
}

export interface Figures {
  readonly rate: Summary
  readonly p50_us: Summary
}

export interface Report {
  readonly floor: Figures
  readonly alone: Figures
  readonly journal: Figures
  readonly peer: Figures | undefined
  /** Rates in relation to the floor and the peer. */
  readonly ratio: Summary
  readonly aloneRatio: Summary
  readonly peerRatio: Summary | undefined
  /** p50 of a caller's wait, in syncs of the floor. */
  readonly syncs: Summary
}

const RECORD_BYTES = 200

const floor = (directory: string, records: number): Measured => {
  const file = openSync(join(directory, "floor"), "w")
  const record = randomBytes(RECORD_BYTES)
  const latencies = new Float64Array(records)
  const began = performance.now()
  for (let i = 0; i < records; i++) {
    const start = performance.now()
    writeSync(file, record)
    fdatasyncSync(file)
    latencies[i] = (performance.now() - start) * 1000
  }
  const result = measured(records, began, latencies)
  closeSync(file)
  return result
}

const openJournal = (directory: string): Journal => Journal.open(join(directory, "journal.sqlite"), origin)

/** The floor's records, in groups of one per caller. Every caller waits for its group. */
const alone = (journal: Journal, callers: number, records: number): Measured => {
  const record = randomBytes(RECORD_BYTES)
  const latencies = new Float64Array(records)
  const began = performance.now()
  for (let done = 0; done < records;) {
    const start = performance.now()
    const end = Math.min(records, done + callers)
    journal.begin()
    for (let i = done; i < end; i++) journal.append(0, null, record, null)
    journal.commit()
    latencies.fill((performance.now() - start) * 1000, done, end)
    done = end
  }
  return measured(records, began, latencies)
}

class Peer {
  private readonly server: PostgresServer
  private readonly script: string
  private readonly batch: number

  /** Undefined where PostgreSQL is not installed. */
  static async start(directory: string, batch: number): Promise<Peer | undefined> {
    if (!isPostgresInstalled || batch === 0) return undefined
    const server = await PostgresServer.start(undefined, true)
    await server.query("CREATE TABLE entries (position bigserial PRIMARY KEY, command_id text, command bytea)")
    await server.query("CREATE INDEX ON entries (command_id)")
    const script = join(directory, "batch.sql")
    const row = `md5(random()::text), decode(repeat('ab', ${RECORD_BYTES}), 'hex')`
    writeFileSync(
      script,
      `INSERT INTO entries (command_id, command) SELECT ${row} FROM generate_series(1, ${batch});\n`
    )
    return new Peer(server, script, batch)
  }

  private constructor(server: PostgresServer, script: string, batch: number) {
    this.server = server
    this.script = script
    this.batch = batch
  }

  run(records: number): Measured {
    const transactions = Math.max(1, Math.round(records / this.batch))
    const address = ["-h", "127.0.0.1", "-p", String(this.server.port), "-U", "gateway"]
    const args = [...address, "-n", "-f", this.script, "-t", String(transactions), "postgres"]
    const out = execFileSync(join(binaries()!, "pgbench"), args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"]
    })
    const number = (pattern: RegExp) => Number(pattern.exec(out)![1])
    return { rate: number(/^tps = ([0-9.]+)/mu) * this.batch, p50_us: number(/^latency average = ([0-9.]+)/mu) * 1000 }
  }

  stop(): Promise<void> {
    return this.server.remove()
  }
}

const figures = (all: ReadonlyArray<Measured>): Figures => ({
  rate: summary(all.map(({ rate }) => rate)),
  p50_us: summary(all.map(({ p50_us }) => p50_us))
})

/** Interleaved rounds; the first one is discarded. */
export const run = async (options: Options): Promise<Report> => {
  const directory = mkdtempSync(join(tmpdir(), "journal-bench-"))
  const [floors, alones, journals, peers] = [[], [], [], []] as [
    Array<Measured>,
    Array<Measured>,
    Array<Measured>,
    Array<Measured>
  ]
  const bare = openJournal(join(directory, "alone"))
  const journal = openJournal(join(directory, "backend"))
  const subject = new JournalSubject(journal)
  let peer: Peer | undefined
  try {
    peer = await Peer.start(directory, options.peerBatch)
    for (let round = 0; round <= options.rounds; round++) {
      const one = floor(directory, options.floorRecords)
      const two = alone(bare, options.callers, options.records)
      const three = await subject.run(options.callers, options.records)
      const four = peer?.run(options.records)
      if (round === 0) continue
      floors.push(one)
      alones.push(two)
      journals.push(three)
      if (four !== undefined) peers.push(four)
    }
  } finally {
    await subject.stop()
    journal.close()
    bare.close()
    await peer?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  return {
    floor: figures(floors),
    alone: figures(alones),
    journal: figures(journals),
    peer: peer === undefined ? undefined : figures(peers),
    ratio: summary(journals.map(({ rate }, i) => rate / floors[i]!.rate)),
    aloneRatio: summary(alones.map(({ rate }, i) => rate / floors[i]!.rate)),
    peerRatio: peer === undefined ? undefined : summary(journals.map(({ rate }, i) => rate / peers[i]!.rate)),
    syncs: summary(journals.map(({ p50_us }, i) => p50_us / floors[i]!.p50_us))
  }
}

const shown = ({ median, min, max }: Summary, digits: number): string =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

export const main = async (): Promise<void> => {
  const rounds = 6
  console.log(JSON.stringify(header("npm run bench -- journal", rounds, "engine, gRPC, events")))
  for (const callers of [64, 1024, 8192]) {
    const report = await run({ rounds, callers, records: 200_000, floorRecords: 4000, peerBatch: callers })
    console.log(`\n${callers} callers\n\n| variant | records/s | p50 µs | ratio to floor |\n|---|---|---|---|`)
    const { alone: bare, aloneRatio, floor: least, journal, peer, peerRatio, ratio, syncs } = report
    console.log(`| floor | ${shown(least.rate, 0)} | ${shown(least.p50_us, 0)} | 1 |`)
    console.log(`| alone | ${shown(bare.rate, 0)} | ${shown(bare.p50_us, 0)} | ${shown(aloneRatio, 1)} |`)
    console.log(
      `| **journal** | ${shown(journal.rate, 0)} | ${shown(journal.p50_us, 0)} = ${shown(syncs, 1)} syncs | ${shown(ratio, 1)} |`
    )
    if (peer === undefined) console.log("PostgreSQL is not installed: left out")
    else
      console.log(
        `| PostgreSQL | ${shown(peer.rate, 0)} | ${shown(peer.p50_us, 0)} | journal is ${shown(peerRatio!, 1)} times that |`
      )
  }
}
