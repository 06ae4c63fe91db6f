/**
 * The base of all WebSocket connections: message rate, pings, deadlines, outbox and close.
 * Source: docs/contract/websocket.md#limits, #keepalive; docs/contract/limits.md#transports.
 */
import type { Effect } from "effect"
import type { CloseReason } from "./api/CloseCodes.ts"
import { queuedFrame } from "./Batch.ts"
import type { Frame } from "./Frame.ts"
import type { Limits } from "./Limits.ts"
import { MessageRate } from "./MessageRate.ts"
import { type Flusher, Outbox, type Sink } from "./Outbox.ts"

/** The endpoint of a connection: feeds (`general` is an alias of `public`), or procedure calls. */
export type Endpoint = "general" | "public" | "private" | "rpc"

/** The socket of a connection. */
export interface Transport extends Sink {
  /** Starts the closing handshake, after the data written before. */
  readonly close: (reason: CloseReason) => void
  readonly ping: () => void
  readonly pong: (data: Buffer) => void
  /** Destroys the connection without a handshake. */
  readonly terminate: () => void
}

/** Why a connection ends: a reason of the gateway, or `Peer`: the client disconnected. */
export type EndReason = CloseReason | "Peer"

/** Dependencies that all connections share. */
export interface ConnectionDeps {
  readonly hub: {
    readonly now: () => number
    readonly monotonic: () => number
    readonly flusher: Flusher
    readonly report: (fault: unknown) => void
  }
  readonly limits: Limits
  /** Runs an effect in a new fiber. */
  readonly run: (effect: Effect.Effect<void>) => void
  /** Counts why a connection ends. */
  readonly ending: (reason: EndReason) => void
  /** Removes a closed connection. */
  readonly gone: (connection: Connection) => void
}

/** The time of a check: steps of the wall clock do not change rates and deadlines. */
export interface CheckTime {
  readonly monotonic_ms: number
  readonly wall_ms: number
}

/** Whether the backend of private or public feeds is lost. */
export interface Lost {
  readonly private: boolean
  readonly public: boolean
}

export abstract class Connection {
  readonly endpoint: Endpoint
  readonly ip: string
  readonly outbox: Outbox
  protected readonly transport: Transport
  protected closing = false
  protected readonly openedAt: number
  private readonly shared: ConnectionDeps
  private lastHeard: number
  private lastPing: number
  private readonly rate: MessageRate

  constructor(deps: ConnectionDeps, transport: Transport, endpoint: Endpoint, ip: string) {
    this.shared = deps
    this.transport = transport
    this.endpoint = endpoint
    this.ip = ip
    this.outbox = new Outbox(transport, deps.hub.flusher, deps.limits, this)
    const now = deps.hub.monotonic()
    this.openedAt = this.lastHeard = this.lastPing = now
    this.rate = new MessageRate(deps.limits, now)
  }

  /** Handles one message; `now` is monotonic. */
  protected abstract take(message: string, now: number): void
  /** Why the connection must end now; undefined: it stays open. */
  protected abstract overdue(now: CheckTime, lost: Lost): CloseReason | undefined
  /** Releases the resources of the connection. */
  protected abstract release(): void
  /** Announces the shutdown to the client; {@link end} follows. */
  abstract announce(): void

  // ---- events of the socket

  /** Any frame proves that the peer is alive. */
  heard(): void {
    this.lastHeard = this.shared.hub.monotonic()
  }

  /** A protocol ping counts as a message against the rate; a flood of pings ends the connection. */
  pinged(data: Buffer): void {
    if (this.closing) return
    this.heard()
    const taken = this.count(this.lastHeard)
    if (taken === "taken") this.transport.pong(data)
    else this.limited(taken, undefined)
  }

  binary(): void {
    this.end("NotText")
  }

  text(message: string): void {
    if (this.closing) return
    this.heard()
    try {
      this.take(message, this.lastHeard)
    } catch (fault) {
      this.shared.hub.report(fault)
      this.end("Internal")
    }
  }

  /** The socket received invalid bytes and closes the connection. */
  refused(reason: CloseReason): void {
    if (this.closing) return
    this.closing = true
    this.shared.ending(reason)
  }

  /** The socket is closed. */
  closed(): void {
    if (!this.closing) this.shared.ending("Peer")
    this.closing = true
    this.outbox.close()
    this.release()
    this.shared.gone(this)
  }

  /** Destroys the connection of a peer that does not answer the close frame. */
  terminate(): void {
    this.transport.terminate()
  }

  // ---- periodic checks

  /** Checks deadlines; called about once a second. */
  tick(time: CheckTime, lost: Lost): void {
    if (this.closing) return
    const { limits } = this.shared
    const now = time.monotonic_ms
    if (now - this.lastHeard > limits.silence_ms) return this.end("Silent")
    const reason = this.overdue(time, lost)
    if (reason !== undefined) return this.end(reason)
    this.outbox.check(now)
    if (!this.closing && now - this.lastPing >= limits.ping_interval_ms) {
      this.lastPing = now
      this.transport.ping()
    }
  }

  /** Closes the connection after the data sent before. */
  end(reason: CloseReason): void {
    if (this.closing) return
    this.outbox.finish()
    this.closing = true
    this.shared.ending(reason)
    this.transport.close(reason)
  }

  // ---- for subclasses

  /** Counts a message; a flood ends the connection. */
  protected count(now: number): "taken" | "dropped" | "notice" | "flood" {
    const taken = this.rate.take(now)
    if (taken === "flood") this.end("TooMany")
    return taken
  }
  /** Refuses a message above the rate; undefined: a ping. */
  protected abstract limited(verdict: "dropped" | "notice" | "flood", message: string | undefined): void

  protected reply(frame: Frame): void {
    this.outbox.offer(queuedFrame(frame, undefined, this.shared.hub.monotonic()))
  }
}
