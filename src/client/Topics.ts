/**
 * What a feed follows: it subscribes, takes every message in, checks that it follows from the one before, and mends what does
 * not by subscribing again. It outlives the lines that it is carried by.
 */
import { ARGS_MAX, isPrivate, kindOf } from "../domain/TopicNames.ts"
import type { ErrorFrame, EventFrame, Resume } from "../ws/api/Frames.ts"
import type { BookData } from "../ws/api/TopicData.ts"
import { isPassing } from "./Backoff.ts"
import type { Fault, FeedEvent, TopicMessage, UserMessage } from "./FeedEvent.ts"
import type { Connection } from "./Connection.ts"
import { LocalBook } from "./LocalBook.ts"
import { type Joining, StreamPositions } from "./StreamPositions.ts"

/** Faults of a topic, with no sound message in between, after which the line itself is not trusted. */
export const FAULTS_MAX = 5

/** What subscribing came to; `undefined`: the line was lost meanwhile, or is of no use. */
export type Subscribed = { readonly accepted: ReadonlyArray<string>; readonly resume: Resume | undefined } | undefined

/** What happened to the topics since the feed began. */
export interface Counts {
  /** Messages of topics that were told. */
  messages: number
  /** Times that private topics went on without a hole, and times that they could not. */
  resumed: number
  unrecovered: number
  readonly faults: Record<Fault, number>
}

export interface TopicsHandlers {
  readonly now: () => number
  readonly tell: (event: FeedEvent) => void
  /** Ends the line: it is of no use. */
  readonly giveUp: (reason: string) => void
}

const chunksOf = <A>(list: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(list.length / ARGS_MAX) }, (_, i) => list.slice(i * ARGS_MAX, (i + 1) * ARGS_MAX))

export class Topics {
  readonly wanted: Set<string>
  readonly books = new Map<string, LocalBook>()
  readonly places = new StreamPositions()
  readonly counts: Counts = {
    messages: 0,
    resumed: 0,
    unrecovered: 0,
    faults: { gap: 0, repetition: 0, checksum: 0, crossed: 0, stream: 0 }
  }
  /** When the last message of a topic came. */
  readonly heard = new Map<string, number>()
  line: Connection | undefined
  private readonly handlers: TopicsHandlers
  /** Topics that were asked for again after a fault: until that is answered, what they send is left out. */
  private readonly mending = new Set<string>()
  private readonly inARow = new Map<string, number>()

  constructor(topics: ReadonlyArray<string>, handlers: TopicsHandlers) {
    this.wanted = new Set(topics)
    this.handlers = handlers
  }

  // ---- messages

  take({ data, server_ts_ms, topic }: typeof EventFrame.Type): void {
    if (!this.wanted.has(topic)) return
    this.heard.set(topic, this.handlers.now())
    // the schema of each topic is the gateway's word
    const message = { kind: kindOf(topic), topic, server_ts_ms, data } as TopicMessage
    if (isPrivate(topic)) this.takeUser(message as UserMessage)
    else if (message.kind === "orderbook") this.takeBook(topic, message.data, server_ts_ms)
    else this.tell(message)
  }

  private tell(message: TopicMessage): void {
    this.counts.messages++
    this.handlers.tell(message)
  }

  private takeBook(topic: string, data: BookData, server_ts_ms: number): void {
    let book = this.books.get(topic)
    if (book === undefined) this.books.set(topic, (book = new LocalBook()))
    const fault = book.take(data)
    if (fault !== undefined) return this.fault(topic, fault)
    if (!book.sound) return
    if (data.type === "delta") this.inARow.delete(topic)
    this.tell({ kind: "orderbook", topic, server_ts_ms, data, book })
  }

  private takeUser(message: UserMessage): void {
    const topic = message.kind
    if (this.mending.has(topic)) return
    const since = this.places.since(topic)
    const verdict = this.places.take(message)
    switch (verdict) {
      case "gap":
      case "repetition":
      case "stream":
        return this.fault(topic, verdict)
      case "replaces":
        this.resumed({ args: [topic], since }, false)
        break
      case "next":
        this.inARow.delete(topic)
    }
    this.tell(message)
  }

