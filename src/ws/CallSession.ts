/**
 * A WebSocket of `/rpc`: its messages are procedure calls, which a server behind {@link RpcConnections} runs. Each call carries its
 * own credentials, so the connection has no user and no time to authenticate.
 * Source: docs/contract/limits.md#transports.
 */
import { Effect } from "effect"
import type { AcceptCalls, RpcConnection, ConnectionCalls } from "../services/operations/RpcConnections.ts"
import type { Peer } from "../services/operations/InProcessFeeds.ts"
import type { Held } from "../services/operations/InboundBudget.ts"
import { Connection, type Transport, type ConnectionDeps } from "./Connection.ts"
import type { CloseReason } from "./api/CloseCodes.ts"
import { Frame } from "./Frame.ts"

/** Output that waits in the outbox before calls wait with their answers, in bytes. */
const ROOM_BYTES = 1024 * 1024

/** One acknowledgement of a part of a stream, by which its client asks for the next part. */
const ACK = /^\{"_tag":"Ack",.{0,96}\}\n$/u
/** A part of a stream, which its client acknowledges. */
const CHUNK = '{"_tag":"Chunk"'

export interface Opening {
  readonly peer: Peer
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly accept: AcceptCalls
  readonly held: Held
}

export class CallSession extends Connection {
  private readonly calls: ConnectionCalls
  private readonly held: Held
  /** Parts of streams that are not acknowledged: as many acknowledgements are no messages of the client's own. */
  private unacknowledged = 0
  /** Ends with this reason when no call is in flight. */
  private leaving: CloseReason | undefined

  constructor(around: ConnectionDeps, line: Transport, ip: string, { accept, headers, held, peer }: Opening) {
    super(around, line, "rpc", ip)
    this.held = held
    this.calls = accept({
      peer,
      headers,
      send: (text) => this.send(text),
      sendNow: (text) => this.write(text),
      tooLarge: () => this.end("TooBig"),
      hold: (bytes) => held.set(bytes),
      idle: () => this.settle()
    } satisfies RpcConnection)
  }

  private write(text: string): void {
    if (this.closing || text === "") return
    if (text.startsWith(CHUNK)) this.unacknowledged++
    this.reply(new Frame(text))
  }
  /** Waits for room, which the flush of the outbox and the network make. */
  private send(text: string): Effect.Effect<void> {
    if (this.closing || this.outbox.weight < ROOM_BYTES) return Effect.sync(() => this.write(text))
    const turn = Effect.callback<void>((resume) => {
      setImmediate(() => (this.closing ? resume(Effect.void) : this.line.whenTaken(() => resume(Effect.void))))
    })
    return Effect.andThen(
      turn,
      Effect.suspend(() => this.send(text))
    )
  }

  protected take(message: string, now: number): void {
    if (this.unacknowledged > 0 && ACK.test(message)) {
      this.unacknowledged--
      return this.calls.take(message, true)
    }
    const verdict = this.count(now)
    if (verdict === "taken") this.calls.take(message, true)
    else this.limited(verdict, message)
  }
  /** Each call is refused by its id, so that its caller does not wait for it. */
  protected limited(verdict: "dropped" | "notice" | "flood", message: string | undefined): void {
    if (verdict !== "flood" && message !== undefined) this.calls.take(message, false)
  }

  /** Calls say by themselves that a backend is lost. */
  protected overdue(): undefined {
    return undefined
  }
  protected release(): void {
    this.held.set(0)
    this.calls.closed()
  }

  announce(): void {
    this.calls.refuse()
  }
  /** At a shutdown the calls in flight are answered first. */
  override end(reason: CloseReason): void {
    if (reason !== "GoingAway" || !this.calls.isBusy()) return super.end(reason)
    this.leaving = reason
  }
  private settle(): void {
    if (this.leaving === undefined) return
    const reason = this.leaving
    this.leaving = undefined
    // the last answer is sent first
    setImmediate(() => super.end(reason))
  }
}
