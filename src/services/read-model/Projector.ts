/**
 * Policy: the event lane. One fiber reads the feed, projects every batch, commits it to the history (or finds it committed
 * by the gateway whose turn that is, see {@link CommitCoordinator}) and only then shows it to who reads or follows: {@link MarketView}
 * first, then {@link UserStreams}. Everything a reader sees is committed.
 *
 * The lane goes on by itself, for ever: where the history fails, the batch is tried again and readers stay at the committed
 * state; where the feed repeats, jumps or ends, it is followed anew from the committed position; where the position is gone,
 * what is open is read from the backend and numbering starts anew. Source: docs/contract/websocket.md#private-topics,
 * #emission, docs/contract/boundary.md#one-event-stream, #lagging.
 */
import { Cause, Clock, Context, Duration, Effect, FiberSet, Layer, Queue, Ref, Schedule, Schema, Stream } from "effect"
import type { Event } from "../../domain/Event.ts"
import type { Instrument } from "../../domain/Market.ts"
import { type ModelPosition, Projecting, streamIdOf } from "../../domain/Projection.ts"
import * as RecordJson from "../../domain/RecordJson.ts"
import { DAY_MS, MINUTE_MS } from "../../domain/Time.ts"
import type { SubAccountState } from "../../domain/User.ts"
import { BackendHealth } from "../operations/BackendHealth.ts"
import * as CommitCoordinator from "./CommitCoordinator.ts"
import { Feed, type FeedFrame, type FeedGone } from "../Feed.ts"
import { History, type LastRecord, type ProjectionRefused, TRADES_KEPT } from "../History.ts"
import { MarketState } from "../markets/MarketState.ts"
import { MarketView } from "../markets/MarketView.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { Referee } from "../Referee.ts"
import { Sequencer } from "../Sequencer.ts"
import * as Tracing from "../operations/Tracing.ts"
import { Streams, UserStreams } from "./UserStreams.ts"

/** Frames that wait for the projector; beyond them the feed waits. */
const FRAMES_WAITING = 1_024
/** Events that one commit holds; frames that wait are committed together up to here. */
const EVENTS_PER_COMMIT = 4_096

export interface Options {
  /**
   * Users that nobody can log in as, such as a market maker of the backend: their orders are in books, trades and candles,
   * but fill no order index and no user stream that nobody could read.
   */
  readonly houseUsers?: ReadonlySet<string>
}

/** The feed brought something that does not follow the position, or ended. */
class FeedBroken extends Schema.TaggedError<FeedBroken>()("FeedBroken", { message: Schema.String }) {}

/** Waits between tries: from 50 ms, doubled, up to 2 s. */
const backOff = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")])

/** Longest wait for the read model: it may lag, and nobody waits for ever. */
const REACHED_WAIT = Duration.seconds(1)

/** Sub-accounts that are read at once where the read model begins anew. */
const ACCOUNTS_READ = 8

/** How often a pool is asked for at a start; after that the stream tells it at the latest when it changes. */
const POOL_TRIES = 5

/** The last record of a market. */
const newest = (symbol: string) => ({ symbol, start_time: undefined, end_time: undefined, limit: 1 })

export class Projector extends Context.Service<
  Projector,
  {
    /** Position up to which readers see the stream; `undefined` before anything was committed. */
    readonly position: () => ModelPosition | undefined
    /** Whether the read model has been loaded and is being moved on. */
    readonly loaded: () => boolean
    /** Waits until readers see the stream up to `seq`, at most {@link REACHED_WAIT}. */
    readonly reached: (seq: number) => Effect.Effect<void>
    /** Calls back, synchronously, after every move of the position; the returned function ends it. */
    readonly onMoved: (listener: (position: ModelPosition) => void) => () => void
  }
>()("gateway/services/Projector") {
  static readonly layer = (
    options: Options = {}
  ): Layer.Layer<Projector | MarketView | UserStreams, never, Feed | History | Sequencer | Referee | BackendHealth> =>
    Layer.effectContext(make(options))
}

