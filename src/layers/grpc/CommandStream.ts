/**
 * Commands over one long-lived SubmitStream, one message per turn of the event loop.
 *
 * Every submitted command gets exactly one outcome: the sequencer's result; *unavailable* (never written, so certainly not
 * sequenced); or *unknown* (written, and then its stream was lost or its deadline passed). A written command is never
 * written again. An unwritten command moves to the next stream while its deadline lasts.
 * Source: docs/contract/boundary.md#errors, #retries.
 *
 * A command is not written if its credential ended while the command was queued. Except a cancel, it is not written while
 * the gateway may not know that the credential ended: it is held until the next renewal of the lease
 * (docs/contract/authentication.md#fresh-gateways). The sequencer refuses it if its turn begins too long after the last read
 * of changes: `not_after_ms`, on the stream's clock.
 *
 * New commands fail fast in two cases ({@link SubmitHealth}): no stream has been open for a second, or the open stream lets a
 * command expire and returns no result meanwhile. Two exceptions are always tried: one probe command at a time, and cancels
 * (docs/contract/boundary.md#lagging). When the liveness probe finds the sequencer silent, all pending commands get their
 * outcome at once, and everything but cancels fails fast.
 */
import { type ServiceError, status } from "@grpc/grpc-js"
import {
  type Command,
  type CommandResult,
  SequencerService,
  SubmitStreamRequest,
  SubmitStreamResponse
} from "../../proto/gateway/v1/sequencer.ts"
import { WireReader } from "../../node/WireReader.ts"
import { WireWriter } from "../../node/WireWriter.ts"
import type { Grant, GrantEnd } from "../../domain/Grant.ts"
import { StreamClock } from "./StreamClock.ts"
import { SubmitHealth } from "./SubmitHealth.ts"
import { type Channel, SILENCE_MS_MAX } from "./Channel.ts"
import { type CallStream, RECONNECT_MS_MAX, RECONNECT_MS_MIN, type Rpc } from "./Connection.ts"

/** Commands without an outcome, written or not; further commands are refused. */
export const PENDING_COMMANDS_MAX = 16_384
/** Commands per message. Source: docs/contract/boundary.md#sequencer. */
export const MESSAGE_COMMANDS_MAX = 1024
/** Time in which a command gets its outcome, in ms. Source: docs/contract/boundary.md#sequencer. */
export const DEADLINE_MS = 2000
/** The same for a cancel while the sequencer is silent, in ms. */
export const SILENT_DEADLINE_MS = 500
/** Interval at which deadlines are checked, in ms; an outcome is at most this late. */
export const DEADLINE_STEP_MS = 50
/**
 * Longest time that one check adds to the deadline clock, in ms: after a longer stall of this process, results that arrived
 * meanwhile are read before a command expires.
 */
const STEP_MS_MAX = 500
/** Longest wait for the first reading of a stream's clock, in ms; without one the sequencer has no such clock. */
export const CLOCK_WAIT_MS = 500
/** Time in which a backend ends a stream that is left for another backend's, in ms. */
export const LEAVE_MS = 1000

export type Outcome =
  | CommandResult["outcome"]
  /** Certainly not sequenced. */
  | { readonly $case: "unavailable"; readonly cause: unknown }
  /** Certainly not sequenced: the caller's credential ended before the command was written. */
  | { readonly $case: "ended"; readonly why: GrantEnd }
  /** Certainly not sequenced: the gateway did not learn in time whether the caller's credential is valid. */
  | { readonly $case: "unchecked" }
  /** May have been sequenced. */
  | { readonly $case: "unknown" }
  /** The sequencer refuses every command of this gateway. */
  | { readonly $case: "fault"; readonly cause: unknown }

interface Pending {
  readonly command: Command
  readonly done: (outcome: Outcome) => void
  readonly due: number
  /** When the command was written, on the deadline clock, in ms. */
  written_ms: number
  state: "waiting" | "written" | "done"
  /** The caller's credential, held from the write until the result arrives or the stream is lost. */
  readonly grant: Grant | undefined
  /** The next command that was written under the same command_id; results arrive in the order of the writes. */
  next: Pending | undefined
}

