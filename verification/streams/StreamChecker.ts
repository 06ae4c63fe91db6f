/**
 * The independent checker of user streams: it believes no client, and holds what each client told its user against the numbers
 * alone. Every client of a user must have been told the same, each number once, but for the holes that it was told of.
 */
import type { FeedEvent, UserMessage } from "../../src/client/Feed.ts"
import { type PrivateTopic, privateTopics } from "../../src/domain/Topic.ts"

/** Faults kept as text. */
const FAULTS_TOLD = 20

const isOwn = (event: FeedEvent): event is UserMessage => (privateTopics as ReadonlyArray<string>).includes(event.kind)

/** What was told of one user, by any of its clients. */
export class UserLedger {
  /** What each event was, by its number. */
  readonly events = new Map<number, { readonly topic: PrivateTopic; readonly text: string }>()
  stream_id: string | undefined
}

/** What was found over all clients. */
export class Findings {
  messages = 0
  gaps = 0
  repetitions = 0
  differences = 0
  /** Subscriptions that went on without a hole, and those that could not and were told so. */
  resumed = 0
  unrecovered = 0
  readonly faults: Array<string> = []

  wrong(what: string): void {
    if (this.faults.length < FAULTS_TOLD) this.faults.push(what)
  }
}

/** What one client was told, since its last snapshots. */
export class ClientLedger {
  private readonly name: string
  private readonly user: UserLedger
  private readonly findings: Findings
  private readonly begun = new Map<PrivateTopic, number>()
  private readonly last = new Map<PrivateTopic, number>()
  private readonly told = new Set<number>()
  /** Topics whose snapshots may come: at the beginning, and after a hole that was told. */
  private readonly awaited = new Set<PrivateTopic>(privateTopics)

  constructor(name: string, user: UserLedger, findings: Findings) {
    this.name = name
    this.user = user
    this.findings = findings
  }

  take(event: FeedEvent): void {
    if (event.kind === "resume") {
      if (event.recovered) this.findings.resumed++
      else {
        this.findings.unrecovered++
        for (const topic of event.topics) this.awaited.add(topic)
      }
    } else if (event.kind === "fault") this.wrong(`the client found a ${event.fault} in ${event.topic}`)
    if (!isOwn(event)) return
    const { data, kind: topic } = event
    this.user.stream_id ??= data.stream_id
    if (data.stream_id !== this.user.stream_id) this.wrong("the stream is another one")
    if (data.type === "snapshot") this.begin(topic, data.seq)
    else this.takeUpdate(topic, data.seq, data.prev_seq, JSON.stringify([topic, data.prev_seq, data.list]))
  }

  private begin(topic: PrivateTopic, seq: number): void {
    if (!this.awaited.delete(topic)) this.gap(`a snapshot of ${topic} that was not announced`)
    this.begun.set(topic, seq)
    this.last.delete(topic)
  }

  private takeUpdate(topic: PrivateTopic, seq: number, prev_seq: number, text: string): void {
    this.findings.messages++
    const known = this.user.events.get(seq)
    if (known === undefined) this.user.events.set(seq, { topic, text })
    else if (known.text !== text) {
      this.findings.differences++
      this.wrong(`event ${seq} is not what others were told`)
    }
    const from = this.begun.get(topic)
    const last = this.last.get(topic)
    if (from === undefined || this.awaited.has(topic)) this.gap(`event ${seq} of ${topic} before its snapshot`)
    else if (this.told.has(seq) || seq <= (last ?? from)) {
      this.findings.repetitions++
      this.wrong(`event ${seq} of ${topic} after ${last ?? from}`)
    } else if (last === undefined ? prev_seq > from : prev_seq !== last) {
      this.gap(`event ${seq} of ${topic} follows ${prev_seq}, not ${last ?? from}`)
    }
    this.told.add(seq)
    this.last.set(topic, seq)
  }

  /** Looks for numbers up to `head` that this client should have been told and was not. */
  audit(head: number): void {
    const whole = Math.max(...privateTopics.map((topic) => this.begun.get(topic) ?? Infinity))
    for (let seq = Math.min(...this.begun.values()) + 1; seq <= head; seq++) {
      // up to the last of the snapshots it depends on the topic, which another client may know
      const topic = this.user.events.get(seq)?.topic
      const due = seq > whole || (topic !== undefined && seq > this.begun.get(topic)!)
      if (due && !this.told.has(seq)) this.gap(`event ${seq} was never told; the stream stands at ${head}`)
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
