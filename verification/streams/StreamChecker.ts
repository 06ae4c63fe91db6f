/**
 * Checks user streams by their sequence numbers alone, independently of the client's code. Every client of a user must receive
 * the same events, each number once, except in gaps that the gateway announces.
 */
import type { FeedEvent, UserMessage } from "../../src/client/Feed.ts"
import { type PrivateTopic, privateTopics } from "../../src/domain/Topic.ts"

/** Faults that are kept as text. */
const FAULTS_MAX = 20

const isOwn = (event: FeedEvent): event is UserMessage => (privateTopics as ReadonlyArray<string>).includes(event.kind)

/** The events of one user, as any of its clients received them. */
export class UserEvents {
  /** By sequence number. */
  readonly events = new Map<number, { readonly topic: PrivateTopic; readonly text: string }>()
  stream_id: string | undefined
}

/** Findings over all clients. */
export class Findings {
  messages = 0
  gaps = 0
  repetitions = 0
  differences = 0
  /** Subscriptions that were resumed without a gap, and those to which the gateway announced one. */
  resumed = 0
  unrecovered = 0
  readonly faults: Array<string> = []

  wrong(what: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(what)
  }
}

/** Checks the events of one client since its last snapshots. */
export class StreamChecker {
  private readonly name: string
  private readonly user: UserEvents
  private readonly findings: Findings
  private readonly begun = new Map<PrivateTopic, number>()
  private readonly last = new Map<PrivateTopic, number>()
  private readonly received = new Set<number>()
  /** Topics whose snapshots are due: at the beginning, and after an announced gap. */
  private readonly awaited = new Set<PrivateTopic>(privateTopics)

  constructor(name: string, user: UserEvents, findings: Findings) {
    this.name = name
    this.user = user
    this.findings = findings
  }

  /** Whether every snapshot that is due has arrived. */
  get hasBegun(): boolean {
    return this.awaited.size === 0
  }

  take(event: FeedEvent): void {
    if (event.kind === "resume") {
      if (event.recovered) this.findings.resumed++
      else {
        this.findings.unrecovered++
        for (const topic of event.topics) this.awaited.add(topic)
      }
    } else if (event.kind === "fault") this.wrong(`the client reports a ${event.fault} in ${event.topic}`)
    if (!isOwn(event)) return
    const { data, kind: topic } = event
    this.user.stream_id ??= data.stream_id
    if (data.stream_id !== this.user.stream_id) this.wrong("the stream changed")
    if (data.type === "snapshot") this.begin(topic, data.seq)
    else this.takeUpdate(topic, data.seq, data.prev_seq, JSON.stringify([topic, data.prev_seq, data.list]))
  }

  private begin(topic: PrivateTopic, seq: number): void {
    if (!this.awaited.delete(topic)) this.gap(`an unannounced snapshot of ${topic}`)
    this.begun.set(topic, seq)
    this.last.delete(topic)
  }

  private takeUpdate(topic: PrivateTopic, seq: number, prev_seq: number, text: string): void {
    this.findings.messages++
    const known = this.user.events.get(seq)
    if (known === undefined) this.user.events.set(seq, { topic, text })
    else if (known.text !== text) {
      this.findings.differences++
      this.wrong(`event ${seq} differs from that of other clients`)
    }
    const from = this.begun.get(topic)
    const last = this.last.get(topic)
    if (from === undefined || this.awaited.has(topic)) this.gap(`event ${seq} of ${topic} before its snapshot`)
    else if (this.received.has(seq) || seq <= (last ?? from)) {
      this.findings.repetitions++
      this.wrong(`event ${seq} of ${topic} after ${last ?? from}`)
    } else if (last === undefined ? prev_seq > from : prev_seq !== last) {
      this.gap(`event ${seq} of ${topic} follows ${prev_seq}, not ${last ?? from}`)
    }
    this.received.add(seq)
    this.last.set(topic, seq)
  }

  /** Records numbers up to `head` that this client must have received and has not. */
  audit(head: number): void {
    const whole = Math.max(...privateTopics.map((topic) => this.begun.get(topic) ?? Infinity))
    for (let seq = Math.min(...this.begun.values()) + 1; seq <= head; seq++) {
      // before the last snapshot it depends on the topic, which another client may have received
      const topic = this.user.events.get(seq)?.topic
      const due = seq > whole || (topic !== undefined && seq > this.begun.get(topic)!)
      if (due && !this.received.has(seq)) this.gap(`event ${seq} never arrived; the stream is at ${head}`)
    }
  }

  private gap(what: string): void {
    this.findings.gaps++
    this.wrong(what)
  }
  private wrong(what: string): void {
    this.findings.wrong(`${this.name}: ${what}`)
  }
}
