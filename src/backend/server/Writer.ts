/**
 * The single writer of the engine. It collects the commands of an event-loop turn, applies them, makes them durable in
 * one transaction and only then responds.
 *
 * Commands execute in order of arrival over all streams. No acknowledgement, refusal or event of a turn is sent before
 * its commit. A journal in a file commits at once, within the turn. A journal in a database takes its time: one turn is
 * then in flight, the next one is prepared meanwhile, and reads are answered through {@link Writer.whenDurable}.
 *
 * A long turn returns to the event loop every {@link SLICE_MS}, so that connections stay alive. No other turn begins, and
 * reads wait ({@link Writer.whenConsistent}), until it has ended.
 *
 * When the journal cannot store a turn, or the engine fails an assertion, the turn is rolled back, its commands are
 * refused as not sequenced, and the writer stops permanently: the state in memory is then ahead of the journal and must
 * be rebuilt from it. Where a commit may have happened, its commands stay unanswered. A full disk is detected earlier:
 * commands are then refused, and engine time stops, until space is free again.
 */
import { Command, CommandResult, type CommandStatus } from "../../proto/gateway/v1/sequencer.ts"
import { drain, type Input, type Machine, SLICE_MS, type Slices, type Step } from "../engine/Machine.ts"
import type { Block } from "../journal/EventBlocks.ts"
import type { EventLog } from "../journal/EventLog.ts"
import type { FoundEntry, JournalPort } from "../journal/Journal.ts"
import { COMMAND_ID_RETENTION_MS } from "../journal/RecentCommandIds.ts"
import { WireWriter } from "../../node/WireWriter.ts"

/** Maximum number of queued commands over all callers; further ones are refused with RESOURCE_EXHAUSTED. */
export const QUEUE_COMMANDS_MAX = 65_536
/** Maximum number of commands per turn, which is one transaction; the rest go into the next turn. */
export const TURN_COMMANDS_MAX = 4096
/**
 * The same where turns become durable in a database: the engine applies the next part of the queue while the database
 * works on this one.
 */
export const SHARED_TURN_COMMANDS_MAX = 512
/** Journal entries between two checkpoints, at least. */
export const CHECKPOINT_ENTRIES = 10_000
/** Time of turns between two checkpoints, at least, in times of what the last one took. */
const CHECKPOINT_PAUSE = 20
/** Interval of Ticks, in ms. Source: docs/contract/exchange.md. */
export const TICK_MS = 100
export const COMMAND_ID_CHARS_MAX = 64
/** Free bytes below which writing stops: far more than the turns between two checks can use. */
export const SPACE_BYTES_MIN = 32 * 1024 * 1024
/** Interval between two checks of the free space, in ms. */
export const SPACE_MS = 100

/**
 * Interval at which the copy of a journal in a database commits, in ms. The standby that starts from the copy reads what
 * it lacks from the database.
 */
export const SETTLE_MS = 100

/** The reason for which all commands are refused. Source: docs/contract/rest.md#service-endpoints. */
export type Refusing = "DiskFull" | "JournalStopped"

/** Result code of SQLite for a full disk. The pages that failed contain no commit. */
const SQLITE_FULL = 13

/** Values of google.rpc.Code in responses of the backend. */
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

/** The sender of commands. It receives the results of a turn together. */
export interface Caller {
  /** One encoded CommandResult per command, in the order of the commands. */
  readonly results: Array<Uint8Array>
  /** Called once after a turn that added to `results`; removes them. */
  readonly flush: () => void
}

/** Accepts commands; each gets exactly one result. */
export interface Submitter {
  /** `not_after_ms`: the monotonic time after which the command is refused instead of sequenced. */
  readonly submit: (caller: Caller, command: Command, bytes: Uint8Array, not_after_ms?: number) => void
}

interface Queued {
  readonly caller: Caller
  readonly command: Command
  /** The command in its wire encoding. */
  readonly bytes: Uint8Array
  readonly not_after_ms: number
}