const writer = new WireWriter()
const encodeCommands = (request: SubmitStreamRequest): Buffer => {
  const bytes = SubmitStreamRequest.encode(request, writer).finish()
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
const decodeResults = (bytes: Buffer): SubmitStreamResponse => SubmitStreamResponse.decode(new WireReader(bytes))

const rpc: Rpc<SubmitStreamRequest, SubmitStreamResponse> = {
  ...SequencerService.submitStream,
  requestSerialize: encodeCommands,
  responseDeserialize: decodeResults
}

const isCancel = ({ command }: Command): boolean => command?.$case === "cancel_order" || command?.$case === "cancel_all"
/** Whether a command takes effect only while the lease on its caller's credential lasts. */
const isLeased = ({ command, grant }: Pending): boolean =>
  grant !== undefined && grant.lease.effect_ms() !== Infinity && !isCancel(command)
/** Whether the lease keeps a command from being written now. */
const isHeldBack = ({ command, grant }: Pending): boolean => grant?.lease.isCurrent() === false && !isCancel(command)

/** Whether a backend that is stopping has returned a command: it is not sequenced, and the next stream may be another backend's. */
const isReturned = (outcome: NonNullable<CommandResult["outcome"]>): boolean =>
  outcome.$case === "status" && outcome.value.reason === "BackendStopping"

const isWaiting = ({ state }: Pending): boolean => state === "waiting"

/** Status codes with which the sequencer refuses a whole stream before it reads a command. */
const REFUSED: ReadonlySet<status> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.UNIMPLEMENTED])

export interface CommandStreamOptions {
  /** Called when an open stream is lost, before the reconnect. */
  readonly onLost?: () => void
  /** A number from 0 to 1: spreads the reconnects of gateways by a fifth each way. */
  readonly chance: () => number
}

export class CommandStream {
  private readonly channel: Channel
  private readonly options: CommandStreamOptions
  private readonly timer: NodeJS.Timeout
  private readonly unsubscribe: () => void
  /** Removes the callback of the liveness probe; there is one while commands are pending. */
  private leaveProbe: (() => void) | undefined
  private retry: NodeJS.Timeout | undefined
  private call: CallStream<SubmitStreamRequest, SubmitStreamResponse> | undefined
  /** Not yet written, in order. */
  private waiting: Array<Pending> = []
  /** Not written until the lease of their credentials is renewed, in order. */
  private held: Array<Pending> = []
  /** Removes the callback of the renewal. */
  private leaveLease: (() => void) | undefined
  /** The clock of the open stream. */
  private sequencer = new StreamClock()
  /** Waits for the first reading of a stream's clock. */
  private clockWait: NodeJS.Timeout | undefined
  /** Whether the sequencer has a clock on its streams; undefined: not known yet. */
  private isClocked: boolean | undefined
  /** Written, without a result. */
  private readonly written = new Map<string, Pending>()
  /** All commands in the order of their deadlines, including finished ones that `expire` has not reached. */
  private deadlines: Array<Pending> = []
  private expired = 0
  /** The deadline clock in ms, and when it last advanced: it leaves out stalls of this process. */
  private clock_ms = 0
  private moved_ms = performance.now()
  private pending = 0
  /** Written commands that expired and whose result is outstanding; they count against the limit. */
  private overdue = 0
  private blocked = false
  /** Whether the open stream is left for another one, and the time until which the backend may end it. */
  private isLeaving = false
  private leaving: NodeJS.Timeout | undefined
  private scheduled = false
  private closed = false
  private failures = 0
  private batch = 0
  private readonly health = new SubmitHealth(performance.now())
  /** The one command that is tried while others fail fast. */
  private probe: Pending | undefined

  constructor(channel: Channel, options: CommandStreamOptions) {
    this.channel = channel
    this.options = options
    this.timer = setInterval(() => this.expire(), DEADLINE_STEP_MS)
    this.unsubscribe = channel.onMove((isAlive) => (isAlive ? this.leave() : this.call?.cancel()))
    this.connect()
  }

  /** Number of commands without an outcome. */
  get size(): number {
    return this.pending
  }

  /** Whether a stream is open. */
  get connected(): boolean {
    return this.call !== undefined
  }

  /** Time for which no command could be submitted, in ms; 0: commands can be submitted, as far as the last ones show. */
  get down_ms(): number {
    return this.health.down_ms(performance.now())
  }

  /**
   * Submits a command and returns a function that withdraws it while it is unwritten. `done` is called exactly once.
   * `grant`: the caller's credential; the gateway's own commands have none.
   */
  submit(command: Command, done: (outcome: Outcome) => void, grant?: Grant): () => void {
    if (this.closed || this.pending + this.overdue >= PENDING_COMMANDS_MAX) {
      const cause = this.closed ? "the gateway is stopping" : "too many commands are pending"
      done({ $case: "unavailable", cause })
      return () => {}
    }
    if (this.failsFast(command)) {
      done({ $case: "unavailable", cause: "the sequencer does not respond" })
      return () => {}
    }
    const pending: Pending = {
      command,
      done,
      due: this.now() + (this.channel.silence.isSilent() ? SILENT_DEADLINE_MS : DEADLINE_MS),
      written_ms: 0,
      state: "waiting",
      grant,
      next: undefined
    }
    if (this.health.isUnavailable(performance.now())) this.probe = pending
    if (this.pending++ === 0) this.leaveProbe = this.channel.silence.await(() => this.expireAll())
    this.deadlines.push(pending)
    this.waiting.push(pending)
    this.schedule()
    return () => {
      if (pending.state === "waiting") this.finish(pending, { $case: "unavailable", cause: "withdrawn" })
    }
  }

