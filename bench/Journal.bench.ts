/**
 * The journal under callers that wait: commands of about 200 bytes, each acknowledged after the sync that covers it.
 *
 * Floor: one write and one fdatasync per record. Alone: the journal with the floor's bytes in groups, one for all callers at
 * a time. Subject: the backend's writer and journal as shipped, with an engine that only acknowledges. Peer: PostgreSQL, if
 * installed, with batch inserts that it generates itself, an index on the id and no client traffic: an upper bound for
 * batches from outside.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { randomBytes } from "node:crypto"
import { Journal } from "../src/backend/journal/Journal.ts"
import type { Machine } from "../src/backend/engine/Machine.ts"
import { EventLog } from "../src/backend/journal/EventLog.ts"
import { Writer } from "../src/backend/server/Writer.ts"
import { Command } from "../src/proto/gateway/v1/sequencer.ts"
import { OrderType, Side, SmpType, TimeInForce } from "../src/proto/gateway/v1/types.ts"
import { header, percentile, type Summary, summary } from "./Harness.ts"

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

interface Measured {
  readonly rate: number
  readonly p50_us: number
}

const RECORD_BYTES = 200

const measured = (count: number, began: number, latencies: Float64Array): Measured => ({
  rate: (count * 1000) / (performance.now() - began),
  p50_us: percentile(latencies.toSorted(), 50)
})

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

const openJournal = (directory: string): Journal =>
  Journal.open(join(directory, "journal.sqlite"), () => ({
    epoch: "bench",
    rules: "bench",
    config: "{}",
    ids_key: "0001020304050607",
    created_at_ms: 0
  }))

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

const machine: Machine<{ seq: number }, object> = {
  rules: "bench",
  upgrades: [],
  initial: () => ({ seq: 0 }),
  dump: () => new Uint8Array(),
  load: () => ({ seq: 0 }),
  apply: (state, { at_ms, command }) => {
    const value = {
      command_id: command!.command_id,
      seq: ++state.seq,
      accepted_at_ms: at_ms,
      orders: [],
      duplicate: false,
      result: undefined
    }
    return { result: { outcome: { $case: "ack", value } }, events: [] }
  },
  hash: () => "",
  tickMatters: () => false,
  headSeq: ({ seq }) => seq
}

const orders = (count: number): ReadonlyArray<{ readonly command: Command; readonly bytes: Uint8Array }> =>
  Array.from({ length: count }, () => {
    const command: Command = {
      command_id: randomBytes(16).toString("base64url"),
      user_id: "0x".padEnd(42, "7"),
      sub_account_address: "0x".padEnd(66, "3"),
      issued_at_ms: 1767225600000,
      command: {
        $case: "place_order",
        value: {
          symbol: "BTC-USDC",
          side: Side.SIDE_BUY,
          order_type: OrderType.ORDER_TYPE_LIMIT,
          qty: "0.125",
          price: "60000.5",
          time_in_force: TimeInForce.TIME_IN_FORCE_GTC,
          smp_type: SmpType.SMP_TYPE_CANCEL_TAKER,
          expire_time_ms: undefined,
          post_only: false,
          reduce_only: false,
          close_on_trigger: false,
          order_link_id: randomBytes(9).toString("base64url"),
          trigger: undefined,
          tpsl: undefined
        }
      }
    }
    return { command, bytes: Command.encode(command).finish() }
  })

/** The journal of all rounds, so that its indexes are not empty. */
class Subject {
  private readonly journal: Journal
  private readonly writer: Writer<{ seq: number }, object>

  constructor(directory: string) {
    this.journal = openJournal(join(directory, "backend"))
    this.writer = new Writer({
      machine,
      state: machine.initial({}, "bench"),
      journal: this.journal,
      log: new EventLog("bench"),
      at_ms: 0,
      now: Date.now,
      onEvents: () => {},
      space: () => Number.POSITIVE_INFINITY,
      onSpace: () => {},
      onSnapshotDue: () => {},
      onFailure: (cause) => {
        throw cause
      }
    })
  }