/** A turn that is applied, and may not be durable yet. */
interface AppliedTurn {
  readonly commands: ReadonlyArray<Queued>
  /** One encoded CommandResult per command. */
  readonly results: ReadonlyArray<Uint8Array>
  /** Its events, encoded. */
  readonly blocks: ReadonlyArray<Block>
  /** Journal entries of the turn. */
  readonly entries: number
  readonly began_ms: number
  readonly applied_ms: number
  /** Reads that have seen its changes. */
  readonly reads: Array<() => void>
}

export interface WriterOptions<S, C> {
  readonly machine: Machine<S, C>
  readonly state: S
  readonly journal: JournalPort
  readonly log: EventLog
  /** Time of the journal's last entry. */
  readonly at_ms: number
  /** Engine time, Unix ms. */
  readonly now: () => number
  /** Monotonic time in ms. */
  readonly monotonic?: () => number
  /** Called after each turn that added events to the log. */
  readonly onEvents: () => void
  /** Free bytes on the disk of the journal. */
  readonly space: () => number
  /** Called when the disk becomes full, or has free space again. */
  readonly onSpace: (full: boolean) => void
  /** Called when every applied turn is durable: the journal ends with it. */
  readonly onSettled: () => void
  /** Called when a turn is durable: its number of commands, and the seconds of its commit and of the whole turn. */
  readonly onTurn?: (commands: number, commit_s: number, turn_s: number) => void
  /** Called when the writer has stopped permanently. */
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

/**
 * The field with the client's id from which a command_id derives, where there is one. Source:
 * docs/contract/boundary.md.
 */
const ID_FIELDS: { readonly [K in NonNullable<Command["command"]>["$case"]]?: string } = {
  transfer_funds: "transfer_id",
  withdraw_funds: "withdrawal_id",
  deposit_funds: "deposit_id",
  credit_reward: "reward_id"
}

/** The content of a command: everything except the times of this attempt. */
const content = (command: Command): Uint8Array =>
  Command.encode({ ...command, issued_at_ms: 0, not_after_ms: undefined }).finish()

export class Writer<S, C> implements Submitter {
  private readonly options: WriterOptions<S, C>
  private readonly monotonic: () => number
  private readonly timer: NodeJS.Timeout
  private queue: Array<Queued> = []
  private at_ms: number
  private scheduled = false
  /** The turn that is being applied, in slices. */
  private running: Slices<AppliedTurn | undefined> | undefined
  /** Called after it. */
  private waiting: Array<() => void> = []
  private tickDue = false
  private stopping = false
  private stopped = false
  private entriesSinceCheckpoint: number
  /** Time of the turns since the last checkpoint, and what that one took, in ms. */
  private turnsSinceCheckpoint_ms = 0
  private checkpointTook_ms = 0
  private full = false
  /** Encodes the results of a turn into one buffer. */
  private readonly encoder = new WireWriter()
  private spaceSeenMs = Number.NEGATIVE_INFINITY
  /** The turn that the journal is making durable. */
  private inFlight: AppliedTurn | undefined
  /** The turn after it, which is applied and not yet given to the journal. */
  private prepared: AppliedTurn | undefined
  private settled_ms = Number.NEGATIVE_INFINITY
  private onDrained: (() => void) | undefined
  /** Whether a failed turn has stopped the writer: the state is then ahead of the journal. */
  failed = false

  constructor(options: WriterOptions<S, C>) {
    this.options = options
    this.monotonic = options.monotonic ?? (() => performance.now())
    this.at_ms = options.at_ms
    const { journal } = options
    this.entriesSinceCheckpoint = journal.position - (journal.checkpoints().at(-1)?.position ?? 0)
    this.timer = setInterval(() => {
      this.tickDue = true
      this.schedule()
    }, TICK_MS)
  }

  /** Engine time of the last turn, Unix ms. */
  get time(): number {
    return this.at_ms
  }

  /** Whether commands are refused because the disk is full. */
  get isFull(): boolean {
    return this.full
  }

