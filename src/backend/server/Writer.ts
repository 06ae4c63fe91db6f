/**
 * The one writer of the engine: collects the commands of an event-loop turn, applies them, makes them durable in one
 * transaction and only then answers.
 *
 * Order is the order of arrival over all streams. Nothing of a turn leaves before its commit: no ack, no refusal, no
 * event, and no read can come between, because a turn runs to its end without yielding. When the journal cannot take a
 * turn, or the engine breaks an assertion, the turn is rolled back, its commands are refused as not sequenced, and the
 * writer stops for good: the state in memory is then ahead of the journal and must be rebuilt from it. A disk that fills
 * up is seen before that: commands are then refused, time stands still, and both go on when there is space again.
 */
import { BinaryWriter } from "@bufbuild/protobuf/wire"
import { Command, CommandResult, type CommandStatus, type Event } from "../../proto/gateway/v1/sequencer.ts"
import { type FoundEntry, type JournalPort, REPETITION_MS } from "../journal/Journal.ts"
import type { Machine } from "../engine/Machine.ts"
import type { EventLog } from "./EventLog.ts"

/** Commands that wait for their turn, over all callers; one more is refused with RESOURCE_EXHAUSTED. */
export const QUEUE_COMMANDS_MAX = 65_536
/** Commands of one turn, one transaction; the rest go into the next turn. */
export const TURN_COMMANDS_MAX = 4096
/** Journal entries between two checkpoints. */
export const CHECKPOINT_ENTRIES = 10_000
/** Journal entries between two snapshots: what a start may have to replay, besides what came while one was taken. */
export const SNAPSHOT_ENTRIES = 2500
/** Engine time moves at least this often, in ms. Source: docs/contract/exchange.md. */
export const TICK_MS = 100
export const COMMAND_ID_CHARS_MAX = 64
/** Free bytes below which nothing is written any more: far more than the turns between two looks can take. */
export const SPACE_BYTES_MIN = 32 * 1024 * 1024
/** Time between two looks at the free space, in ms. */
export const SPACE_MS = 100

/** Ticks in a row that find the clock where it was, after which prices count as stopped. */
export const STILL_TICKS = 50

/** Why every command is refused, or why prices do not move. Source: docs/contract/rest.md#service-endpoints. */
export type Refusing = "DiskFull" | "JournalStopped" | "PricesStopped"

/** Result code of SQLite: the disk is full. The pages that could not be written hold no commit. */
const SQLITE_FULL = 13

/** Codes of google.rpc.Code that this program answers. */
export const Code = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16
} as const

/** Who sent a command and is told its result. Results of one turn are told together. */
export interface Caller {
  /** One encoded CommandResult per command, in the order of the commands. */
  readonly results: Array<Uint8Array>
  /** Called once after a turn that added to `results`; takes them out. */
  readonly flush: () => void
}

/** Takes a command and tells its caller the result, once. */
export interface Submitter {
  readonly submit: (caller: Caller, command: Command, bytes: Uint8Array) => void
}

interface Queued {
  readonly caller: Caller
  readonly command: Command
  /** The command as it came over the wire. */
  readonly bytes: Uint8Array
}

export interface WriterOptions<S, C> {
  readonly machine: Machine<S, C>
  readonly state: S
  readonly journal: JournalPort
  readonly log: EventLog
  /** Time of the journal's last entry. */
  readonly at_ms: number
  /** Unix ms. */
  readonly now: () => number
  /** After each turn that added events to the log. */
  readonly onEvents: () => void
  /** Bytes that the journal's disk has free. */
  readonly space: () => number
  /** The disk has become full, or has space again. */
  readonly onSpace: (full: boolean) => void
  /** Another {@link SNAPSHOT_ENTRIES} entries are durable. */
  readonly onSnapshotDue: () => void
  /** A turn of so many commands became durable: how long its commit took, and all of it, in seconds. */
  readonly onTurn?: (commands: number, commit_s: number, turn_s: number) => void
  /** The writer has stopped for good. */
  readonly onFailure: (cause: unknown) => void
}

const refusal = (
  command_id: string,
  code: number,
  message: string,
  reason: string,
  metadata: CommandStatus["metadata"] = {}
): Uint8Array => {
  const value: CommandStatus = { command_id, code, message, reason, metadata }
  return CommandResult.encode({ outcome: { $case: "status", value } }).finish()
}

/** The id of a client that a command_id is made of, where there is one. Source: docs/contract/boundary.md. */
const ID_FIELDS: { readonly [K in NonNullable<Command["command"]>["$case"]]?: string } = {
  transfer_funds: "transfer_id",
  withdraw_funds: "withdrawal_id",
  deposit_funds: "deposit_id",
  credit_reward: "reward_id"
}

/** A command's content: everything but the time at which this attempt was issued. */
const content = (command: Command): Uint8Array => Command.encode({ ...command, issued_at_ms: 0 }).finish()

