/**
 * Policy: the event lane. One fiber reads the feed, projects every batch, commits it to the history or waits until the leading
 * gateway has committed it ({@link CommitCoordinator}), and only then shows it to readers and followers: first
 * {@link MarketView}, then {@link UserStreams}. Readers see only committed events.
 *
 * The lane recovers by itself. If the history fails, the batch is retried and readers stay at the committed state. If the
 * feed repeats, skips or ends, it is followed again from the committed position. If that position is no longer retained, the
 * read model is rebuilt from the backend and numbering restarts.
 * Source: docs/contract/websocket.md#private-topics, #emission, docs/contract/boundary.md#one-event-stream, #lagging.
 */
import { Cause, Clock, Context, Duration, Effect, Layer, Schema, Stream } from "effect"
import type { Event } from "../../domain/Event.ts"
import { type ModelPosition, Projecting, streamIdOf } from "../../domain/Projection.ts"
import { BackendHealth } from "../operations/BackendHealth.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import * as Tracing from "../operations/Tracing.ts"
import { Feed, type FeedFrame, type FeedGone } from "../Feed.ts"
import type { History, ProjectionRefused } from "../History.ts"
import { MarketState } from "../markets/MarketState.ts"
import { MarketView } from "../markets/MarketView.ts"
import type { Referee } from "../Referee.ts"
import type { Sequencer } from "../Sequencer.ts"
import * as BackendReads from "./BackendReads.ts"
import * as CommitCoordinator from "./CommitCoordinator.ts"
import { loadReadModel } from "./LoadReadModel.ts"
import { backOff } from "./ProjectorBackOff.ts"
import { rebuildReadModel } from "./RebuildReadModel.ts"
import { SeqWaiters } from "./SeqWaiters.ts"
import { Streams, UserStreams } from "./UserStreams.ts"

/** Most events of one commit; frames that arrived together are committed together up to this number. */
const EVENTS_PER_COMMIT = 4_096
/** Longest wait of a reader for the read model, which may lag. */
const REACHED_WAIT = Duration.seconds(1)
/** Pause before the feed is followed again: the first one, and the longest, in ms. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 2_000
/** After a run of this length, the pause starts over, in ms. */
const STABLE_MS = 10_000

export interface Options {
  /**
   * Users that no client can log in as, such as a market maker of the backend. Their orders appear in books, trades and
   * candles, but not in the order index or a user stream.
   */
  readonly houseUsers?: ReadonlySet<string>
}

/** The feed ended, or returned something that does not follow the position. */
class FeedBroken extends Schema.TaggedError<FeedBroken>()("FeedBroken", { message: Schema.String }) {}

type Fault = CommitCoordinator.Superseded | ProjectionRefused | FeedGone | FeedBroken | Cause.Done
const isFeedGone = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && (reason.error as Fault)._tag === "FeedGone")

/** Retries without a limit; logs every failure. */
const insist = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
  effect.pipe(
    Effect.tapCause((cause) => Effect.logError(`${what} failed`, cause)),
    Effect.retry(backOff),
    Effect.orDie
  )

