/**
 * Rebuilds the engine's state from the journal, and refuses to continue where the two disagree.
 *
 * A replay applies every entry, from the first one or from a snapshot on. At each checkpoint the state hash must equal
 * the stored one. A difference means that the journal was altered or that the engine's rules changed without a new
 * name. To continue would serve balances that were never acknowledged.
 */
import { Command, CommandResult, type Event } from "../../proto/gateway/v1/sequencer.ts"
import type { Input, Machine, Step } from "../engine/Machine.ts"
import type { Checkpoint } from "./Checkpoints.ts"
import type { JournalPort } from "./Journal.ts"
import { JournalError, readError, RECOVERY_HINT } from "./JournalError.ts"
import { type ReplayIndex, replayIndexOf } from "./ReplayIndex.ts"

export interface Replayed<S> {
  readonly state: S
  /** Time of the last entry, Unix ms; creation time of the journal while it is empty. */
  readonly at_ms: number
  /** Number of entries applied. */
  readonly entries: number
  /** The client id index of the state. */
  readonly links: ReplayIndex
  /** Allows new ids in the journal's index. Before this call the index only verifies existing ones. */
  readonly openIndex: () => void
}

/** A state and its position in the journal. */
export interface ReplayStart<S> {
  readonly state: S
  readonly position: number
  readonly at_ms: number
}

export interface ReplayOptions<S> {
  /** Start of the replay; the first entry by default. `links` is the index that the state uses. */
  readonly from?: { readonly start: ReplayStart<S>; readonly links: ReplayIndex } | undefined
  /** Position of the last entry to apply, the end of a turn; the last one by default. */
  readonly until?: number | undefined
  /** Position of the first entry whose events are built; the first entry by default. */
  readonly eventsFrom?: number | undefined
  /** Called with the events of every entry, in order, and the checksum of the journal after it. */
  readonly onEvents?: ((events: ReadonlyArray<Event>, checksum: number) => void) | undefined
  /** Called with the state after every entry. */
  readonly onEntry?: ((position: number, state: S) => void) | undefined
  /** Also compares the result of every command with the stored one. Slower; used by `verify`. */
  readonly results?: boolean | undefined
}

const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

/** The error of a journal of other rules. */
export const rulesMismatch = (journal: JournalPort, rules: string, cure: string): JournalError =>
  new JournalError({
    message: `${journal.path} was written under rules "${journal.era().rules}", this program has "${rules}"; ${cure}`
  })

const stepOf = <S, C>(machine: Machine<S, C>, state: S, input: Input, journal: JournalPort, position: number): Step => {
  try {
    return machine.apply(state, input)
  } catch (cause) {
    throw readError(journal.path, `at position ${position}`, cause)
  }
}

/** Replays the journal. Throws {@link JournalError} where rules, a checksum, a checkpoint or a result disagree. */
export const replay = <S, C>(
  machine: Machine<S, C>,
  journal: JournalPort,
  options: ReplayOptions<S> = {}
): Replayed<S> => {
  const { origin } = journal
  const era = journal.era()
  const links = options.from?.links ?? replayIndexOf(journal)
  const begin = options.from?.start.position ?? 0
  if (era.rules !== machine.rules)
    throw rulesMismatch(journal, machine.rules, "run the program that wrote it, or start with an empty DATA_DIR")
  if (begin < era.position)
    throw new JournalError({
      message:
        `${journal.path} changed to rules "${era.rules}" at position ${era.position}, and there is no snapshot ` +
        `after it; restore one from a backup`
    })
  const state = options.from?.start.state ?? machine.initial(JSON.parse(origin.config) as C, origin.epoch, links)
  // without a bound all rows are read: a damaged file can hide its last position
  const { until = Number.MAX_SAFE_INTEGER } = options
  const isWithin = ({ position }: Checkpoint) => position >= begin && position <= until
  const checkpoints = journal.checkpoints().filter(isWithin)
  let at_ms = options.from?.start.at_ms ?? origin.created_at_ms
  const eventsFrom = options.eventsFrom ?? 0
  let position = begin
  let next = 0
  const check = () => {
    const checkpoint = checkpoints[next]
    if (checkpoint === undefined || checkpoint.position !== position) return
    // at the start of an era, the checkpoint is of the old rules
    const found = position === era.position && position > 0 ? checkpoint.state_hash : machine.hash(state)
    if (found !== checkpoint.state_hash) {
      throw new JournalError({
        message:
          `${journal.path} does not replay: at position ${position} the state hash is ${found}, ` +
          `the checkpoint says ${checkpoint.state_hash}. ${RECOVERY_HINT}`
      })
    }
    next++
  }
  check()
  for (const entry of journal.entries(begin, until)) {
    position = entry.position
    at_ms = entry.at_ms
    const command = entry.command === undefined ? undefined : Command.decode(entry.command)
    const step = stepOf(machine, state, { at_ms, command, silent: position < eventsFrom }, journal, position)
    if (options.results === true && entry.result !== undefined) {
      const result = step.result === undefined ? new Uint8Array() : CommandResult.encode(step.result).finish()
      if (!equalBytes(result, entry.result)) {
        throw new JournalError({
          message: `${journal.path} does not replay: position ${position} has another result. ${RECOVERY_HINT}`
        })
      }
    }
    if (step.events.length > 0) options.onEvents?.(step.events, entry.chain)
    check()
    options.onEntry?.(position, state)
  }
  if (options.until !== undefined && position !== until)
    throw new JournalError({
      message: `${journal.path} ends at position ${position}, not at ${until}: entries are lost. ${RECOVERY_HINT}`
    })
  const ahead = checkpoints[next]
  if (ahead !== undefined) {
    throw new JournalError({
      message:
        `${journal.path} ends at position ${position}, but there is a checkpoint at ${ahead.position}: entries are ` +
        `lost. ${RECOVERY_HINT}`
    })
  }
  return { state, at_ms, entries: position - begin, links, openIndex: () => void (links.replaying = false) }
}

/** A first guess, which costs little where it is wrong. */
const EVENTS_OF_AN_ENTRY = 4

/**
 * The position of the first entry after `begin` whose events may be among the newest `max`. An acknowledgement in the
 * journal contains the seq after its entry; events of earlier entries are older.
 */
export const firstOfNewest = (journal: JournalPort, begin: number, max: number): number => {
  // most entries have several events
  for (let window = Math.ceil(max / EVENTS_OF_AN_ENTRY); ; window *= 2) {
    let start = Math.max(begin, journal.position - window)
    // entries can be read only from the end of a turn
    while (start > begin && journal.chainAt(start) === undefined) start--
    const reached: Array<readonly [position: number, seq: number]> = []
    for (const { position, result } of journal.entries(start)) {
      const outcome = result === undefined ? undefined : CommandResult.decode(result).outcome
      if (outcome?.$case === "ack") reached.push([position, outcome.value.seq])
    }
    const last = reached.at(-1)?.[1] ?? 0
    const first = reached.findLast(([, seq]) => seq <= last - max)
    if (first !== undefined) return first[0]
    if (start === begin) return begin + 1
  }
}