export class Writer<S, C> implements Submitter {
  private readonly options: WriterOptions<S, C>
  private readonly timer: NodeJS.Timeout
  private queue: Array<Queued> = []
  private at_ms: number
  private scheduled = false
  private tickDue = false
  private stopped = false
  private entriesSinceCheckpoint: number
  private snapshotDueAt: number
  private full = false
  /** Ticks since engine time last rose. */
  private stillTicks = 0
  /** Keeps its buffer from one result to the next. */
  private readonly encoder = new BinaryWriter()
  private spaceSeenMs = Number.NEGATIVE_INFINITY
  /** Stopped because a turn failed: the state is ahead of the journal. */
  failed = false

  constructor(options: WriterOptions<S, C>) {
    this.options = options
    this.at_ms = options.at_ms
    const { journal } = options
    this.snapshotDueAt = journal.position
    this.entriesSinceCheckpoint = journal.position - (journal.checkpoints().at(-1)?.position ?? 0)
    this.timer = setInterval(() => {
      this.stillTicks++
      this.tickDue = true
      this.schedule()
    }, TICK_MS)
  }

  /** Time of the last turn, Unix ms. */
  get time(): number {
    return this.at_ms
  }

  /** Whether commands are refused because the disk is full. */
  get isFull(): boolean {
    return this.full
  }

  /**
   * Why every command is refused, or why prices do not move. Engine time never falls: after the clock was set back, no
   * price, trigger or expiry happens until the clock has passed the engine's time.
   */
  get refusing(): ReadonlyArray<Refusing> {
    if (this.failed) return ["JournalStopped"]
    if (this.full) return ["DiskFull"]
    return this.stillTicks > STILL_TICKS ? ["PricesStopped"] : []
  }

  /** Commands that wait for their turn. */
  get waiting(): number {
    return this.queue.length
  }

  /** Takes a command. Its result goes to the caller after the turn that made it durable, or at once when refused here. */
  submit(caller: Caller, command: Command, bytes: Uint8Array): void {
    const { command_id } = command
    if (this.stopped) {
      this.refuse(caller, refusal(command_id, Code.UNAVAILABLE, "the backend is stopping", "BackendUnavailable"))
    } else if (this.queue.length >= QUEUE_COMMANDS_MAX) {
      this.refuse(caller, refusal(command_id, Code.RESOURCE_EXHAUSTED, "too many commands wait", "BackendUnavailable"))
    } else {
      this.queue.push({ caller, command, bytes })
      this.schedule()
    }
  }

  /** Runs the commands that wait, writes a checkpoint, and takes no more. */
  stop(): void {
    if (this.stopped) return
    while (this.queue.length > 0) this.turn()
    this.halt()
    this.checkpoint()
  }

  private refuse(caller: Caller, result: Uint8Array): void {
    caller.results.push(result)
    caller.flush()
  }

  private halt(): void {
    this.stopped = true
    clearInterval(this.timer)
  }

  private schedule(): void {
    if (this.scheduled || this.stopped) return
    this.scheduled = true
    setImmediate(this.turn)
  }

  private readonly turn = (): void => {
    this.scheduled = false
    if (this.stopped) return
    const { machine, state, journal, log, now, onEvents, onFailure } = this.options
    const turn = this.queue.length <= TURN_COMMANDS_MAX ? this.queue : this.queue.slice(0, TURN_COMMANDS_MAX)
    this.queue = turn === this.queue ? [] : this.queue.slice(TURN_COMMANDS_MAX)
    const at_ms = now()
    if (at_ms > this.at_ms) {
      this.at_ms = at_ms
      this.stillTicks = 0
    }

    const ticks = this.tickDue && machine.tickMatters(state, this.at_ms)
    this.tickDue = false
    if (turn.length === 0 && !ticks) return
    if (!this.hasSpace()) {
      for (const { caller, command } of turn) {
        const message = "the disk is full"
        caller.results.push(refusal(command.command_id, Code.UNAVAILABLE, message, "BackendUnavailable"))
      }
      for (const { caller } of turn) if (caller.results.length > 0) caller.flush()
      if (this.queue.length > 0) this.schedule()
      return
    }

    const began = performance.now()
    let applied = began
    const before = journal.position
    const events: Array<Event> = []
    const results: Array<Uint8Array> = []
    let committing = false
    try {
      journal.begin()
      if (ticks) {
        for (const event of machine.apply(state, { at_ms: this.at_ms, command: undefined }).events) events.push(event)
        journal.append(this.at_ms, null, null, null)
      }
      for (const queued of turn) results.push(this.run(queued, events))
      committing = true
      applied = performance.now()
      journal.commit()
    } catch (cause) {
      this.halt()
      this.failed = true
      const refused = this.undo(committing, cause) ? turn.concat(this.queue) : this.queue
      this.queue = []
      for (const { caller, command } of refused) {
        const message = "the backend could not write its journal"
        caller.results.push(refusal(command.command_id, Code.UNAVAILABLE, message, "BackendUnavailable"))
      }
      for (const caller of new Set(refused.map((queued) => queued.caller))) caller.flush()
      onFailure(cause)
      return
    }

    const ended = performance.now()
    this.options.onTurn?.(turn.length, (ended - applied) / 1_000, (ended - began) / 1_000)
    this.entriesSinceCheckpoint += journal.position - before
    if (events.length > 0) log.append(events)
    for (let i = 0; i < turn.length; i++) turn[i]!.caller.results.push(results[i]!)
    for (const { caller } of turn) if (caller.results.length > 0) caller.flush()
    if (events.length > 0) onEvents()
    if (this.entriesSinceCheckpoint >= CHECKPOINT_ENTRIES) this.checkpoint()
    if (journal.position - this.snapshotDueAt >= SNAPSHOT_ENTRIES) {
      this.snapshotDueAt = journal.position
      this.options.onSnapshotDue()
    }
    if (this.queue.length > 0) this.schedule()
  }

