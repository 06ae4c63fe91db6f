/** WebSockets without a network: a scripted gateway on a simulated clock. */
import { Effect, type Scope } from "effect"
import { WebSocketConstructor, type WebSocketEvent, type WebSocketLike } from "effect/socket/Socket"
import { Feed } from "../../src/client/index.ts"

// oxlint-disable-next-line typescript/no-explicit-any
export type Message = any
type Kind = "open" | "message" | "error" | "close"

/** The close code of a connection that broke; an error event comes first. */
const LOST = 1006

export class FakeSocket implements WebSocketLike {
  readyState = 0
  /** What the client sent, parsed. */
  readonly sent: Array<Message> = []
  private readonly listeners = new Map<Kind, Array<(event: WebSocketEvent) => void>>()
  private readonly onMessage: (message: Message, socket: FakeSocket) => void

  constructor(onMessage: (message: Message, socket: FakeSocket) => void) {
    this.onMessage = onMessage
  }
  addEventListener(type: Kind, listener: (event: WebSocketEvent) => void): void {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener])
  }
  removeEventListener(): void {}
  private emit(type: Kind, event: WebSocketEvent = {}): void {
    const listeners = this.listeners.get(type) ?? []
    // as `ws` does
    if (type === "error" && listeners.length === 0) throw new Error("an error without a listener")
    for (const listener of listeners) listener(event)
  }
  open(): void {
    this.readyState = 1
    this.emit("open")
  }
  send(data: string | Uint8Array<ArrayBuffer>): void {
    const message = JSON.parse(String(data))
    this.sent.push(message)
    // a reply never arrives synchronously
    queueMicrotask(() => this.onMessage(message, this))
  }
  close(): void {
    this.readyState = 3
  }
  /** The gateway sends a frame. */
  say(frame: object): void {
    this.sayText(JSON.stringify(frame))
  }
  sayText(data: string): void {
    this.emit("message", { data })
  }
  tell(topic: string, data: object): void {
    this.say({ op: "event", topic, server_ts_ms: 1, data })
  }
  /** The gateway closes, or the connection breaks. */
  drop(code = LOST, reason = ""): void {
    this.readyState = 3
    if (code === LOST) this.emit("error")
    this.emit("close", { code, reason })
  }
}

/** Accepts all topics, and all tokens but `BAD`. */
export const polite = (message: Message, socket: FakeSocket): void => {
  const { args, op, req_id, since } = message
  if (op === "auth") {
    socket.say(
      message.bearer === "BAD"
        ? { op, success: false, user_id: null, req_id, code: "UNAUTHORIZED", message: "no" }
        : { op, success: true, user_id: "u", req_id, stream_id: "s1", head_seq: 0 }
    )
  }
  if (op === "subscribe") {
    const resume = since === undefined ? {} : { resume: { recovered: true, stream_id: since.stream_id, head_seq: 99 } }
    socket.say({ op: "subscribed", args, req_id, ...resume })
  }
  if (op === "ping") socket.say({ op: "pong", req_id, server_ts: 1 })
}

export class FakeGateway {
  readonly sockets: Array<FakeSocket> = []
  /** Every event of the feeds, in order. */
  readonly events: Array<Feed.FeedEvent> = []
  token = "TK"
  renew: Feed.Connection["renew"] = Effect.succeed("refused")
  private readonly onMessage: (message: Message, socket: FakeSocket, connection: number) => void
  /** Whether new connections open or fail. */
  reachable = true

  constructor(onMessage: (message: Message, socket: FakeSocket, connection: number) => void = polite) {
    this.onMessage = onMessage
  }
  get last(): FakeSocket {
    return this.sockets.at(-1)!
  }
  /** Events without state notices. */
  get news(): ReadonlyArray<Exclude<Feed.FeedEvent, { readonly kind: "state" }>> {
    return this.events.flatMap((event) => (event.kind === "state" ? [] : [event]))
  }
  /** The states so far. */
  get states(): ReadonlyArray<string> {
    return this.events.flatMap((event) => (event.kind === "state" ? [event.state.type] : []))
  }
  /** Opens a feed on it. */
  readonly open = (options: Feed.Options): Effect.Effect<Feed.Feed, Feed.FeedEnded, Scope.Scope> =>
    Feed.follow(
      {
        ...options,
        onEvent: (event) => {
          this.events.push(event)
          options.onEvent?.(event)
        }
      },
      {
        url: "ws://gateway",
        authFrame: () => ({ bearer: this.token }),
        renew: Effect.suspend(() => this.renew)
      }
    ).pipe(
      Effect.provideService(WebSocketConstructor, () => {
        const connection = this.sockets.length + 1
        const socket = new FakeSocket((message, self) => this.onMessage(message, self, connection))
        this.sockets.push(socket)
        queueMicrotask(() => (this.reachable ? socket.open() : socket.drop()))
        return socket
      })
    )
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Runs everything that needs no time to pass. */
export const quiet: Effect.Effect<void> = Effect.promise(() => turns(20))

/** Runs everything that needs no time to pass, until a condition holds. */
export const settled = (look: () => boolean, what: string): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let turn = 0; !look(); turn++) {
      if (turn > 1_000) throw new Error(`never: ${what}`)
      await turns(1)
    }
    await turns(20)
  })

const at = (seq: number, stream_id: string) => ({ stream_id, seq, ts: 1, mts: 1 })
export const snapshot = (seq: number, list: ReadonlyArray<object> = [], stream_id = "s1") => ({
  type: "snapshot",
  ...at(seq, stream_id),
  list
})
export const update = (seq: number, prev_seq: number, list: ReadonlyArray<object> = [], stream_id = "s1") => ({
  type: "update",
  ...at(seq, stream_id),
  prev_seq,
  list
})
