/**
 * Damaged disks: one bit of a backend's files is inverted, and the real start must either refuse with advice or have exactly
 * what was acknowledged. A flip that no start reads, in an old entry, must at least be found by the whole check.
 *
 * The files are those of a killed process: a journal, its write-ahead log, its head and two snapshots.
 */
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { verify } from "../../src/backend/JournalCheck.ts"
import { defaultLimits } from "../../src/backend/journal/EventLog.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { JournalError } from "../../src/backend/journal/JournalError.ts"
import { recover } from "../../src/backend/journal/Recovery.ts"
import { replay } from "../../src/backend/journal/Replay.ts"
import * as Snapshots from "../../src/backend/journal/Snapshots.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import type { Settings } from "../../src/backend/Settings.ts"
import { Command } from "../../src/proto/gateway/v1/sequencer.ts"
import { pick, type Random, random } from "../harness/Random.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { count, type Counts } from "../harness/Statistics.ts"
import { ensure } from "../simulation/Exact.ts"
import type { LifeOptions } from "../power-loss/Life.ts"

/** Where a bit is inverted. */
export const KINDS = ["journal", "write-ahead log", "snapshot", "head"] as const
export type Kind = (typeof KINDS)[number]

/**
 * What becomes of a flip.
 * - `refused`: the start refuses, and its message says what to do.
 * - `repaired`: the start does without the file or part, has everything, and warns or writes it anew.
 * - `found by verify`: the start does not read it and has everything; `backend verify` refuses it.
 * - `harmless`: neither reads it: unused bytes, or what a later version replaces.
 */
export type Effects = "refused" | "repaired" | "found by verify" | "harmless"

/** What the undamaged files hold. */
interface Truth {
  readonly position: number
  readonly checksum: number
  readonly state_hash: string
  readonly head_seq: number
  /** Positions by command. */
  readonly commands: ReadonlyMap<string, number>
  readonly links: ReadonlyArray<{ readonly account: number; readonly link: string; readonly order_id: string }>
}

export interface Options {
  readonly flips: number
  readonly seed: number
  /** Of the life that wrote the files. */
  readonly commands: number
  /** Only this one. */
  readonly only?: number | undefined
}
export interface Outcome {
  readonly effects: Readonly<Record<Kind, Counts>>
  readonly violations: ReadonlyArray<string>
}

/** What a message must contain: the operator's next step. */
const ADVICE = /Restore the last backup|remove |run the program that wrote it|run "npm run backend/u

/** A killed process leaves its files; returns the ids that it acknowledged. */
const live = (directory: string, options: LifeOptions): ReadonlyArray<string> => {
  const program = join(import.meta.dirname, "../power-loss/Life.ts")
  const { signal, stdout, stderr } = spawnSync(process.execPath, [program, JSON.stringify(options)], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024
  })
  ensure(signal === "SIGKILL", () => `the process in ${directory} was not killed: ${stderr}`)
  return stdout.split("\n").filter((id) => id !== "")
}

/** All of the journal, by a replay of a copy. */
const truthOf = (directory: string): Truth => {
  const journal = Journal.read(journalPath(directory))
  try {
    const commands = new Map<string, number>()
    for (const { command, position } of journal.entries())
      if (command !== undefined) commands.set(Command.decode(command).command_id, position)
    const { state } = replay(machine, journal)
    const links = journal["db"].prepare("SELECT account, link, order_id FROM links").all()
    return {
      position: journal.position,
      checksum: journal.checksum,
      state_hash: machine.hash(state),
      head_seq: machine.headSeq(state),
      commands,
      links: links as unknown as Truth["links"]
    }
  } finally {
    journal.close()
  }
}

const fileOf = (directory: string, kind: Kind, next: Random): string => {
  const path = journalPath(directory)
  if (kind === "journal") return path
  if (kind === "write-ahead log") return `${path}-wal`
  if (kind === "head") return `${path}.head`
  const snapshots = Snapshots.directoryOf(path)
  return join(snapshots, pick(next, readdirSync(snapshots).sort()))
}

const flip = (path: string, next: Random): string => {
  const bytes = readFileSync(path)
  const at = Math.floor(next() * bytes.length)
  const bit = Math.floor(next() * 8)
  bytes[at]! ^= 1 << bit
  writeFileSync(path, bytes)
  return `bit ${bit} of byte ${at} of ${bytes.length}`
}

