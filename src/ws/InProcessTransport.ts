/**
 * A transport without a socket: the session's output is a stream. A slow reader is treated as a slow socket.
 */
import { Cause, Effect, Queue, Stream } from "effect"
import { ConnectionEnded } from "../services/operations/InProcessFeeds.ts"
import { type CloseReason, closeCodes } from "./api/CloseCodes.ts"
import { textsOf } from "./Frame.ts"
import type { Transport } from "./Connection.ts"
import type { Session } from "./Session.ts"

export class InProcessTransport implements Transport {
  readonly deflated = false
  private readonly queue: Queue.Queue<string, ConnectionEnded>
  private session: Session | undefined
  /** Bytes not read yet; the outbox writes only when there are none, which bounds the queue. */
  private untaken = 0
  private waiting: Array<() => void> = []
  /** Set: the stream fails with it, and drops queued messages. */
  private cut: ConnectionEnded | undefined = undefined

  private constructor(queue: Queue.Queue<string, ConnectionEnded>) {
    this.queue = queue
  }
  static readonly make = Effect.map(
    Queue.unbounded<string, ConnectionEnded>(),
    (queue) => new InProcessTransport(queue)
  )

  /** Starts the session of this transport with the client's first messages. */
  begin(session: Session, messages: ReadonlyArray<string>): void {
    this.session = session
    for (const message of messages) session.text(message)
  }

  /** All messages of the session. */
  get messages(): Stream.Stream<string, ConnectionEnded> {
    return Stream.fromEffectRepeat(Effect.tap(Queue.takeAll(this.queue), () => Effect.sync(() => this.taken()))).pipe(
      Stream.flattenArray,
      // a slow reader must not receive queued messages after its credential ended
      Stream.mapEffect((message) => (this.cut === undefined ? Effect.succeed(message) : Effect.fail(this.cut)))
    )
  }
  private taken(): void {
    this.untaken = 0
    const waiting = this.waiting
    this.waiting = []
    for (const callback of waiting) callback()
  }

  pending(): number {
    return this.untaken
  }
  write(bytes: Buffer): void {
    this.untaken += bytes.length
    for (const text of textsOf(bytes)) Queue.offerUnsafe(this.queue, text)
  }
  whenTaken(callback: () => void): void {
    this.waiting.push(callback)
  }
  /** The reader of the stream is in this process, so it is alive. */
  ping(): void {
    this.session?.heard()
  }
  pong(): void {}
  close(reason: CloseReason): void {
    const ended = new ConnectionEnded({ code: closeCodes[reason].code })
    if (reason === "CredentialEnded") this.cut = ended
    Queue.failCauseUnsafe(this.queue, Cause.fail(ended))
    this.terminate()
  }
  terminate(): void {
    const { session } = this
    this.session = undefined
    session?.closed()
  }
}
