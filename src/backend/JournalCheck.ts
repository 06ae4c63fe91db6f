/** Replays a whole journal, to verify it or to rebuild its snapshots. */
import { Effect } from "effect"
import { machine } from "./engine/EngineMachine.ts"
import * as ClosingSnapshots from "./journal/ClosingSnapshots.ts"
import { EventLog } from "./journal/EventLog.ts"
import { Journal } from "./journal/Journal.ts"
import { JournalError } from "./journal/JournalError.ts"
import { NewestEvents } from "./journal/NewestEvents.ts"
import { endOf, snapshot } from "./journal/Recovery.ts"
import { replay } from "./journal/Replay.ts"
import { replayIndexOf } from "./journal/ReplayIndex.ts"
import * as Snapshots from "./journal/Snapshots.ts"
import * as Running from "./server/Running.ts"
import type { Settings } from "./Settings.ts"

/** The result of a full replay of a journal. */
export interface Verified {
  readonly epoch: string
  /** Id of the current fork; the epoch while the journal was never restored. */
  readonly fork: string
  readonly rules: string
  readonly entries: number
  readonly at_ms: number
  readonly checkpoints: number
  readonly snapshots: ReadonlyArray<number>
  /** The parts of the journal by their rules, and how each was verified. */
  readonly stretches: ReadonlyArray<ClosingSnapshots.Stretch>
  readonly head_seq: number
  /** Checksum over all entries. */
  readonly checksum: number
  readonly state_hash: string
}

const withJournal = <A>(open: () => Journal, use: (journal: Journal) => A): Effect.Effect<A, JournalError> =>
  Effect.acquireUseRelease(
    Effect.try({ try: open, catch: (cause) => cause as JournalError }),
    (journal) =>
      Effect.try({
        try: () => use(journal),
        catch: (cause) =>
          cause instanceof JournalError
            ? cause
            : new JournalError({ message: `${journal.path} does not replay: ${(cause as Error).message}`, cause })
      }),
    (journal) => Effect.sync(() => journal.close())
  )

const unusable = (journal: Journal, position: number, why: string): JournalError =>
  new JournalError({
    message:
      `the snapshot at position ${position} in ${Snapshots.directoryOf(journal.path)} cannot be used: ${why}. ` +
      `Stop the backend and run "npm run backend -- replay"`
  })

const snapshotsOf = (journal: Journal): ReadonlyMap<number, Snapshots.SnapshotHead> => {
  const directory = Snapshots.directoryOf(journal.path)
  const heads = new Map<number, Snapshots.SnapshotHead>()
  for (const position of Snapshots.list(directory)) {
    try {
      heads.set(position, Snapshots.read(directory, position).head)
    } catch (cause) {
      throw unusable(journal, position, (cause as Error).message)
    }
  }
  return heads
}

/** Called after each entry with the number of entries replayed and the total. */
export type Progress = (done: number, total: number) => void
const noProgress: Progress = () => {}

/**
 * Replays all entries of the current rules; compares every checksum, checkpoint, link and result, and the given snapshots at
 * their positions. Entries of older rules are proven by their closing snapshots.
 */
const replayAll = (journal: Journal, snapshots: ReadonlyMap<number, Snapshots.SnapshotHead>, progress: Progress) => {
  const total = journal.position
  const newest = new NewestEvents(Snapshots.SNAPSHOT_EVENTS)
  const stretches = ClosingSnapshots.prove(journal, (position) => progress(position, total))
  const links = replayIndexOf(journal)
  const start = ClosingSnapshots.startOf(machine, journal, links)
  const replayed = replay(machine, journal, {
    from: start && { start, links },
    results: true,
    onEvents: (events, checksum) => newest.add(events, checksum),
    onEntry: (position, state) => {
      progress(position, total)
      const head = snapshots.get(position)
      if (head === undefined) return
      if (head.chain !== journal.chainAt(position) || head.state_hash !== machine.hash(state))
        throw unusable(journal, position, "it belongs to another journal")
    }
  })
  const verified: Verified = {
    epoch: journal.origin.epoch,
    fork: journal.fork,
    rules: machine.rules,
    entries: (start?.position ?? 0) + replayed.entries,
    at_ms: replayed.at_ms,
    checkpoints: journal.checkpoints().length,
    snapshots: [...snapshots.keys()].sort((a, b) => a - b),
    stretches,
    head_seq: machine.headSeq(replayed.state),
    checksum: journal.checksum,
    state_hash: machine.hash(replayed.state)
  }
  return { ...replayed, newest, verified }
}

/**
 * Replays the whole journal read-only, while the backend runs or not, and verifies every checksum, link, checkpoint,
 * result and snapshot.
 */
export const verify = (settings: Settings, progress = noProgress): Effect.Effect<Verified, JournalError> =>
  withJournal(
    () => Journal.read(Running.journalPath(settings.dataDir)),
    (journal) => {
      const snapshots = snapshotsOf(journal)
      // ignore snapshots that were taken after this read transaction began
      const own = new Map([...snapshots].filter(([position]) => position <= journal.position))
      return replayAll(journal, own, progress).verified
    }
  )

/**
 * Replays the whole journal of a stopped backend from its first entry, without its snapshots, and replaces them with
 * one new snapshot: the repair of damaged snapshots.
 */
export const rebuild = (settings: Settings, progress = noProgress): Effect.Effect<Verified, JournalError> =>
  withJournal(
    () => Journal.existing(Running.journalPath(settings.dataDir)),
    (journal) => {
      const directory = Snapshots.directoryOf(journal.path)
      const replayed = replayAll(journal, new Map(), progress)
      const log = new EventLog(journal.origin.epoch, undefined, journal.fork)
      replayed.newest.into(log, undefined)
      const { position } = snapshot(machine, journal, endOf(journal, log), replayed).head
      for (const other of Snapshots.list(directory)) if (other !== position) Snapshots.remove(directory, other)
      return { ...replayed.verified, snapshots: [position] }
    }
  )
