/**
 * A live feed: one WebSocket that authenticates, follows topics, keeps order books, and comes back when it is lost.
 *
 * Events are given to `onEvent` in the order they arrive. Order books are checked, and taken anew when a message is missing
 * or the checksum differs. After a lost connection private topics resume where they stood; what cannot be resumed starts
 * from snapshots, and `onState` tells so. Data is trusted to be what its schema says: new values of enumerations pass.
 * Source: contract 5.
 */
import { Clock, Deferred, Effect, Random, Schema, type Scope } from "effect"
import { parseTopic, printTopic, type PrivateTopic } from "../domain/Topic.ts"
import type { Depth } from "../domain/Enumerations.ts"
import { adviceOf, closeCodes, closeReasonOf } from "../ws/api/CloseCodes.ts"
import { ARGS_MAX, type ErrorFrame, type Resume, type ServerFrame } from "../ws/api/Frames.ts"
import type {
  AggregatedTradeData,
  AlertData,
  BalanceData,
  BookData,
  ExecutionData,
  KlineData,
  LiquidationData,
  OrderData,
  PoolData,
  PositionData,
  TickerData,
  TradeData
} from "../ws/api/TopicData.ts"
import { LocalBook } from "./LocalBook.ts"

interface EventOf<K extends string, D> {
  readonly kind: K
  readonly topic: string
  readonly server_ts_ms: number
  readonly data: D
}
export type FeedEvent =
  | (EventOf<"orderbook", BookData> & { readonly book: LocalBook })
  | EventOf<"trade", TradeData>
  | EventOf<"trade/", AggregatedTradeData>
  | EventOf<"ticker", TickerData>
  | EventOf<"kline", KlineData>
  | EventOf<"all_liquidations", LiquidationData>
  | EventOf<"insurance_pool", PoolData>
  | EventOf<"adl_alert", AlertData>
  | EventOf<"order", OrderData>
  | EventOf<"execution", ExecutionData>
  | EventOf<"position", PositionData>
  | EventOf<"account_balance", BalanceData>

/** Where a feed stands. */
export type FeedState =
  | { readonly type: "connecting" }
  /** All topics are followed; `resume` tells whether private ones went on without a hole. */
  | { readonly type: "live"; readonly resume: Resume | undefined }
  | { readonly type: "lost"; readonly code: number; readonly reason: string }
  /** It will not come back by itself. */
  | { readonly type: "ended"; readonly code: number; readonly reason: string }

/** The feed could not begin: wrong credential, or a gateway that refuses it. */
export class FeedRefused extends Schema.TaggedError<FeedRefused>()("FeedRefused", {
  code: Schema.String,
  message: Schema.String
}) {}

export interface Options {
  readonly topics: ReadonlyArray<string>
  /** Default: `/ws/private` if the first topic is private, else `/ws/public`. */
  readonly path?: "/ws" | "/ws/public" | "/ws/private"
  /** Called for each event, after it is in its book. It must not throw. */
  readonly onEvent?: (event: FeedEvent) => void
  readonly onState?: (state: FeedState) => void
  /** A topic or message that was refused. */
  readonly onError?: (error: ErrorFrame) => void
  /** A book that was found unsound; it is being taken anew. */
  readonly onFault?: (topic: string, fault: "gap" | "checksum") => void
}

/** What the client that owns the feed knows. */
export interface Connection {
  /** Base of the WebSocket endpoints, without a slash at the end. */
  readonly url: string
  readonly authFrame: () => AuthFrame | undefined
  /** Gets a new credential where that is possible. */
  readonly renew: Effect.Effect<boolean>
}
export type AuthFrame =
  | { readonly bearer: string }
  | {
      readonly api_key: string
      readonly signature: string
      readonly timestamp_ms: number
      readonly nonce: string
    }

