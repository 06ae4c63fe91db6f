/**
 * Brings the engine to the state that the journal describes, and refuses when the two disagree.
 *
 * A replay applies every entry, from the first one or from a snapshot on. At each checkpoint the state's hash must be the
 * one written down then: a difference means that the journal was altered or that the engine's rules changed without their
 * name, and going on would serve balances that nobody acknowledged.
 */
import { Command, CommandResult, type Event } from "../../proto/gateway/v1/sequencer.ts"
import type { Transfer } from "../../proto/gateway/v1/types.ts"
import type { Input, Machine, Step } from "../engine/Machine.ts"
import { EventLog, type EventLogLimits, type EventTail } from "../server/EventLog.ts"
import type { ClientIdIndex } from "../engine/ClientIdIndex.ts"
import { CURE, Journal, JournalError, type JournalPort, unreadable } from "./Journal.ts"
import * as Snapshots from "./Snapshots.ts"

export interface Replayed<S> {
  readonly state: S
  /** Time of the last entry, Unix ms; that of the journal's creation while it is empty. */
  readonly at_ms: number
  /** Entries applied. */
  readonly entries: number
  /** From here on the journal takes new links. Until then it only confirms those that it has. */
  readonly openLinks: () => void
}

/** A state, and where in the journal it stands. */
export interface Start<S> {
  readonly state: S
  readonly position: number
  readonly at_ms: number
}

export interface ReplayOptions<S> {
  /** Where to start; the first entry by default. `links` are those that its state was made with. */
  readonly from?: { readonly start: Start<S>; readonly links: ReplayLinks } | undefined
  /** Events of the entries before this one are not made; the first entry by default. */
  readonly tellFrom?: number | undefined
  /** Told of the events of every entry, in order. */
  readonly onEvents?: ((events: ReadonlyArray<Event>) => void) | undefined
  /** Told the state after every entry. */
  readonly onEntry?: ((position: number, state: S) => void) | undefined
  /** Also compares the result of every command with the one written down. Slower; `verify` asks for it. */
  readonly results?: boolean | undefined
}

/** The journal's index for an engine: while it replays, what it remembers must be in the file already. */
export interface ReplayLinks extends ClientIdIndex {
  replaying: boolean
}

/** The links of a journal. */
export const linksOf = (journal: JournalPort): ReplayLinks => {
  const damaged = (found: string | undefined, what: string) =>
    new JournalError({
      message: `${journal.path} is damaged: its index gives ${found ?? "nothing"} for ${what}. ${CURE}`
    })
  const links: ReplayLinks = {
    replaying: true,
    find: (account, link) => journal.findLink(account, link),
    add: (account, link, order_id) => {
      if (!links.replaying) return journal.addLink(account, link, order_id)
      const found = journal.findLink(account, link)
      if (found !== order_id) throw damaged(found, `order_link_id ${link} of order ${order_id}`)
    },
    findTransfer: (user_id, transfer_id, seq) => {
      const found = journal.findTransfer(user_id, transfer_id, seq)
      return found === undefined ? undefined : (JSON.parse(found.transfer) as Transfer)
    },
    addTransfer: (user_id, seq, transfer) => {
      const { transfer_id } = transfer
      const text = JSON.stringify(transfer)
      if (!links.replaying) return journal.addTransfer(user_id, transfer_id, seq, text)
      const found = journal.findTransfer(user_id, transfer_id, seq + 1)
      if (found?.seq !== seq || found.transfer !== text) throw damaged(found?.transfer, `transfer ${transfer_id}`)
    }
  }
  return links
}

const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

const otherRules = (journal: JournalPort, rules: string, cure: string): JournalError =>
  new JournalError({
    message: `${journal.path} was written under rules "${journal.era().rules}", this program has "${rules}"; ${cure}`
  })

const stepOf = <S, C>(machine: Machine<S, C>, state: S, input: Input, journal: JournalPort, position: number): Step => {
  try {
    return machine.apply(state, input)
  } catch (cause) {
    throw unreadable(journal.path, `at position ${position}`, cause)
  }
}

