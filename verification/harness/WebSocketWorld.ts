/** A gateway's WebSocket door on a real port, over services that the test moves by hand. */
import { Clock, Effect, Layer, type Scope } from "effect"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { type ClientOptions, WebSocket } from "ws"
import type { BalanceState } from "../../src/domain/Account.ts"
import { Grant } from "../../src/domain/Grant.ts"
import { marketAddress } from "../../src/domain/Address.ts"
import { Book } from "../../src/domain/Book.ts"
import type { Scope as KeyScope } from "../../src/domain/Enumerations.ts"
import type { AdlAlert, InsurancePool } from "../../src/domain/InsurancePool.ts"
import type { Candle, Level, PublicTrade, Ticker } from "../../src/domain/Market.ts"
import type { Order } from "../../src/domain/Order.ts"
import type { PositionState } from "../../src/domain/Position.ts"
import type { UserStreamEvent } from "../../src/domain/Projection.ts"
import type { PrivateTopic } from "../../src/domain/Topic.ts"
import type { Caller } from "../../src/domain/User.ts"
import { AuthRefused } from "../../src/services/identity/AuthErrors.ts"
import { Authenticator } from "../../src/services/identity/Authenticator.ts"
import { BackendHealth, type LinkState } from "../../src/services/operations/BackendHealth.ts"
import { RpcConnections } from "../../src/services/operations/RpcConnections.ts"
import { InProcessFeeds } from "../../src/services/operations/InProcessFeeds.ts"
import { History, type UserEvent } from "../../src/services/History.ts"
import { type MarketChange, MarketView } from "../../src/services/markets/MarketView.ts"
import { Presence } from "../../src/services/operations/Presence.ts"
import { Referee } from "../../src/services/Referee.ts"
import { WrittenHistory } from "../../src/services/read-model/WrittenHistory.ts"
import { UserStreams } from "../../src/services/read-model/UserStreams.ts"
import * as sound from "./Records.ts"
import { defaults, Limits } from "../../src/ws/Limits.ts"
import * as Ws from "../../src/ws/Ws.ts"
import * as Document from "./documents/AsyncApi.ts"

/** Longest wait for a message on a busy machine, in ms. */
const PATIENCE_MS = 20_000

export const SYMBOL = "BTC-USDC"
export const USER = "f4d12921-24f9-5d21-bac3-b037fe010f93"
export const OTHER_USER = "018f3f1e-5d5b-5a00-8000-000000000009"
export const VAULT = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
export const VAULT_1 = "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be"

export const MARKET = marketAddress(SYMBOL)
const instrument = sound.instrument()
const ticker: Ticker = {
  symbol: SYMBOL,
  last_price: "60000",
  mark_price: "60000.1",
  index_price: "60000",
  prev_price_24h: "59000",
  price_24h_pcnt: "0.0169",
  high_price_24h: "61000",
  low_price_24h: "59000",
  volume_24h: "12.5",
  turnover_24h: "750000",
  open_interest: "2",
  open_interest_value: "120000.2",
  funding_rate: "-0.0001",
  next_funding_time: "2026-01-01T08:00:00.000Z",
  next_funding_time_ms: 1767254400000,
  ts: 1
}
/** A record of a private topic, with the fields that a test is about. */
const recordOf = (topic: PrivateTopic, seq: number, fields: object): object => {
  switch (topic) {
    case "order":
      return sound.order(fields)
    case "execution":
      return sound.execution(fields)
    case "position":
      return { ...sound.position(), seq, ...fields }
    case "account_balance":
      return { ...sound.balance(), seq, reason: "trade", ...fields }
  }
}

export class FakeMarket {
  readonly book = new Book()
  stream_id = "b1"
  ticker: Ticker | undefined = ticker
  trades: Array<PublicTrade> = []
  candle: Candle | undefined
  pool: InsurancePool | undefined
  alert: AdlAlert | undefined
  private readonly listeners = new Set<(changes: ReadonlyArray<MarketChange>) => void>()

