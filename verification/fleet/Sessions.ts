/**
 * Load client: many sockets through the balancer, some on a book, the rest on a ticker or on all private topics of a user. Each
 * comes back by itself; what was told is held against the numbers, and at the end against REST.
 */
import { Effect, Layer, Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { WebSocketConstructor } from "effect/socket/Socket"
import { WebSocket } from "ws"
import { Client, type Feed } from "../../src/client/index.ts"
import { DEPTH, follow, type Follower, sameBook, SYMBOL } from "../streams/Follower.ts"
import { Findings, UserLedger } from "../streams/StreamChecker.ts"
import { compareUser, waitFor } from "../streams/Comparison.ts"
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"

export interface Options {
  readonly url: string
  readonly tokens: ReadonlyArray<string>
  readonly books: number
  readonly tickers: number
  /** Shared out among the users. */
  readonly privates: number
}
/** How the sockets stand now. */
export interface Standing {
  readonly live: number
  readonly all: number
  /** Lines that were lost so far. */
  readonly lost: number
}
export interface Report extends Standing {
  readonly messages: number
  /** Private sessions that went on without a hole, and those that were told of one. */
  readonly recovered: number
  readonly unrecovered: number
  readonly gaps: number
  readonly repetitions: number
  readonly differences: number
  /** Books that were found unsound, and taken anew. */
  readonly bookFaults: number
  /** Private sessions and books that hold what REST holds. */
  readonly compared: number
  readonly faults: ReadonlyArray<string>
  /** Time from the loss of a line until the session was live again. */
  readonly away: { readonly p50_ms: number; readonly p99_ms: number; readonly max_ms: number }
}
export interface Calls extends AnyCalls {
  /** Opens all of them. */
  readonly start: (options: Options) => Promise<Standing>
  readonly standing: (nothing: null) => Promise<Standing>
  /** Compares with REST; nothing may happen meanwhile. */
  readonly compare: (nothing: null) => Promise<Report>
}

/** Sockets that are opened at the same time. */
const OPENING_MAX = 50

// a deflated connection would cost each side more than all that is looked at here
const plainSockets = Layer.succeed(WebSocketConstructor)(
  (url) => new WebSocket(url, { perMessageDeflate: false }) as ReturnType<typeof WebSocketConstructor.Service>
)
const clientOf = (url: string, token?: string) =>
  Client.makeWith({
    baseUrl: url,
    ...(token === undefined ? {} : { credential: { type: "token", token } as const })
  }).pipe(Effect.provide([FetchHttpClient.layer, plainSockets]))

/** Notes how long each session is without a line. */
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
  const anybody = yield* clientOf(url)
  const users = yield* Effect.forEach(tokens, (token) =>
    Effect.map(clientOf(url, token), (client) => ({
      token,
      client,
      ledger: new UserLedger(),
      followers: Array<Follower>()
    }))
  )
  const publicFeed = (topic: string) => anybody.feed({ topics: [topic], onEvent: absences.watch() })
  const many = <A, E, R>(count: number, one: (i: number) => Effect.Effect<A, E, R>) =>
    Effect.forEach(
      Array.from({ length: count }, (_, i) => i),
      one,
      { concurrency: OPENING_MAX }
    )

  const bookFeeds = yield* many(books, () => publicFeed(`orderbook.${DEPTH}.${SYMBOL}`))
  const tickerFeeds = yield* many(tickers, () => publicFeed(`ticker.${SYMBOL}`))
  const privateFeeds = yield* many(privates, (i) => {
    const { client, followers, ledger } = users[i % users.length]!
    return Effect.map(follow(`session ${i}`, client, ledger, findings, absences.watch()), (follower) => {
      followers.push(follower)
      return follower.feed
    })
  })
  const feeds = [...bookFeeds, ...tickerFeeds, ...privateFeeds]

  const standing = (): Standing => ({
    live: feeds.filter(({ state }) => state.get().type === "live").length,
    all: feeds.length,
    lost: absences.lost
  })
  const compare = Effect.gen(function* () {
    let compared = 0
    for (const { followers, ...user } of users)
      compared += (yield* compareUser(url, user, followers, findings)).compared
    const rest = yield* anybody.market.orderbook({ query: { symbol: SYMBOL, depth: DEPTH } })
    for (const [i, feed] of bookFeeds.entries()) {
      yield* waitFor(() => {
        const book = feed.book(SYMBOL, DEPTH)
        return book !== undefined && book.sound && sameBook(book, rest) ? undefined : `book ${i} is not that of REST`
      })
      compared++
    }
    const counts = feeds.map((feed) => feed.counts())
    const sum = (of: (one: (typeof counts)[number]) => number) => counts.reduce((all, one) => all + of(one), 0)
    const sorted = Float64Array.from(absences.away).sort()
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    return {
      ...standing(),
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
  return { standing, compare }
})

let sessions: Effect.Success<ReturnType<typeof open>> | undefined
serve({
  start: async (options) => {
    sessions = await Effect.runPromise(Scope.provide(open(options), Scope.makeUnsafe()))
    return sessions.standing()
  },
  standing: async () => sessions!.standing(),
  compare: () => Effect.runPromise(sessions!.compare)
} satisfies Calls)
