/** A call of SubmitStream whose answers and end the test decides, and the channel that opens such calls. */
import { EventEmitter } from "node:events"
import type { Channel } from "../../src/layers/grpc/Channel.ts"
import type { SubmitStreamRequest } from "../../src/proto/gateway/v1/sequencer.ts"

/** One call: keeps the commands that were written, and answers them on demand. */
export class CommandCall extends EventEmitter {
  readonly written: Array<string> = []
  /** The time limit of each command. */
  readonly limits = new Map<string, number | undefined>()
  /** Messages as they were written, by their number of commands, and how many fit before the call is full. */
  readonly messages: Array<number> = []
  room = Infinity
  /** Whether the client has ended the call, and how often it has cancelled it. */
  isEnded = false
  cancels = 0
  write({ commands }: SubmitStreamRequest): boolean {
    this.messages.push(commands.length)
    for (const { command_id, not_after_ms } of commands) {
      this.written.push(command_id)
      this.limits.set(command_id, not_after_ms)
    }
    return --this.room > 0
  }
  /** The call takes `room` more messages. */
  drain(room: number): void {
    this.room = room
    this.emit("drain")
  }
  end(): void {
    this.isEnded = true
  }
  cancel(): void {
    this.cancels++
  }
  /** Acknowledges everything that was written and has no answer, with the numbers from `from` on. */
  answer(from = 1): void {
    const results = this.written.splice(0).map((command_id, i) => ({
      outcome: { $case: "ack", value: { command_id, seq: from + i } }
    }))
    this.emit("data", { results })
  }
  /** Returns everything that was written and has no answer: the backend is stopping. */
  return(): void {
    const results = this.written.splice(0).map((command_id) => ({
      outcome: { $case: "status", value: { command_id, reason: "BackendStopping" } }
    }))
    this.emit("data", { results })
  }
}

/** A channel that opens such calls; its backend is ready at once. */
export class CommandChannel {
  readonly calls: Array<CommandCall> = []
  /** What the liveness probe finds, and the callbacks for the moment at which it finds silence. */
  isSilent = false
  readonly waiters = new Set<() => void>()
  /** Callbacks for the moment at which another backend leads. */
  readonly movers = new Set<(isAlive: boolean) => void>()
  /** Opens the channel for a call that waits for it. */
  ready: ((error?: Error) => void) | undefined
  isReady = true

  get last(): CommandCall {
    return this.calls.at(-1)!
  }
  /** Another backend leads; `isAlive`: the previous one still responds. */
  move(isAlive: boolean): void {
    for (const moved of this.movers) moved(isAlive)
  }
  /** The liveness probe finds the backend silent. */
  fallSilent(): void {
    this.isSilent = true
    for (const giveUp of Array.from(this.waiters)) giveUp()
  }
  readonly channel = {
    whenReady: (_within_ms: number, ready: (error?: Error) => void) => {
      this.ready = ready
      if (this.isReady) ready()
    },
    calls: () => {
      this.calls.push(new CommandCall())
      return this.last
    },
    silence: {
      await: (giveUp: () => void) => {
        this.waiters.add(giveUp)
        return () => void this.waiters.delete(giveUp)
      },
      isSilent: () => this.isSilent
    },
    onMove: (moved: (isAlive: boolean) => void) => {
      this.movers.add(moved)
      return () => void this.movers.delete(moved)
    }
  } as unknown as Channel
}