  readonly service: typeof MarketView.Service = {
    instruments: () => [instrument],
    instrument: (symbol) => (symbol === SYMBOL ? instrument : undefined),
    book: (symbol, depth) =>
      symbol === SYMBOL
        ? { symbol, bids: this.book.bids(depth), asks: this.book.asks(depth), seq: this.book.seq, mts: 7 }
        : undefined,
    ticker: () => this.ticker,
    recentTrades: (_, limit) => this.trades.slice(0, limit),
    openCandle: () => this.candle,
    pool: () => this.pool,
    alert: () => this.alert,
    now: () => 0,
    revision: () => 0,
    streamId: () => this.stream_id,
    follow: (listener) => {
      this.listeners.add(listener)
      return () => this.listeners.delete(listener)
    }
  }
  get followers(): number {
    return this.listeners.size
  }
  tell(change: Partial<MarketChange>): void {
    const whole: MarketChange = {
      symbol: SYMBOL,
      book: undefined,
      prints: [],
      candles: [],
      tickerChanged: false,
      liquidations: [],
      poolChanged: false,
      alerts: [],
      reset: false,
      isRestarting: false,
      ...change
    }
    for (const listener of this.listeners) listener([whole])
  }
  /** Changes levels; the book's seq rises by `by`. */
  move(bids: ReadonlyArray<Level>, asks: ReadonlyArray<Level>, by = 1): void {
    const prev_seq = this.book.seq
    this.book.apply(bids, asks, prev_seq + by)
    this.tell({ book: { prev_seq, seq: this.book.seq, mts: 7, bids, asks } })
  }
  trade(seq: number, ...prices: ReadonlyArray<string>): ReadonlyArray<PublicTrade> {
    const trades = prices.map((price, i) =>
      sound.trade({ trade_id: `${seq}-${i}`, price, qty: "1", seq, agg_id: `${seq}-${price}` })
    )
    this.trades.unshift(...trades.toReversed())
    return trades
  }
}

export class FakeUsers {
  stream_id = "s1"
  readonly events: Array<UserEvent & { readonly user_id: string }> = []
  orders: Array<Order> = []
  positions: Array<PositionState> = []
  balances: Array<BalanceState> = []
  /** Runs once in the middle of the next read of open orders. */
  meanwhile: (() => void) | undefined
  /** Holds the next read of open orders until it succeeds. */
  reading: Effect.Effect<void> = Effect.void
  /** How many events this gateway is behind the history. */
  behind = 0
  /** Seq up to which events are kept no more. */
  forgotten = 0
  as_of_seq = 1
  private readonly listeners = new Map<string, Set<(events: ReadonlyArray<UserStreamEvent>) => void>>()
  private readonly restarts = new Set<() => void>()

  readonly streams: typeof UserStreams.Service = {
    streamId: () => this.stream_id,
    head: (user_id) => this.events.filter((event) => event.user_id === user_id).length - this.behind,
    follow: (user_id, listener) => {
      const all = this.listeners.get(user_id) ?? new Set()
      this.listeners.set(user_id, all.add(listener))
      return () => all.delete(listener)
    },
    onRestart: (listener) => {
      this.restarts.add(listener)
      return () => this.restarts.delete(listener)
    }
  }
  get followers(): number {
    return [...this.listeners.values()].reduce((sum, all) => sum + all.size, 0)
  }
  /** Commits an event with a valid record of these fields, and notifies followers unless `untold`. */
  emit(
    topic: PrivateTopic,
    fields: object,
    options: { readonly user?: string; readonly vault?: string; readonly untold?: boolean } = {}
  ): void {
    const user_id = options.user ?? USER
    const own = this.events.filter((event) => event.user_id === user_id)
    const event: UserStreamEvent = {
      user_id,
      seq: own.length + 1,
      topic,
      prev_seq: own.findLast((earlier) => earlier.topic === topic)?.seq ?? 0,
      sub_account_address: options.vault ?? VAULT,
      subject: undefined,
      mts: 5,
      record: JSON.stringify(recordOf(topic, own.length + 1, fields))
    }
    this.events.push(event)
    if (options.untold === true) return
    for (const listener of this.listeners.get(user_id) ?? []) listener([event])
  }
  restart(stream_id: string): void {
    if (stream_id !== this.stream_id) this.events.length = 0
    this.stream_id = stream_id
    for (const listener of this.restarts) listener()
  }
}

const well: LinkState = { connected: true, lag_events: 0, lag_ms: 0, unhealthy: false, unhealthy_for_ms: 0, age_ms: 0 }

const caller = (user_id: string, credential: string, options: Partial<Caller> = {}): Caller => ({
  user_id,
  root_address: VAULT,
  rail: "address",
  via: "token",
  credential,
  scopes: new Set<KeyScope>(["read"]),
  bound_to: undefined,
  expires_at_ms: undefined,
  grant: new Grant(credential, user_id),
  ...options
})

