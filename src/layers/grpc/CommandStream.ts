/**
 * Commands over one long-lived SubmitStream, one message per turn of the event loop.
 *
 * Every command given to `submit` is told exactly one outcome: the sequencer's answer, *refused* (it was never written,
 * so it was surely not sequenced), or *unknown* (it was written and its stream was lost, or its time ran out). A written
 * command is never written again; one that was not goes to the next stream while its time lasts.
 * Source: docs/contract/boundary.md#errors, #retries.
 *
 * A command of a credential that ended while it waited is not written.
 *
 * Where there has been no stream for a while, or the one that stands lets a command's time run out and answers nothing
 * meanwhile, nobody is made to wait: new commands are refused at once, but for one at a time, and cancels, which are
 * always tried (docs/contract/boundary.md#lagging). When the sequencer falls silent, whoever waits is told at once, and
 * all but cancels are refused.
 */
import { type ClientDuplexStream, type ServiceError, status } from "@grpc/grpc-js"
import {
  type Command,
  type CommandResult,
  SequencerService,
  type SubmitStreamRequest,
  type SubmitStreamResponse
} from "../../proto/gateway/v1/sequencer.ts"
import type { Grant, GrantEnd } from "../../domain/Grant.ts"
import { type Channel, RECONNECT_MS_MAX, RECONNECT_MS_MIN, SILENCE_MS_MAX } from "./Channel.ts"

/** Commands without an outcome, written or not; one more is refused. */
export const PENDING_COMMANDS_MAX = 16_384
/** Commands of one message. Source: docs/contract/boundary.md#sequencer. */
export const MESSAGE_COMMANDS_MAX = 1024
/** Time in which a command gets its outcome. Source: docs/contract/boundary.md#sequencer. */
export const DEADLINE_MS = 2000
/** The same for a cancel that is tried though the sequencer is silent. */
export const SILENT_DEADLINE_MS = 500
/** How often deadlines are looked at; an outcome is at most this late. */
export const DEADLINE_STEP_MS = 50
/**
 * The most that counts of a deadline between two looks: after a longer stall of this process the answers that arrived meanwhile
 * are read before a command expires.
 */
const STEP_MS_MAX = 500
/** Without a stream for so long, commands are refused at once. */
export const ABSENT_MS_MAX = 1000

export type Outcome =
  | CommandResult["outcome"]
  /** Surely not sequenced. */
  | { readonly $case: "unavailable"; readonly cause: unknown }
  /** Surely not sequenced: the credential that asked for it had ended when it was to be written. */
  | { readonly $case: "ended"; readonly why: GrantEnd }
  /** May have been sequenced. */
  | { readonly $case: "unknown" }
  /** The sequencer does not accept this gateway's commands at all. */
  | { readonly $case: "fault"; readonly cause: unknown }

interface Pending {
  readonly command: Command
  readonly done: (outcome: Outcome) => void
  readonly due: number
  /** When it was written, on the clock of deadlines. */
  written_ms: number
  state: "waiting" | "written" | "done"
  /** The credential that asked for it, held from the writing until the sequencer answers or its stream is lost. */
  readonly grant: Grant | undefined
  /** The next command that was written under the same command_id; answers come in the order of writing. */
  twin: Pending | undefined
}

type Call = ClientDuplexStream<SubmitStreamRequest, SubmitStreamResponse>

/** Statuses that mean the whole stream is refused before a command of it is looked at. */
const REFUSED: ReadonlySet<status> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.UNIMPLEMENTED])

export class CommandStream {
  private readonly channel: Channel
  private readonly onLost: () => void
  private readonly timer: NodeJS.Timeout
  private readonly leave: () => void
  private retry: NodeJS.Timeout | undefined
  private call: Call | undefined
  /** Not yet written, in order. */
  private waiting: Array<Pending> = []
  /** Written and not answered. */
  private readonly written = new Map<string, Pending>()
  /** All commands in the order of their deadlines, done ones included until their turn comes. */
  private deadlines: Array<Pending> = []
  private expired = 0
  /** The clock of deadlines, in ms, and when it was moved: it does not count stalls of this process. */
  private clock_ms = 0
  private moved_ms = performance.now()
  private pending = 0
  /** Written commands whose time ran out and whose answer is still owed; they count as pending. */
  private overdue = 0
  private blocked = false
  private scheduled = false
  private closed = false
  private failures = 0
  private batch = 0
  /** Since when there is no stream; infinite while there is one. */
  private absentSince = performance.now()
  /** When the last answer came. */
  private answered_ms = 0
  /** Whether a written command's time ran out, and nothing has been answered since it was written, on any stream. */
  private stuck = false
  /** The command that is tried while the others are refused. */
  private trial: Pending | undefined