  /** One round. Fails unless every record is in the journal. */
  run(callers: number, records: number): Promise<Measured> {
    const { journal, writer } = this
    const given = orders(records)
    const wanted = journal.position + records
    const latencies = new Float64Array(records)
    let next = 0
    let answered = 0
    return new Promise((resolve, reject) => {
      const began = performance.now()
      for (let i = 0; i < callers; i++) {
        let start = 0
        const submit = () => {
          const order = given[next++]
          if (order === undefined) return
          start = performance.now()
          writer.submit(caller, order.command, order.bytes)
        }
        const caller = {
          results: [] as Array<Uint8Array>,
          flush: () => {
            caller.results.length = 0
            latencies[answered++] = (performance.now() - start) * 1000
            if (answered < records) submit()
            else if (journal.position === wanted) resolve(measured(records, began, latencies))
            else reject(new Error(`the journal ends at ${journal.position}, not at ${wanted}`))
          }
        }
        submit()
      }
    })
  }

  close(): void {
    this.writer.stop()
    this.journal.close()
  }
}

/** The folder of PostgreSQL's server programs, which Debian keeps out of the path. */
const postgresBin = (): string | undefined => {
  const root = "/usr/lib/postgresql"
  try {
    return join(root, readdirSync(root).toSorted().at(-1)!, "bin")
  } catch {
    return undefined
  }
}

class Peer {
  private readonly directory: string
  private readonly bin: string
  private readonly script: string

  /** Undefined where PostgreSQL is not installed. */
  static start(directory: string, batch: number): Peer | undefined {
    const bin = postgresBin()
    return bin === undefined || batch === 0 ? undefined : new Peer(directory, bin, batch)
  }

  private constructor(directory: string, bin: string, batch: number) {
    this.directory = directory
    this.bin = bin
    execFileSync("chown", ["postgres", directory])
    this.as("initdb", ["-D", join(directory, "db"), "-A", "trust", "-U", "bench"])
    const options = `-k ${directory} -c listen_addresses= -c shared_buffers=256MB -c max_wal_size=4GB`
    this.as("pg_ctl", ["-D", join(directory, "db"), "-o", options, "-l", join(directory, "log"), "-w", "start"])
    this.sql("CREATE TABLE entries (position bigserial PRIMARY KEY, command_id text, command bytea)")
    this.sql("CREATE INDEX ON entries (command_id)")
    this.script = join(directory, "batch.sql")
    const row = `md5(random()::text), decode(repeat('ab', ${RECORD_BYTES}), 'hex')`
    writeFileSync(
      this.script,
      `INSERT INTO entries (command_id, command) SELECT ${row} FROM generate_series(1, ${batch});\n`
    )
    this.batch = batch
  }

  private readonly batch: number

  private as(program: string, args: ReadonlyArray<string>): void {
    const run = ["-u", "postgres", "--", join(this.bin, program), ...args]
    const { status, stderr } = spawnSync("runuser", run, { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] })
    if (status !== 0) throw new Error(`${program}: ${stderr}`)
  }

  private sql(text: string): void {
    execFileSync("psql", ["-h", this.directory, "-U", "bench", "-q", "-c", text, "postgres"])
  }

  run(records: number): Measured {
    const transactions = Math.max(1, Math.round(records / this.batch))
    const args = ["-h", this.directory, "-U", "bench", "-n", "-f", this.script, "-t", String(transactions), "postgres"]
    const out = execFileSync("pgbench", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
    const number = (pattern: RegExp) => Number(pattern.exec(out)![1])
    return { rate: number(/^tps = ([0-9.]+)/mu) * this.batch, p50_us: number(/^latency average = ([0-9.]+)/mu) * 1000 }
  }

  stop(): void {
    this.as("pg_ctl", ["-D", join(this.directory, "db"), "-m", "immediate", "stop"])
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
  const subject = new Subject(directory)
  let peer: Peer | undefined
  try {
    peer = Peer.start(directory, options.peerBatch)
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
    subject.close()
    bare.close()
    peer?.stop()
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