/** Replays the journal. Throws {@link JournalError} when rules, a checksum, a checkpoint or a result disagree. */
export const replay = <S, C>(
  machine: Machine<S, C>,
  journal: JournalPort,
  options: ReplayOptions<S> = {}
): Replayed<S> => {
  const { origin } = journal
  const era = journal.era()
  const links = options.from?.links ?? linksOf(journal)
  const begin = options.from?.start.position ?? 0
  if (era.rules !== machine.rules)
    throw otherRules(journal, machine.rules, "run the program that wrote it, or start with an empty DATA_DIR")
  if (begin < era.position)
    throw new JournalError({
      message:
        `${journal.path} went over to rules "${era.rules}" at position ${era.position}, and there is no snapshot ` +
        `from there on; restore one from a backup`
    })
  const state = options.from?.start.state ?? machine.initial(JSON.parse(origin.config) as C, origin.epoch, links)
  const checkpoints = journal.checkpoints().filter(({ position }) => position >= begin)
  let at_ms = options.from?.start.at_ms ?? origin.created_at_ms
  const tellFrom = options.tellFrom ?? 0
  let position = begin
  let next = 0
  const check = () => {
    const checkpoint = checkpoints[next]
    if (checkpoint === undefined || checkpoint.position !== position) return
    // where the rules changed, the checkpoint is the old rules'
    const found = position === era.position && position > 0 ? checkpoint.state_hash : machine.hash(state)
    if (found !== checkpoint.state_hash) {
      throw new JournalError({
        message:
          `${journal.path} does not replay: at position ${position} the state hash is ${found}, ` +
          `the checkpoint says ${checkpoint.state_hash}; nothing is served from a state that differs`
      })
    }
    next++
  }
  check()
  for (const entry of journal.entries(begin)) {
    position = entry.position
    at_ms = entry.at_ms
    const command = entry.command === undefined ? undefined : Command.decode(entry.command)
    const step = stepOf(machine, state, { at_ms, command, silent: position < tellFrom }, journal, position)
    if (options.results === true && entry.result !== undefined) {
      const result = step.result === undefined ? new Uint8Array() : CommandResult.encode(step.result).finish()
      if (!equalBytes(result, entry.result)) {
        throw new JournalError({ message: `${journal.path} does not replay: position ${position} has another result` })
      }
    }
    if (step.events.length > 0) options.onEvents?.(step.events)
    check()
    options.onEntry?.(position, state)
  }
  const ahead = checkpoints[next]
  if (ahead !== undefined) {
    throw new JournalError({
      message:
        `${journal.path} ends at position ${position}, but a checkpoint stands at ${ahead.position}: entries are ` +
        `lost. ${CURE}`
    })
  }
  return { state, at_ms, entries: position - begin, openLinks: () => void (links.replaying = false) }
}

/**
 * The first entry behind `begin` whose events may be among the newest `max`. An acknowledgement in the journal tells the seq
 * that its entry had reached; whatever came before that entry is older.
 */