  /** The reason for which all commands are refused. */
  get refusing(): ReadonlyArray<Refusing> {
    if (this.failed) return ["JournalStopped"]
    return this.full ? ["DiskFull"] : []
  }

  /** Number of queued commands. */
  get queued(): number {
    return this.queue.length
  }

  /**
   * Queues a command. Its result follows after the turn that made it durable, or immediately when it is refused here.
   */
  submit(caller: Caller, command: Command, bytes: Uint8Array, not_after_ms = Infinity): void {
    const { command_id } = command
    if (this.stopping || this.stopped) {
      this.refuse(caller, refusal(command_id, Code.UNAVAILABLE, "the backend is stopping", "BackendStopping"))
    } else if (this.queue.length >= QUEUE_COMMANDS_MAX) {
      this.refuse(caller, refusal(command_id, Code.RESOURCE_EXHAUSTED, "too many commands wait", "BackendUnavailable"))
    } else {
      this.queue.push({ caller, command, bytes, not_after_ms })
      this.schedule()
    }
  }

  /** Calls back when no turn is half applied: at once, or after the one that is. */
  whenConsistent(callback: () => void): void {
    if (this.running === undefined) callback()
    else this.waiting.push(callback)
  }

  /** Calls back once everything that the state contains now is durable: at once, unless a turn is in flight. */
  whenDurable(answer: () => void): void {
    const last = this.prepared ?? this.inFlight
    if (last === undefined) answer()
    else last.reads.push(answer)
  }

  /**
   * Executes the queued commands, writes a checkpoint, and accepts no more commands. Returns a promise while a turn is in
   * flight.
   */
  stop(): Promise<void> | undefined {
    if (this.stopped) return undefined
    this.stopping = true
    while ((this.running ?? this.queue[0]) !== undefined && this.inFlight === undefined && !this.stopped)
      this.advance(Infinity)
    if (this.inFlight !== undefined)
      return new Promise<void>((resolve) => {
        this.onDrained = resolve
      }).then(() => this.stop())
    if (this.stopped) return undefined
    this.halt()
    drain(this.checkpoint())
    this.options.journal.settle()
    return undefined
  }

  /** Stops permanently, because another backend may append to the journal. What is in flight stays unanswered. */
  abandon(cause: unknown): void {
    this.fail(this.prepared?.commands ?? [], cause, false)
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
    if (this.running === undefined && (this.prepared !== undefined || this.mustSettle())) return
    this.advance(this.monotonic() + SLICE_MS)
  }

  /** Goes on with the current turn, or begins one, until it has ended or a time is reached. */
  private advance(until: number): void {
    const running = (this.running ??= this.apply())
    let next = running.next()
    for (; next.done !== true; next = running.next()) if (this.monotonic() >= until) return this.schedule()
    this.running = undefined
    if (next.value !== undefined) {
      if (this.inFlight === undefined) this.commit(next.value)
      else this.prepared = next.value
    }
    this.callWaiting()
  }
  private callWaiting(): void {
    for (const callback of this.waiting.splice(0)) callback()
  }

