/** Calls over a WebSocket: its messages hold lines, and a line may be longer than a message. */
import { Effect } from "effect"
import { transportLimits } from "../domain/TransportLimits.ts"
import type { RpcConnection, ConnectionCalls } from "../services/operations/RpcConnections.ts"
import type { CallServer, Connection } from "./CallServer.ts"
import { overLimit } from "./CallMessages.ts"

const UNFINISHED_MAX = transportLimits.unfinished_bytes.figure
/** Messages of a connection that a turn of the event loop runs at most. */
const MESSAGES_PER_TURN = 64

export class SocketCalls implements ConnectionCalls {
  private readonly server: CallServer
  private readonly socket: RpcConnection
  private readonly connection: Connection
  private readonly fork: (effect: Effect.Effect<void>, then: () => void) => void
  /** The beginning of a line. */
  private rest = ""
  /** Messages behind the one in work. */
  private waiting: Array<string> = []
  private waitingLength = 0
  private working = false
  private leaving = false

  constructor(
    server: CallServer,
    socket: RpcConnection,
    fork: (effect: Effect.Effect<void>, then: () => void) => void
  ) {
    this.server = server
    this.socket = socket
    this.fork = fork
    this.connection = server.open({
      peer: socket.peer,
      headers: socket.headers,
      load: { inFlight: 0 },
      send: socket.send,
      ended: Effect.void,
      answered: () => this.settle()
    })
  }

  take(text: string, mayRun: boolean): void {
    const end = text.lastIndexOf("\n") + 1
    if (end === 0) {
      if (this.rest.length + text.length > UNFINISHED_MAX) return this.socket.tooLarge()
      this.rest += text
    } else {
      const lines = this.rest + text.slice(0, end)
      this.rest = text.slice(end)
      const isFull = this.working && this.waitingLength + lines.length > UNFINISHED_MAX
      const refused = this.leaving ? overLimit.shutdown : isFull || !mayRun ? overLimit.rate : undefined
      if (refused === undefined) this.begin(lines)
      else {
        const { answers, others } = this.connection.refusals(lines, refused)
        this.socket.sendNow(answers)
        if (others !== "" && !isFull) this.begin(others)
      }
    }
    this.count()
  }

  private begin(lines: string): void {
    this.waiting.push(lines)
    this.waitingLength += lines.length
    if (!this.working) this.proceed()
  }
  /** Runs what waits until a message does not end at once. A loop, because thousands may wait. */
  private readonly proceed = (): void => {
    this.working = true
    for (let messages = 0; messages < MESSAGES_PER_TURN; messages++) {
      const lines = this.waiting.shift()
      if (lines === undefined) {
        this.working = false
        this.count()
        return this.settle()
      }
      this.waitingLength -= lines.length
      this.count()
      if (!this.endsAtOnce(lines)) return
    }
    setImmediate(this.proceed)
  }
  /** Runs a message; false: its end proceeds later. */
  private endsAtOnce(lines: string): boolean {
    let hasReturned = false
    let hasEnded = false
    this.fork(this.connection.run(lines), () => {
      hasEnded = true
      if (hasReturned) this.proceed()
    })
    hasReturned = true
    return hasEnded
  }
  private count(): void {
    this.socket.hold(this.rest.length + this.waitingLength)
  }
  private settle(): void {
    if (this.leaving && !this.isBusy()) this.socket.idle()
  }

  refuse(): void {
    this.leaving = true
  }
  isBusy(): boolean {
    return this.working || this.connection.isBusy
  }
  closed(): void {
    this.rest = ""
    this.waiting = []
    this.waitingLength = 0
    this.server.close(this.connection)
  }
}
