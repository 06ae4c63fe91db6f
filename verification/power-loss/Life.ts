/**
 * One life of a backend below gRPC, as a program: the real journal, writer and snapshots under seeded users, telling on its
 * standard output which commands were answered. It is run under strace, which sees every write and every sync.
 *
 * Nothing in it hangs on the clock, so equal options on an equal disk give equal writes.
 */
import { writeSync } from "node:fs"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { drain } from "../../src/backend/engine/Machine.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { recover, takeSnapshot } from "../../src/backend/journal/Recovery.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { defaultLimits } from "../../src/backend/journal/EventLog.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import { Writer } from "../../src/backend/server/Writer.ts"
import { Command, CommandResult } from "../../src/proto/gateway/v1/sequencer.ts"
import { START, Users } from "../harness/SimulatedUsers.ts"
import { random } from "../harness/Random.ts"

/** Faults that a trial must find, or it proves nothing. */
export type Fault =
  "synchronous = NORMAL" | "synchronous = OFF" | "answers before the sync" | "the witness before the commit"

export interface LifeOptions {
  readonly directory: string
  /** 1 for the first */
  readonly life: number
  readonly seed: number
  readonly commands: number
  /** How it ends: with everything closed, or by a kill. */
  readonly ends: "orderly" | "killed"
  readonly fault?: Fault | undefined
}

/** Pages after which the write-ahead log moves into the file: few, so that a short life sees it many times. */
const WAL_PAGES = 40
/** Commands between two checkpoints of the state, and between two snapshots. */
const CHECKPOINT_COMMANDS = 25
const SNAPSHOT_COMMANDS = 40

export const origin = {
  epoch: "power",
  rules: machine.rules,
  config: JSON.stringify({
    markets: shippedMarkets.slice(0, 1),
    simMaker: false,
    indexSource: "manual",
    faucetDailyLimit: "100000",
    openOrdersMax: 1_000_000,
    poolBaseEquity: "50"
  }),
  ids_key: "0001020304050607",
  created_at_ms: START
}

const live = async ({ directory, life, seed, commands, ends, fault }: LifeOptions): Promise<void> => {
  const path = journalPath(directory)
  const journal = Journal.open(path, () => origin)
  journal["db"].exec(`PRAGMA wal_autocheckpoint = ${WAL_PAGES}`)
  if (fault?.startsWith("synchronous") === true) journal["db"].exec(`PRAGMA ${fault}`)
  const { state, at_ms, log, openIndex } = recover(machine, journal, {
    limits: defaultLimits,
    warn: (message) => {
      throw new Error(message)
    }
  })
  openIndex()
  const next = random(seed * 16 + life)
  const users = new Users(next)
  users.now = Math.max(users.now, at_ms)

  let isOpen = false
  const commit = journal.commit.bind(journal)
  if (fault === "answers before the sync") journal.commit = () => void (isOpen = true)
  if (fault === "the witness before the commit")
    journal.commit = () => {
      journal["witness"]!.write(journal.position, journal.checksum)
      return commit()
    }
  const writer = new Writer({
    machine,
    state,
    journal,
    log,
    at_ms,
    now: () => users.now,
    // no turn returns to the event loop half applied
    monotonic: () => 0,
    onEvents: () => {},
    space: () => Number.POSITIVE_INFINITY,
    onSpace: () => {},
    onSettled: () => {},
    onFailure: (cause) => {
      throw cause
    }
  })
  // time passes when the seed says so
  clearInterval(writer["timer"])
  const caller = {
    results: [] as Array<Uint8Array>,
    flush: () => {
      let acknowledged = ""
      for (const bytes of caller.results.splice(0)) {
        const result = CommandResult.decode(bytes)
        if (result.outcome?.$case === "ack") acknowledged += `${result.outcome.value.command_id}\n`
        users.received(result)
      }
      writeSync(1, acknowledged)
    }
  }
  let [checkpointed, snapshot] = [0, 0]
  for (let sent = 0; sent < commands;) {
    if (next() < 0.2) {
      users.now += Math.floor(next() * 1500)
      writer["tickDue"] = true
    }
    for (let left = 1 + Math.floor(next() * 6); left > 0; left--, sent++) {
      const command = { ...users.one(), command_id: `life-${life}-${sent}` }
      const bytes = Command.encode(command).finish()
      writer.submit(caller, Command.decode(bytes), bytes)
    }
    writer["turn"]()
    if (isOpen) commit()
    isOpen = false
    if (sent - checkpointed >= CHECKPOINT_COMMANDS) {
      checkpointed = sent
      drain(writer["checkpoint"]())
    }
    if (sent - snapshot < SNAPSHOT_COMMANDS) continue
    snapshot = sent
    takeSnapshot(machine, path)
  }
  if (ends === "killed") process.kill(process.pid, "SIGKILL")
  writer.stop()
  journal.close()
}

if (process.argv[1] === import.meta.filename) await live(JSON.parse(process.argv[2]!) as LifeOptions)