  private failsFast(command: Command): boolean {
    if (isCancel(command)) return false
    if (this.channel.silence.isSilent()) return true
    return this.probe !== undefined && this.probe.state !== "done" && this.health.isUnavailable(performance.now())
  }

  /** The sequencer is silent: every pending command gets its outcome now. */
  private expireAll(): void {
    for (const pending of this.deadlines.slice(this.expired)) this.expireOne(pending)
  }

  /** Ends the stream. Written commands without a result are unknown; the others are unavailable. */
  close(): void {
    this.closed = true
    clearInterval(this.timer)
    this.unsubscribe()
    clearTimeout(this.retry)
    clearTimeout(this.clockWait)
    clearTimeout(this.leaving)
    this.call?.cancel()
    this.call = undefined
    this.settle(undefined)
    this.leaveLease?.()
    for (const pending of [...this.held, ...this.waiting]) {
      this.finish(pending, { $case: "unavailable", cause: "the gateway is stopping" })
    }
    this.held = []
    this.waiting = []
  }

  private connect(): void {
    // a stream that opens before the channel is connected would accept commands that it may never send
    this.channel.whenReady(RECONNECT_MS_MAX, (error) => {
      if (this.closed) return
      if (error !== undefined) return this.reconnect()
      const call = this.channel.calls(rpc)
      this.call = call
      this.health.opened(performance.now())
      this.blocked = false
      this.sequencer = new StreamClock()
      this.clockWait = setTimeout(() => {
        this.isClocked ??= false
        this.writeHeld()
      }, CLOCK_WAIT_MS)
      const lost = (error: ServiceError | undefined) => {
        if (this.call !== call) return
        this.call = undefined
        clearTimeout(this.clockWait)
        clearTimeout(this.leaving)
        this.isLeaving = false
        this.health.lost(performance.now())
        this.settle(error)
        if (this.closed) return
        this.options.onLost?.()
        this.reconnect()
      }
      call.on("error", lost)
      call.on("end", () => lost(undefined))
      call.on("drain", () => {
        this.blocked = false
        this.schedule()
      })
      call.on("data", (response: SubmitStreamResponse) => {
        if (response.clock_ms !== undefined) this.observe(response.clock_ms)
        if (response.results.length === 0) return
        this.failures = 0
        this.health.answered(this.now())
        for (const result of response.results) this.answer(result)
      })
      this.schedule()
    })
  }