  /** Applies the queued commands; undefined where there is nothing to make durable. */
  private *apply(): Slices<AppliedTurn | undefined> {
    const { machine, state, journal, log, now } = this.options
    if (this.inFlight === undefined && this.isCheckpointDue()) yield* this.checkpoint()
    const most = journal.isShared ? SHARED_TURN_COMMANDS_MAX : TURN_COMMANDS_MAX
    const turn = this.queue.length <= most ? this.queue : this.queue.slice(0, most)
    this.queue = turn === this.queue ? [] : this.queue.slice(most)
    this.at_ms = Math.max(this.at_ms, now())
    const ticks = this.tickDue && machine.tickMatters(state, this.at_ms)
    this.tickDue = false
    if (turn.length === 0 && !ticks) return undefined
    if (!this.hasSpace()) {
      for (const { caller, command } of turn) {
        const message = "the disk is full"
        caller.results.push(refusal(command.command_id, Code.UNAVAILABLE, message, "BackendUnavailable"))
      }
      for (const { caller } of turn) if (caller.results.length > 0) caller.flush()
      if (this.queue.length > 0) this.schedule()
      return undefined
    }

    this.encoder.renew()
    const began_ms = this.monotonic()
    const before = journal.position
    const results: Array<Uint8Array> = []
    try {
      journal.begin()
      if (ticks) {
        const step = yield* this.start({ at_ms: this.at_ms, command: undefined })
        journal.append(this.at_ms, null, null, null)
        yield* log.encoder.addAll(step.events, journal.checksum)
      }
      for (const queued of turn) {
        results.push(yield* this.run(queued, began_ms))
        yield
      }
    } catch (cause) {
      this.fail(turn, cause, false)
      return undefined
    }
    return {
      commands: turn,
      results,
      blocks: log.encoder.take(),
      entries: journal.position - before,
      began_ms,
      applied_ms: this.monotonic(),
      reads: []
    }
  }

  private commit(turn: AppliedTurn): void {
    if (this.send(turn)) this.finish(turn)
    else if (this.queue.length > 0) this.schedule()
  }

  /** Gives a turn to the journal while no other is in flight. Returns true if the turn is durable already. */
  private send(turn: AppliedTurn): boolean {
    let durable: Promise<void> | undefined
    try {
      durable = this.options.journal.commit()
    } catch (cause) {
      this.fail(turn.commands, cause, true)
      return false
    }
    if (durable === undefined) return true
    this.inFlight = turn
    durable.then(
      () => {
        if (this.stopped) return
        const { prepared } = this
        this.inFlight = this.prepared = undefined
        // before the results of this turn: the database works while they are written
        const isDurable = prepared !== undefined && this.send(prepared)
        this.finish(turn)
        if (isDurable) this.finish(prepared)
      },
      // it may be durable: its commands stay unanswered
      (cause: unknown) => this.fail(this.prepared?.commands ?? [], cause, false)
    )
    return false
  }

  /** Publishes a durable turn. */
  private finish({ applied_ms, began_ms, blocks, commands, entries, reads, results }: AppliedTurn): void {
    const { log, onEvents } = this.options
    const ended = this.monotonic()
    this.options.onTurn?.(commands.length, (ended - applied_ms) / 1_000, (ended - began_ms) / 1_000)
    this.entriesSinceCheckpoint += entries
    this.turnsSinceCheckpoint_ms += ended - began_ms
    // events first: a gateway that reads a result has mostly shown its events, so no read of the caller waits for them
    if (blocks.length > 0) {
      log.add(blocks)
      onEvents()
    }
    for (let i = 0; i < commands.length; i++) commands[i]!.caller.results.push(results[i]!)
    for (const { caller } of commands) if (caller.results.length > 0) caller.flush()
    for (const answer of reads) answer()
    if (this.inFlight === undefined && this.running === undefined && !this.stopped) this.settle()
    if (this.queue.length > 0 || this.isCheckpointDue()) this.schedule()
  }

  /** Every applied turn is durable: commits the copy of the journal, and does what needs a position without later entries. */
  private settle(): void {
    const { journal } = this.options
    try {
      journal.settle()
    } catch (cause) {
      return this.fail([], cause, false)
    }
    this.settled_ms = this.monotonic()
    this.options.onSettled()
    this.onDrained?.()
  }

  /** Whether the next turn waits for the one in flight, so that the copy of the journal is committed now and then. */
  private mustSettle(): boolean {
    return this.inFlight !== undefined && (this.stopping || this.monotonic() - this.settled_ms > SETTLE_MS)
  }