/** What a start has, as the {@link Truth} has it; and whether it did without something. */
const start = (directory: string, truth: Truth): { readonly lost: ReadonlyArray<string>; readonly warned: boolean } => {
  let warned = false
  const lost: Array<string> = []
  const expect = (what: string, found: unknown, expected: unknown) => {
    if (found !== expected) lost.push(`${what} is ${String(found)}, not ${String(expected)}`)
  }
  const journal = Journal.existing(journalPath(directory))
  try {
    expect("the last position", journal.position, truth.position)
    expect("the checksum", journal.checksum, truth.checksum)
    const { state, log } = recover(machine, journal, { limits: defaultLimits, warn: () => (warned = true) })
    expect("the state", machine.hash(state), truth.state_hash)
    expect("the last event", log.head, truth.head_seq)
    journal.readIds()
    for (const [id, position] of truth.commands) expect(`command ${id}`, journal.find(id)?.position, position)
    for (const { account, link, order_id } of truth.links)
      expect(`order_link_id ${link}`, journal.findLink(account, link), order_id)
  } finally {
    journal.close()
  }
  return { lost, warned }
}

const settingsOf = (dataDir: string) => ({ dataDir }) as Settings

/** What became of one flip. Throws where it loses something without a word. */
const effectOf = (directory: string, truth: Truth): Effects => {
  const refusal = (cause: unknown): Effects => {
    ensure(cause instanceof JournalError, () => `the start fails with ${String(cause)}`)
    ensure(ADVICE.test((cause as JournalError).message), () => `no advice: ${(cause as JournalError).message}`)
    return "refused"
  }
  // the start changes files, so the check has a copy
  const copy = `${directory}-verify`
  cpSync(directory, copy, { recursive: true })
  let started: ReturnType<typeof start>
  try {
    started = start(directory, truth)
  } catch (cause) {
    return refusal(cause)
  }
  const isVerified = (checked: string): boolean => {
    const verdict = Effect.runSync(Effect.result(verify(settingsOf(checked))))
    if (verdict._tag === "Failure") return refusal(verdict.failure) !== "refused"
    ensure(verdict.success.state_hash === truth.state_hash, () => "verify accepts another state")
    return true
  }
  ensure(started.lost.length === 0, () => `lost without a word: ${started.lost.join("; ")}`)
  const found = !isVerified(copy)
  if (started.warned) return "repaired"
  if (!found) return "harmless"
  // verify names it before the start, and not after: the start has replaced it
  return isVerified(directory) ? "repaired" : "found by verify"
}

/** Inverts so many bits, each in a fresh copy of the files, and checks each. */
export const run = ({ commands, flips, only, seed }: Options): Outcome => {
  const folder = temporaryFolder("bit-flips")
  try {
    const whole = join(folder.path, "whole")
    mkdirSync(whole)
    const acknowledged = live(whole, { directory: whole, life: 1, seed, commands, ends: "killed" })
    const truth = truthOf(whole)
    for (const id of acknowledged) ensure(truth.commands.has(id), () => `command ${id} is lost without any flip`)
    ensure(statSync(`${journalPath(whole)}-wal`).size > 0, () => "the write-ahead log is empty")
    const effects: Record<Kind, Counts> = { journal: {}, "write-ahead log": {}, snapshot: {}, head: {} }
    const violations: Array<string> = []
    for (let i = 0; i < flips; i++) {
      if (only !== undefined && i !== only) continue
      const next = random(seed * 1_000_003 + i)
      const kind = KINDS[i % KINDS.length]!
      const damaged = temporaryFolder("bit-flip")
      const directory = join(damaged.path, "data")
      let what = ""
      try {
        cpSync(whole, directory, { recursive: true })
        what = flip(fileOf(directory, kind, next), next)
        count(effects[kind], effectOf(directory, truth))
      } catch (cause) {
        violations.push(`flip ${i}, ${kind}, ${what}: ${(cause as Error).message}`)
      } finally {
        damaged.remove()
      }
    }
    return { effects, violations }
  } finally {
    folder.remove()
  }
}
