/**
 * The topics of a feed: subscribes, checks that each message follows the one before, and repairs a fault with a new
 * subscription. This state outlives the connections.
 */
import { ARGS_MAX, isPrivate, kindOf } from "../domain/TopicNames.ts"
import type { ErrorFrame, EventFrame, Resume } from "../ws/api/Frames.ts"
import type { BookData } from "../ws/api/TopicData.ts"
import { isPassing } from "./Backoff.ts"
import type { Connection } from "./Connection.ts"
import type { Fault, FeedEvent, TopicMessage, UserMessage } from "./FeedEvent.ts"
import { LocalBook } from "./LocalBook.ts"
import { StreamPositions, type SubscribeArgs } from "./StreamPositions.ts"

/** Consecutive faults of a topic after which the feed disconnects. */
export const FAULTS_MAX = 5

/** Result of a subscription; `undefined`: the connection was lost meanwhile, or is unusable. */
export type Subscribed = { readonly accepted: ReadonlyArray<string>; readonly resume: Resume | undefined } | undefined

/** Counts since the feed began. */
export interface Counts {
  /** Messages of topics that were passed on. */
  messages: number
  /** Resumes of private topics without a gap, and resumes that failed. */
  resumed: number
  unrecovered: number
  readonly faults: Record<Fault, number>
}

export interface TopicsHandlers {
  readonly now: () => number
  readonly emit: (event: FeedEvent) => void
  /** Ends a connection that is unusable. */
  readonly disconnect: (reason: string) => void
}

const chunksOf = <A>(list: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(list.length / ARGS_MAX) }, (_, i) => list.slice(i * ARGS_MAX, (i + 1) * ARGS_MAX))

export class Topics {
  readonly wanted: Set<string>
  readonly books = new Map<string, LocalBook>()
  readonly positions = new StreamPositions()
  readonly counts: Counts = {
    messages: 0,
    resumed: 0,
    unrecovered: 0,
    faults: { gap: 0, repetition: 0, checksum: 0, crossed: 0, stream: 0 }
  }
  /** Time of the last message of each topic. */
  readonly receivedAt = new Map<string, number>()
  connection: Connection | undefined
  private readonly handlers: TopicsHandlers
  /** Topics with a new subscription after a fault; their messages are dropped until the gateway replies. */
  private readonly resubscribing = new Set<string>()
  private readonly consecutiveFaults = new Map<string, number>()

  constructor(topics: ReadonlyArray<string>, handlers: TopicsHandlers) {
    this.wanted = new Set(topics)
    this.handlers = handlers
  }

  // ---- messages

  receive({ data, server_ts_ms, topic }: typeof EventFrame.Type): void {
    if (!this.wanted.has(topic)) return
    this.receivedAt.set(topic, this.handlers.now())
    // the gateway guarantees the schema of each topic; it is not validated here
    const message = { kind: kindOf(topic), topic, server_ts_ms, data } as TopicMessage
    if (isPrivate(topic)) this.receiveUser(message as UserMessage)
    else if (message.kind === "orderbook") this.receiveBook(topic, message.data, server_ts_ms)
    else this.emit(message)
  }

  private emit(message: TopicMessage): void {
    this.counts.messages++
    this.handlers.emit(message)
  }

  private receiveBook(topic: string, data: BookData, server_ts_ms: number): void {
    let book = this.books.get(topic)
    if (book === undefined) this.books.set(topic, (book = new LocalBook()))
    const fault = book.take(data)
    if (fault !== undefined) return this.fault(topic, fault)
    if (!book.sound) return
    if (data.type === "delta") this.consecutiveFaults.delete(topic)
    this.emit({ kind: "orderbook", topic, server_ts_ms, data, book })
  }

  private receiveUser(message: UserMessage): void {
    const topic = message.kind
    if (this.resubscribing.has(topic)) return
    const since = this.positions.since(topic)
    const verdict = this.positions.advance(message)
    switch (verdict) {
      case "gap":
      case "repetition":
      case "stream":
        return this.fault(topic, verdict)
      case "replaces":
        this.resumed({ args: [topic], since }, false)
        break
      case "next":
        this.consecutiveFaults.delete(topic)
    }
    this.emit(message)
  }