  /**
   * Stops permanently. `commands` of the failed turn are refused with the queue, if they certainly are not in the journal.
   */
  private fail(commands: ReadonlyArray<Queued>, cause: unknown, committing: boolean): void {
    if (this.stopped) return
    this.halt()
    this.failed = true
    const refused = this.rollBack(committing, cause) ? commands.concat(this.queue) : this.queue
    this.queue = []
    for (const { caller, command } of refused) {
      const message = "the backend could not write its journal"
      caller.results.push(refusal(command.command_id, Code.UNAVAILABLE, message, "BackendUnavailable"))
    }
    for (const caller of new Set(refused.map((queued) => queued.caller))) caller.flush()
    this.onDrained?.()
    this.options.onFailure(cause)
    this.running = undefined
    this.callWaiting()
  }

  /**
   * Whether the disk has space for another turn. Uses the machine's clock, because engine time can be fixed in tests.
   */
  private hasSpace(): boolean {
    const now = this.monotonic()
    if (now - this.spaceSeenMs < SPACE_MS) return !this.full
    this.spaceSeenMs = now
    const full = this.options.space() < SPACE_BYTES_MIN
    if (full !== this.full) this.options.onSpace(full)
    this.full = full
    return !full
  }

  /**
   * Rolls the open transaction back. Returns true when it is certain that the transaction is not in the file. After a
   * failed sync at the commit it may be, so its commands must stay unanswered.
   */
  private rollBack(committing: boolean, cause: unknown): boolean {
    try {
      this.options.journal.rollback()
    } catch {
      return false
    }
    return !committing || (cause as { readonly errcode?: number }).errcode === SQLITE_FULL
  }

  private *start(input: Input): Slices<Step> {
    const { machine, state } = this.options
    return machine.start === undefined ? machine.apply(state, input) : yield* machine.start(state, input)
  }

  /** Applies one command in a turn that began at `began_ms`, and journals it if it changed anything. */
  private *run({ command, bytes, not_after_ms }: Queued, began_ms: number): Slices<Uint8Array> {
    const { journal, log } = this.options
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
    if (first !== undefined && this.at_ms - first.at_ms < COMMAND_ID_RETENTION_MS) {
      const original = Command.decode(first.command!)
      // command ids derive from ids that other users may know, so results of other users are never returned
      if (original.user_id === command.user_id) return this.answerDuplicate(command, original, first)
    }
    if (began_ms > not_after_ms) {
      return refusal(command_id, Code.UNAVAILABLE, "the command was too late for its turn", "Overloaded")
    }

    const step = yield* this.start({ at_ms: this.at_ms, command })
    if (step.result === undefined) throw new Error("the engine gave a command no result")
    const { encoder } = this
    const start = encoder.length
    CommandResult.encode(step.result, encoder)
    const result = encoder.from(start)
    if (step.result.outcome?.$case === "ack" || step.events.length > 0) {
      journal.append(this.at_ms, command_id, bytes, result)
      yield* log.encoder.addAll(step.events, journal.checksum)
    }
    return result
  }

  /** Responds to a repeated command_id: the first acknowledgement again, or ALREADY_EXISTS for other content. */
  private answerDuplicate(command: Command, original: Command, first: FoundEntry): Uint8Array {
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

  private isCheckpointDue(): boolean {
    return (
      this.entriesSinceCheckpoint >= CHECKPOINT_ENTRIES &&
      this.turnsSinceCheckpoint_ms >= CHECKPOINT_PAUSE * this.checkpointTook_ms
    )
  }

  /** Between two turns: every applied turn is durable. */
  private *checkpoint(): Slices {
    if (this.entriesSinceCheckpoint === 0 || this.full) return
    const { machine, state, journal } = this.options
    this.entriesSinceCheckpoint = 0
    this.turnsSinceCheckpoint_ms = 0
    const began = this.monotonic()
    try {
      const hash = machine.hashSlices === undefined ? machine.hash(state) : yield* machine.hashSlices(state)
      this.checkpointTook_ms = this.monotonic() - began
      journal.checkpoint(machine.headSeq(state), hash)
    } catch {
      // A missing checkpoint is harmless; if the disk is the cause, the next commit fails too.
    }
  }
}
