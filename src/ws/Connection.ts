/**
 * What every WebSocket has, whatever it carries: a message rate, pings, deadlines, an outbox, and one end.
 * Source: docs/contract/websocket.md#limits, #keepalive; docs/contract/limits.md#transports.
 */
import type { Effect } from "effect"
import type { CloseReason } from "./api/CloseCodes.ts"
import { frameRun } from "./Batch.ts"
import type { Frame } from "./Frame.ts"
import type { Limits } from "./Limits.ts"
import { MessageRate } from "./MessageRate.ts"
import { type Flusher, Outbox, type Sink } from "./Outbox.ts"

/** What the messages of a socket are: feeds (`general` is an alias of `public`), or procedure calls. */
export type Endpoint = "general" | "public" | "private" | "rpc"

/** The socket of a connection. */
export interface Transport extends Sink {
  /** Starts the closing handshake; what was written before goes out first. */
  readonly close: (reason: CloseReason) => void
  readonly ping: () => void
  readonly pong: (data: Buffer) => void
  /** Drops the line. */
  readonly terminate: () => void
}

/** Why a connection ends: for a reason of ours, or because the other side left. */
export type EndReason = CloseReason | "Peer"

/** What all connections share. */
export interface ConnectionDeps {
  readonly hub: {
    readonly now: () => number
    readonly flusher: Flusher
    readonly report: (fault: unknown) => void
  }
  readonly limits: Limits
  /** Runs an effect in a fiber of its own. */
  readonly run: (effect: Effect.Effect<void>) => void
  /** Counts why a connection ends. */
  readonly ending: (reason: EndReason) => void
  /** Forgets a connection that is over. */
  readonly gone: (connection: Connection) => void
}

/** Whether the backend behind private or public feeds is lost. */
export interface Lost {
  readonly private: boolean
  readonly public: boolean
}

export abstract class Connection {
  readonly endpoint: Endpoint
  readonly ip: string
  readonly outbox: Outbox
  protected readonly line: Transport
  protected closing = false
  protected readonly openedAt: number
  private readonly around: ConnectionDeps
  private lastHeard: number
  private lastPing: number
  private readonly rate: MessageRate

  constructor(around: ConnectionDeps, line: Transport, endpoint: Endpoint, ip: string) {
    this.around = around
    this.line = line
    this.endpoint = endpoint
    this.ip = ip
    this.outbox = new Outbox(line, around.hub.flusher, around.limits, this)
    const now = around.hub.now()
    this.openedAt = this.lastHeard = this.lastPing = now
    this.rate = new MessageRate(around.limits, now)
  }

  /** Handles a message. */
  protected abstract take(message: string, now: number): void
  /** Why the connection must end now; undefined: it may stay. */
  protected abstract overdue(now: number, lost: Lost): CloseReason | undefined
  /** Gives back what the connection holds. */
  protected abstract release(): void
  /** Tells the client that the gateway shuts down; {@link end} follows. */
  abstract announce(): void

  // ---- what the socket brings

  /** Any frame shows that the peer is there. */
  heard(): void {
    this.lastHeard = this.around.hub.now()
  }

  /** A ping of the protocol counts like a message: a flood of them is not answered, and ends alike. */
  pinged(data: Buffer): void {
    if (this.closing) return
    this.heard()
    const taken = this.count(this.lastHeard)
    if (taken === "taken") this.line.pong(data)
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
      this.around.hub.report(fault)
      this.end("Internal")
    }
  }

  /** The bytes could not be read: the line ends the connection by itself. */
  refused(reason: CloseReason): void {
    if (this.closing) return
    this.closing = true
    this.around.ending(reason)
  }

  /** The connection is gone. */
  closed(): void {
    if (!this.closing) this.around.ending("Peer")
    this.closing = true
    this.outbox.close()
    this.release()
    this.around.gone(this)
  }

  /** Drops the connection, whose peer does not answer the close frame. */
  terminate(): void {
    this.line.terminate()
  }

  // ---- what the clock brings

  /** Looks at deadlines; called about once a second. */
  tick(now: number, lost: Lost): void {
    if (this.closing) return
    const { limits } = this.around
    if (now - this.lastHeard > limits.silence_ms) return this.end("Silent")
    const reason = this.overdue(now, lost)
    if (reason !== undefined) return this.end(reason)
    this.outbox.check(now)
    if (!this.closing && now - this.lastPing >= limits.ping_interval_ms) {
      this.lastPing = now
      this.line.ping()
    }
  }

  /** Ends the connection, behind what was sent before. */
  end(reason: CloseReason): void {
    if (this.closing) return
    this.outbox.finish()
    this.closing = true
    this.around.ending(reason)
    this.line.close(reason)
  }

  // ---- for what the messages are

  /** Counts a message; a flood ends the connection. */
  protected count(now: number): "taken" | "dropped" | "notice" | "flood" {
    const taken = this.rate.take(now)
    if (taken === "flood") this.end("TooMany")
    return taken
  }
  /** Refuses a message that is over the rate; undefined: a ping. */
  protected abstract limited(verdict: "dropped" | "notice" | "flood", message: string | undefined): void

  protected reply(frame: Frame): void {
    this.outbox.offer(frameRun(frame, undefined, this.around.hub.now()))
  }
}