export class Projector extends Context.Service<
  Projector,
  {
    /** Position up to which readers see the stream; `undefined` before the first commit. */
    readonly position: () => ModelPosition | undefined
    /** Whether the read model is loaded and follows the stream. */
    readonly loaded: () => boolean
    /** Waits until readers see the stream up to `seq`, at most {@link REACHED_WAIT}. */
    readonly reached: (seq: number) => Effect.Effect<void>
    /** Registers a synchronous listener for changes of the position; the returned function removes it. */
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
  const health = yield* BackendHealth
  const clock = yield* Clock.Clock
  const commits = yield* CommitCoordinator.make
  const markets = new MarketState(clock)
  const streams = new Streams()
  const reads = yield* BackendReads.make(markets)
  const metrics = yield* CurrentMetricsRegistry
  const tracer = yield* Tracing.CurrentTracer
  const shownEvents = metrics.counter("gateway_projector_events_total", {})
  const commitTimes = metrics.histogram("gateway_projector_commit_seconds", {})

  let position: ModelPosition | undefined
  let projecting: Projecting | undefined
  let isConnected = false
  let headSeq = 0
  /** How far the local clock is ahead of the engine's, by the fastest heartbeat of this connection, in ms. */
  let clockAhead: number | undefined

  const followers = new Set<(position: ModelPosition) => void>()
  const onMoved = (listener: (position: ModelPosition) => void) => {
    followers.add(listener)
    return () => void followers.delete(listener)
  }
  const waiters = new SeqWaiters()

  /** Loads the read model and starts there. */
  const load = Effect.gen(function* () {
    const model = yield* loadReadModel
    position = model.position
    headSeq = Math.max(headSeq, position?.seq ?? 0)
    waiters.load(position?.seq ?? 0)
    projecting = new Projecting(model, options.houseUsers)
    markets.start(position, model.starts)
    streams.start(position === undefined ? "" : streamIdOf(position), model.heads)
    yield* reads.books
  })

  /** Reports the progress of the lane; `oldest`: engine time of the oldest uncommitted event. */
  const report = (oldest: number | undefined) =>
    health.sawSequencer({
      head_seq: headSeq,
      applied_seq: position?.seq ?? 0,
      oldest_unapplied_ms: oldest === undefined ? undefined : oldest + (clockAhead ?? 0)
    })

  const disconnected = () => {
    isConnected = false
    clockAhead = undefined
    markets.interrupted()
    health.lostSequencer()
  }
  /** A frame arrived: after a loss, readers start from snapshots, and state that may have changed is read. */
  const connected: Effect.Effect<void> = Effect.suspend(() => {
    if (isConnected) return Effect.void
    isConnected = true
    markets.regained()
    return reads.statics
  })

  /** Projects, commits and shows events that follow the position. */
  const show = Effect.fnUntraced(function* (epoch: string, events: ReadonlyArray<Event>, isLeader: boolean) {
    let projection = projecting!.next(epoch, events)
    const instruments = reads.takeInstruments()
    if (instruments.length > 0) {
      const newer = new Set(projection.instruments.map(({ symbol }) => symbol))
      const unchanged = instruments.filter(({ symbol }) => !newer.has(symbol))
      projection = { ...projection, instruments: [...unchanged, ...projection.instruments] }
    }
    if (isLeader) {
      const began = performance.now()
      yield* commits.commit(projection)
      commitTimes.observe((performance.now() - began) / 1_000)
    }
    shownEvents.add(events.length)
    position = projection.position
    yield* connected
    markets.apply(events, projection)
    streams.publish(streamIdOf(position), projection.userEvents)
    report(undefined)
    waiters.advance(position.seq)
    for (const listener of followers) listener(position)
    yield* reads.books
  })

  /** Shows a batch: at once if this gateway leads, otherwise as far and as soon as the leader has committed it. */
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

  /** Collects the events of frames into batches and applies them. */
  const take = Effect.fnUntraced(function* (frames: ReadonlyArray<FeedFrame>) {
    let epoch = position?.epoch
    let batch: Array<Event> = []
    let next = (position?.seq ?? 0) + 1
    for (const frame of frames) {
      switch (frame.type) {
        case "events": {
          if (frame.events.length === 0) break
          if (epoch !== undefined && epoch !== frame.epoch) {
            return yield* new FeedBroken({ message: `epoch ${frame.epoch} follows ${epoch}` })
          }
          epoch = frame.epoch
          // drop events seen before
          const fresh = frame.events[0]!.seq >= next ? frame.events : frame.events.filter(({ seq }) => seq >= next)
          for (const event of fresh) {
            if (event.seq !== next) {
              if (batch.length > 0) yield* apply(epoch, batch)
              return yield* new FeedBroken({ message: `event ${event.seq} follows ${next - 1}` })
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
          clockAhead = Math.min(clockAhead ?? Infinity, clock.currentTimeMillisUnsafe() - frame.server_ts_ms)
          if (batch.length === 0) {
            yield* connected
            report(undefined)
          }
          break
        case "interrupted":
          if (batch.length > 0) yield* apply(epoch!, batch)
          batch = []
          disconnected()
          break
      }
    }
    if (batch.length > 0) yield* apply(epoch!, batch)
  })

  /** Follows the feed from the committed position until it breaks. */
  const follow = Effect.suspend(() =>
    Effect.andThen(Stream.runForEachArray(feed.follow(position), take), new FeedBroken({ message: "the feed ended" }))
  )

  const lane = Effect.gen(function* () {
    let pause = 0
    yield* insist("loading the read model", load)
    while (true) {
      const started = clock.currentTimeMillisUnsafe()
      const cause = yield* follow.pipe(Effect.sandbox, Effect.flip)
      if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause as Cause.Cause<never>)
      disconnected()
      if (isFeedGone(cause)) {
        const head = yield* insist("rebuilding the read model", rebuildReadModel(commits, position))
        headSeq = head ?? headSeq
      } else yield* Effect.logWarning("the event stream ended", cause)
      const isStable = clock.currentTimeMillisUnsafe() - started > STABLE_MS
      pause = isStable ? PAUSE_MS_MIN : Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, pause * 2))
      yield* Effect.sleep(pause)
      yield* reads.clear
      yield* insist("loading the read model", load)
    }
  })
  yield* Effect.forkScoped(lane)

  return Context.make(
    Projector,
    Projector.of({
      position: () => position,
      loaded: () => projecting !== undefined,
      reached: (seq) => waiters.wait(seq, REACHED_WAIT),
      onMoved
    })
  ).pipe(Context.add(MarketView, markets.view), Context.add(UserStreams, streams.view))
})
