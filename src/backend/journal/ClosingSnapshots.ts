/**
 * Closing snapshots: the state at the end of each stretch of a journal that has other rules than the next one.
 *
 * A program replays only entries of its own rules. When newer rules begin an era, the snapshot of the last entry before it is
 * kept for good in `eras/`, beside the snapshots. It proves the stretch: the checksum of the entries up to its end and the
 * state hash of its last checkpoint are those that the older program wrote. The next stretch replays from it.
 */
import { copyFileSync, existsSync, renameSync } from "node:fs"
import { dirname, join } from "node:path"
import * as PrivateFiles from "../../node/PrivateFiles.ts"
import type { Machine } from "../engine/Machine.ts"
import * as Directory from "./Directory.ts"
import type { JournalPort } from "./Journal.ts"
import { JournalError, RECOVERY_HINT } from "./JournalError.ts"
import type { ReplayStart } from "./Replay.ts"
import type { ReplayIndex } from "./ReplayIndex.ts"
import * as Snapshots from "./Snapshots.ts"

/** A part of a journal under one name of rules. */
export interface Stretch {
  readonly rules: string
  /** Positions of its first and its last entry; `first` follows `last` while it is empty. */
  readonly first: number
  readonly last: number
  /** `closing snapshot`: its entries are unaltered and end in the state that the older program stored. */
  readonly proof: "replay" | "closing snapshot"
}

/** Directory of a journal's closing snapshots. */
export const directoryOf = (journal: string): string => join(dirname(journal), "eras")

/** Keeps the snapshot at a position, durably. */
export const keep = (journal: string, position: number): void => {
  const directory = directoryOf(journal)
  const name = Snapshots.nameOf(position)
  const target = join(directory, name)
  if (existsSync(target)) return
  Directory.make(directory)
  PrivateFiles.directory(directory)
  const aside = `${target}.tmp`
  PrivateFiles.file(aside)
  copyFileSync(join(Snapshots.directoryOf(journal), name), aside)
  Directory.syncFile(aside)
  renameSync(aside, target)
  Directory.sync(directory)
}

/** Reads the closing snapshot at a position and compares it with the journal. Throws {@link JournalError}. */
const read = (journal: JournalPort, position: number, rules: string): Snapshots.Snapshot => {
  const directory = directoryOf(journal.path)
  const refused = (why: string, cause?: unknown) =>
    new JournalError({
      message:
        `the closing snapshot at position ${position} in ${directory} cannot be used: ${why}. ` +
        `Copy it from a backup. ${RECOVERY_HINT}`,
      cause
    })
  let snapshot: Snapshots.Snapshot
  try {
    snapshot = Snapshots.read(directory, position)
  } catch (cause) {
    throw refused((cause as Error).message, cause)
  }
  const { head } = snapshot
  if (head.epoch !== journal.origin.epoch || head.chain !== journal.chainAt(position))
    throw refused("it belongs to another journal")
  if (head.rules !== rules) throw refused(`it was written under rules "${head.rules}", not "${rules}"`)
  const checkpoint = journal.checkpoints().find((each) => each.position === position)
  if (checkpoint !== undefined && checkpoint.state_hash !== head.state_hash)
    throw refused(`its state hash is ${head.state_hash}, the checkpoint says ${checkpoint.state_hash}`)
  return snapshot
}

/**
 * Verifies the stretches of older rules: the checksum of each entry, and the closing snapshot. Returns all stretches. Throws
 * {@link JournalError} where one is not proven.
 */
export const prove = (journal: JournalPort, onEntry: (position: number) => void = () => {}): ReadonlyArray<Stretch> => {
  const eras = journal.eras()
  return eras.map(({ position, rules }, i): Stretch => {
    const next = eras[i + 1]
    if (next === undefined) return { rules, first: position + 1, last: journal.position, proof: "replay" }
    for (const entry of journal.entries(position, next.position)) onEntry(entry.position)
    read(journal, next.position, rules)
    return { rules, first: position + 1, last: next.position, proof: "closing snapshot" }
  })
}

/** Where the replay of the last stretch begins; undefined in a journal of one stretch, which begins with no entry. */
export const startOf = <S, C>(
  machine: Machine<S, C>,
  journal: JournalPort,
  links: ReplayIndex
): ReplayStart<S> | undefined => {
  const before = journal.eras().at(-2)
  if (before === undefined) return undefined
  const { position } = journal.era()
  const { head, state } = read(journal, position, before.rules)
  const config = JSON.parse(journal.origin.config) as C
  return { state: machine.load(config, journal.origin.epoch, links, state), position, at_ms: head.at_ms }
}