  /** `onLost` is called when a stream that stood is gone, and a new one is opened. */
  constructor(channel: Channel, onLost: () => void = () => {}) {
    this.channel = channel
    this.onLost = onLost
    this.timer = setInterval(() => this.expire(), DEADLINE_STEP_MS)
    this.leave = channel.silence.await(() => this.giveUp())
    this.connect()
  }

  /** Commands without an outcome. */
  get size(): number {
    return this.pending
  }

  /** Whether a stream stands. */
  get connected(): boolean {
    return this.call !== undefined
  }

  /**
   * Takes a command; answers a function that withdraws it if it is still unwritten. `done` is called once, later. `grant`:
   * of the caller who asks for it; the gateway's own commands have none.
   */
  submit(command: Command, done: (outcome: Outcome) => void, grant?: Grant): () => void {
    if (this.closed || this.pending + this.overdue >= PENDING_COMMANDS_MAX) {
      const cause = this.closed ? "the gateway is stopping" : "too many commands wait for the sequencer"
      done({ $case: "unavailable", cause })
      return () => {}
    }
    if (this.isResting(command)) {
      done({ $case: "unavailable", cause: "the sequencer does not answer" })
      return () => {}
    }
    const pending: Pending = {
      command,
      done,
      due: this.now() + (this.channel.silence.isSilent() ? SILENT_DEADLINE_MS : DEADLINE_MS),
      written_ms: 0,
      state: "waiting",
      grant,
      twin: undefined
    }
    if (this.isDoubtful()) this.trial = pending
    this.pending++
    this.deadlines.push(pending)
    this.waiting.push(pending)
    this.schedule()
    return () => {
      if (pending.state === "waiting") this.finish(pending, { $case: "unavailable", cause: "withdrawn" })
    }
  }

  /** Whether a command would most likely wait in vain. */
  private isDoubtful(): boolean {
    return this.stuck || performance.now() - this.absentSince >= ABSENT_MS_MAX
  }
  private isResting({ command }: Command): boolean {
    if (command?.$case === "cancel_order" || command?.$case === "cancel_all") return false
    if (this.channel.silence.isSilent()) return true
    return this.isDoubtful() && this.trial !== undefined && this.trial.state !== "done"
  }

  /** The sequencer is silent: nobody waits on. */
  private giveUp(): void {
    for (const pending of this.deadlines.slice(this.expired)) this.abandon(pending)
  }

  /** Ends the stream. What was written and not answered is unknown, the rest is refused. */
  close(): void {
    this.closed = true
    clearInterval(this.timer)
    this.leave()
    clearTimeout(this.retry)
    this.call?.cancel()
    this.call = undefined
    this.settle(undefined)
    for (const pending of this.waiting) this.finish(pending, { $case: "unavailable", cause: "the gateway is stopping" })
    this.waiting = []
  }

  private connect(): void {
    const { client, metadata } = this.channel
    // A stream that is opened before the channel is connected would take commands that it may never send.
    client.waitForReady(Date.now() + RECONNECT_MS_MAX, (error) => {
      if (this.closed) return
      if (error !== undefined) return this.again()
      const rpc = SequencerService.submitStream
      const call: Call = client.makeBidiStreamRequest(
        rpc.path,
        rpc.requestSerialize,
        rpc.responseDeserialize,
        metadata()
      )
      this.call = call
      this.absentSince = Infinity
      this.blocked = false
      const lost = (error: ServiceError | undefined) => {
        if (this.call !== call) return
        this.call = undefined
        this.absentSince = performance.now()
        this.settle(error)
        if (this.closed) return
        this.onLost()
        this.again()
      }
      call.on("error", lost)
      call.on("end", () => lost(undefined))
      call.on("drain", () => {
        this.blocked = false
        this.schedule()
      })
      call.on("data", (response: SubmitStreamResponse) => {
        this.failures = 0
        this.answered_ms = this.now()
        this.stuck = false
        for (const result of response.results) this.answer(result)
      })
      this.schedule()
    })
  }

