/**
 * A WebSocket that follows one thing and comes back whenever it is lost, each time to the next gateway: with its token, and
 * on private topics from the place where it stood. It holds what it is told against the numbers alone.
 */
import { type RawData, WebSocket } from "ws"
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS } from "../../src/client/Backoff.ts"
import { privateTopics } from "../../src/domain/Topic.ts"

/** What a socket follows: a topic of a market, or all that is told to the owner of a token. */
export type Wish = { readonly topic: string } | { readonly token: string }

/** What happened to all sockets that share it. */
export class Findings {
  live = 0
  lost = 0
  /** When sockets that had been lost were live again: what they follow is told again. */
  returned: Array<number> = []
  /** Attempts that a gateway ended before the socket was live. */
  refused = 0
  /** Returns that were told, rightly or not, that events are missing. */
  unrecovered = 0
  recovered = 0
  /** Private events that did not follow the one before. */
  gaps = 0
  messages = 0
  readonly words = new Map<string, number>()

  refuse(why: string): void {
    this.refused++
    this.words.set(why, (this.words.get(why) ?? 0) + 1)
  }
}

interface Place {
  readonly stream_id: string
  readonly seq: number
}

export class Returner {
  private readonly wish: Wish
  private readonly gateways: ReadonlyArray<string>
  private readonly findings: Findings
  private at: number
  private socket: WebSocket | undefined
  private isLive = false
  private wasLive = false
  private failures = 0
  private ended = false
  private place: Place | undefined
  /** Snapshots that are awaited before the socket is live. */
  private readonly awaited = new Set<string>()
  private readonly onLive: () => void

  /** `gateways` are their addresses, `ws://host:port`, the first choice at `home`; `onLive` is called each time. */
  constructor(
    wish: Wish,
    gateways: ReadonlyArray<string>,
    home: number,
    findings: Findings,
    onLive: () => void = () => {}
  ) {
    this.wish = wish
    this.gateways = gateways
    this.findings = findings
    this.at = home
    this.onLive = onLive
  }

  open(): void {
    if (this.ended) return
    const { wish } = this
    const path = "token" in wish ? "/ws/private" : "/ws/public"
    const socket = new WebSocket(`${this.gateways[this.at]}${path}`, { perMessageDeflate: false })
    this.socket = socket
    let why = ""
    socket.on("open", () => {
      if ("token" in wish) socket.send(JSON.stringify({ op: "auth", bearer: wish.token }))
      else this.subscribe([wish.topic])
    })
    socket.on("message", (data) => this.take(data))
    socket.on("error", ({ message }) => (why = message))
    socket.on("close", (code) => this.lost(why === "" ? `closed with ${code}` : why))
  }
  /** Drops a line that is live, as a network that breaks. */
  drop(): void {
    if (this.isLive) this.socket?.terminate()
  }
  end(): void {
    this.ended = true
    this.socket?.terminate()
  }

  private subscribe(args: ReadonlyArray<string>): void {
    const since = this.place
    for (const topic of args) if (since === undefined) this.awaited.add(topic)
    this.socket?.send(JSON.stringify({ op: "subscribe", args, ...(since === undefined ? {} : { since }) }))
  }

  private lost(why: string): void {
    const { findings } = this
    // a place is one only when every topic has begun
    if (this.awaited.size > 0) this.place = undefined
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
    // what goes on is read only where it is counted
    if (this.isLive && !("token" in this.wish)) return
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
  /** Refused in words: comes again. */
  private fail(why: string): void {
    if (!this.isLive) this.findings.words.set(why, (this.findings.words.get(why) ?? 0) + 1)
    this.socket?.terminate()
  }

  private subscribed({ resume }: { readonly resume?: { readonly recovered: boolean } }): void {
    if (resume === undefined) return
    if (resume.recovered) {
      this.findings.recovered++
      return this.live()
    }
    this.findings.unrecovered++
    this.place = undefined
    for (const topic of privateTopics) this.awaited.add(topic)
  }

  private event({
    data,
    topic
  }: {
    readonly topic: string
    readonly data: { readonly type: string; readonly stream_id: string; readonly seq: number }
  }): void {
    const { place } = this
    if (!("token" in this.wish)) {
      this.awaited.delete(topic)
      return this.live()
    }
    const { seq, stream_id, type } = data
    if (type === "snapshot") {
      this.awaited.delete(topic)
      // the latest of the snapshots is the place: updates up to it are in one of them
      if (place === undefined || seq > place.seq) this.place = { stream_id, seq }
      if (this.awaited.size === 0) this.live()
      return
    }
    if (place !== undefined && seq <= place.seq) return
    if (place !== undefined && this.awaited.size === 0 && seq !== place.seq + 1) this.findings.gaps++
    this.place = { stream_id, seq }
  }
}