export class World {
  readonly market = new FakeMarket()
  readonly users = new FakeUsers()
  sequencer: LinkState = well
  referee: LinkState = well
  /** Ends the grants of a credential. */
  revoke(credential: string): void {
    for (const { grant } of this.callers.values()) if (grant.credential === credential) grant.end("revoked")
  }
  /** Ends the grants of a user. */
  ban(user_id: string): void {
    for (const { grant } of this.callers.values()) if (grant.user_id === user_id) grant.end("banned")
  }
  readonly callers = new Map<string, Caller>([
    ["TK", caller(USER, "token-1")],
    ["TK2", caller(USER, "token-2")],
    ["OTHER", caller(OTHER_USER, "token-3")],
    ["WRITE", caller(USER, "key-1", { scopes: new Set<KeyScope>(["trade"]) })],
    ["BOUND", caller(USER, "key-2", { bound_to: new Set([VAULT]) })]
  ])
  url = ""
  /** Connections (`+`) and disconnections (`-`) of users, in order. */
  readonly connections: Array<string> = []
  readonly presence: typeof Presence.Service = {
    connected: (user_id) => void this.connections.push(`+${user_id}`),
    disconnected: (user_id) => void this.connections.push(`-${user_id}`),
    isPresent: () => false,
    watch: () => Effect.void,
    settled: Effect.void
  }
  readonly health: typeof BackendHealth.Service = {
    sequencer: () => this.sequencer,
    referee: () => this.referee,
    sequencerProgress: () => {},
    refereeProgress: () => {},
    historyProgress: () => {},
    sequencerReports: () => {},
    reported: () => ({ refusing: [], warnings: [] }),
    sequencerLost: () => {},
    refereeLost: () => {},
    started: () => true
  }
  readonly server = Http.createServer((_, response) => response.writeHead(426).end())

  lose(link: "sequencer" | "referee", unhealthy_for_ms: number): void {
    this[link] = { ...well, connected: false, unhealthy: true, unhealthy_for_ms }
  }
}

const servicesOf = (world: World) =>
  Layer.mergeAll(
    Layer.succeed(MarketView, world.market.service),
    Layer.succeed(UserStreams, world.users.streams),
    Layer.succeed(BackendHealth, world.health),
    Layer.succeed(Presence, world.presence),
    Layer.mock(Authenticator)({
      bearerSocket: (token) => {
        const found = world.callers.get(token)
        return found === undefined
          ? Effect.fail(new AuthRefused({ reason: "InvalidToken", details: {} }))
          : Effect.succeed(found)
      },
      signedSocket: ({ nonce }) =>
        nonce === "good-nonce"
          ? Effect.succeed(world.callers.get("TK")!)
          : Effect.fail(new AuthRefused({ reason: "StaleTimestamp", details: { server_time_ms: 1 } })),
      jwks: { keys: [] }
    }),
    Layer.mock(WrittenHistory)({
      reached: (seq) => Effect.succeed(seq <= 1),
      user: () => Effect.succeed(true),
      head: () => undefined,
      openOrders: () =>
        Effect.suspend(() => {
          const rows = [...world.users.orders]
          world.users.meanwhile?.()
          world.users.meanwhile = undefined
          return Effect.as(world.users.reading, { rows: { rows, next: undefined }, isComplete: true })
        }),
      lastRecords: (user_id, topic = "position") =>
        Effect.sync(() => {
          const records = topic === "position" ? world.users.positions : world.users.balances
          const rows = records.map((state) => {
            const subject = "symbol" in state ? state.symbol : state.asset
            const { sub_account_address } = state
            return {
              user_id,
              topic,
              sub_account_address,
              subject,
              seq: 3,
              record: JSON.stringify({ ...state, seq: 3 })
            }
          })
          return { rows, isComplete: true }
        })
    }),
    Layer.mock(History)({
      position: Effect.succeed({ epoch: "e", seq: 1, began: 0, ts_ms: 0 }),
      subAccounts: () => Effect.succeed([{ sub_account_address: VAULT, deleted: false } as never]),
      userEvents: (user_id, after, limit) =>
        Effect.succeed(
          world.users.events
            .filter((event) => event.user_id === user_id && event.seq > Math.max(after, world.users.forgotten))
            .slice(0, limit)
        )
    }),
    Layer.mock(Referee)({
      account: () => Effect.sync(() => ({ balances: [], positions: [], as_of_seq: world.users.as_of_seq }))
    })
  )