  private again(): void {
    const pause = Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(this.failures++, 16))
    this.retry = setTimeout(() => this.connect(), pause * (0.8 + 0.4 * Math.random()))
  }

  private schedule(): void {
    if (this.scheduled || this.call === undefined || this.blocked || this.waiting.length === 0) return
    this.scheduled = true
    setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    this.scheduled = false
    const { call } = this
    if (call === undefined) return
    const waiting = this.waiting
    let next = 0
    while (next < waiting.length && !this.blocked) {
      const commands: Array<Command> = []
      while (next < waiting.length && commands.length < MESSAGE_COMMANDS_MAX) {
        const pending = waiting[next++]!
        if (pending.state !== "waiting") continue
        // in the turn of the writing: whatever was checked before may have changed
        if (pending.grant?.hold() === false) {
          this.finish(pending, { $case: "ended", why: pending.grant.ended! })
          continue
        }
        pending.state = "written"
        pending.written_ms = this.now()
        commands.push(pending.command)
        this.remember(pending)
      }
      if (commands.length > 0) this.blocked = !call.write({ batch_id: ++this.batch, commands })
    }
    this.waiting = next === waiting.length ? [] : waiting.slice(next)
  }

  private remember(pending: Pending): void {
    const { command_id } = pending.command
    const first = this.written.get(command_id)
    if (first === undefined) return void this.written.set(command_id, pending)
    let last = first
    while (last.twin !== undefined) last = last.twin
    last.twin = pending
  }

  private answer(result: CommandResult): void {
    const { outcome } = result
    if (outcome === undefined) return
    const { command_id } = outcome.value
    const pending = this.written.get(command_id)
    if (pending === undefined) return
    if (pending.twin === undefined) this.written.delete(command_id)
    else this.written.set(command_id, pending.twin)
    pending.grant?.release()
    if (pending.state === "done") this.overdue--
    else this.finish(pending, outcome)
  }

  /** The stream is gone: tells every written command. */
  private settle(error: ServiceError | undefined): void {
    const refused = error !== undefined && REFUSED.has(error.code)
    const outcome: Outcome = refused ? { $case: "fault", cause: error } : { $case: "unknown" }
    const written = [...this.written.values()]
    this.written.clear()
    this.overdue = 0
    for (const first of written) {
      for (let pending: Pending | undefined = first; pending !== undefined; pending = pending.twin) {
        pending.grant?.release()
        this.finish(pending, outcome)
      }
    }
  }

  /** Time on the clock of deadlines. */
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
      if (pending.state === "written") this.stuck ||= this.answered_ms < pending.written_ms
      this.abandon(pending)
      this.expired++
    }
    if (this.expired === this.deadlines.length) {
      this.deadlines = []
      this.expired = 0
    } else if (this.expired > 4096) {
      this.deadlines = this.deadlines.slice(this.expired)
      this.expired = 0
    }
    // The oldest is owed an answer for too long, whatever else is answered: the stream is stuck.
    const [oldest] = this.written.values()
    if (oldest !== undefined && now - oldest.due > SILENCE_MS_MAX) this.call?.cancel()
    if (this.call === undefined) this.waiting = this.waiting.filter((pending) => pending.state === "waiting")
  }

  /** Tells who waited too long. A written command stays remembered: a late answer finds its place before its twin's. */
  private abandon(pending: Pending): void {
    if (pending.state === "done") return
    if (pending.state === "waiting")
      return this.finish(pending, { $case: "unavailable", cause: "the sequencer was not reached in time" })
    this.overdue++
    this.finish(pending, { $case: "unknown" })
  }

  private finish(pending: Pending, outcome: Outcome): void {
    if (pending.state === "done") return
    pending.state = "done"
    this.pending--
    pending.done(outcome)
  }
}