  private fault(topic: string, fault: Fault): void {
    this.counts.faults[fault]++
    this.handlers.tell({ kind: "fault", topic, fault })
    const faults = (this.inARow.get(topic) ?? 0) + 1
    this.inARow.set(topic, faults)
    if (faults >= FAULTS_MAX) {
      this.inARow.delete(topic)
      return this.handlers.giveUp(`${topic} is not sound`)
    }
    if (fault === "repetition") return
    this.mending.add(topic)
    this.subscribe([topic], () => {})
  }

  // ---- subscribing

  /**
   * Subscribes in frames of {@link ARGS_MAX}; private topics that stand at one position in one frame, so that what they missed comes in
   * the order of the stream. Topics that are refused for good are not wanted any more.
   */
  subscribe(topics: ReadonlyArray<string>, done: (result: Subscribed) => void): void {
    const own = topics.filter(isPrivate)
    const others = topics.filter((topic) => !isPrivate(topic))
    const joinings = this.places.joinings(own)
    const accepted: Array<string> = []
    let resume: Resume | undefined
    let left = joinings.length + chunksOf(others).length
    if (left === 0 || this.line === undefined) return done(left === 0 ? { accepted, resume } : undefined)
    const one = (args: ReadonlyArray<string>, joining?: Joining) =>
      this.ask(args, joining, (result) => {
        if (left <= 0) return
        if (result === undefined) {
          left = 0
          return done(undefined)
        }
        accepted.push(...result.accepted)
        // one that was not recovered is what the caller must know of
        if (resume === undefined || result.resume?.recovered === false) resume = result.resume
        if (--left === 0) done({ accepted, resume })
      })
    for (const joining of joinings) one(joining.args, joining)
    for (const args of chunksOf(others)) one(args)
  }

  /** Sends one frame and waits for all that answers it: `subscribed`, and an error for each topic that is not in it. */
  private ask(args: ReadonlyArray<string>, joining: Joining | undefined, done: (result: Subscribed) => void): void {
    const since = joining?.since
    let result: Subscribed
    let refusals = 0
    const refused = ({ code, message, topic }: ErrorFrame): void => {
      if (topic === undefined || isPassing(code)) return this.handlers.giveUp(message)
      this.wanted.delete(topic)
    }
    this.line!.request({ op: "subscribe", args, ...(since === undefined ? {} : { since }) }, (frame) => {
      if (frame?.op === "error") {
        refused(frame)
        refusals++
      } else if (frame?.op === "subscribed") {
        for (const topic of args) this.mending.delete(topic)
        const { resume } = frame
        const names = joining?.args.filter((topic) => frame.args.includes(topic)) ?? []
        this.places.joined(names, since, resume?.recovered === true)
        if (resume !== undefined && names.length > 0) this.resumed({ args: names, since }, resume.recovered)
        result = { accepted: frame.args, resume }
      }
      const answered = result !== undefined && refusals >= args.length - result.accepted.length
      if (answered || frame === undefined) done(frame && result)
      return !answered && frame !== undefined
    })
  }

  private resumed({ args, since }: Joining, recovered: boolean): void {
    if (since === undefined) return
    if (recovered) this.counts.resumed++
    else this.counts.unrecovered++
    this.handlers.tell({ kind: "resume", recovered, topics: args, since })
  }

  unsubscribe(topics: ReadonlyArray<string>, done: () => void): void {
    for (const topic of topics) {
      this.wanted.delete(topic)
      this.books.delete(topic)
      this.heard.delete(topic)
      this.mending.delete(topic)
    }
    this.places.leave(topics)
    if (this.line === undefined) return done()
    this.line.request({ op: "unsubscribe", args: topics }, () => {
      done()
      return false
    })
  }

  /** The line is lost: a book that is not followed is not the market's any more. */
  lose(): void {
    const line = this.line
    this.line = undefined
    this.mending.clear()
    for (const book of this.books.values()) book.sound = false
    line?.lose()
  }
}