/** Starts the server, which closes with the scope. */
export const start = (
  world: World,
  limits: Partial<Limits> = {},
  clock?: Clock.Clock
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        world.server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.callback<void>((resume) => {
          world.server.close(() => resume(Effect.void))
          world.server.closeAllConnections()
        })
    )
    world.url = `ws://127.0.0.1:${(world.server.address() as AddressInfo).port}`
    const built = Layer.build(
      Ws.live.pipe(
        Layer.provide([servicesOf(world), InProcessFeeds.layer, RpcConnections.layer]),
        Layer.provide(Layer.succeed(Ws.UpgradeServer, world.server)),
        Layer.provide(Layer.succeed(Limits, { ...defaults, drain_ms: 50, close_timeout_ms: 500, ...limits }))
      )
    )
    yield* clock === undefined ? built : Effect.provideService(built, Clock.Clock, clock)
  })

// oxlint-disable-next-line typescript/no-explicit-any
export type Message = any

/** A plain client that notes all it gets; each frame is held against the document. */
export class Peer {
  readonly socket: WebSocket
  readonly messages: Array<Message> = []
  readonly raw: Array<string> = []
  pings = 0
  private waiting: Array<() => void> = []
  close: { readonly code: number; readonly text: string } | undefined
  /** The first frame that the document does not know. */
  fault: unknown

  constructor(url: string, options: ClientOptions = {}) {
    const path = new URL(url).pathname
    this.socket = new WebSocket(url, { perMessageDeflate: false, ...options })
    this.socket.on("message", (data) => {
      this.raw.push(String(data))
      const message = JSON.parse(String(data))
      this.messages.push(message)
      try {
        Document.messageOf(path, message)
      } catch (fault) {
        this.fault ??= fault
      }
      this.wake()
    })
    this.socket.on("ping", () => {
      this.pings++
      this.wake()
    })
    this.socket.on("error", () => {})
    this.socket.on("close", (code, text) => {
      this.close = { code, text: text.toString() }
      this.wake()
    })
  }
  private wake(): void {
    const waiting = this.waiting
    this.waiting = []
    for (const resume of waiting) resume()
  }
  send(message: unknown): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message))
  }
  readonly opened = Effect.callback<void, Error>((resume) => {
    if (this.socket.readyState === WebSocket.OPEN) return resume(Effect.void)
    this.socket.once("open", () => resume(Effect.void))
    this.socket.once("unexpected-response", (_, response) => {
      let text = ""
      response.on("data", (chunk) => (text += chunk))
      response.on("end", () => resume(Effect.fail(new Error(`${response.statusCode} ${text}`))))
    })
    this.socket.once("error", (error) => resume(Effect.fail(error)))
  })
  /** Waits until something holds, looked at again after each message. */
  until<A>(look: () => A | undefined | false): Effect.Effect<A> {
    return Effect.callback<A>((resume) => {
      const again = (): void => {
        const found = look()
        if (found !== undefined && found !== false) resume(Effect.succeed(found))
        else this.waiting.push(again)
      }
      again()
    }).pipe(
      Effect.timeoutOrElse({
        duration: PATIENCE_MS,
        orElse: () =>
          Effect.die(
            new Error(
              `not seen within ${PATIENCE_MS} ms; got ${this.raw
                .slice(-8)
                .map((text) => text.slice(0, 200))
                .join("\n")}`
            )
          )
      })
    )
  }
  /** Waits for `count` messages and takes them. */
  take(count = 1): Effect.Effect<Array<Message>> {
    return Effect.map(
      this.until(() => this.messages.length >= count),
      () => this.messages.splice(0, count)
    )
  }
  readonly next: Effect.Effect<Message> = Effect.suspend(() => Effect.map(this.take(1), ([message]) => message))
  /** Sends, and waits for the next message. */
  ask(message: unknown): Effect.Effect<Message> {
    return Effect.suspend(() => {
      this.send(message)
      return this.next
    })
  }
  readonly ended = Effect.suspend(() => this.until(() => this.close))
}

/** Connects a peer; it is gone with the scope. */
export const connect = (world: World, path: string, options?: ClientOptions) =>
  Effect.acquireRelease(
    Effect.sync(() => new Peer(`${world.url}${path}`, options)),
    (peer) =>
      Effect.sync(() => {
        peer.socket.terminate()
        if (peer.fault !== undefined) throw peer.fault
      })
  ).pipe(Effect.tap((peer) => peer.opened))
