/** Recovers the engine's state from the newest snapshot and the journal, and writes snapshots. */
import type { Machine } from "../engine/Machine.ts"
import * as ClosingSnapshots from "./ClosingSnapshots.ts"
import { EventLog, type EventLogLimits, type EventTail } from "./EventLog.ts"
import { Journal, type JournalPort } from "./Journal.ts"
import { JournalError, readError, RECOVERY_HINT } from "./JournalError.ts"
import { NewestEvents } from "./NewestEvents.ts"
import { firstOfNewest, replay, type Replayed, type ReplayStart, rulesMismatch } from "./Replay.ts"
import { replayIndexOf } from "./ReplayIndex.ts"
import * as Snapshots from "./Snapshots.ts"

export interface Recovered<S> extends Replayed<S> {
  /** The events that subscribers can request. */
  readonly log: EventLog
  /** Position of the snapshot at the start; 0 without a snapshot. */
  readonly snapshot: number
}

export interface RecoverOptions {
  readonly limits: EventLogLimits
  /** Called for every snapshot that is skipped. */
  readonly warn: (message: string) => void
  /** Position of the last entry to apply, the end of a turn; the last one by default. */
  readonly until?: number
  /** Whether this program's rules may begin a new era in a journal of older rules. */
  readonly upgrade?: boolean
}

/** Loads the newest valid snapshot of a journal and replays the entries after it. Throws {@link JournalError}. */
export const recover = <S, C>(machine: Machine<S, C>, journal: JournalPort, options: RecoverOptions): Recovered<S> => {
  try {
    return recovered(machine, journal, options)
  } catch (cause) {
    throw readError(journal.path, "through", cause)
  }
}

const recovered = <S, C>(
  machine: Machine<S, C>,
  journal: JournalPort,
  { limits, until, warn, upgrade }: RecoverOptions
): Recovered<S> => {
  const { origin } = journal
  const snapshots = Snapshots.directoryOf(journal.path)
  const closings = ClosingSnapshots.directoryOf(journal.path)
  const links = replayIndexOf(journal)
  const log = new EventLog(origin.epoch, limits, journal.fork)
  let era = journal.era()
  if (era.rules !== machine.rules && upgrade !== true)
    throw rulesMismatch(journal, machine.rules, "run the program that wrote it")

  let from: { readonly start: ReplayStart<S>; readonly events: EventTail } | undefined
  // the last resort: the state in which the current rules began
  const candidates = [
    ...Snapshots.list(snapshots).map((position) => ({ directory: snapshots, position })),
    ...Snapshots.list(closings).map((position) => ({ directory: closings, position }))
  ]
  for (const { directory, position } of candidates) {
    const refuse = (why: string) => warn(`the snapshot at position ${position} in ${directory} is not used: ${why}`)
    if (position > journal.position)
      throw new JournalError({
        message:
          `${journal.path} ends at position ${journal.position}, but there is a snapshot at ${position}: entries are ` +
          `lost. If the journal was restored from a backup, remove ${directory}. ${RECOVERY_HINT}`
      })
    if (position < era.position || (until !== undefined && position > until)) continue
    try {
      const { head, events, state: bytes } = Snapshots.read(directory, position)
      if (head.epoch !== origin.epoch || head.chain !== journal.chainAt(position)) {
        refuse("it belongs to another journal")
        continue
      }
      const older = head.rules !== machine.rules
      if (
        older &&
        !(machine.upgrades.includes(head.rules) && (position === era.position || era.rules === head.rules))
      ) {
        refuse(`it was written under rules "${head.rules}"`)
        continue
      }
      if (era.rules !== machine.rules && position !== journal.position) continue
      const state = machine.load(JSON.parse(origin.config) as C, origin.epoch, links, bytes)
      if (!older && machine.hash(state) !== head.state_hash) {
        refuse("its state has another hash")
        continue
      }
      from = { start: { state, position, at_ms: head.at_ms }, events }
      break
    } catch (cause) {
      refuse((cause as Error).message)
    }
  }
  if (era.rules !== machine.rules) {
    if (!machine.upgrades.includes(era.rules))
      throw rulesMismatch(journal, machine.rules, "run the program that wrote it, or start with an empty DATA_DIR")
    if (from === undefined)
      throw rulesMismatch(
        journal,
        machine.rules,
        "start and stop the program that wrote it once more, so that it leaves a snapshot of its last entry, then start this one"
      )
    ClosingSnapshots.keep(journal.path, from.start.position)
    journal.beginEra(machine.rules)
    era = journal.era()
  }
  const max = Math.min(limits.events_kept_max, Snapshots.SNAPSHOT_EVENTS)
  const newest = new NewestEvents(max)
  const begin = from?.start.position ?? 0
  const eventsFrom = max === 0 ? Infinity : firstOfNewest(journal, begin, max)
  newest.dropped = eventsFrom > begin + 1
  const replayed = replay(machine, journal, {
    from: from === undefined ? undefined : { start: from.start, links },
    until,
    eventsFrom,
    onEvents: (events, checksum) => newest.add(events, checksum)
  })
  newest.into(log, from?.events)
  return { ...replayed, log, snapshot: begin }
}

/** A snapshot that was written. */
export interface Taken {
  readonly head: Snapshots.SnapshotHead
  /** Time to hash and to serialize the state: what grows with the state. */
  readonly dump_ms: number
}

/** Where a snapshot is taken: after an entry that ends a turn, with the newest events up to it. */
export interface SnapshotPoint {
  readonly position: number
  readonly events: EventTail
}

/** Writes a snapshot of the state at a point of the journal. */
export const snapshot = <S, C>(
  machine: Machine<S, C>,
  journal: JournalPort,
  { events, position }: SnapshotPoint,
  { at_ms, state }: { readonly state: S; readonly at_ms: number }
): Taken => {
  const began = performance.now()
  const head: Snapshots.SnapshotHead = {
    epoch: journal.origin.epoch,
    rules: machine.rules,
    position,
    at_ms,
    chain: journal.chainAt(position)!,
    state_hash: machine.hash(state)
  }
  const bytes = machine.dump(state)
  const dump_ms = performance.now() - began
  Snapshots.write(Snapshots.directoryOf(journal.path), { head, events, state: bytes })
  return { head, dump_ms }
}

/** The end of a journal, with the newest events of a log that has as many entries. */
export const endOf = (journal: JournalPort, log: EventLog): SnapshotPoint => ({
  position: journal.position,
  events: log.tail(Snapshots.SNAPSHOT_EVENTS)
})

/** Takes one snapshot of a journal while its writer runs; undefined where the newest one is up to date. */
export const takeSnapshot = <S, C>(machine: Machine<S, C>, path: string): Snapshots.SnapshotHead | undefined => {
  const journal = Journal.read(path)
  try {
    const limits = { events_kept_max: 2 * Snapshots.SNAPSHOT_EVENTS, bytes_kept_max: 64 * 1024 * 1024 }
    const recovered = recover(machine, journal, { limits, warn: () => {} })
    if (recovered.snapshot === journal.position) return undefined
    return snapshot(machine, journal, endOf(journal, recovered.log), recovered).head
  } finally {
    journal.close()
  }
}
