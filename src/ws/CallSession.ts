/**
 * A WebSocket of `/rpc`: its messages are procedure calls, which the server behind {@link RpcConnections} runs. Each call has its
 * own credentials, so the connection has no user and no authentication deadline.
 * Source: docs/contract/limits.md#transports.
 */
import { Effect } from "effect"
import type { AcceptCalls, RpcConnection, ConnectionCalls } from "../services/operations/RpcConnections.ts"
import type { Peer } from "../services/operations/InProcessFeeds.ts"
import type { Held } from "../services/operations/InboundBudget.ts"
import { Connection, type Transport, type ConnectionDeps } from "./Connection.ts"
import type { CloseReason } from "./api/CloseCodes.ts"
import { Frame } from "./Frame.ts"

/** Bytes in the outbox above which calls wait before they send. */
const SEND_BUFFER_BYTES = 1024 * 1024

/** The client's acknowledgement of a stream chunk; it requests the next one. */
const ACK = /^\{"_tag":"Ack",.{0,96}\}\n$/u
/** A stream chunk, which the client acknowledges. */
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
  /** Unacknowledged stream chunks; this many acknowledgements do not count against the message rate. */
  private unacknowledged = 0
  /** Set: the connection ends with this reason once no call is in flight. */
  private leaving: CloseReason | undefined
  /** Resumes the sends that wait for room. */
  private readonly waiting = new Set<() => void>()

  constructor(deps: ConnectionDeps, transport: Transport, ip: string, { accept, headers, held, peer }: Opening) {
    super(deps, transport, "rpc", ip)
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
  /** Sends once the outbox is below its limit. */
  private send(text: string): Effect.Effect<void> {
    if (this.closing || this.outbox.weight < SEND_BUFFER_BYTES) return Effect.sync(() => this.write(text))
    const turn = Effect.callback<void>((resume) => {
      const proceed = (): void => {
        this.waiting.delete(proceed)
        resume(Effect.void)
      }
      this.waiting.add(proceed)
      setImmediate(() => (this.closing ? proceed() : this.transport.whenTaken(proceed)))
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
  /** Refuses each call by its id, so that its caller gets a reply. */
  protected limited(verdict: "dropped" | "notice" | "flood", message: string | undefined): void {
    if (verdict !== "flood" && message !== undefined) this.calls.take(message, false)
  }

  /** A call reports a lost backend in its own reply. */
  protected overdue(): undefined {
    return undefined
  }
  protected release(): void {
    this.held.set(0)
    // a broken socket takes nothing more
    for (const proceed of this.waiting) proceed()
    this.calls.closed()
  }

  announce(): void {
    this.calls.refuse()
  }
  /** At a shutdown, calls in flight complete first. */
  override end(reason: CloseReason): void {
    if (reason !== "GoingAway" || !this.calls.isBusy()) return super.end(reason)
    this.leaving = reason
  }
  private settle(): void {
    if (this.leaving === undefined) return
    const reason = this.leaving
    this.leaving = undefined
    // send the last reply first
    setImmediate(() => super.end(reason))
  }
}