  /** Whether the disk takes another turn. Looked at by the clock of the machine, which may stand in tests. */
  private hasSpace(): boolean {
    const now = performance.now()
    if (now - this.spaceSeenMs < SPACE_MS) return !this.full
    this.spaceSeenMs = now
    const full = this.options.space() < SPACE_BYTES_MIN
    if (full !== this.full) this.options.onSpace(full)
    this.full = full
    return !full
  }

  /**
   * Rolls the open transaction back. True when it is sure never to be seen again; after a failed sync at the commit it
   * may still be found in the file, so its commands must stay unanswered.
   */
  private undo(committing: boolean, cause: unknown): boolean {
    try {
      this.options.journal.rollback()
    } catch {
      return false
    }
    return !committing || (cause as { readonly errcode?: number }).errcode === SQLITE_FULL
  }

  /** Applies one command and journals it if it changed anything. */
  private run({ command, bytes }: Queued, events: Array<Event>): Uint8Array {
    const { machine, state, journal } = this.options
    const { command_id } = command
    if (command_id === "" || command_id.length > COMMAND_ID_CHARS_MAX) {
      const message = `command_id must have 1 to ${COMMAND_ID_CHARS_MAX} characters`
      return refusal(command_id, Code.INVALID_ARGUMENT, message, "InvalidField", { field: "command_id" })
    }
    if (command.command === undefined) {
      return refusal(command_id, Code.INVALID_ARGUMENT, "the command is empty or unknown", "InvalidField", {
        field: "command"
      })
    }
    const first = journal.find(command_id)
    if (first !== undefined && this.at_ms - first.at_ms < REPETITION_MS) {
      const original = Command.decode(first.command!)
      // ids are derived from what a caller may know of others: what another user did is never told
      if (original.user_id === command.user_id) return this.repeat(command, original, first)
    }

    const step = machine.apply(state, { at_ms: this.at_ms, command })
    if (step.result === undefined) throw new Error("the engine gave a command no result")
    const result = CommandResult.encode(step.result, this.encoder).finish()
    if (step.result.outcome?.$case === "ack" || step.events.length > 0) {
      journal.append(this.at_ms, command_id, bytes, result)
      for (const event of step.events) events.push(event)
    }
    return result
  }

  /** Answers a command_id seen before: the first ack again, or ALREADY_EXISTS when the content is another one. */
  private repeat(command: Command, original: Command, first: FoundEntry): Uint8Array {
    const { command_id } = command
    const { outcome } = CommandResult.decode(first.result!)
    if (Buffer.compare(content(original), content(command)) === 0) {
      if (outcome?.$case !== "ack") return first.result!
      return CommandResult.encode({ outcome: { $case: "ack", value: { ...outcome.value, duplicate: true } } }).finish()
    }
    const placed = outcome?.$case === "ack" ? outcome.value.orders[0] : undefined
    if (command.command?.$case === "place_order" && placed?.order_link_id !== undefined) {
      const message = `order_link_id ${placed.order_link_id} is taken`
      return refusal(command_id, Code.ALREADY_EXISTS, message, "DuplicateOrderLinkId", { order_id: placed.order_id })
    }
    const field = ID_FIELDS[command.command!.$case] ?? "command_id"
    const message = `${field} was used before with other content`
    return refusal(command_id, Code.ALREADY_EXISTS, message, "DuplicateRequestId", { field })
  }

  private checkpoint(): void {
    if (this.entriesSinceCheckpoint === 0 || this.full) return
    const { machine, state, journal } = this.options
    this.entriesSinceCheckpoint = 0
    try {
      journal.checkpoint(machine.headSeq(state), machine.hash(state))
    } catch {
      // One checkpoint less: nothing depends on it, and if the disk is at fault the next commit will tell.
    }
  }
}