const make = Effect.fnUntraced(function* (options: Options) {
  const feed = yield* Feed
  const history = yield* History
  const sequencer = yield* Sequencer
  const referee = yield* Referee
  const health = yield* BackendHealth
  const clock = yield* Clock.Clock
  const commits = yield* CommitCoordinator.make
  const markets = new MarketState(clock)
  const streams = new Streams()
  const reads = yield* FiberSet.make<void>()
  const meter = yield* CurrentMetricsRegistry
  const tracer = yield* Tracing.CurrentTracer
  const shown = meter.counter("gateway_projector_events_total", {})
  const commitTimes = meter.histogram("gateway_projector_commit_seconds", {})

  let position: ModelPosition | undefined
  let projecting: Projecting | undefined
  /** Instruments as the sequencer told them, to be kept with the next batch. */
  let told: ReadonlyArray<Instrument> = []
  let connected = false
  let headSeq = 0
  /** How far our clock is ahead of the engine's, by the promptest heartbeat of this connection. */
  let ahead: number | undefined

  /** Reads the books that are wanted, each in a fiber of its own, until each fits. */
  const readBooks: Effect.Effect<void> = Effect.suspend(() => {
    const wanted = markets.booksToRead()
    if (wanted.length === 0) return Effect.void
    return Effect.forEach(
      wanted,
      ({ symbol, done }) =>
        FiberSet.run(
          reads,
          sequencer.orderBook(symbol).pipe(
            Effect.retry(backOff),
            Effect.flatMap((read) => Effect.sync(() => done(read))),
            Effect.andThen(readAgain),
            Effect.ignore
          )
        ),
      { discard: true }
    )
  })
  // a read that did not fit is made again, not at once
  const readAgain = Effect.delay(
    Effect.suspend(() => readBooks),
    "50 millis"
  )

  /** Reads the pools that the stream has not told yet, each in a fiber of its own; a referee without pools has none. */
  const readPools = (instruments: ReadonlyArray<Instrument>) =>
    Effect.forEach(
      instruments.filter(({ symbol }) => markets.view.pool(symbol) === undefined || !markets.view.alert(symbol)),
      ({ symbol }) =>
        FiberSet.run(
          reads,
          Effect.all([referee.pool(symbol), referee.adlAlert(symbol)]).pipe(
            Effect.retry({ schedule: backOff, times: POOL_TRIES - 1 }),
            Effect.flatMap(([pool, alert]) => Effect.sync(() => markets.seedPool(symbol, pool, alert))),
            Effect.ignore
          )
        ),
      { discard: true }
    )

  /** Reads what the stream tells only when it changes: instruments, pools, and prices before their first sample. */
  const readStatics = Effect.all(
    [
      FiberSet.run(
        reads,
        sequencer.instruments.pipe(
          Effect.retry(backOff),
          Effect.flatMap((instruments) => {
            told = instruments
            markets.know(instruments)
            return Effect.andThen(readBooks, readPools(instruments))
          }),
          Effect.ignore
        )
      ),
      FiberSet.run(
        reads,
        referee.prices([]).pipe(
          Effect.retry(backOff),
          Effect.flatMap((prices) => Effect.sync(() => markets.seed(prices))),
          Effect.ignore
        )
      )
    ],
    { discard: true }
  )

  /** What the history holds, all of one moment: another gateway may be writing. */
  const read = Effect.gen(function* () {
    const [standing, heads, candles, instruments, ledger] = yield* Effect.all([
      history.position,
      history.streamHeads,
      history.lastCandles,
      history.instruments,
      history.ledger
    ])
    const traded = candles.filter(({ kind }) => kind === "trade")
    const symbols = new Set([...instruments, ...traded].map(({ symbol }) => symbol))
    const now = standing?.ts_ms ?? 0
    const starts = yield* Effect.forEach([...symbols], (symbol) =>
      Effect.all({
        symbol: Effect.succeed(symbol),
        instrument: Effect.succeed(instruments.find((each) => each.symbol === symbol)),
        trades: history.trades(symbol, TRADES_KEPT),
        candles: Effect.succeed(traded.find((each) => each.symbol === symbol)?.last ?? []),
        minutes: Effect.zipWith(
          history.candles({
            kind: "trade",
            symbol,
            interval: "1",
            start: now - DAY_MS - MINUTE_MS,
            end: Number.MAX_SAFE_INTEGER,
            limit: 1_500
          }),
          history.candles({ kind: "trade", symbol, interval: "1", start: 0, end: now - DAY_MS - MINUTE_MS, limit: 1 }),
          (day, before) => [...day, ...before]
        ),
        pool: Effect.map(history.pools(newest(symbol)), ([pool]) => pool),
        alert: Effect.map(history.adlAlerts(newest(symbol)), ([alert]) => alert)
      })
    )
    return { standing, heads, candles, ledger, starts }
  })

  /** Loads what the history holds and begins there. */
  const load = Effect.gen(function* () {
    const { standing, heads, candles, ledger, starts } = yield* history.moment(read)
    position = standing
    headSeq = Math.max(headSeq, standing?.seq ?? 0)
    projecting = new Projecting({ position: standing, heads, candles, ledger }, options.houseUsers)
    markets.start(standing, starts)
    streams.start(standing === undefined ? "" : streamIdOf(standing), heads)
    yield* readBooks
  })

  const followers = new Set<(position: ModelPosition) => void>()
  const onMoved = (listener: (position: ModelPosition) => void) => {
    followers.add(listener)
    return () => void followers.delete(listener)
  }

  /** Tells how far the lane is; `waiting` is the engine time of the oldest event that is not committed. */
  const waiting = new Set<{ readonly seq: number; readonly resume: () => void }>()
  const wake = () => {
    for (const waiter of waiting) {
      if (waiter.seq > position!.seq) continue
      waiting.delete(waiter)
      waiter.resume()
    }
  }
  const reached = (seq: number): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      if (position !== undefined && position.seq >= seq) return resume(Effect.void)
      const waiter = { seq, resume: () => resume(Effect.void) }
      waiting.add(waiter)
      return Effect.sync(() => waiting.delete(waiter))
    }).pipe(Effect.timeoutOption(REACHED_WAIT), Effect.asVoid)

  const report = (waiting: number | undefined) =>
    health.sawSequencer({
      head_seq: headSeq,
      applied_seq: position?.seq ?? 0,
      oldest_unapplied_ms: waiting === undefined ? undefined : waiting + (ahead ?? 0)
    })

  const lost = () => {
    connected = false
    ahead = undefined
    markets.interrupted()
    health.lostSequencer()
  }

  /** A frame came: after a loss, readers start from snapshots, and what may have changed meanwhile is read. */
  const alive: Effect.Effect<void> = Effect.suspend(() => {
    if (connected) return Effect.void
    connected = true
    markets.regained()
    return readStatics
  })

  /** Projects, commits and shows events that follow the position. */
  const show = Effect.fnUntraced(function* (epoch: string, events: ReadonlyArray<Event>, ours: boolean) {
    let projection = projecting!.next(epoch, events)
    if (told.length > 0) {
      const newer = new Set(projection.instruments.map(({ symbol }) => symbol))
      const known = told.filter(({ symbol }) => !newer.has(symbol))
      projection = { ...projection, instruments: [...known, ...projection.instruments] }
      told = []
    }
    if (ours) {
      const began = performance.now()
      yield* commits.commit(projection)
      commitTimes.observe((performance.now() - began) / 1_000)
    }
    shown.add(events.length)
    position = projection.position
    yield* alive
    markets.apply(events, projection)
    streams.publish(streamIdOf(position), projection.userEvents)
    report(undefined)
    if (waiting.size > 0) wake()
    for (const listener of followers) listener(position)
    yield* readBooks
  })

  /** Shows a batch: at once where this gateway leads, else as far as and as soon as another one has committed it. */
  const apply = Effect.fnUntraced(function* (epoch: string, events: ReadonlyArray<Event>) {
    for (let rest = events; rest.length > 0;) {
      report(rest[0]!.ts_ms)
      const through = yield* commits.turn(position, epoch)
      const some = through === undefined ? rest : rest.filter(({ seq }) => seq <= through)
      rest = rest.slice(some.length)
      const batch = { first_seq: some[0]?.seq ?? 0, events: some.length }
      yield* Tracing.around(tracer, "Projector.batch", batch, show(epoch, some, through === undefined))
    }
  })

  const take = Effect.fnUntraced(function* (frames: ReadonlyArray<FeedFrame>) {
    let epoch = position?.epoch
    let batch: Array<Event> = []
    let next = (position?.seq ?? 0) + 1
    for (const frame of frames) {
      switch (frame.type) {
        case "events": {
          if (frame.events.length === 0) break
          if (epoch !== undefined && epoch !== frame.epoch) {
            return yield* new FeedBroken({ message: `epoch ${frame.epoch} came where ${epoch} goes on` })
          }
          epoch = frame.epoch
          // what was seen before is left out
          const fresh = frame.events[0]!.seq >= next ? frame.events : frame.events.filter(({ seq }) => seq >= next)
          for (const event of fresh) {
            if (event.seq !== next) {
              if (batch.length > 0) yield* apply(epoch, batch)
              return yield* new FeedBroken({ message: `event ${event.seq} came where ${next} was due` })
            }
            batch.push(event)
            next++
          }
          headSeq = Math.max(headSeq, next - 1)
          if (batch.length >= EVENTS_PER_COMMIT) {
            yield* apply(epoch, batch)
            batch = []
          }
          break
        }
        case "heartbeat":
          headSeq = frame.head_seq
          health.sequencerRefuses(frame.refusing)
          ahead = Math.min(ahead ?? Infinity, clock.currentTimeMillisUnsafe() - frame.server_ts_ms)
          if (batch.length === 0) {
            yield* alive
            report(undefined)
          }
          break
        case "interrupted":
          if (batch.length > 0) yield* apply(epoch!, batch)
          batch = []
          lost()
          break
      }
    }
    if (batch.length > 0) yield* apply(epoch!, batch)
  })

  /** Follows the feed from the committed position until it breaks. */
  const follow = Effect.scoped(
    Effect.gen(function* () {
      const queue = yield* Stream.toQueue(feed.follow(position), { capacity: FRAMES_WAITING })
      while (true) yield* take(yield* Queue.takeBetween(queue, 1, FRAMES_WAITING))
    })
  )

  /** Balances and open positions of a sub-account as the referee has them, for where numbering begins. */
  const firstRecords = ({ sub_account_address, user_id }: SubAccountState) =>
    Effect.map(referee.account(sub_account_address), ({ balances, positions }): ReadonlyArray<LastRecord> => {
      const of = { user_id, sub_account_address, seq: 0 } as const
      return [
        ...balances.map((balance) => {
          const record = JSON.stringify({ ...balance, seq: 0 })
          return { ...of, topic: "account_balance" as const, subject: balance.asset, record }
        }),
        ...positions.map((position) => {
          const record = RecordJson.position(position, 0)
          return { ...of, topic: "position" as const, subject: position.symbol, record }
        })
      ]
    })

  /** The position is gone: whoever leads reads what is open and begins anew there, and the others load that. */
  const rebuild = Effect.gen(function* () {
    if ((yield* commits.turn(position, position?.epoch ?? "")) !== undefined) return
    const before = yield* sequencer.head
    const open = yield* sequencer.openOrders
    const subAccounts = yield* sequencer.subAccounts(undefined)
    const instruments = yield* sequencer.instruments
    const records = yield* Effect.forEach(
      subAccounts.filter(({ deleted }) => !deleted),
      firstRecords,
      { concurrency: ACCOUNTS_READ }
    )
    const after = yield* sequencer.head
    if (before.epoch !== after.epoch) return yield* new FeedBroken({ message: "the epoch changed while it was read" })
    const anew: ModelPosition = {
      epoch: after.epoch,
      seq: open.as_of_seq,
      began: open.as_of_seq,
      ts_ms: clock.currentTimeMillisUnsafe()
    }
    headSeq = after.head_seq
    yield* history.restart(position, anew, {
      orders: open.orders.map(({ user_id, order }) => ({ user_id, order, record: RecordJson.order(order) })),
      subAccounts,
      instruments,
      records: records.flat()
    })
    yield* Effect.logWarning("the event stream was not kept from where the read model stood: it was built anew").pipe(
      Effect.annotateLogs({ epoch: anew.epoch, seq: anew.seq })
    )
  }).pipe(Effect.catchTags({ Superseded: () => Effect.void, ProjectionRefused: () => Effect.void }))

  /** Tries for ever; every failure is logged. */
  const insist = <A, E>(what: string, effect: Effect.Effect<A, E>): Effect.Effect<A> =>
    effect.pipe(
      Effect.tapCause((cause) => Effect.logError(`${what} failed`, cause)),
      Effect.retry(backOff),
      Effect.orDie
    )
  type Fault = CommitCoordinator.Superseded | ProjectionRefused | FeedGone | FeedBroken | Cause.Done
  const gone = (cause: Cause.Cause<unknown>): boolean =>
    cause.reasons.some((reason) => Cause.isFailReason(reason) && (reason.error as Fault)._tag === "FeedGone")

  const pause = yield* Ref.make(0)
  const lane = Effect.gen(function* () {
    yield* insist("loading the read model", load)
    while (true) {
      const started = clock.currentTimeMillisUnsafe()
      const cause = yield* follow.pipe(Effect.sandbox, Effect.flip)
      if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause as Cause.Cause<never>)
      lost()
      if (gone(cause)) yield* insist("building the read model anew", rebuild)
      else yield* Effect.logWarning("the event stream broke off", cause)
      // at once after a good while, then slower and slower
      const waited = yield* Ref.updateAndGet(pause, (ms) =>
        clock.currentTimeMillisUnsafe() - started > 10_000 ? 50 : Math.min(2_000, Math.max(50, ms * 2))
      )
      yield* Effect.sleep(waited)
      yield* FiberSet.clear(reads)
      yield* insist("loading the read model", load)
    }
  })
  yield* Effect.forkScoped(lane)

  return Context.make(
    Projector,
    Projector.of({ position: () => position, loaded: () => projecting !== undefined, reached, onMoved })
  ).pipe(Context.add(MarketView, markets.view), Context.add(UserStreams, streams.view))
})