export const firstOfNewest = (journal: JournalPort, begin: number, max: number): number => {
  for (let window = max; ; window *= 2) {
    let start = Math.max(begin, journal.position - window)
    // entries can be read from the end of a turn on
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

export interface Recovered<S> extends Replayed<S> {
  /** The events that may still be asked for. */
  readonly log: EventLog
  /** Position of the snapshot that it started from; 0 where it started from nothing. */
  readonly snapshot: number
}

export interface RecoverOptions {
  readonly limits: EventLogLimits
  /** Told of every snapshot that was passed over. */
  readonly warn: (message: string) => void
  /** Whether an older journal may be taken over by this program's rules, from here on. */
  readonly upgrade?: boolean
}

/** The newest events of a replay, whole steps: only what can still be asked for is worth encoding. */
export class NewestEvents {
  private readonly max: number
  private count = 0
  private start = 0
  private kept: Array<ReadonlyArray<Event>> = []
  /** whether there were more than fit */
  dropped = false

  constructor(max: number) {
    this.max = max
  }

  add(events: ReadonlyArray<Event>): void {
    this.kept.push(events)
    this.count += events.length
    while (this.count - this.kept[this.start]!.length >= this.max) {
      this.count -= this.kept[this.start]!.length
      this.start++
      this.dropped = true
    }
    if (this.start > this.max) {
      this.kept = this.kept.slice(this.start)
      this.start = 0
    }
  }

  /** Puts them into an empty log, behind the tail that the replay went on from. */
  into(log: EventLog, tail: EventTail | undefined): void {
    if (tail !== undefined && !this.dropped) log.restore(tail)
    else log.skipTo((this.kept[this.start]?.[0]?.seq ?? 1) - 1)
    for (let i = this.start; i < this.kept.length; i++) log.append(this.kept[i]!)
  }
}

/** The newest good snapshot of a journal, and the rest of the entries. Throws {@link JournalError}. */
export const recover = <S, C>(machine: Machine<S, C>, journal: JournalPort, options: RecoverOptions): Recovered<S> => {
  try {
    return recovered(machine, journal, options)
  } catch (cause) {
    throw unreadable(journal.path, "through", cause)
  }
}

const recovered = <S, C>(
  machine: Machine<S, C>,
  journal: JournalPort,
  { limits, warn, upgrade }: RecoverOptions
): Recovered<S> => {
  const { origin } = journal
  const directory = Snapshots.directoryOf(journal.path)
  const links = linksOf(journal)
  const log = new EventLog(origin.epoch, limits)
  let era = journal.era()
  if (era.rules !== machine.rules && upgrade !== true)
    throw otherRules(journal, machine.rules, "run the program that wrote it")

  let from: { readonly start: Start<S>; readonly events: EventTail } | undefined
  for (const position of Snapshots.list(directory)) {
    const refuse = (why: string) => warn(`the snapshot at position ${position} in ${directory} is not used: ${why}`)
    if (position > journal.position)
      throw new JournalError({
        message:
          `${journal.path} ends at position ${journal.position}, but a snapshot stands at ${position}: entries are ` +
          `lost. If the journal was restored from a backup, remove ${directory}. ${CURE}`
      })
    if (position < era.position) continue
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
      throw otherRules(journal, machine.rules, "run the program that wrote it, or start with an empty DATA_DIR")
    if (from === undefined)
      throw otherRules(
        journal,
        machine.rules,
        "start and stop the program that wrote it once more, so that it leaves a snapshot of its last entry, then start this one"
      )
    journal.beginEra(machine.rules)
    era = journal.era()
  }
  const max = Math.min(limits.events_kept_max, Snapshots.SNAPSHOT_EVENTS)
  const newest = new NewestEvents(max)
  const begin = from?.start.position ?? 0
  const tellFrom = firstOfNewest(journal, begin, max)
  newest.dropped = tellFrom > begin + 1
  const replayed = replay(machine, journal, {
    from: from === undefined ? undefined : { start: from.start, links },
    tellFrom,
    onEvents: (events) => newest.add(events)
  })
  newest.into(log, from?.events)
  return { ...replayed, log, snapshot: from?.start.position ?? 0 }
}

/** Writes a snapshot of a state that stands at the journal's last entry. */
export const snapshot = <S, C>(
  machine: Machine<S, C>,
  journal: JournalPort,
  { state, at_ms, log }: { readonly state: S; readonly at_ms: number; readonly log: EventLog }
): Snapshots.SnapshotHead => {
  const { position } = journal
  const head: Snapshots.SnapshotHead = {
    epoch: journal.origin.epoch,
    rules: machine.rules,
    position,
    at_ms,
    chain: journal.chainAt(position)!,
    state_hash: machine.hash(state)
  }
  Snapshots.write(Snapshots.directoryOf(journal.path), {
    head,
    events: log.tail(Snapshots.SNAPSHOT_EVENTS),
    state: machine.dump(state)
  })
  return head
}

/** Takes a snapshot of a journal beside its writer; undefined where the newest one is up to date. */
export const takeSnapshot = <S, C>(machine: Machine<S, C>, path: string): Snapshots.SnapshotHead | undefined => {
  const journal = Journal.read(path)
  try {
    const limits = { events_kept_max: 2 * Snapshots.SNAPSHOT_EVENTS, bytes_kept_max: 64 * 1024 * 1024 }
    const recovered = recover(machine, journal, { limits, warn: () => {} })
    return recovered.snapshot === journal.position ? undefined : snapshot(machine, journal, recovered)
  } finally {
    journal.close()
  }
}
