/**
 * A WebSocket with one subscription, which reconnects to the next gateway whenever it is lost. On private topics it
 * authenticates with its token and resumes from its last position. It checks events by their sequence numbers alone.
 */
import { type RawData, WebSocket } from "ws"
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS } from "../../src/client/Backoff.ts"
import { privateTopics } from "../../src/domain/Topic.ts"

/** A topic of a market, or all private topics of the owner of a token. */
export type Subscription = { readonly topic: string } | { readonly token: string }

/** Findings over all sockets that share it. */
export class Findings {
  live = 0
  lost = 0
  /** Times at which lost sockets were live again, Unix ms. A socket is live when its topics deliver. */
  returned: Array<number> = []
  /** Attempts that a gateway ended before the socket was live. */
  refused = 0
  /** Resumptions with a gap that the gateway announced, and those without one. */
  unrecovered = 0
  recovered = 0
  /** Private events that did not follow the one before. */
  gaps = 0
  messages = 0
  /** Reasons of refusals and errors. */
  readonly reasons = new Map<string, number>()

  note(why: string): void {
    this.reasons.set(why, (this.reasons.get(why) ?? 0) + 1)
  }
  refuse(why: string): void {
    this.refused++
    this.note(why)
  }
}

interface Position {
  readonly stream_id: string
  readonly seq: number
}

export class ReconnectingClient {
  private readonly subscription: Subscription
  private readonly gateways: ReadonlyArray<string>
  private readonly findings: Findings
  private at: number
  private socket: WebSocket | undefined
  private isLive = false
  private wasLive = false
  private failures = 0
  private ended = false
  private position: Position | undefined
  /** Snapshots that are awaited before the socket is live. */
  private readonly awaited = new Set<string>()
  private readonly onLive: () => void

  /** `gateways`: addresses, `ws://host:port`; `home`: index of the first choice; `onLive`: called whenever it is live. */
  constructor(
    subscription: Subscription,
    gateways: ReadonlyArray<string>,
    home: number,
    findings: Findings,
    onLive: () => void = () => {}
  ) {
    this.subscription = subscription
    this.gateways = gateways
    this.findings = findings
    this.at = home
    this.onLive = onLive
  }

  open(): void {
    if (this.ended) return
    const { subscription } = this
    const path = "token" in subscription ? "/ws/private" : "/ws/public"
    const socket = new WebSocket(`${this.gateways[this.at]}${path}`, { perMessageDeflate: false })
    this.socket = socket
    let why = ""
    socket.on("open", () => {
      if ("token" in subscription) socket.send(JSON.stringify({ op: "auth", bearer: subscription.token }))
      else this.subscribe([subscription.topic])
    })
    socket.on("message", (data) => this.take(data))
    socket.on("error", ({ message }) => (why = message))
    socket.on("close", (code) => this.lost(why === "" ? `closed with ${code}` : why))
  }
  /** Drops a live connection, as a network failure does. */
  drop(): void {
    if (this.isLive) this.socket?.terminate()
  }
  end(): void {
    this.ended = true
    this.socket?.terminate()
  }

  private subscribe(args: ReadonlyArray<string>): void {
    const since = this.position
    for (const topic of args) if (since === undefined) this.awaited.add(topic)
    this.socket?.send(JSON.stringify({ op: "subscribe", args, ...(since === undefined ? {} : { since }) }))
  }

  private lost(why: string): void {
    const { findings } = this
    // a position is valid only when every topic has begun
    if (this.awaited.size > 0) this.position = undefined
    this.awaited.clear()
    if (this.isLive) {
      this.isLive = false
      findings.live--
      findings.lost++
    } else if (!this.ended) {
      this.failures++
      findings.refuse(why)
    }
    this.at = (this.at + 1) % this.gateways.length
    const pause = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** this.failures)
    if (!this.ended) setTimeout(() => this.open(), pause * (0.5 + Math.random() / 2))
  }

  private live(): void {
    if (this.isLive) return
    this.isLive = true
    this.failures = 0
    this.findings.live++
    if (this.wasLive) this.findings.returned.push(Date.now())
    this.wasLive = true
    this.onLive()
  }

  private take(data: RawData): void {
    const { findings } = this
    findings.messages++
    // public events are parsed only until the socket is live
    if (this.isLive && !("token" in this.subscription)) return
    const frame = JSON.parse(String(data))
    switch (frame.op) {
      case "auth":
        return frame.success === true ? this.subscribe(privateTopics) : this.fail(`auth: ${frame.code}`)
      case "error":
        return this.fail(`${frame.topic}: ${frame.code}`)
      case "subscribed":
        return this.subscribed(frame)
      case "event":
        return this.event(frame)
    }
  }
  /** An error frame: it disconnects and tries again. */
  private fail(why: string): void {
    if (!this.isLive) this.findings.note(why)
    this.socket?.terminate()
  }

  private subscribed({ resume }: { readonly resume?: { readonly recovered: boolean } }): void {
    if (resume === undefined) return
    if (resume.recovered) {
      this.findings.recovered++
      return this.live()
    }
    this.findings.unrecovered++
    this.position = undefined
    for (const topic of privateTopics) this.awaited.add(topic)
  }

  private event({
    data,
    topic
  }: {
    readonly topic: string
    readonly data: { readonly type: string; readonly stream_id: string; readonly seq: number }
  }): void {
    const { position } = this
    if (!("token" in this.subscription)) {
      this.awaited.delete(topic)
      return this.live()
    }
    const { seq, stream_id, type } = data
    if (type === "snapshot") {
      this.awaited.delete(topic)
      // the position is the latest snapshot: earlier updates are in one of the snapshots
      if (position === undefined || seq > position.seq) this.position = { stream_id, seq }
      if (this.awaited.size === 0) this.live()
      return
    }
    if (position !== undefined && seq <= position.seq) return
    if (position !== undefined && this.awaited.size === 0 && seq !== position.seq + 1) this.findings.gaps++
    this.position = { stream_id, seq }
  }
}