export interface Feed {
  /** Follows more topics; answers those that the gateway accepted. */
  readonly subscribe: (topics: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  readonly unsubscribe: (topics: ReadonlyArray<string>) => Effect.Effect<void>
  /** The book kept for a topic that is followed. */
  readonly book: (symbol: string, depth: Depth) => LocalBook | undefined
  /** Time to the gateway and back in ms, as a ping measures it; `undefined` while there is no connection. */
  readonly ping: Effect.Effect<number | undefined>
  readonly state: () => FeedState
}

/** Silence that makes the client ask, and silence that makes it give the connection up, in ms. */
const ASK_AFTER_MS = 15_000
const SILENCE_MS = 30_000
const WATCH_MS = 1_000
/** Pause before coming back: grows from the first to the second, with jitter. */
const BACKOFF_FIRST_MS = 100
const BACKOFF_MAX_MS = 10_000
/** The code of a line that broke. */
const CODE_LOST = 1006
const unexpected = { code: "INTERNAL", message: "unexpected reply" }

const chunksOf = (topics: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from({ length: Math.ceil(topics.length / ARGS_MAX) }, (_, i) => topics.slice(i * ARGS_MAX, (i + 1) * ARGS_MAX))

const isPrivate = (topic: string): boolean => {
  const parsed = parseTopic(topic)
  return typeof parsed === "object" && parsed.kind === "private"
}

/** Follows topics; the effect succeeds when all of them are subscribed for the first time. */
export const follow = Effect.fnUntraced(function* (
  options: Options,
  connection: Connection
): Effect.fn.Return<Feed, FeedRefused, Scope.Scope> {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const path = options.path ?? (options.topics.some(isPrivate) ? "/ws/private" : "/ws/public")
  const began = yield* Deferred.make<void, FeedRefused>()

  const wanted = new Set(options.topics)
  const books = new Map<string, LocalBook>()
  /** Position in the user stream up to which every event of the followed topics was seen. */
  let position: { readonly stream_id: string; readonly seq: number } | undefined
  const lastOfTopic = new Map<string, number>()
  let state: FeedState = { type: "connecting" }
  let socket: WebSocket | undefined
  let lastHeard = 0
  let nextId = 0
  /** What waits for a reply; `undefined`: the connection was lost before it came. */
  const replies = new Map<string, (frame: ServerFrame | undefined) => void>()

  const enter = (next: FeedState): void => {
    state = next
    options.onState?.(next)
  }
  const send = (message: object): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
  }
  const request = (message: object, onReply: (frame: ServerFrame | undefined) => void): void => {
    if (socket === undefined) return onReply(undefined)
    const req_id = String(++nextId)
    replies.set(req_id, onReply)
    send({ ...message, req_id })
  }

  // ---- events

  const bookOf = (topic: string): LocalBook => {
    let book = books.get(topic)
    if (book === undefined) books.set(topic, (book = new LocalBook()))
    return book
  }
  const takeBook = (topic: string, data: BookData, server_ts_ms: number): void => {
    const book = bookOf(topic)
    const fault = book.take(data)
    if (fault !== undefined) {
      options.onFault?.(topic, fault)
      send({ op: "subscribe", args: [topic] })
    } else if (book.sound) options.onEvent?.({ kind: "orderbook", topic, server_ts_ms, data, book })
  }
  type UserData = OrderData | ExecutionData | PositionData | BalanceData
  const takeUser = (topic: PrivateTopic, data: UserData, server_ts_ms: number): void => {
    const last = lastOfTopic.get(topic)
    if (data.type === "update" && last !== undefined) {
      if (data.seq <= last) return
      if (data.prev_seq > last) {
        // an event of this topic is missing: ask for all after the last one
        return send({ op: "subscribe", args: [topic], since: { stream_id: data.stream_id, seq: last } })
      }
    }
    lastOfTopic.set(topic, data.seq)
    if (position === undefined || position.stream_id !== data.stream_id || data.seq > position.seq) {
      position = { stream_id: data.stream_id, seq: data.seq }
    }
    options.onEvent?.({ kind: topic, topic, server_ts_ms, data } as FeedEvent)
  }
  const takeEvent = (topic: string, data: unknown, server_ts_ms: number): void => {
    const parsed = parseTopic(topic)
    if (typeof parsed === "string" || !wanted.has(topic)) return
    if (parsed.kind === "orderbook") takeBook(topic, data as BookData, server_ts_ms)
    else if (parsed.kind === "private") takeUser(parsed.name, data as UserData, server_ts_ms)
    else options.onEvent?.({ kind: parsed.kind, topic, server_ts_ms, data } as FeedEvent)
  }

  const receive = (text: string): void => {
    lastHeard = now()
    const frame = JSON.parse(text) as ServerFrame
    if (frame.op === "event") return takeEvent(frame.topic, frame.data, frame.server_ts_ms)
    const req_id = typeof frame.req_id === "string" ? frame.req_id : undefined
    const onReply = req_id === undefined ? undefined : replies.get(req_id)
    if (onReply !== undefined && !(frame.op === "error" && frame.topic !== undefined)) {
      replies.delete(req_id!)
      onReply(frame)
    }
    if (frame.op === "error") options.onError?.(frame)
  }

  // ---- subscribing

  type Subscribed = { readonly accepted: ReadonlyArray<string>; readonly resume: Resume | undefined }

  /**
   * Sends topics in frames of {@link ARGS_MAX}. Private topics that were followed before go in one frame, so that what
   * they missed comes in the order of the user stream. `done` gets `undefined` when the connection is lost meanwhile.
   */
  const subscribeAll = (topics: ReadonlyArray<string>, done: (result: Subscribed | undefined) => void): void => {
    const resumable = topics.filter((topic) => position !== undefined && lastOfTopic.has(topic))
    const frames = [
      ...chunksOf(resumable).map((args) => ({ op: "subscribe", args, since: position })),
      ...chunksOf(topics.filter((topic) => !resumable.includes(topic))).map((args) => ({ op: "subscribe", args }))
    ]
    const accepted: Array<string> = []
    let resume: Resume | undefined
    let left = frames.length
    if (left === 0) return done({ accepted, resume })
    for (const message of frames) {
      request(message, (frame) => {
        if (frame === undefined) {
          if (left > 0) done(undefined)
          left = 0
          return
        }
        if (frame.op === "subscribed") {
          accepted.push(...frame.args)
          resume ??= frame.resume
          // what is not recovered starts from snapshots
          if (frame.resume?.recovered === false) for (const topic of frame.args) lastOfTopic.delete(topic)
        }
        if (--left === 0) done({ accepted, resume })
      })
    }
  }

  // ---- one connection

  interface Ended {
    readonly code: number
    readonly reason: string
    readonly wasLive: boolean
  }
  const connectOnce = Effect.callback<Ended>((resume) => {
    enter({ type: "connecting" })
    const ws = new WebSocket(`${connection.url}${path}`)
    socket = ws
    lastHeard = now()
    let wasLive = false
    let refusal: { readonly code: number; readonly reason: string } | undefined
    const begin = (): void => {
      const asked = [...wanted]
      subscribeAll(asked, (result) => {
        if (result === undefined) return
        wasLive = true
        enter({ type: "live", resume: result.resume })
        Deferred.doneUnsafe(began, Effect.void)
        const late = [...wanted].filter((topic) => !asked.includes(topic))
        if (late.length > 0) subscribeAll(late, () => {})
      })
    }
    const refuse = (code: number, reason: string): void => {
      refusal = { code, reason }
      ws.close()
    }
    ws.addEventListener("open", () => {
      if (path !== "/ws/private") return begin()
      const auth = connection.authFrame()
      if (auth === undefined) return refuse(closeCodes.AuthRefused.code, "log in first")
      request({ op: "auth", ...auth }, (frame) => {
        if (frame === undefined) return
        if (frame.op === "auth" && frame.success) return begin()
        const { code, message } = frame.op === "auth" || frame.op === "error" ? (frame as ErrorFrame) : unexpected
        const later = code === "SERVICE_UNAVAILABLE" || code === "RateLimitExceeded"
        refuse(later ? closeCodes.BackendLost.code : closeCodes.AuthRefused.code, message)
      })
    })
    ws.addEventListener("message", ({ data }) => receive(String(data)))
    ws.addEventListener("error", () => {}) // the close event follows
    ws.addEventListener("close", ({ code, reason }) => {
      if (socket === ws) lose()
      resume(Effect.succeed({ code, reason, ...refusal, wasLive }))
    })
    return Effect.sync(() => {
      if (socket === ws) lose()
      ws.close()
    })
  })
  const lose = (): void => {
    socket = undefined
    // a book that is not followed is not the market's any more
    for (const book of books.values()) book.sound = false
    const lost = [...replies.values()]
    replies.clear()
    for (const onReply of lost) onReply(undefined)
  }

  /** Asks when nothing comes, and gives the connection up when nothing comes even then. */
  const watch: Effect.Effect<Ended> = Effect.gen(function* () {
    let askedAt = 0
    while (true) {
      yield* Effect.sleep(WATCH_MS)
      const silent = now() - lastHeard
      if (silent >= SILENCE_MS) return { code: CODE_LOST, reason: "silent", wasLive: state.type === "live" }
      if (silent >= ASK_AFTER_MS && now() - askedAt >= ASK_AFTER_MS) {
        askedAt = now()
        send({ op: "ping" })
      }
    }
  })

  const loop = Effect.gen(function* () {
    let failures = 0
    while (true) {
      const { code, reason, wasLive } = yield* Effect.raceFirst(connectOnce, watch)
      failures = wasLive ? 0 : failures + 1
      const advice = adviceOf(code)
      const text = reason === "" ? (closeReasonOf(code) ?? "connection lost") : reason
      const renewed = advice === "log-in" && failures < 2 && (yield* connection.renew)
      if (advice === "fix" || advice === "stop" || (advice === "log-in" && !renewed)) {
        enter({ type: "ended", code, reason: text })
        Deferred.doneUnsafe(
          began,
          Effect.fail(new FeedRefused({ code: closeReasonOf(code) ?? String(code), message: text }))
        )
        return
      }
      enter({ type: "lost", code, reason: text })
      const pause = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failures + (advice === "back-off" ? 3 : 0)))
      yield* Effect.sleep(pause * (0.5 + (yield* Random.next) / 2))
    }
  })
  yield* Effect.forkScoped(loop)
  yield* Deferred.await(began)

  return {
    subscribe: (topics) =>
      Effect.callback<ReadonlyArray<string>>((resume) => {
        for (const topic of topics) wanted.add(topic)
        // while there is no connection, the next one takes them along
        if (state.type !== "live") return resume(Effect.succeed(topics))
        subscribeAll(topics, (result) => {
          if (result === undefined) return resume(Effect.succeed(topics))
          for (const topic of topics) if (!result.accepted.includes(topic)) wanted.delete(topic)
          resume(Effect.succeed(result.accepted))
        })
      }),
    unsubscribe: (topics) =>
      Effect.callback<void>((resume) => {
        for (const topic of topics) {
          wanted.delete(topic)
          books.delete(topic)
          lastOfTopic.delete(topic)
        }
        request({ op: "unsubscribe", args: topics }, () => resume(Effect.void))
      }),
    book: (symbol, depth) => books.get(printTopic({ kind: "orderbook", depth, symbol })),
    ping: Effect.callback<number | undefined>((resume) => {
      const sent = now()
      request({ op: "ping", ts: sent }, (frame) => resume(Effect.succeed(frame && now() - sent)))
    }),
    state: () => state
  }
})
