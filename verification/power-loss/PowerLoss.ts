/**
 * Power that fails: the writes of a real backend process are recorded once, then the disk is built as it may be found after
 * a failure at any point between two of them, and the real recovery is held against what had been acknowledged by then.
 *
 * The recording has two lives in one directory: the first is killed, the second recovers and ends in order.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { recover } from "../../src/backend/journal/Recovery.ts"
import { replay } from "../../src/backend/journal/Replay.ts"
import { defaultLimits } from "../../src/backend/journal/EventLog.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import { Command } from "../../src/proto/gateway/v1/sequencer.ts"
import { ensure } from "../simulation/Exact.ts"
import { random } from "../harness/Random.ts"
import { type Fault, type LifeOptions, origin } from "./Life.ts"
import { lay, Platter } from "./Platter.ts"
import { type Operation, operationsOf, record } from "./Trace.ts"

export interface Recording {
  readonly operations: ReadonlyArray<Operation>
  /** By position: checksum of the entries so far, and hash of their state. */
  readonly chains: ReadonlyArray<number>
  readonly hashes: ReadonlyArray<string>
  /** Positions by command. */
  readonly positions: ReadonlyMap<string, number>
}

/** Shared memory between processes and the lock of the writer are made anew by every start. */
const isKept = (path: string): boolean => !path.endsWith("-shm") && !path.includes(".lock")

/** A directory of its own for a function, in memory where the machine has such. */
const within = <A>(f: (directory: string) => A): A => {
  const memory = "/dev/shm"
  const isThere = statSync(memory, { throwIfNoEntry: false })?.isDirectory() === true
  const directory = mkdtempSync(join(isThere ? memory : tmpdir(), "power-"))
  try {
    return f(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const filesBelow = (directory: string): ReadonlyArray<string> =>
  (readdirSync(directory, { recursive: true }) as Array<string>).filter(isKept).sort()

/** The recording must lead to the files that are there, to the byte; else nothing that follows from it counts. */
const ensureFaithful = (operations: ReadonlyArray<Operation>, directory: string): void => {
  const platter = new Platter()
  for (const operation of operations) if (operation.kind !== "say") platter.apply(operation)
  const image = platter.whole()
  const [found, built] = [filesBelow(directory), [...image.keys()].sort()]
  ensure(found.join() === built.join(), () => `the recording has ${built.join()}, the directory ${found.join()}`)
  for (const [path, content] of image)
    ensure(
      content === undefined || content.equals(readFileSync(join(directory, path))),
      () => `the recording of ${path} is not what is in the file`
    )
}

/** Runs both lives and records what they do. */
export const recordLives = (options: {
  readonly seed: number
  /** of each life */
  readonly commands: number
  readonly fault?: Fault | undefined
}): Recording =>
  within((aside) => {
    const directory = join(aside, "data")
    mkdirSync(directory)
    const operations: Array<Operation> = []
    const there = new Set([""])
    for (const life of [1, 2]) {
      const trace = join(aside, "trace")
      const ends = life === 1 ? "killed" : "orderly"
      const asked: LifeOptions = { ...options, directory, life, ends }
      const { killed } = record(trace, join(import.meta.dirname, "Life.ts"), JSON.stringify(asked))
      ensure(killed === (ends === "killed"), () => `life ${life} did not end as it should`)
      for (const operation of operationsOf(trace, directory, isKept, there)) operations.push(operation)
      ensureFaithful(operations, directory)
    }
    const journal = Journal.read(journalPath(directory))
    try {
      const chains = [0]
      const hashes: Array<string> = []
      const positions = new Map<string, number>()
      for (const { chain, command, position } of journal.entries()) {
        chains.push(chain)
        if (command === undefined) continue
        const { command_id } = Command.decode(command)
        ensure(!positions.has(command_id), () => `command ${command_id} is in the journal twice`)
        positions.set(command_id, position)
      }
      hashes.push(machine.hash(machine.initial(JSON.parse(origin.config), origin.epoch)))
      replay(machine, journal, { results: true, onEntry: (_position, state) => hashes.push(machine.hash(state)) })
      return { operations, chains, hashes, positions }
    } finally {
      journal.close()
    }
  })

/** The real recovery of a directory, against what must be there. */
const ensureRecovers = (recording: Recording, directory: string, floor: number): void => {
  const { chains, hashes } = recording
  let isNew = false
  const journal = Journal.open(journalPath(directory), () => {
    isNew = true
    return origin
  })
  try {
    const { position } = journal
    ensure(!isNew || floor === 0, () => `the journal is gone, ${floor} entries of it were acknowledged`)
    ensure(position >= floor, () => `${position} entries are left, ${floor} were acknowledged`)
    let chain = 0
    for (const entry of journal.entries()) chain = entry.chain
    ensure(chain === chains[position], () => `the ${position} entries are not those that were written`)
    const { state, at_ms } = recover(machine, journal, {
      limits: defaultLimits,
      warn: (message) => ensure(false, () => message)
    })
    ensure(machine.hash(state) === hashes[position], () => `after ${position} entries the state is another one`)
    // and it goes on
    journal.begin()
    const next: Command = {
      command_id: "next",
      user_id: "",
      sub_account_address: "",
      issued_at_ms: 0,
      command: undefined
    }
    journal.append(at_ms, "next", Command.encode(next).finish(), new Uint8Array())
    journal.commit()
    ensure(journal.find("next")?.position === position + 1, () => `the next command was not taken`)
  } finally {
    journal.close()
  }
}

export interface Judged {
  readonly points: number
  readonly operations: number
  /** Points at which something that was written was not synced. */
  readonly unsynced: number
  readonly failures: ReadonlyArray<string>
}

/** Lets the power fail at so many points, evenly over the recording, and judges what is found; or at one of them only. */
export const judge = (
  recording: Recording,
  { points, seed, only, failures_max }: { points: number; seed: number; only?: number; failures_max: number }
): Judged => {
  const { operations, positions } = recording
  const platter = new Platter()
  const failures: Array<string> = []
  let [applied, floor, unsynced] = [0, 0, 0]
  for (let point = 0; point < points && failures.length < failures_max; point++) {
    for (const until = Math.floor(((point + 1) * operations.length) / points); applied < until; applied++) {
      const operation = operations[applied]!
      if (operation.kind !== "say") {
        platter.apply(operation)
        continue
      }
      for (const id of operation.text.split("\n")) {
        if (id === "") continue
        const position = positions.get(id)
        ensure(position !== undefined, () => `command ${id} was acknowledged and never written`)
        floor = Math.max(floor, position!)
      }
    }
    if (only !== undefined && point !== only) continue
    if (platter.isPending) unsynced++
    try {
      within((directory) => {
        lay(directory, platter.image(random(seed * 1_000_003 + point)))
        ensureRecovers(recording, directory, floor)
      })
    } catch (error) {
      failures.push(`point ${point}, after operation ${applied}: ${(error as Error).message}`)
    }
  }
  return { points, operations: operations.length, unsynced, failures }
}