  private reconnect(): void {
    const pause = Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(this.failures++, 16))
    this.retry = setTimeout(() => this.connect(), pause * (0.8 + 0.4 * this.options.chance()))
  }

  private schedule(): void {
    if (this.scheduled || this.call === undefined || this.isLeaving || this.blocked || this.waiting.length === 0) return
    this.scheduled = true
    setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    this.scheduled = false
    const { call } = this
    if (call === undefined || this.isLeaving) return
    const waiting = this.waiting
    let next = 0
    while (next < waiting.length && !this.blocked) {
      const commands: Array<Command> = []
      while (next < waiting.length && commands.length < MESSAGE_COMMANDS_MAX) {
        const pending = waiting[next++]!
        if (pending.state !== "waiting") continue
        // in the turn of the write: earlier checks may be out of date
        const leased = isLeased(pending)
        if (isHeldBack(pending)) {
          this.hold(pending)
          continue
        }
        if (leased && this.isClocked !== false && !this.sequencer.isKnown) {
          this.held.push(pending)
          continue
        }
        if (pending.grant?.hold() === false) {
          this.finish(pending, { $case: "ended", why: pending.grant.ended! })
          continue
        }
        pending.state = "written"
        pending.written_ms = this.now()
        commands.push(leased && this.sequencer.isKnown ? this.limited(pending) : pending.command)
        this.remember(pending)
      }
      if (commands.length > 0) this.blocked = !call.write({ batch_id: ++this.batch, commands })
    }
    this.waiting = next === waiting.length ? [] : waiting.slice(next)
  }

  /** Keeps a command until the lease of its credential is renewed, or its deadline. All leases of a gateway are one. */
  private hold(pending: Pending): void {
    this.held.push(pending)
    this.leaveLease ??= pending.grant!.lease.onRenewal(() => {
      this.leaveLease = undefined
      this.writeHeld()
    })
  }

  private writeHeld(): void {
    if (this.held.length === 0) return
    this.waiting = [...this.held, ...this.waiting]
    this.held = []
    this.schedule()
  }

  /** A reading of the sequencer's clock on the open stream. */
  private observe(clock_ms: number): void {
    const isFirst = !this.sequencer.isKnown
    this.sequencer.observe(clock_ms, performance.now())
    if (!isFirst) return
    this.isClocked = true
    clearTimeout(this.clockWait)
    this.writeHeld()
  }

  /** The command with the time until which it may be sequenced. */
  private limited({ command, grant }: Pending): Command {
    return {
      ...command,
      not_after_ms: Math.floor(this.sequencer.atLeast(performance.now()) + grant!.lease.effect_ms())
    }
  }

  private remember(pending: Pending): void {
    const { command_id } = pending.command
    const first = this.written.get(command_id)
    if (first === undefined) return void this.written.set(command_id, pending)
    let last = first
    while (last.next !== undefined) last = last.next
    last.next = pending
  }

  private answer(result: CommandResult): void {
    const { outcome } = result
    if (outcome === undefined) return
    const { command_id } = outcome.value
    const pending = this.written.get(command_id)
    if (pending === undefined) return
    const { next } = pending
    // a returned command is written again, after those that follow it now
    pending.next = undefined
    if (next === undefined) this.written.delete(command_id)
    else this.written.set(command_id, next)
    pending.grant?.release()
    if (pending.state === "done") this.overdue--
    else if (isReturned(outcome)) {
      pending.state = "waiting"
      this.waiting.push(pending)
      this.leave()
    } else this.finish(pending, outcome)
  }

  /** Writes nothing more to the open stream. It ends when the backend has answered what was written, or is cancelled. */
  private leave(): void {
    const { call } = this
    if (call === undefined || this.isLeaving) return
    this.isLeaving = true
    call.end()
    this.leaving = setTimeout(() => call.cancel(), LEAVE_MS)
  }

  /** The stream is lost: every written command gets its outcome. */
  private settle(error: ServiceError | undefined): void {
    const refused = error !== undefined && REFUSED.has(error.code)
    const outcome: Outcome = refused ? { $case: "fault", cause: error } : { $case: "unknown" }
    const written = [...this.written.values()]
    this.written.clear()
    this.overdue = 0
    for (const first of written) {
      for (let pending: Pending | undefined = first; pending !== undefined; pending = pending.next) {
        pending.grant?.release()
        this.finish(pending, outcome)
      }
    }
  }

  /** Time on the deadline clock. */
  private now(): number {
    return this.clock_ms + Math.min(STEP_MS_MAX, performance.now() - this.moved_ms)
  }

  private expire(): void {
    const now = this.now()
    this.clock_ms = now
    this.moved_ms = performance.now()
    while (this.expired < this.deadlines.length) {
      const pending = this.deadlines[this.expired]!
      if (pending.state !== "done" && pending.due > now) break
      if (pending.state === "written") this.health.expired(pending.written_ms, performance.now())
      this.expireOne(pending)
      this.expired++
    }
    if (this.expired === this.deadlines.length) {
      this.deadlines = []
      this.expired = 0
    } else if (this.expired > 4096) {
      this.deadlines = this.deadlines.slice(this.expired)
      this.expired = 0
    }
    // The oldest result is overdue, whatever other results arrive: the stream is stuck.
    const [oldest] = this.written.values()
    if (oldest !== undefined && now - oldest.due > SILENCE_MS_MAX) this.call?.cancel()
    if (this.call === undefined) this.waiting = this.waiting.filter(isWaiting)
    if (this.held.length > 0) this.dropExpired()
    this.health.judge(performance.now(), this.channel.silence.isSilent())
  }

  /** Held commands that expired are not kept until the lease is renewed, which may take hours. */
  private dropExpired(): void {
    this.held = this.held.filter(isWaiting)
    if (this.held.length > 0) return
    this.leaveLease?.()
    this.leaveLease = undefined
  }

  /** Gives an expired command its outcome. A written one keeps its place, so that a late result is not taken for the next command of its id. */
  private expireOne(pending: Pending): void {
    if (pending.state === "done") return
    if (pending.state === "waiting") {
      return this.finish(
        pending,
        isHeldBack(pending)
          ? { $case: "unchecked" }
          : { $case: "unavailable", cause: "the sequencer was not reached in time" }
      )
    }
    this.overdue++
    this.finish(pending, { $case: "unknown" })
  }

  private finish(pending: Pending, outcome: Outcome): void {
    if (pending.state === "done") return
    pending.state = "done"
    if (--this.pending === 0) this.leaveProbe?.()
    pending.done(outcome)
  }
}
