/**
 * Load client: many sockets through the balancer. Some follow a book, the others a ticker or all private topics of a user.
 * Each reconnects by itself. Events are checked by their sequence numbers, and at the end against REST.
 */
import { Effect, Layer, Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { WebSocketConstructor } from "effect/socket/Socket"
import { WebSocket } from "ws"
import { Client, type Feed } from "../../src/client/index.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { percentile } from "../harness/Statistics.ts"
import { SYMBOL } from "../harness/Trader.ts"
import { compareBook, compareUser } from "../streams/Comparison.ts"
import { DEPTH, follow, type Follower } from "../streams/Follower.ts"
import { Findings, UserEvents } from "../streams/StreamChecker.ts"

export interface Options {
  readonly url: string
  readonly tokens: ReadonlyArray<string>
  readonly books: number
  readonly tickers: number
  /** Private sockets, divided among the users. */
  readonly privates: number
}
/** The state of the sockets. */
export interface State {
  readonly live: number
  readonly all: number
  /** Connections that were lost so far. */
  readonly lost: number
}
export interface Report extends State {
  readonly messages: number
  /** Resumed private sessions without a gap, and those to which the gateway announced one. */
  readonly recovered: number
  readonly unrecovered: number
  readonly gaps: number
  readonly repetitions: number
  readonly differences: number
  /** Books with a wrong checksum, a gap or crossed sides, which were subscribed again. */
  readonly bookFaults: number
  /** Private sessions and books that are equal to REST. */
  readonly compared: number
  readonly faults: ReadonlyArray<string>
  /** Time from the loss of a connection until the session was live again. */
  readonly away: { readonly p50_ms: number; readonly p99_ms: number; readonly max_ms: number }
}
export interface Calls extends AnyCalls {
  /** Opens all of them. */
  readonly start: (options: Options) => Promise<State>
  readonly state: (nothing: null) => Promise<State>
  /** Compares with REST; nobody may trade meanwhile. */
  readonly compare: (nothing: null) => Promise<Report>
}

/** Sockets that connect at the same time. */
const OPENING_MAX = 50

// compression would cost more than everything that this load measures
const plainSockets = Layer.succeed(WebSocketConstructor)(
  (url) => new WebSocket(url, { perMessageDeflate: false }) as ReturnType<typeof WebSocketConstructor.Service>
)
const clientOf = (url: string, token?: string) =>
  Client.makeWith({
    baseUrl: url,
    ...(token === undefined ? {} : { credential: { type: "token", token } as const })
  }).pipe(Effect.provide([FetchHttpClient.layer, plainSockets]))

/** Measures how long each session is without a connection. */
class Absences {
  lost = 0
  readonly away: Array<number> = []
  /** Follows one session. */
  watch(): (event: Feed.FeedEvent) => void {
    let since: number | undefined
    return (event) => {
      if (event.kind !== "state") return
      if (event.state.type === "lost" && since === undefined) {
        this.lost++
        since = performance.now()
      } else if (event.state.type === "live" && since !== undefined) {
        this.away.push(performance.now() - since)
        since = undefined
      }
    }
  }
}

const open = Effect.fnUntraced(function* ({ books, privates, tickers, tokens, url }: Options) {
  const absences = new Absences()
  const findings = new Findings()
  const publicClient = yield* clientOf(url)
  const users = yield* Effect.forEach(tokens, (token) =>
    Effect.map(clientOf(url, token), (client) => ({
      token,
      client,
      events: new UserEvents(),
      followers: Array<Follower>()
    }))
  )
  const publicFeed = (topic: string) => publicClient.feed({ topics: [topic], onEvent: absences.watch() })
  const many = <A, E, R>(count: number, one: (i: number) => Effect.Effect<A, E, R>) =>
    Effect.forEach(
      Array.from({ length: count }, (_, i) => i),
      one,
      { concurrency: OPENING_MAX }
    )

  const bookFeeds = yield* many(books, () => publicFeed(`orderbook.${DEPTH}.${SYMBOL}`))
  const tickerFeeds = yield* many(tickers, () => publicFeed(`ticker.${SYMBOL}`))
  const privateFeeds = yield* many(privates, (i) => {
    const { client, events, followers } = users[i % users.length]!
    return Effect.map(follow(`session ${i}`, client, events, findings, absences.watch()), (follower) => {
      followers.push(follower)
      return follower.feed
    })
  })
  const feeds = [...bookFeeds, ...tickerFeeds, ...privateFeeds]

  const state = (): State => ({
    live: feeds.filter(({ state }) => state.get().type === "live").length,
    all: feeds.length,
    lost: absences.lost
  })
  const compare = Effect.gen(function* () {
    let compared = 0
    for (const { followers, ...user } of users)
      compared += (yield* Effect.promise(() => compareUser(url, user, followers, findings))).compared
    const rest = yield* publicClient.market.orderbook({ query: { symbol: SYMBOL, depth: DEPTH } })
    for (const [i, feed] of bookFeeds.entries()) {
      yield* Effect.promise(() => compareBook(`book ${i}`, () => feed.book(SYMBOL, DEPTH), rest))
      compared++
    }
    const counts = feeds.map((feed) => feed.counts())
    const sum = (of: (one: (typeof counts)[number]) => number) => counts.reduce((all, one) => all + of(one), 0)
    const at = (share: number) => percentile(absences.away, share)
    return {
      ...state(),
      messages: sum(({ messages }) => messages),
      recovered: findings.resumed,
      unrecovered: findings.unrecovered,
      gaps: findings.gaps + privateFeeds.reduce((all, feed) => all + feed.counts().faults.gap, 0),
      repetitions: findings.repetitions + sum(({ faults }) => faults.repetition),
      differences: findings.differences,
      bookFaults: bookFeeds.reduce((all, feed) => {
        const { checksum, crossed, gap } = feed.counts().faults
        return all + checksum + crossed + gap
      }, 0),
      compared,
      faults: findings.faults,
      away: { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) }
    } satisfies Report
  })
  return { state, compare }
})

let sessions: Effect.Success<ReturnType<typeof open>> | undefined
serve({
  start: async (options) => {
    sessions = await Effect.runPromise(Scope.provide(open(options), Scope.makeUnsafe()))
    return sessions.state()
  },
  state: async () => sessions!.state(),
  compare: () => Effect.runPromise(sessions!.compare)
} satisfies Calls)