  private fault(topic: string, fault: Fault): void {
    this.counts.faults[fault]++
    this.handlers.emit({ kind: "fault", topic, fault })
    const faults = (this.consecutiveFaults.get(topic) ?? 0) + 1
    this.consecutiveFaults.set(topic, faults)
    if (faults >= FAULTS_MAX) {
      this.consecutiveFaults.delete(topic)
      return this.handlers.disconnect(`${topic} failed ${FAULTS_MAX} checks in a row`)
    }
    if (fault === "repetition") return
    this.resubscribing.add(topic)
    this.subscribe([topic], () => {})
  }

  // ---- subscriptions

  /**
   * Subscribes in frames of at most {@link ARGS_MAX} topics. Private topics with the same position share a frame, so that
   * the events they missed arrive in stream order. A topic that the gateway refuses for good is removed from `wanted`.
   */
  subscribe(topics: ReadonlyArray<string>, done: (result: Subscribed) => void): void {
    const privateFrames = this.positions.frames(topics.filter(isPrivate))
    const publicFrames = chunksOf(topics.filter((topic) => !isPrivate(topic)))
    const accepted: Array<string> = []
    let resume: Resume | undefined
    let left = privateFrames.length + publicFrames.length
    if (left === 0 || this.connection === undefined) return done(left === 0 ? { accepted, resume } : undefined)
    const send = (args: ReadonlyArray<string>, frame?: SubscribeArgs) =>
      this.sendFrame(args, frame, (result) => {
        if (left <= 0) return
        if (result === undefined) {
          left = 0
          return done(undefined)
        }
        accepted.push(...result.accepted)
        // report a resume that failed rather than one that succeeded
        if (resume === undefined || result.resume?.recovered === false) resume = result.resume
        if (--left === 0) done({ accepted, resume })
      })
    for (const frame of privateFrames) send(frame.args, frame)
    for (const args of publicFrames) send(args)
  }

  /** Sends one frame and collects its replies: `subscribed`, and one error for each topic that is not in it. */
  private sendFrame(
    args: ReadonlyArray<string>,
    frame: SubscribeArgs | undefined,
    done: (result: Subscribed) => void
  ): void {
    const since = frame?.since
    let result: Subscribed
    let refusals = 0
    const refused = ({ code, message, topic }: ErrorFrame): void => {
      if (topic === undefined || isPassing(code)) return this.handlers.disconnect(message)
      this.wanted.delete(topic)
    }
    this.connection!.request({ op: "subscribe", args, ...(since === undefined ? {} : { since }) }, (reply) => {
      if (reply?.op === "error") {
        refused(reply)
        refusals++
      } else if (reply?.op === "subscribed") {
        for (const topic of args) this.resubscribing.delete(topic)
        const { resume } = reply
        const names = frame?.args.filter((topic) => reply.args.includes(topic)) ?? []
        this.positions.subscribed(names, since, resume?.recovered === true)
        if (resume !== undefined && names.length > 0) this.resumed({ args: names, since }, resume.recovered)
        result = { accepted: reply.args, resume }
      }
      const isComplete = result !== undefined && refusals >= args.length - result.accepted.length
      if (isComplete || reply === undefined) done(reply && result)
      return !isComplete
    })
  }

  private resumed({ args, since }: SubscribeArgs, recovered: boolean): void {
    if (since === undefined) return
    if (recovered) this.counts.resumed++
    else this.counts.unrecovered++
    this.handlers.emit({ kind: "resume", recovered, topics: args, since })
  }

  /** Unsubscribes in frames of at most {@link ARGS_MAX} topics. */
  unsubscribe(topics: ReadonlyArray<string>, done: () => void): void {
    for (const topic of topics) {
      this.wanted.delete(topic)
      this.books.delete(topic)
      this.receivedAt.delete(topic)
      this.resubscribing.delete(topic)
    }
    this.positions.remove(topics)
    const { connection } = this
    const frames = chunksOf(topics)
    let left = frames.length
    if (left === 0 || connection === undefined) return done()
    for (const args of frames) {
      connection.request({ op: "unsubscribe", args }, () => {
        if (--left === 0) done()
        return false
      })
    }
  }

  /** Drops the connection. No book is sound until its next snapshot. */
  disconnected(): void {
    const { connection } = this
    this.connection = undefined
    for (const book of this.books.values()) book.sound = false
    connection?.lose()
  }
}
