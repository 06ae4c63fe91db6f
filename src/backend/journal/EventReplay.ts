/**
 * Events that are no longer in memory. A replay of the journal builds them again, with an engine of its own, from the newest
 * snapshot before them or from the first entry.
 */
import { CommandResult, type Event } from "../../proto/gateway/v1/sequencer.ts"
import type { Machine } from "../engine/Machine.ts"
import { type Block, EventBlocks } from "./EventBlocks.ts"
import { Journal } from "./Journal.ts"
import { recover } from "./Recovery.ts"
import { replay } from "./Replay.ts"

/** The first event of a replay, and the checksum of the journal at the one before it, if it must have that history. */
export interface ReplayFrom {
  readonly seq: number
  readonly checksum: number | undefined
}

/** Entries of one read transaction. Between two of them, SQLite can reuse its write-ahead log. */
const SEGMENT_ENTRIES = 5_000
/** Number of events after which their blocks are passed on. */
const BATCH_EVENTS = 512

/** The newest end of a turn whose events, and those of all entries before it, are older than `seq`. */
const positionBefore = (journal: Journal, seq: number): number => {
  let position = journal.checkpoints().findLast(({ head_seq }) => head_seq < seq)?.position ?? 0
  for (const entry of journal.entries(position)) {
    const outcome = entry.result === undefined ? undefined : CommandResult.decode(entry.result).outcome
    if (outcome?.$case !== "ack") continue
    if (outcome.value.seq >= seq) break
    position = entry.position
  }
  while (journal.chainAt(position) === undefined) position--
  return position
}

/** The end of a turn about a segment after a position; the position itself at the end of the journal. */
const segmentEnd = (journal: Journal, position: number): number => {
  const aim = Math.min(position + SEGMENT_ENTRIES, journal.position)
  let end = aim
  while (journal.chainAt(end) === undefined) end--
  if (end > position || aim === position) return end
  for (end = aim; journal.chainAt(end) === undefined;) end++
  return end
}

/**
 * Replays up to the end of the journal, also of entries that are appended meanwhile. Returns false, without any event, if the
 * journal had another checksum before the first one. Throws {@link JournalError} where the journal does not replay.
 */
export const replayEvents = <S, C>(
  machine: Machine<S, C>,
  path: string,
  { checksum, seq }: ReplayFrom,
  onBlocks: (blocks: ReadonlyArray<Block>) => void
): boolean => {
  const journal = Journal.read(path)
  try {
    // the event before the first one is built too: its checksum is compared
    let position = positionBefore(journal, seq - 1)
    const none = { events_kept_max: 0, bytes_kept_max: 0 }
    const { links, ...recovered } = recover(machine, journal, { limits: none, until: position, warn: () => {} })
    const { state } = recovered
    let { at_ms } = recovered
    const encoder = new EventBlocks(journal.origin.epoch, journal.fork)
    let count = 0
    let isForked = false
    const flush = () => {
      if (count > 0) onBlocks(encoder.take())
      count = 0
    }
    const take = (step: ReadonlyArray<Event>, chain: number) => {
      for (const event of step) {
        if (event.seq === seq - 1) isForked = checksum !== undefined && checksum !== chain
        if (event.seq < seq || isForked) continue
        encoder.add(event, chain)
        count++
      }
      if (count >= BATCH_EVENTS) flush()
    }
    for (let until = segmentEnd(journal, position); until > position; until = segmentEnd(journal, position)) {
      const from = { start: { state, position, at_ms }, links }
      at_ms = replay(machine, journal, { from, until, onEvents: take }).at_ms
      if (isForked) return false
      position = until
      flush()
      journal.refresh()
    }
    return true
  } finally {
    journal.close()
  }
}
