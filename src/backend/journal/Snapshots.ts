/**
 * Snapshots of the state, beside the journal: a start loads the newest one and replays only later entries.
 *
 * A snapshot is one file that is written atomically (temporary file, sync, rename). The last two are kept. It contains
 * the state after the entry at its position, and the newest events, so that subscribers can resume. The checksum of the
 * entries up to its position identifies the journal that it belongs to.
 */
import { createHash } from "node:crypto"
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync
} from "node:fs"
import { dirname, join } from "node:path"
import * as PrivateFiles from "../../node/PrivateFiles.ts"
import * as Directory from "./Directory.ts"
import type { EventTail } from "./EventLog.ts"

/** Number of snapshots kept: the second is a fallback for a damaged one. */
export const SNAPSHOTS_KEPT = 2
/** Number of events that a snapshot stores and a start restores. */
export const SNAPSHOT_EVENTS = 10_000

/** 2: events have checksums. 3: fields of the state have other names. */
const FORMAT = 3
const DIGEST_BYTES = 32

export interface SnapshotHead {
  readonly epoch: string
  readonly rules: string
  /** position of the last entry that the snapshot includes */
  readonly position: number
  /** time of that entry, Unix ms */
  readonly at_ms: number
  /** checksum of the entries up to it */
  readonly chain: number
  readonly state_hash: string
}

export interface Snapshot {
  readonly head: SnapshotHead
  readonly events: EventTail
  readonly state: Uint8Array
}

interface FirstLine {
  readonly format: number
  readonly head: SnapshotHead
  readonly head_seq: number
  readonly blocks: EventTail["blocks"]
  readonly events_bytes: number
  readonly state_bytes: number
}

const NAME = /^([0-9]{15})\.snapshot$/u
/** File name of a snapshot. */
export const nameOf = (position: number): string => `${String(position).padStart(15, "0")}.snapshot`

/** Directory of a journal's snapshots. */
export const directoryOf = (journal: string): string => join(dirname(journal), "snapshots")

/** Positions of the existing snapshots, newest first. */
export const list = (directory: string): ReadonlyArray<number> => {
  let names: ReadonlyArray<string>
  try {
    names = readdirSync(directory)
  } catch {
    return []
  }
  return names
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a)
}

/** Writes a snapshot and removes all but the last {@link SNAPSHOTS_KEPT}. */
export const write = (directory: string, { head, events, state }: Snapshot): void => {
  Directory.make(directory)
  const line: FirstLine = {
    format: FORMAT,
    head,
    head_seq: events.head_seq,
    blocks: events.blocks,
    events_bytes: events.bytes.length,
    state_bytes: state.length
  }
  const parts = [Buffer.from(`${JSON.stringify(line)}\n`), events.bytes, state]
  const digest = createHash("sha256")
  for (const part of parts) digest.update(part)
  const name = nameOf(head.position)
  const aside = join(directory, `${name}.${process.pid}.tmp`)
  try {
    const file = openSync(aside, "w", 0o600)
    try {
      for (const part of [...parts, digest.digest()])
        for (let at = 0; at < part.length;) at += writeSync(file, part, at)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(aside, join(directory, name))
  } catch (cause) {
    rmSync(aside, { force: true })
    throw cause
  }
  Directory.sync(directory)
  for (const old of list(directory).slice(SNAPSHOTS_KEPT)) remove(directory, old)
}

/**
 * Removes temporary files of a process that died, and restricts the snapshots to their owner. Only the journal's writer
 * may call it, before it takes snapshots.
 */
export const clean = (directory: string): void => {
  if (!existsSync(directory)) return
  PrivateFiles.directory(directory)
  for (const name of readdirSync(directory)) if (name.endsWith(".tmp")) rmSync(join(directory, name), { force: true })
  PrivateFiles.files(list(directory).map((position) => join(directory, nameOf(position))))
}

export const remove = (directory: string, position: number): void =>
  rmSync(join(directory, nameOf(position)), { force: true })

/** Reads a snapshot. Throws an Error that describes the damage. */
export const read = (directory: string, position: number): Snapshot => {
  const bytes = readFileSync(join(directory, nameOf(position)))
  const end = bytes.length - DIGEST_BYTES
  const digest = createHash("sha256")
    .update(bytes.subarray(0, Math.max(0, end)))
    .digest()
  if (end < 0 || !digest.equals(bytes.subarray(end))) throw new Error("its checksum does not match")
  const newline = bytes.indexOf(10)
  const line = JSON.parse(bytes.toString("utf8", 0, newline)) as FirstLine
  if (![1, 2, FORMAT].includes(line.format))
    throw new Error(`it has format ${line.format}, this program reads formats 1 to ${FORMAT}`)
  const events = newline + 1
  const state = events + line.events_bytes
  return {
    head: line.head,
    events:
      line.format > 1
        ? { head_seq: line.head_seq, blocks: line.blocks, bytes: bytes.subarray(events, state) }
        : { head_seq: line.head_seq, blocks: [], bytes: new Uint8Array() },
    state: bytes.subarray(state, state + line.state_bytes)
  }
}
